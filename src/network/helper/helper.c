/* Starts and ends helper processes of the supervisor, and removes from them what they inherit from it.
 * The helpers set up their own filter, Landlock and ids. */
#include "network/helper/helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/pidfd.h"
#include "base/prctl.h"

enum {
	END_MS = 200,      /* for a helper to end by itself, before it is killed */
	FDS_MAX = 1 << 16, /* more serve no jail */
	STACK_BYTES = 1 << 20,
	KEPT_MAX = 64,
};

int aj_helper_begin(struct aj_helper *helper, aj_helper_fn *fn, void *arg, const char *step, const char *what,
                    struct aj_error *err)
{
	int ends[2];
	*helper = AJ_NO_HELPER;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, step, errno, "make a socket pair");
	/* The helper keeps all signals blocked: a signal of the terminal is not for it. */
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t us = getpid(), pid = aj_fork();
	if (pid == 0) {
		fn(arg, ends[1], us);
		_exit(1);
	}
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	helper->socket = ends[0];
	helper->pid = pid;
	if (pid > 0 && (helper->pidfd = aj_pidfd_open(pid)) < 0) {
		error = errno;
		kill(pid, SIGKILL); /* a child that was not reaped: the pid is its own */
		waitpid(pid, NULL, 0);
	}
	if (helper->pidfd >= 0)
		return 0;
	aj_helper_end(helper);
	return aj_fail(err, AJ_EXIT_SETUP, step, error, "%s", what);
}

int aj_helper_answer(const struct aj_helper *helper, const char *step, const char *what, struct aj_error *err)
{
	struct aj_error failed = { 0 };
	ssize_t n;
	do
		n = recv(helper->socket, &failed, sizeof failed, 0);
	while (n < 0 && errno == EINTR);
	if (n < 0 && errno == EAGAIN)
		return 1;
	if (n != (ssize_t)sizeof failed)
		return aj_fail(err, AJ_EXIT_SETUP, step, n < 0 ? errno : 0, "%s", what);
	if (failed.exit_code == 0)
		return 0;
	*err = err->exit_code ? *err : failed;
	return -1;
}

int aj_helper_start(struct aj_helper *helper, aj_helper_fn *fn, void *arg, const char *step, const char *what,
                    struct aj_error *err)
{
	if (aj_helper_begin(helper, fn, arg, step, what, err) < 0)
		return -1;
	if (aj_helper_answer(helper, step, what, err) == 0)
		return 0;
	aj_helper_kill(helper);
	aj_helper_end(helper);
	return -1;
}

int aj_helper_start_mover(struct aj_helper *helper, aj_helper_fn *fn, void *arg, struct aj_unsent *ret_unsent, size_t count,
                          size_t row_bytes, const char *step, const char *what, struct aj_error *err)
{
	if (aj_unsent_open(ret_unsent, count, row_bytes, step, err) < 0)
		return -1;
	if (aj_helper_start(helper, fn, arg, step, what, err) < 0) {
		aj_unsent_close(ret_unsent);
		return -1;
	}
	helper->unsent = *ret_unsent;
	aj_unsent_dont_fork(&helper->unsent);
	return 0;
}

void aj_helper_stop(const struct aj_helper *helper)
{
	aj_unsent_ask_stop(&helper->unsent);
	if (helper->socket >= 0)
		shutdown(helper->socket, SHUT_WR);
}

void aj_helper_kill(const struct aj_helper *helper)
{
	if (helper->pidfd >= 0)
		aj_pidfd_signal(helper->pidfd, SIGKILL);
}

void aj_helper_end(struct aj_helper *helper)
{
	aj_close(&helper->socket);
	aj_unsent_close(&helper->unsent);
	aj_pidfd_end(&helper->pidfd, END_MS);
}

/* LOCALDOMAIN, RES_OPTIONS and HOSTALIASES would change how c-ares resolves; other variables may be the supervisor's secrets,
 * which are overwritten in place: our memory is a copy of its memory. */
static void forget_environment(void)
{
	enum { ENV_START = 50, ENV_END = 51, AFTER_NAME = 2 }; /* fields of proc_pid_stat(5) */
	char text[2048];
	uintptr_t ends[2] = { 0 };
	ssize_t n = aj_read_text("/proc/self/stat", text, sizeof text);
	char *at = n > 0 ? strrchr(text, ')') : NULL;
	for (int field = AFTER_NAME; at && field <= ENV_END; field++, at = strchr(at + 1, ' '))
		if (field >= ENV_START)
			ends[field - ENV_START] = strtoul(at + 1, NULL, 10);
	clearenv();
	if (ends[0] && ends[0] < ends[1])
		memset((void *)ends[0], 0, ends[1] - ends[0]);
}

int aj_helper_detach(void)
{
	if (chdir("/") < 0)
		return -1;
	setsid();
	forget_environment();
	return 0;
}

/* A lasting process must not keep the supervisor's descriptors. libc's message about a broken heap must not go into a socket. */
int aj_helper_keep(int *const own[], size_t count)
{
	int keep[KEPT_MAX];
	if (count > KEPT_MAX) {
		errno = EMFILE;
		return -1;
	}
	for (size_t i = 0; i < count; i++) {
		if (*own[i] >= 0 && aj_fd_move_high(own[i]) < 0)
			return -1;
		keep[i] = *own[i];
	}
	if (aj_fd_close_others(0, keep, count) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != i)
			return -1;
	return 0;
}

static int set_limit(int resource, rlim_t most)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) < 0)
		return -1;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

int aj_helper_limits(void)
{
	return set_limit(RLIMIT_NOFILE, FDS_MAX) < 0 || set_limit(RLIMIT_CORE, 0) < 0 || set_limit(RLIMIT_FSIZE, 0) < 0 ||
	               set_limit(RLIMIT_STACK, STACK_BYTES) < 0
	         ? -1
	         : 0;
}

int aj_helper_end_with(pid_t parent, struct aj_error *err)
{
	if (aj_prctl_die_with_parent(parent, SIGKILL) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "helper", errno, "tie a helper process to the supervisor");
	return 0;
}

int aj_helper_tie(pid_t parent, struct aj_error *err)
{
	/* After the last change of ids, which would reset it: our memory is a copy of the supervisor's. */
	if (aj_prctl_dumpable(false) < 0 || aj_prctl_no_new_privs() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "helper", errno, "give up privileges");
	return aj_helper_end_with(parent, err);
}

void aj_helper_ready(int socket, const struct aj_error *err)
{
	if (send(socket, err, sizeof *err, MSG_NOSIGNAL) != (ssize_t)sizeof *err || err->exit_code)
		_exit(1);
}
