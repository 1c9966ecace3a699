/* The output that a jail wrote, and how much of it is missing, as members of the result. */
#pragma once
#include "jail/result/output_buffer.h"
#include "jail/result/result_members.h"

/* Add `stdout`, `stderr`, each with `_base64` if it is not UTF-8, and `truncated`. `claim`: of the run, or NULL. */
void aj_capture_members(struct aj_members *members, const struct aj_output_buffer *jail_out,
                        const struct aj_output_buffer *jail_err, const json_t *claim);
