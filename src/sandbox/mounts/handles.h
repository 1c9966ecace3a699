/* Descriptors of /proc and of the cgroup folder, which a zygote keeps open because its births have no other way to them. */
#pragma once
#include "base/error.h"

/* Call it in the zygote's own PID and mount namespaces. *proc_fd is the host's /proc and becomes a /proc of the zygote's PID
 * namespace, where the kernel permits that mount; *ret_cgroup becomes `leaves`, the folder of the jails' leaves, or -1 where
 * `leaves` is NULL. Both descriptors get high numbers. */
int aj_handles_open(const char *leaves, int *proc_fd, int *ret_cgroup, struct aj_error *err);
