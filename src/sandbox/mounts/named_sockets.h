/* The host's sockets that a policy names: looked up once, before the jail runs, and identified by their inodes from then on.
 * A path does not identify a socket: a process that may write to a folder can rename any socket of the folder. */
#pragma once
#include <sys/stat.h>

#include "policy/plan/plan.h"

struct aj_named_sockets {
	int fds[AJ_SOCKETS_MAX]; /* O_PATH: an open descriptor keeps the inode's number from being reused */
	size_t count;
};

/* Opens all sockets of the plan. -1 with err when a path is missing or is not a socket. */
int aj_named_sockets_open(struct aj_named_sockets *named, const struct aj_plan *plan, struct aj_error *err);
bool aj_named_sockets_has(const struct aj_named_sockets *named, const struct stat *st);
void aj_named_sockets_close(struct aj_named_sockets *named);
