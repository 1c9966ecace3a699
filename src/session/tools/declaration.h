/* One declaration, checked. For tools.c alone. */
#pragma once
#include "session/tools/tools.h"

#define AJ_TOOLS_STEP "tools" /* of errors */

/* A tool with one reference, or NULL with err set. `index`: of the declaration in its list, for messages. */
struct aj_tool *aj_tool_declare(json_t *declaration, size_t index, struct aj_error *err);
