/* Results for people at a terminal. */
#pragma once
#include <stdio.h>

#include "cli/terminal/screen.h"
#include "jail/result/result.h"

/* The part of a run's output that was shown so far. */
struct aj_show {
	const struct aj_plan *plan;
	uint64_t shown[3]; /* by fd number */
	bool terminal[3];
	struct aj_screen screens[3]; /* of the descriptors that are terminals */
	int screen_of[3];            /* index into screens: where 1 and 2 are one terminal, both use that of 1 */
	bool watching;               /* a jail runs: do not wait for terminals */
	bool stalled[3]; /* the pipe's reader is slow: the rest is written at the end, so that watching the jail is not delayed */
	bool failed;     /* a write failed */
	bool tracebacks; /* show errors as Python's tracebacks, without lines of ours */
	char last;       /* the last character written */
	char tail[3][4]; /* of a stream: the bytes of an incomplete character */
	size_t tail_bytes[3];
};
void aj_show_init(struct aj_show *show, const struct aj_plan *plan);
/* An aj_output_fn: pass the guest's output on as it arrives, up to the capture's head; arg is a struct aj_show *. */
void aj_show_output(int fd, const char *data, size_t bytes, void *arg);

/* The same without the limit of the capture's head. `show` needs no plan. */
void aj_show_stream(int fd, const char *data, size_t bytes, void *arg);
void aj_show_stream_end(struct aj_show *show);

/* While a jail runs: write the kept output to the terminals. False: bytes remain, and *ret_fd is to be polled for POLLOUT. */
bool aj_show_flush(struct aj_show *show, int *ret_fd);
void aj_show_close(struct aj_show *show);

/* Print the parts not shown yet: the tail of long output, the value, the error with its source line. */
void aj_show_result(struct aj_show *show, const struct aj_result *result);
/* Print the value, final answer or error of a jail's claim or of a whole result. */
void aj_show_claim(struct aj_show *show, const json_t *claim, enum aj_status status, const char *reason);

/* Print one JSON document on a line, to standard output where `to` is NULL; takes the reference. -1: it could not be written. */
int aj_show_json(json_t *doc, FILE *to);
