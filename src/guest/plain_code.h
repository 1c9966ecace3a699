/* Compiles plain code: code that the checker of the Python layer accepts as it stands, without a guard or a finding.
 * Most snippets are plain, and a walk in C costs a fraction of the checker's. The checker decides on the rest. */
#pragma once
#include "guest/python.h"

/* NULL, or what is missing: sets up what compile_plain() needs. */
const char *aj_plain_code_prepare(void);
/* The types of nodes, which take a start a tenth of its time: a runner for one snippet finds them when that needs a tree, any
 * other before the first snippet runs. */
const char *aj_plain_code_nodes(void);
/* The same for tests, which load the runner's library into a Python of their own. */
__attribute__((visibility("default"))) const char *aj_plain_code_in_test(void);
