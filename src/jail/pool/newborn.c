/* Identifies a newborn by asking the kernel, takes the supervisor's ends of the channels out of it, and checks their types.
 * Signals no process before the kernel has confirmed it as our child, alone in a namespace below the zygote's. */
#include "jail/pool/newborn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"

/* The pid in our PID namespace; 0: no pidfd. */
static pid_t number_of(int pidfd)
{
	char path[40], text[512];
	int pid;
	snprintf(path, sizeof path, "/proc/self/fdinfo/%d", pidfd);
	const char *line = aj_read_text(path, text, sizeof text) < 0 ? NULL : strstr(text, "\nPid:");
	return line && sscanf(line, "\nPid: %d", &pid) == 1 && pid > 0 ? pid : 0;
}

/* NULL: a child of ours, not reaped yet, so its pid cannot have been reused. */
static const char *wrong_process(int pidfd, pid_t *ret_pid)
{
	if (!aj_pidfd_is_child(pidfd))
		return "it names a process that is not a child of the supervisor";
	*ret_pid = number_of(pidfd);
	struct aj_process_info info = aj_procfs_process(*ret_pid);
	if (info.process != *ret_pid || info.parent != getpid())
		return "it names a process that is not a child of the supervisor";
	return info.inner != 1 ? "it names a process that is not the first of its namespace" : NULL;
}

static bool is_socket(int fd, int type)
{
	int domain = 0, is = 0;
	socklen_t bytes = sizeof(int);
	return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 && domain == AF_UNIX &&
	       getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &bytes) == 0 && is == type;
}

/* Status flags belong to the open file description, which the newborn shares: it could clear O_NONBLOCK and block us. So the pipe
 * is reopened. */
static int own_end(int fd)
{
	struct stat st;
	/* No O_PATH descriptor: reopening one would use our rights. */
	if (fstat(fd, &st) < 0 || !S_ISFIFO(st.st_mode) || (fcntl(fd, F_GETFL) & (O_ACCMODE | O_PATH)) != O_RDONLY)
		return -1;
	return aj_fd_reopen(fd, O_RDONLY | O_NONBLOCK);
}

static int take_pipe(int pidfd, int number)
{
	cleanup_fd int theirs = aj_pidfd_copy_fd(pidfd, number);
	return theirs < 0 ? -1 : own_end(theirs);
}

