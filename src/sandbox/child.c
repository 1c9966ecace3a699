/* Walks the jail's steps, first in init, then in the guest; reports the failing step by name and exits.
 * It decides nothing: every choice was made in the plan, and no step is skipped because another one failed. */
#include "sandbox/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/caps.h"
#include "sandbox/handshake.h"
#include "sandbox/init.h"
#include "sandbox/landlock.h"
#include "sandbox/mount.h"
#include "sandbox/netns.h"
#include "sandbox/seccomp.h"
#include "sandbox/steps.h"

enum { HIGH_FD = 10, CONTROL_FD = 3 };

struct child {
	const struct aj_plan *plan;
	struct aj_child_fds fds;
	int *sources;
};

static int fail(struct aj_error *err, const char *step, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, step, errno, "%s", what);
}

static int step_close_parent(struct child *c, struct aj_error *err)
{
	/* High numbers first: 0 to 3 must be free to be what the plan says. */
	int *fds[] = { &c->fds.report, &c->fds.control, &c->fds.out, &c->fds.err };
	close(c->fds.report_parent);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++) {
		if (*fds[i] < 0)
			continue;
		int high = fcntl(*fds[i], F_DUPFD_CLOEXEC, HIGH_FD);
		if (high < 0)
			return fail(err, "close_parent", "move our fds out of the way (is the limit on open files below 32?)");
		close(*fds[i]);
		*fds[i] = high;
	}
	return 0;
}

static int step_await_maps(struct child *c, struct aj_error *err)
{
	struct aj_msg msg;
	int r = aj_msg_recv(c->fds.report, &msg, 0);
	if (r <= 0 || msg.kind != AJ_MSG_MAPS_WRITTEN)
		return aj_fail(err, AJ_EXIT_SETUP, "await_maps", r < 0 ? errno : 0, "the supervisor did not say that the id maps stand");
	return 0;
}

static int step_lock_limits(struct child *c, struct aj_error *err)
{
	static const struct {
		const char *file, *value;
	} rows[] = {
		{ "/proc/sys/user/max_user_namespaces", "0" }, /* a second lock behind the filter */
		/* Counted for whoever started us as well, whose limit is 128 where nobody raised it. */
		{ "/proc/sys/user/max_inotify_instances", "8" },
		{ "/proc/sys/user/max_inotify_watches", "8192" },
	};
	(void)err;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (aj_write_text(AT_FDCWD, rows[i].file, rows[i].value) == 0)
			continue;
		/* Not asked for by any policy, and out of reach where a container has its own read-only /proc/sys. */
		struct aj_msg note = { .kind = AJ_MSG_NOTE, .errnum = errno, .step = "lock_limits" };
		strcpy(note.cause, rows[i].file);
		aj_msg_send(c->fds.report, &note);
		break;
	}
	return 0;
}

static int step_sources(struct child *c, struct aj_error *err)
{
	return aj_mount_sources(c->plan, c->sources, err);
}

static int step_identity(struct child *c, struct aj_error *err)
{
	if (setresgid(c->plan->gid, c->plan->gid, c->plan->gid) < 0 || setresuid(c->plan->uid, c->plan->uid, c->plan->uid) < 0)
		return fail(err, "identity", "take the jail's id");
	return 0;
}

static int step_mounts(struct child *c, struct aj_error *err)
{
	umask(022);
	int root = aj_mount_rows(c->plan, c->sources, err);
	c->sources[0] = root; /* the sources are used up; pivot needs one fd */
	return root < 0 ? -1 : 0;
}

static int step_pivot(struct child *c, struct aj_error *err)
{
	if (aj_mount_pivot(c->sources[0], err) < 0)
		return -1;
	close(c->sources[0]);
	if (chdir(c->plan->chdir) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "chdir", errno, "enter `%s` in the jail", c->plan->chdir);
	return 0;
}

