/* Sockets to listen on: made safely, or handed over and looked at. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

#include "base/error.h"

struct aj_listener {
	int fd;
	char path[108]; /* of a socket file that we made; "" otherwise */
	dev_t device;
	ino_t inode;
};
#define AJ_NO_LISTENER   \
	{                \
		.fd = -1 \
	}

/* A stream socket at `path`, mode 0600. Replaces nothing but a socket of ours that nobody listens on any more. */
int aj_listen_unix(struct aj_listener *listener, const char *path, struct aj_error *err);
/* A path, or a loopback address with its port: 127.0.0.1:9464, [::1]:9464. */
int aj_listen_metrics(struct aj_listener *listener, const char *where, struct aj_error *err);
/* Handed over as descriptor `fd`: is it a listening stream socket, local, or (`tcp`) bound to a loopback address? */
int aj_listen_given(struct aj_listener *listener, int fd, bool tcp, struct aj_error *err);
/* Close it and, when it is still the one that we made, remove the file. */
void aj_listen_end(struct aj_listener *listener);

/* A connection, or -1 with errno. Close-on-exec, never waits. */
int aj_listen_accept(const struct aj_listener *listener);
/* Who connected. -1 with errno. */
int aj_listen_peer(int fd, uid_t *ret_uid, pid_t *ret_pid);
