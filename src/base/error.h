/* One error: the step that failed, the cause, and the remedy.
 * Set once at the bottom, carried upward unchanged; this header never prints. */
#pragma once
#include <stdarg.h>

/* Exit codes of the program; `run` passes the command's own status through instead. */
enum aj_exit {
	AJ_EXIT_OK = 0,
	AJ_EXIT_ERROR = 1,      /* the snippet raised, or ended without a result */
	AJ_EXIT_USAGE = 2,      /* bad option, unreadable or unfit input */
	AJ_EXIT_LIMIT = 122,    /* output, pids, files or disk limit ended the run */
	AJ_EXIT_PROTOCOL = 123, /* the jail's answer is no result */
	AJ_EXIT_TIMEOUT = 124,
	AJ_EXIT_SETUP = 125,    /* a wall could not be built: nothing ran */
	AJ_EXIT_REJECTED = 126, /* the import check refused the snippet (run: command not executable) */
	AJ_EXIT_NOT_FOUND = 127,
	AJ_EXIT_SIGNAL = 128, /* plus the signal's number */
	AJ_EXIT_OOM = 137,
};

struct aj_error {
	int exit_code;   /* one of enum aj_exit; 0 while nothing failed */
	int errnum;      /* errno of the failing call, 0 when there is none */
	char step[24];   /* name of the jail step or of the part that failed */
	char cause[400]; /* one sentence without a full stop */
	char fix[600];   /* remedy; empty when the cause is enough */
};

/* Fill `err` unless it already holds an error (first cause wins). Always returns -1. */
int aj_fail(struct aj_error *err, int exit_code, const char *step, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));

/* Set the advice of an error that has none yet. */
void aj_advise(struct aj_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "step: cause: strerror" into `out`; returns `out`. */
const char *aj_error_text(const struct aj_error *err, char *out, unsigned long out_bytes);
