/* A listening socket in the loop: connections are accepted as they arrive. */
#pragma once
#include "base/loop/loop.h"
#include "service/sockets/listen.h"

enum { AJ_ACCEPT_AGAIN_US = 100000 }; /* pause after accept4 failed for lack of descriptors or memory */

/* The caller sets listener (AJ_NO_LISTENER where there is none yet), on_connection and arg; the rest is zero. */
struct aj_acceptor {
	struct aj_listener listener;               /* owned */
	void (*on_connection)(void *arg, int fd);  /* takes ownership of fd */
	void (*on_failure)(void *arg, int errnum); /* NULL: failures are not reported */
	void *arg;
	struct aj_quota *quota; /* charged for the loop's time; NULL: none */
	/* Private to accept.c. */
	struct aj_loop *loop; /* NULL: not begun */
	struct aj_io io;
	struct aj_timer again;
};

/* Returns -1 with errno. */
int aj_accept_begin(struct aj_acceptor *acceptor, struct aj_loop *loop);
/* Closes the socket and removes its file; an acceptor that never began may be passed too. */
void aj_accept_end(struct aj_acceptor *acceptor);
