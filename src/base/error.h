/* One error: the step that failed, the cause, and the remedy.
 * Set where the failure occurs and passed up unchanged; nothing here prints. */
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

/* The classes of errors by which code decides: retries, protocol codes, advice. The step and the cause are words for people. */
enum aj_reason {
	AJ_REASON_NONE,   /* nothing failed */
	AJ_REASON_INPUT,  /* the caller's input does not fit */
	AJ_REASON_SETUP,  /* anything else */
	AJ_REASON_BUSY,   /* no room, or another operation is under way: the same call may succeed later */
	AJ_REASON_CLOSED, /* the session has no jail yet, or has none any more */
	AJ_REASON_FILE,   /* the jail has no such file, or it is of another kind */
	AJ_REASON_POLICY, /* the policy does not load, or is not for what was asked */
	AJ_REASON_CGROUP, /* the cgroup cannot be used */
	AJ_REASON_DENIED, /* the policy lets no request ask for that */
	AJ_REASON_CODE,   /* the snippet's text cannot run: reported as the run's result */
	/* From here on a reason selects advice, or a copy in an overlay's place; a jail's init may claim it
	 * (sandbox/handshake.h). */
	AJ_REASON_PROCESS,   /* clone or fork was refused */
	AJ_REASON_NAMESPACE, /* a call that needs a right over the jail's namespaces was refused */
	AJ_REASON_PROC,      /* mounting a new /proc was refused */
	AJ_REASON_MOUNT,     /* a call that builds the jail's file tree failed */
	AJ_REASON_SOURCE,    /* the source of a bind cannot be opened */
	AJ_REASON_OVERLAY,   /* no overlay can be made over the workspace; nothing has run */
	AJ_REASONS,
};

struct aj_error {
	int exit_code; /* one of enum aj_exit; 0 while nothing failed */
	enum aj_reason reason;
	int errnum;       /* errno of the failing call, 0 when there is none */
	unsigned wait_ms; /* nothing is tried again earlier than that; 0: not known */
	char step[24];    /* name of the jail step or of the part that failed */
	char cause[400];  /* one sentence without a full stop */
	char fix[600];    /* remedy; empty when the cause is enough */
};

/* Fill `err` unless it already holds an error (first cause wins). Always returns -1. The reason is AJ_REASON_INPUT for
 * AJ_EXIT_USAGE, else AJ_REASON_SETUP. */
int aj_fail(struct aj_error *err, int exit_code, const char *step, int errnum, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* The same for another reason. */
int aj_fail_because(struct aj_error *err, enum aj_reason reason, int exit_code, const char *step, int errnum, const char *fmt,
                    ...) __attribute__((format(printf, 6, 7)));

/* Set the advice of an error that has none yet. */
void aj_advise(struct aj_error *err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "step: cause: strerror" into `out`; returns `out`. */
const char *aj_error_text(const struct aj_error *err, char *out, unsigned long out_bytes);
/* The same without the step. */
const char *aj_error_cause(const struct aj_error *err, char *out, unsigned long out_bytes);
