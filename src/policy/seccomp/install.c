/* Installs a ready system call filter, plainly or with its refusals reported on a listener.
 * It does not need libseccomp: the snippet's runner is linked with it too. */
#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/seccomp/compile.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

static int install_filter(const struct aj_filter *filter, unsigned long flags)
{
	struct sock_fprog program = { .len = filter->count, .filter = (struct sock_filter *)filter->insns };
	if (filter->count == 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int aj_filter_install(const struct aj_filter *filter, struct aj_error *err)
{
	if (install_filter(filter, SECCOMP_FILTER_FLAG_TSYNC) != 0)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", errno, "install the system call filter");
	return 0;
}

void aj_filter_report(struct sock_filter *insns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (insns[i].code == (BPF_RET | BPF_K) && insns[i].jt != AJ_QUIET &&
		    (insns[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO && (insns[i].k & SECCOMP_RET_DATA) != ENOSYS &&
		    (insns[i].k & SECCOMP_RET_DATA) != 0)
			insns[i].k = SECCOMP_RET_USER_NOTIF;
}

int aj_filter_install_reported(const struct aj_filter *filter, const struct aj_filter *alone, int *ret_listener,
                               struct aj_error *err)
{
	static const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH |
	                                   SECCOMP_FILTER_FLAG_NEW_LISTENER;
	static struct sock_filter insns[AJ_FILTER_ROOM]; /* static: the guest's limits hold by now, so an allocation may fail */
	struct aj_filter reported = { insns, filter->count };
	*ret_listener = -1;
	if (filter->count > AJ_FILTER_ROOM)
		return aj_filter_install(alone, err);
	memcpy(insns, filter->insns, filter->count * sizeof *insns);
	aj_filter_report(insns, filter->count);
	/* WAIT_KILLABLE_RECV: once received, a call is not interrupted by a signal, restarted and counted again. */
	int fd = install_filter(&reported, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	if (fd < 0 && errno == EINVAL)
		fd = install_filter(&reported, flags);
	if (fd < 0) /* no such feature, or an inherited filter has a listener already: unreported */
		return aj_filter_install(alone, err);
	*ret_listener = fd;
	return 0;
}
