/* Copies this process in a way that its filter refuses, unless the supervisor has asked for it and lets the call pass.
 * It builds no wall: the branch has those of the original, and what is its own is put in place from outside meanwhile. */
#include "guest/branch.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/branch.h"
#include "guest/atfork.h"
#include "guest/birth.h"

enum { EXIT_BROKEN = 125 };

/* Every call here is held by the kernel, and answered by the supervisor. */
static void become_own(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	/* What the new user namespace brought. While this waits, channels, files and scratch space are put in place. */
	if (syscall(SYS_capset, &head, none) < 0)
		_exit(EXIT_BROKEN);
	/* Until now it is the original's folder that relative paths begin at; where ours is stands in the place of 0. */
	if (syscall(SYS_fchdir, 0) < 0 || close(0) < 0 || open("/dev/null", O_RDONLY) != 0)
		_exit(EXIT_BROKEN);
}

pid_t aj_branch(void)
{
	int *tid = aj_birth_tid();
	if (!tid) {
		errno = ENOSYS;
		return -1;
	}
	aj_atfork_before();
#ifdef __aarch64__
	long pid = syscall(SYS_clone, AJ_BRANCH_FLAGS, NULL, NULL, NULL, tid);
#else
	long pid = syscall(SYS_clone, AJ_BRANCH_FLAGS, NULL, NULL, tid, NULL);
#endif
	int error = errno;
	if (pid == 0)
		become_own();
	aj_atfork_after(pid == 0);
	errno = error;
	return (pid_t)pid;
}
