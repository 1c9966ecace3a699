/* Copies this process by calls that its filter reports: the supervisor lets them pass only after it has ordered a branch.
 * The branch has the original's walls; the supervisor puts its own files and channels in place. */
#include "guest/branch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/branch_flags.h"
#include "base/capset.h"
#include "base/clone.h"
#include "guest/atfork.h"
#include "guest/birth.h"

enum { EXIT_BROKEN = 125 };

/* The kernel suspends every call here until the supervisor answers it. */
static void take_own_files(void)
{
	const struct aj_capset none = { 0 };
	/* Drop the capabilities that the new user namespace gave. While this call waits, the supervisor puts channels, files and
	 * scratch space in place. */
	if (aj_capset_set(&none) < 0)
		_exit(EXIT_BROKEN);
	/* Until now the working directory is the original's; the branch's own folder is open as descriptor 0. */
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
	pid_t pid = aj_clone_branch(AJ_BRANCH_FLAGS, tid);
	int error = errno;
	if (pid == 0)
		take_own_files();
	aj_atfork_after(pid == 0);
	errno = error;
	return pid;
}
