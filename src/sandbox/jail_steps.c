/* The walls that every jail builds for itself, cold or born: limits, identity, fds, Landlock.
 * It decides nothing and does not know its caller: each step takes its parameters from the plan. */
#include "sandbox/jail_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/ids.h"
#include "base/prctl.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/handshake.h"
#include "sandbox/landlock.h"

enum { CONTROL_FD = 3 };

/* A process that may mount in its own cgroup namespace could mount cgroup2 and write its cgroup's files, which are the user's. A
 * zygote must mount for each birth, and no filter sees the type: so neither it nor its descendants get such a namespace. */
static int lock_cgroup_namespaces(const struct aj_steps *w, struct aj_error *err)
{
	/* With leaves the cgroups belong to this user. Without them each jail reports the limits that it cannot set. */
	if (aj_write_text(w->proc_fd, "sys/user/max_cgroup_namespaces", "0") == 0 || !w->leaves)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "lock_limits", errno,
	        "write /proc/sys/user/max_cgroup_namespaces, which keeps a zygote from writing its cgroup's files");
	aj_advise(err, "in a container: make /proc/sys writable, or delegate no cgroup to this user");
	return -1;
}

int aj_step_lock_limits(struct aj_steps *w, struct aj_error *err)
{
	if (w->plan->zygote)
		return lock_cgroup_namespaces(w, err);
	const struct {
		const char *file, *value;
	} rows[] = {
		/* A second barrier behind the filter. Each branch needs one namespace. */
		{ "sys/user/max_user_namespaces", w->plan->branching ? AJ_BRANCHES_TEXT : "0" },
		/* Also counted for the user who started agentjail, whose default limit is 128. */
		{ "sys/user/max_inotify_instances", "8" },
		{ "sys/user/max_inotify_watches", "8192" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		if (aj_write_text(w->proc_fd, rows[i].file, rows[i].value) == 0)
			continue;
		/* No policy asks for these limits, and a container's read-only /proc/sys denies them. */
		struct aj_msg note = { .kind = AJ_MSG_NOTE, .errnum = errno, .step = "lock_limits" };
		snprintf(note.cause, sizeof note.cause, "/proc/%s", rows[i].file);
		aj_msg_send(w->report, &note);
		break;
	}
	return 0;
}

const char *aj_map_ids(const struct aj_plan *plan, int proc, const char *process, uid_t uid, gid_t gid)
{
	const struct {
		const char *file;
		unsigned inside, outside;
	} rows[] = { { "uid_map", plan->uid, uid }, { "gid_map", plan->gid, gid } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char path[16], map[32];
		snprintf(path, sizeof path, "%s%s", process, rows[i].file);
		snprintf(map, sizeof map, "%u %u 1\n", rows[i].inside, rows[i].outside);
		if (aj_write_text(proc, path, map) < 0)
			return rows[i].file;
	}
	return NULL;
}

int aj_step_identity(struct aj_steps *w, struct aj_error *err)
{
	if (aj_ids_take(w->plan->uid, w->plan->gid) < 0)
		return aj_step_fail(err, "identity", "set the jail's user and group id");
	return 0;
}

int aj_step_hostname(struct aj_steps *w, struct aj_error *err)
{
	if (sethostname(w->plan->hostname, strlen(w->plan->hostname)) == 0)
		return 0;
	return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "hostname", errno, "set the host name");
}

int aj_step_no_new_privs(struct aj_steps *w, struct aj_error *err)
{
	(void)w;
	return aj_prctl_no_new_privs() < 0 ? aj_step_fail(err, "no_new_privs", "set no_new_privs") : 0;
}

static int dup_to(int fd, int target)
{
	return fd < 0 ? 0 : dup2(fd, target);
}

/* A device that the caller gave lies on a mount of the host, where a jail could set its times: the jail gets the same device of
 * its own mounts, which are read-only. */
