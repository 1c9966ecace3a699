/* A result for a person at a terminal. */
#pragma once
#include "cli/screen.h"
#include "jail/once.h"

/* aj_output_fn: pass the guest's output on as it comes, up to the capture's head; arg is a struct aj_show *. */
struct aj_show {
	const struct aj_plan *plan;
	uint64_t shown[3]; /* by fd number */
	bool terminal[3];
	struct aj_screen screens[3]; /* of those that are terminals */
	int screen_of[3];            /* which of them: where 1 and 2 are one terminal, both have that of 1 */
	bool watching;               /* a jail runs: no terminal is waited for */
	bool stalled[3];             /* its reader is slow: the rest comes at the end, the jail is not watched less for it */
	bool failed;                 /* something could not be written */
	bool tracebacks;             /* errors are shown as Python does, and without a word of ours */
	char last;                   /* character that was written */
	char held[3][4];             /* of a stream: a character that is not whole yet */
	size_t held_bytes[3];
};
void aj_show_init(struct aj_show *show, const struct aj_plan *plan);
void aj_show_output(int fd, const char *data, size_t bytes, void *arg);

/* The same without an end. `show` needs no plan. */
void aj_show_stream(int fd, const char *data, size_t bytes, void *arg);
void aj_show_stream_end(struct aj_show *show);

/* While a jail runs: bring what a terminal has not taken so far. True when nothing is left; else one that is waited for, as poll() does. */
bool aj_show_flush(struct aj_show *show, int *ret_fd);
void aj_show_close(struct aj_show *show);

/* What the kernel refused, a line each, at most ten. */
void aj_show_violations(const struct aj_result *result);
/* What became of places in the workspace that the host runs or obeys: a line each. `report`: of a result, or NULL;
 * `told`: an earlier one of the same jail, whose lines are not repeated, or NULL. */
void aj_show_workspace(const json_t *report, const json_t *told);
/* What was not shown yet: the tail of long output, the value, the error with its source line. */
void aj_show_result(struct aj_show *show, const struct aj_result *result);
/* Value, final answer or error, out of what a jail claims or a whole result. */
void aj_show_claim(struct aj_show *show, const json_t *claim, const char *status, const char *reason);
