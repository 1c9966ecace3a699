/* One connection that the caller inherited, in place of a socket that listens. */
#pragma once
#include "base/error.h"

/* Take the inherited descriptor `fd`, if it is a connected stream socket of AF_UNIX: it becomes close-on-exec and non-blocking.
 * *ret_owner_pidfd: the process that made the socket pair (SO_PEERCRED), for the caller to close; -1 where that process is out of
 * this PID namespace. A process that has ended already is an error. */
int aj_connection_inherited(int fd, int *ret_owner_pidfd, struct aj_error *err);
