/* A helper process of the supervisor, which reads bytes from the jail or the network. It gets nothing of the supervisor's but the
 * descriptors that are passed to it. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

#include "base/error.h"
#include "network/helper/unsent.h"

struct aj_helper {
	int pidfd;  /* a child of ours; -1: none */
	int socket; /* SOCK_SEQPACKET; closed: the other side is gone. -1: none */
	pid_t pid;
	struct aj_unsent unsent; /* of a helper that forwards bytes */
};
#define AJ_NO_HELPER                      \
	(struct aj_helper)                \
	{                                 \
		.pidfd = -1, .socket = -1 \
	}

/* In the helper, with all signals blocked; it must call aj_helper_ready(). */
typedef void aj_helper_fn(void *arg, int socket, pid_t parent);

/* Start one, and wait until it is ready or has failed. `what`, for the error: "start the process that". Thread-safe as fork(). */
int aj_helper_start(struct aj_helper *helper, aj_helper_fn *fn, void *arg, const char *step, const char *what,
                    struct aj_error *err);
/* The same for a helper that forwards bytes: *ret_unsent, part of `arg`, gets rows of `row_bytes` for `count` connections. */
int aj_helper_start_mover(struct aj_helper *helper, aj_helper_fn *fn, void *arg, struct aj_unsent *ret_unsent, size_t count,
                          size_t row_bytes, const char *step, const char *what, struct aj_error *err);
/* The same in two parts, for a caller with an event loop: start it; then read its answer, when its socket is readable. 0: it is
 * ready. 1: no answer yet on a non-blocking socket. -1: it has failed or ended, and the caller ends it. */
int aj_helper_begin(struct aj_helper *helper, aj_helper_fn *fn, void *arg, const char *step, const char *what,
                    struct aj_error *err);
int aj_helper_answer(const struct aj_helper *helper, const char *step, const char *what, struct aj_error *err);
/* Ask it to stop, by end of file on its socket and by the shared memory. */
void aj_helper_stop(const struct aj_helper *helper);
void aj_helper_kill(const struct aj_helper *helper);
/* Reap it, after killing it where it does not end by itself, and close the handle. Harmless without a helper. */
void aj_helper_end(struct aj_helper *helper);

/* --- in the helper --- */

/* No folder is kept busy, no terminal's signal arrives, and no variable of the environment is left, not even in memory. */
int aj_helper_detach(void);
/* Only these descriptors stay open (-1: none; others get new numbers), and 0 to 2 lead nowhere. */
int aj_helper_keep(int *const own[], size_t count);
int aj_helper_limits(void);
/* The kernel kills it when its parent ends, also while it is stopped or hangs. A change of ids would undo that. */
int aj_helper_end_with(pid_t parent, struct aj_error *err);
/* After the last change of ids: undumpable, no new privileges, ends with its parent. */
int aj_helper_tie(pid_t parent, struct aj_error *err);
/* Tell the supervisor how it went; an error is the end. */
void aj_helper_ready(int socket, const struct aj_error *err);
