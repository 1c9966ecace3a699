/* The supervisor's descriptor of a jail's scratch space: /tmp, with the folders `input` and `output` that the jail sees at /input
 * and /output. The kernel verifies the folder; the files below are hostile. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "policy/plan/plan.h"

struct aj_scratch {
	int tmp; /* O_PATH, never 0 to 2; 0: not taken */
};

/* Take it from the jail with the attested runner `runner` and its `pidfd`; no effect if already taken. -1 with err. */
int aj_scratch_take(struct aj_scratch *scratch, const struct aj_plan *plan, pid_t runner, int pidfd, struct aj_error *err);
/* The scratch space lives as long as this descriptor. */
void aj_scratch_close(struct aj_scratch *scratch);

/* The path below scratch->tmp of an absolute path of the jail at or below /tmp, /input or /output; "." is /tmp itself. NULL with
 * the reason: the path is elsewhere, not in plain form, or has a name that no file here may have. */
const char *aj_scratch_path(const char *path, char room[AJ_SCRATCH_PATH], const char **ret_why);
/* Why a file's name, relative or absolute, cannot be shown to a caller: no text, or control characters. NULL: it can. */
const char *aj_scratch_name_bad(const char *name);