/* Data sent before SO_PASSCRED was set would carry no credentials. */
static bool names_senders(int socket)
{
	int on = 1, was = 0;
	socklen_t bytes = sizeof was;
	return getsockopt(socket, SOL_SOCKET, SO_PASSCRED, &was, &bytes) == 0 && was &&
	       setsockopt(socket, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

static const char *wrong_channels(const struct aj_birth_answer *claim, struct aj_process *process)
{
	const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	if ((process->report_fd = aj_pidfd_copy_fd(process->init_pidfd, claim->report)) < 0 ||
	    !is_socket(process->report_fd, SOCK_SEQPACKET) || !names_senders(process->report_fd))
		return "the newborn's report socket is invalid, or does not name its senders";
	if ((process->control_fd = aj_pidfd_copy_fd(process->init_pidfd, claim->control)) < 0 ||
	    !is_socket(process->control_fd, SOCK_STREAM) || !names_senders(process->control_fd))
		return "the newborn's control socket is invalid, or does not name its senders";
	if ((process->stdout_fd = take_pipe(process->init_pidfd, claim->out)) < 0 ||
	    (process->stderr_fd = take_pipe(process->init_pidfd, claim->err)) < 0)
		return "the newborn's output is not a pair of pipes";
	if (send(process->report_fd, &taken, sizeof taken, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)sizeof taken)
		return "the newborn's init takes no message";
	return NULL;
}

/* errnum: of the calls that checked the claim. The zygote ends, as the newborn may be a process that we cannot kill. */
static enum aj_newborn reject_newborn(struct aj_error *err, const char *wrong, int errnum)
{
	if (errnum == EMFILE || errnum == ENFILE) {
		aj_fail(err, AJ_EXIT_SETUP, "birth", errnum, "take the newborn's descriptors");
		return AJ_NEWBORN_INVALID;
	}
	aj_fail(err, AJ_EXIT_SETUP, "birth", 0, "the zygote's answer is not true: %s", wrong);
	aj_advise(err,
	          "a package that the policy allows, or the Python tree, is damaged or hostile: run `agentjail rootfs verify`");
	return AJ_NEWBORN_INVALID;
}

static enum aj_newborn give_up_birth(struct aj_process *process, int errnum, struct aj_error *err)
{
	aj_process_kill(process);
	aj_process_end(process, NULL);
	aj_fail(err, AJ_EXIT_SETUP, "birth", errnum, "the zygote cannot make a jail");
	if (errnum == EAGAIN)
		aj_advise(err,
		          "the processes of one policy and tenant are bounded (`enforced.zygote`): spread the jails over tenants, "
		          "raise limits.pids, or delegate a cgroup");
	return AJ_NEWBORN_GONE;
}

enum aj_newborn aj_newborn_take(const struct aj_process *zygote, const struct aj_birth_answer *claim, struct aj_process *process,
                                struct aj_error *err)
{
	pid_t pid = 0;
	errno = 0;
	cleanup_fd int pidfd = claim->init < 0 ? -1 : aj_pidfd_copy_fd(zygote->init_pidfd, claim->init);
	if (claim->init < 0 && claim->errnum > 0)
		return give_up_birth(process, claim->errnum, err);
	if (pidfd < 0 && aj_procfs_is_ending(zygote->init_pid))
		return give_up_birth(process, ECHILD, err); /* ended with the zygote: its owner learns of that from the pidfd */
	const char *wrong = pidfd < 0 ? "it names no descriptor of its own" : wrong_process(pidfd, &pid);
	/* The zygote's pidfd shares its flags, and may be one of a thread: open our own. Only we can reap the process, so its pid
	 * was not reused. */
	cleanup_fd int own = wrong ? -1 : aj_pidfd_open(pid);
	if (!wrong && own < 0)
		return give_up_birth(process, errno, err);
	if (!wrong)
		wrong = aj_holder_admit(zygote->holder, pid);
	int errnum = errno; /* EMFILE: the checks need descriptors */
	/* Killed before the kernel could be asked for its namespaces: that is not an invalid report of the zygote. */
	if (wrong && own >= 0 && aj_procfs_is_ending(pid) && aj_holder_bore(zygote->holder, pid, own)) {
		process->init_pidfd = aj_steal(&own);
		return give_up_birth(process, claim->errnum > 0 ? claim->errnum : ECHILD, err);
	}
	if (wrong)
		return reject_newborn(err, wrong, errnum);
	process->init_pid = pid;
	process->init_pidfd = aj_steal(&own);
	process->holder = zygote->holder;
	process->baseline = zygote->baseline;
	if (claim->errnum > 0)
		return give_up_birth(process, claim->errnum, err);
	errno = 0;
	if (!(wrong = wrong_channels(claim, process)))
		return AJ_NEWBORN_THERE;
	errnum = errno;
	if (aj_procfs_is_ending(pid))
		return give_up_birth(process, ECHILD, err);
	aj_process_kill(process);
	aj_process_end(process, NULL);
	return reject_newborn(err, wrong, errnum);
}

const char *aj_newborn_why_not(void)
{
	char scope[16];
	cleanup_fd int self = aj_pidfd_open(getpid());
	cleanup_fd int fd = self < 0 ? -1 : aj_pidfd_copy_fd(self, self);
	if (fd < 0)
		return "this kernel, or a filter above agentjail, denies the supervisor a newborn's descriptors (pidfd_getfd)";
	if (aj_read_text("/proc/sys/kernel/yama/ptrace_scope", scope, sizeof scope) > 0 && scope[0] == '3')
		return "kernel.yama.ptrace_scope is 3, so no process may take a newborn's descriptors";
	return NULL;
}
