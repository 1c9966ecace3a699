/* Compares a tree with its manifest: that of the Python tree, or of an environment. */
#pragma once
#include "base/error.h"

/* Compare `folder`/`tree` with `folder`/manifest, and print each difference. -1 with err where there is one. */
int aj_manifest_verify(const char *folder, const char *tree, struct aj_error *err);
