/* The two folders of the kernel's that a zygote keeps open, so that births need no other way to them. */
#pragma once
#include "base/error.h"

/* Called in the zygote's own PID and mount namespaces. *proc_fd is the host's /proc and becomes a /proc of the zygote's PID namespace,
 * where the kernel lets us mount one; *ret_cgroup becomes `leaves`, the folder of the jails' leaves, or -1 where that is NULL. Both are
 * high numbers. */
int aj_handles_open(const char *leaves, int *proc_fd, int *ret_cgroup, struct aj_error *err);
