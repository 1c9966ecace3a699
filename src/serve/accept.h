/* A listening socket in the loop: connections are taken as they come. */
#pragma once
#include "base/loop.h"
#include "serve/listen.h"

enum { AJ_ACCEPT_AGAIN_US = 100000 }; /* after the system had no descriptor or no memory left */

/* Set: listener, on_connection and arg; the rest zero, and AJ_NO_LISTENER where there is none yet. */
struct aj_acceptor {
	struct aj_listener listener;               /* owned */
	void (*on_connection)(void *arg, int fd);  /* which is the callee's from there on */
	void (*on_failure)(void *arg, int errnum); /* NULL: nobody is told */
	void *arg;
	struct aj_quota *quota; /* who pays; NULL: nobody */
	/* Its own. */
	struct aj_loop *loop; /* NULL: not begun */
	struct aj_io io;
	struct aj_timer again;
};

/* -1 with errno. */
int aj_accept_begin(struct aj_acceptor *acceptor, struct aj_loop *loop);
/* Also of one that was never begun; the socket is closed, and its file removed. */
void aj_accept_end(struct aj_acceptor *acceptor);
