/* The capability sets of the calling thread, without libcap. */
#include "base/capset.h"

#include <stdint.h>

#include "base/syscall.h"

int aj_capset_get(struct aj_capset *ret)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	return (int)aj_syscall_errno(aj_syscall_raw(SYS_capget, (long)(intptr_t)&head, (long)(intptr_t)ret->half, 0, 0, 0, 0));
}

long aj_capset_set_raw(const struct aj_capset *set)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	return aj_syscall_raw(SYS_capset, (long)(intptr_t)&head, (long)(intptr_t)set->half, 0, 0, 0, 0);
}

int aj_capset_set(const struct aj_capset *set)
{
	return (int)aj_syscall_errno(aj_capset_set_raw(set));
}
