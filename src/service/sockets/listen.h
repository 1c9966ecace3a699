/* Listening sockets: created safely, or inherited (socket activation) and checked. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct aj_listener {
	int fd;
	char path[108]; /* of a socket file that we created; "" otherwise */
	dev_t device;
	ino_t inode;
};
#define AJ_NO_LISTENER   \
	{                \
		.fd = -1 \
	}

/* Create a stream socket at `path`, mode 0600. Replaces no file but a socket of our user on which no process listens. */
int aj_listen_unix(struct aj_listener *listener, const char *path, struct aj_error *err);
/* `where`: a path, or a loopback address with its port: 127.0.0.1:9464, [::1]:9464. */
int aj_listen_metrics(struct aj_listener *listener, const char *where, struct aj_error *err);
/* Take the inherited descriptor `fd`, if it is a listening stream socket: a local one, or (`tcp`) one on a loopback address. */
int aj_listen_inherited(struct aj_listener *listener, int fd, bool tcp, struct aj_error *err);
/* Close the socket, and remove its file if it still is the one that we created. */
void aj_listen_end(struct aj_listener *listener);

/* Returns a connection, close-on-exec and non-blocking, or -1 with errno. */
int aj_listen_accept(const struct aj_listener *listener);
/* The peer's credentials (SO_PEERCRED). Returns -1 with errno. */
int aj_listen_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);
