/* Installs ready system call filters.
 * It does not compile or change one, and does not need libseccomp: the snippet's runner is linked with this file too. */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sandbox/seccomp.h"

int aj_filter_install(const struct aj_filter *filter, struct aj_error *err)
{
	struct sock_fprog program = { .len = filter->count, .filter = (struct sock_filter *)filter->insns };
	if (filter->count == 0 || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", filter->count ? errno : EINVAL, "install the system call filter");
	return 0;
}
