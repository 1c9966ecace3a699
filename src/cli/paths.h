/* Where the program's own files are. */
#pragma once
#include "plan/request.h"

struct aj_error;

/* Fill request->rootfs: the one given, else $AGENTJAIL_ROOTFS, else beside the program (build tree), else installed. */
int aj_find_rootfs(struct aj_request *request, struct aj_arena *arena, struct aj_error *err);
