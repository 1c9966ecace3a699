/* Makes and joins namespaces. */
#include "base/namespaces.h"

#include "base/syscall.h"

long aj_namespaces_join_raw(int fd, int kinds)
{
	return aj_syscall_raw(SYS_setns, fd, kinds, 0, 0, 0, 0);
}

long aj_namespaces_make_raw(int kinds)
{
	return aj_syscall_raw(SYS_unshare, kinds, 0, 0, 0, 0, 0);
}

int aj_namespaces_join(int fd, int kinds)
{
	return (int)aj_syscall_errno(aj_namespaces_join_raw(fd, kinds));
}

int aj_namespaces_make(int kinds)
{
	return (int)aj_syscall_errno(aj_namespaces_make_raw(kinds));
}
