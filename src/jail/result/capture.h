/* The output that a jail wrote, and how much of it is missing, as members of the result. */
#pragma once
#include "jail/result/members.h"
#include "jail/result/output_buffer.h"

/* `claim`: of the run, or NULL. Add `stdout`, `stderr`, each with `_base64` where the text differs from the bytes that were written, and `truncated`. */
void aj_capture_members(struct aj_members *members, const struct aj_output_buffer *jail_out,
                        const struct aj_output_buffer *jail_err, const json_t *claim);