static int step_hostname(struct child *c, struct aj_error *err)
{
	return sethostname(c->plan->hostname, strlen(c->plan->hostname)) < 0 ? fail(err, "hostname", "set the host name") : 0;
}

static int step_loopback(struct child *c, struct aj_error *err)
{
	return c->plan->loopback ? aj_netns_loopback_up(err) : 0;
}

static int step_drop_caps(struct child *c, struct aj_error *err)
{
	(void)c;
	return aj_caps_drop_all(err);
}

static int step_no_new_privs(struct child *c, struct aj_error *err)
{
	(void)c;
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? fail(err, "no_new_privs", "set no_new_privs") : 0;
}

static int step_tie_to_parent(struct child *c, struct aj_error *err)
{
	/* Not dumpable: init's memory and fds are closed to the guest, which has the same id. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
		return fail(err, "tie_to_parent", "die with the supervisor");
	/* It may have died before that. Its socket closes before its children are told, so one look suffices. */
	char byte;
	ssize_t n = recv(c->fds.report, &byte, 1, MSG_DONTWAIT | MSG_PEEK);
	if (n >= 0 || errno != EAGAIN)
		return aj_fail(err, AJ_EXIT_SETUP, "tie_to_parent", 0, "the supervisor is gone");
	return 0;
}

static int put_fd(int fd, int target)
{
	return fd < 0 ? 0 : dup2(fd, target);
}

static int step_stdio(struct child *c, struct aj_error *err)
{
	int null = -1;
	if (c->plan->capture && (null = open("/dev/null", O_RDONLY | O_CLOEXEC)) < 0)
		return fail(err, "stdio", "open /dev/null");
	if (put_fd(null, 0) < 0 || put_fd(c->fds.out, 1) < 0 || put_fd(c->fds.err, 2) < 0 || put_fd(c->fds.control, CONTROL_FD) < 0)
		return fail(err, "stdio", "place the guest's fds");
	/* Closed now and not at exec: the caller's may be many, and the limit on open files comes before exec. */
	unsigned first = c->plan->control_fd ? CONTROL_FD + 1 : CONTROL_FD, report = (unsigned)c->fds.report;
	if (close_range(first, report - 1, 0) < 0 || close_range(report + 1, ~0U, 0) < 0)
		return fail(err, "stdio", "close every other fd");
	return 0;
}

static int step_session(struct child *c, struct aj_error *err)
{
	int terminal = c->plan->terminal_fd;
	if (terminal < 0)
		return setsid() < 0 ? fail(err, "session", "leave the caller's session") : 0;
	/* kill(0) and its like act on the process group, which no namespace bounds. A group that is not in the foreground
	 * may not make itself so unless the signal for that is blocked. */
	sigset_t ttou, before;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	int r = setpgid(0, 0);
	if (r == 0)
		r = tcsetpgrp(terminal, getpid());
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? fail(err, "session", "take the terminal's foreground") : 0;
}

static int step_rlimits(struct child *c, struct aj_error *err)
{
	for (size_t i = 0; i < c->plan->rlimits.count; i++) {
		const struct aj_rlimit *row = &c->plan->rlimits.items[i];
		/* A CPU limit first warns by SIGXCPU, which tells it from a kill by somebody else. */
		struct rlimit now, want = { row->value, row->value + (row->resource == RLIMIT_CPU) };
		if (setrlimit((__rlimit_resource_t)row->resource, &want) == 0)
			continue;
		/* Ours is lower already; the lower one stays. */
		if (errno != EPERM || getrlimit((__rlimit_resource_t)row->resource, &now) < 0 || now.rlim_max > row->value)
			return aj_fail(err, AJ_EXIT_SETUP, "rlimits", errno, "set %s", row->name);
	}
	return 0;
}

static int step_landlock(struct child *c, struct aj_error *err)
{
	return c->plan->landlock_abi ? aj_landlock_restrict(c->plan, err) : 0;
}

