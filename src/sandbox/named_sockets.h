/* The sockets of the host that a policy names: found once, before a byte of the jail's runs, and known by their inodes from then on.
 * A path would not do: who may write a folder can give any socket in it another one's name. */
#pragma once
#include <sys/stat.h>

#include "plan/plan.h"

struct aj_named_sockets {
	int fds[AJ_SOCKETS_MAX]; /* O_PATH: while one is open its inode is nobody else's */
	size_t count;
};

/* All of the plan's. -1 with err when there is one that is no socket, or not there. */
int aj_named_sockets_open(struct aj_named_sockets *named, const struct aj_plan *plan, struct aj_error *err);
bool aj_named_sockets_has(const struct aj_named_sockets *named, const struct stat *st);
void aj_named_sockets_close(struct aj_named_sockets *named);

/* What the guest inherits of its caller as 0 to 2 must be no Unix socket that could still reach another one: a datagram socket sends to any
 * socket file without connect, and where nobody listens to the filter connect is the kernel's own. */
int aj_named_sockets_check_stdio(struct aj_error *err);