static int use_own_device(int fd)
{
	static const char *const paths[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom" };
	struct stat given, own;
	int flags = fcntl(fd, F_GETFL);
	if (flags < 0)
		return errno == EBADF ? 0 : -1; /* the caller may have closed it */
	if (fstat(fd, &given) < 0)
		return -1;
	for (size_t i = 0; S_ISCHR(given.st_mode) && i < sizeof paths / sizeof *paths; i++) {
		if (stat(paths[i], &own) < 0) {
			if (errno != ENOENT)
				return -1;
			continue;
		}
		if (!S_ISCHR(own.st_mode) || own.st_rdev != given.st_rdev)
			continue;
		cleanup_fd int device = open(paths[i], (flags & (O_ACCMODE | O_APPEND | O_NONBLOCK)) | O_NOCTTY | O_CLOEXEC);
		return device < 0 ? -1 : dup2(device, fd);
	}
	return 0;
}

int aj_step_stdio(struct aj_steps *w, struct aj_error *err)
{
	int null = -1, zygote = w->plan->zygote;
	if (w->plan->no_input && (null = open("/dev/null", (zygote ? O_RDWR : O_RDONLY) | O_CLOEXEC)) < 0)
		return aj_step_fail(err, "stdio", "open /dev/null");
	if (dup_to(null, 0) < 0 || dup_to(zygote ? null : w->out, 1) < 0 || dup_to(zygote ? null : w->err, 2) < 0 ||
	    dup_to(w->control, CONTROL_FD) < 0 ||
	    (zygote && (dup_to(w->proc_fd, AJ_BIRTH_PROC) < 0 || dup_to(w->cgroup, AJ_BIRTH_CGROUP) < 0)))
		return aj_step_fail(err, "stdio", "set up the guest's descriptors");
	for (int fd = 0; fd <= 2; fd++)
		if (w->plan->terminal & 1U << fd && dup_to(w->terminal, fd) < 0)
			return aj_step_fail(err, "stdio", "give the guest its terminal");
	for (int fd = 0; fd <= 2; fd++)
		if (use_own_device(fd) < 0)
			return aj_step_fail(err, "stdio", "give the guest a device of its own mounts");
	/* Closed now and not at exec: the caller may have many, and RLIMIT_NOFILE is set before exec. */
	unsigned first = zygote              ? w->cgroup < 0 ? AJ_BIRTH_CGROUP : AJ_BIRTH_CGROUP + 1
	               : w->plan->control_fd ? CONTROL_FD + 1
	                                     : CONTROL_FD;
	if (aj_fd_close_others(first, &w->report, 1) < 0)
		return aj_step_fail(err, "stdio", "close every other descriptor");
	return 0;
}

int aj_step_session(struct aj_steps *w, struct aj_error *err)
{
	/* kill(0) and the like act on the process group, which no namespace bounds. */
	if (!w->plan->terminal)
		return setsid() < 0 ? aj_step_fail(err, "session", "begin a new session (setsid)") : 0;
	/* A group beside its leader's, init: the kernel lets no orphaned group stop at a key. A group of the background becomes
	 * the foreground only while SIGTTOU is blocked. */
	sigset_t ttou, before;
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	int r = setpgid(0, 0);
	if (r == 0 && w->plan->terminal_foreground) /* then its standard input is the terminal */
		r = tcsetpgrp(0, getpid());
	sigprocmask(SIG_SETMASK, &before, NULL);
	return r < 0 ? aj_step_fail(err, "session", "become a process group of its terminal") : 0;
}

int aj_step_rlimits(struct aj_steps *w, struct aj_error *err)
{
	bool zygote = w->plan->zygote;
	for (size_t i = 0; i < (zygote ? w->plan->zygote_rlimits.count : w->plan->rlimits.count); i++) {
		const struct aj_rlimit *row = zygote ? &w->plan->zygote_rlimits.items[i] : &w->plan->rlimits.items[i];
		/* A soft CPU limit sends SIGXCPU first, which distinguishes it from a SIGKILL by another process. */
		struct rlimit now, want = { row->value, row->value + (row->resource == RLIMIT_CPU) };
		if (row->soft && getrlimit((__rlimit_resource_t)row->resource, &now) == 0) {
			want.rlim_max = now.rlim_max < row->value ? now.rlim_max : row->value;
			want.rlim_cur = now.rlim_cur < row->soft ? now.rlim_cur : row->soft;
		}
		if (setrlimit((__rlimit_resource_t)row->resource, &want) == 0)
			continue;
		/* The inherited limit is lower already, and stays. */
		if (errno != EPERM || getrlimit((__rlimit_resource_t)row->resource, &now) < 0 || now.rlim_max > row->value)
			return aj_fail(err, AJ_EXIT_SETUP, "rlimits", errno, "set %s", row->name);
	}
	return 0;
}

int aj_step_landlock(struct aj_steps *w, struct aj_error *err)
{
	if (w->plan->zygote)
		return aj_landlock_scope(w->plan->landlock_abi, err);
	return w->plan->landlock_abi ? aj_landlock_restrict(w->plan, err) : 0;
}

void aj_steps_walk(struct aj_steps *w, const struct aj_jail_step *steps, size_t count)
{
	struct aj_error err = { 0 };
	for (size_t i = 0; i < count; i++) {
		if (!steps[i].run || steps[i].run(w, &err) == 0)
			continue;
		struct aj_msg msg = {
			.kind = AJ_MSG_FAILED, .errnum = err.errnum, .exit_code = err.exit_code, .reason = (int32_t)err.reason
		};
		memcpy(msg.step, err.step, sizeof msg.step);
		memcpy(msg.cause, err.cause, sizeof msg.cause);
		memcpy(msg.fix, err.fix, sizeof msg.fix - 1);
		aj_msg_send(w->report, &msg);
		_exit(AJ_EXIT_SETUP);
	}
}

_Noreturn void aj_steps_give_up(int report, enum aj_reason reason, const char *step, const char *cause)
{
	struct aj_msg msg = { .kind = AJ_MSG_FAILED, .errnum = errno, .exit_code = AJ_EXIT_SETUP, .reason = (int32_t)reason };
	strcpy(msg.step, step);
	strcpy(msg.cause, cause);
	aj_msg_send(report, &msg);
	_exit(AJ_EXIT_SETUP);
}
