/* Makes a jail's network namespace in a process of its own, which joins the jail's user namespace for that and ends; and enters
 * it, in init. It configures nothing in the namespace, and the supervisor itself joins none.
 *
 * The process that makes it shares the supervisor's memory, libc's errno included: it uses system calls without libc. */
#include "sandbox/network.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/namespaces.h"
#include "base/prctl.h"
#include "base/syscall.h"

enum { STACK_BYTES = 16384 };

/* A host that refuses these calls refuses them for the next jail too. */
static _Atomic bool refused;

struct order {
	int user_ns;
	pid_t supervisor;
	long made; /* the descriptor, in the table that both processes share; or a negative errno */
};

static long make_network(const struct order *order)
{
	long r;
	if ((r = aj_prctl_death_signal_raw(SIGKILL)) < 0)
		return r;
	if (aj_syscall_raw(SYS_getppid, 0, 0, 0, 0, 0, 0) != order->supervisor)
		return -ESRCH;
	if ((r = aj_namespaces_join_raw(order->user_ns, CLONE_NEWUSER)) < 0 || (r = aj_namespaces_make_raw(CLONE_NEWNET)) < 0)
		return r;
	return aj_syscall_raw(SYS_openat, AT_FDCWD, (long)"/proc/self/ns/net", O_RDONLY | O_CLOEXEC, 0, 0, 0);
}

static int network_maker(void *arg)
{
	struct order *order = arg;
	order->made = make_network(order);
	return 0; /* libc's clone() ends the process with exit(2), which runs no handler */
}

bool aj_network_beside(const struct aj_plan *plan)
{
	/* A zygote's jails have their own; the process that serves published ports takes the namespace before init runs. */
	return plan->namespaces & CLONE_NEWNET && !plan->zygote && !plan->publish.count && !refused;
}

int aj_network_make(int user_ns)
{
	_Alignas(16) char stack[STACK_BYTES];
	struct order order = { .user_ns = user_ns, .supervisor = getpid(), .made = -ECHILD };
	sigset_t all, before;
	sigfillset(&all);
	if ((errno = pthread_sigmask(SIG_SETMASK, &all, &before)) != 0)
		return -1;
	/* CLONE_VFORK: this thread continues when the process has ended, as its stack is in this frame. No signal at its end: a
	 * program that waits for any child of its own must not find this one. */
	const int flags = CLONE_VM | CLONE_VFORK | CLONE_FILES;
	pid_t pid = aj_clone_shared(network_maker, &order, stack + sizeof stack, flags, NULL, NULL);
	int error = errno;
	if (pid > 0)
		waitpid(pid, NULL, __WALL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (pid > 0 && order.made >= 0)
		return (int)order.made;
	errno = pid < 0 ? error : (int)-order.made;
	if (errno == EPERM || errno == ENOSYS || errno == EINVAL || errno == ECHILD || errno == EACCES)
		refused = true;
	return -1;
}

int aj_network_enter(int network)
{
	return aj_namespaces_join(network, CLONE_NEWNET);
}