static int step_seccomp(struct child *c, struct aj_error *err)
{
	static struct sock_filter room[AJ_FILTER_ROOM];
	static const struct aj_msg msg = { .kind = AJ_MSG_LISTENER };
	if (c->plan->snippet)
		return 0;
	struct aj_filter filter = aj_filter_build(c->plan->profile, c->plan->network, c->plan->deny, room);
	return aj_filter_install_reported(&filter, aj_filter_may_send(c->plan->profile, c->plan->deny), c->fds.report, &msg,
	                                  sizeof msg, err);
}

static int step_exec(struct child *c, struct aj_error *err)
{
	extern char **environ;
	environ = c->plan->env;
	execvp(c->plan->argv[0], c->plan->argv);
	int code = errno == ENOENT ? AJ_EXIT_NOT_FOUND : errno == EACCES || errno == ENOEXEC ? AJ_EXIT_REJECTED : AJ_EXIT_SETUP;
	aj_fail(err, c->plan->snippet ? AJ_EXIT_SETUP : code, "exec", errno, "run `%s` in the jail", c->plan->argv[0]);
	if (c->plan->snippet)
		aj_advise(err, "the rootfs is damaged: `agentjail rootfs verify`, or build it again");
	return -1;
}

struct step {
	const char *name;
	int (*run)(struct child *, struct aj_error *);
};
#define AS_ROW(name, why) { #name, step_##name },
static const struct step init_steps[] = { AJ_INIT_STEPS(AS_ROW) };
static const struct step guest_steps[] = { AJ_GUEST_STEPS(AS_ROW) };

static void walk(struct child *c, const struct step *steps, size_t count)
{
	struct aj_error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		if (steps[i].run(c, &err) == 0)
			continue;
		struct aj_msg msg = { .kind = AJ_MSG_FAILED, .errnum = err.errnum, .exit_code = err.exit_code };
		memcpy(msg.step, err.step, sizeof msg.step);
		memcpy(msg.cause, err.cause, sizeof msg.cause);
		memcpy(msg.fix, err.fix, sizeof msg.fix - 1);
		aj_msg_send(c->fds.report, &msg);
		_exit(AJ_EXIT_SETUP);
	}
}

/* What is no step of the table: no error has been filled in yet. */
_Noreturn static void give_up(int report, const char *step, const char *cause)
{
	struct aj_msg msg = { .kind = AJ_MSG_FAILED, .errnum = errno, .exit_code = AJ_EXIT_SETUP };
	strcpy(msg.step, step);
	strcpy(msg.cause, cause);
	aj_msg_send(report, &msg);
	_exit(AJ_EXIT_SETUP);
}

_Noreturn void aj_child(const struct aj_plan *plan, const struct aj_child_fds *fds)
{
	struct child c = { .plan = plan, .fds = *fds, .sources = calloc(plan->mounts.count + 1, sizeof(int)) };
	if (!c.sources)
		give_up(fds->report, "memory", "make room for the sources");
	/* First: PID 1 loses every signal that it has neither blocked nor a handler for. */
	if (aj_init_block_signals() < 0)
		give_up(fds->report, "signals", "block them in init");
	walk(&c, init_steps, sizeof init_steps / sizeof *init_steps);
	pid_t guest = fork();
	if (guest < 0)
		give_up(c.fds.report, "fork", "start the guest");
	if (guest == 0) {
		if (aj_init_unblock_signals() < 0)
			give_up(c.fds.report, "signals", "unblock them for the guest");
		walk(&c, guest_steps, sizeof guest_steps / sizeof *guest_steps);
		_exit(AJ_EXIT_SETUP);
	}
	/* Nothing of the host stays open in init but the report socket. */
	close_range(0, (unsigned)c.fds.report - 1, 0);
	close_range((unsigned)c.fds.report + 1, ~0U, 0);
	aj_init_run(c.fds.report, guest, plan);
}
