/* Makes one branch: asks the original for a copy, allows three calls that the filter refuses, and has the branch set up
 * meanwhile. Each call passes once, in order, for the process that the kernel names; other refused calls are refused and counted
 * as usual. */
#include "jail/fork/fork_inner.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"

/* Copying full scratch space takes a few seconds at most. */
enum { BRANCH_US = 10000000 };
enum { CONTROL_FD = 3 };

static void close_helper(struct aj_fork_group *f)
{
	struct aj_fork *b = &f->now;
	aj_loop_unwatch(f->loop, &f->io[AJ_FORK_GROUP_COPIER]);
	aj_copier_end(&b->copier);
	aj_close(&b->proc_fd);
	aj_process_ends_close(&b->ends);
}

/* The copy did not continue as asked. Children of init that are not in the group have no business here. */
static void kill_unknown_children(struct aj_fork_group *f)
{
	char path[64], text[8192];
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", f->process.init_pid, f->process.init_pid);
	if (f->process.init_pidfd < 0)
		return;
	if (aj_read_text(path, text, sizeof text) < 0) {
		aj_process_kill(&f->process);
		return;
	}
	for (char *at = text, *end; *at; at = end) {
		pid_t pid = (pid_t)strtoul(at, &end, 10);
		if (end == at)
			return;
		cleanup_fd int pidfd = aj_fork_group_find(f, pid) ? -1 : aj_pidfd_open(pid);
		/* The pid may have been reused before the pidfd was open. */
		if (pidfd >= 0 && aj_procfs_process(pid).parent == f->process.init_pid)
			aj_pidfd_signal(pidfd, SIGKILL);
	}
}

void aj_fork_fail(struct aj_fork_group *f, int errnum, const char *why)
{
	struct aj_fork *b = &f->now;
	if (b->state == AJ_BRANCH_NONE || b->err.exit_code)
		return;
	aj_fail(&b->err, AJ_EXIT_SETUP, "branch", errnum, "%s", why);
	if (b->state > AJ_BRANCH_ASKED)
		kill_unknown_children(f);
	if (b->state == AJ_BRANCH_FURNISHED)
		aj_notify_refuse(f->listener_fd, b->call.id, EPERM);
	if (b->process.init_pidfd >= 0)
		aj_pidfd_signal(b->process.init_pidfd, SIGKILL);
	close_helper(f);
	b->process.branch = true;
	aj_process_end(&b->process, NULL);
	b->state = AJ_BRANCH_NONE;
	f->deadline_us = INT64_MAX;
}

int aj_fork_begin(struct aj_fork_group *f, struct aj_jail *source, struct aj_error *err)
{
	struct aj_fork *b = &f->now;
	const char *why = aj_procfs_why_not_copyable(source->channel.runner);
	if (b->state != AJ_BRANCH_NONE)
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_LIMIT, "busy", 0, "another branch of this jail is under way");
	if (source->fork.group != f)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", 0, "the original ended");
	if (f->listener_fd < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", 0,
		               "the jail was refused so many calls that the supervisor listens no longer");
	if (source->fork.depth >= AJ_BRANCH_DEPTH_MAX) {
		aj_fail(err, AJ_EXIT_LIMIT, "depth", 0,
		        "the branches would be nested %d deep, and the kernel nests user namespaces no deeper",
		        AJ_BRANCH_DEPTH_MAX);
		return aj_advise(err, "fork from an earlier checkpoint, or open a new session"), -1;
	}
	if (f->count >= AJ_BRANCHES_MAX)
		return aj_fail(err, AJ_EXIT_LIMIT, "branches", 0,
		               "%d branches and checkpoints of this session are alive, the limit", AJ_BRANCHES_MAX);
	if (why)
		return aj_fail(err, AJ_EXIT_USAGE, "branch", 0, "%s", why);
	*b = (struct aj_fork){ .process = AJ_NO_PROCESS, .ends = AJ_NO_ENDS, .proc_fd = -1, .copier = { -1, -1 } };
	if (aj_process_channels(&(struct aj_plan){ .control_fd = true, .capture = true }, &b->process, &b->ends, err) < 0 ||
	    aj_channel_branch(&source->channel, err) < 0) {
		close_helper(f);
		aj_process_end(&b->process, NULL);
		return -1;
	}
	/* A branch has no init of its own that would report. */
	aj_close(&b->process.report_fd);
	aj_close(&b->ends.report);
	b->state = AJ_BRANCH_ASKED;
	b->source = source;
	b->depth = source->fork.depth + 1;
	f->deadline_us = aj_now_us() + BRANCH_US;
	aj_jail_flush(source);
	return 0;
}

void aj_fork_late(struct aj_fork_group *f)
{
	/* An original that has not answered the request never may: it may be running code of its own. */
	if (f->now.source && f->now.source->channel.branching)
		aj_process_kill(&f->now.source->process);
	aj_fork_fail(f, ETIMEDOUT, "it took too long");
}

struct aj_process aj_fork_take(struct aj_fork_group *f)
{
	struct aj_fork *b = &f->now;
	struct aj_process process = b->process;
	process.init_pid = b->info.process;
	process.branch = true;
	memcpy(process.cgroup, f->process.cgroup, sizeof process.cgroup);
	b->process = (struct aj_process)AJ_NO_PROCESS;
	return process;
}

/* The only place where a reported call passes. */
static bool let_pass(struct aj_fork_group *f, const struct aj_notification *call, enum aj_pass which, enum aj_branch_state next)
{
	if (aj_notify_pass(f->listener_fd, call, which) < 0) {
		aj_fork_fail(f, errno, "a system call of the branch could not be let pass");
		return false;
	}
	f->now.state = next;
	return true;
}

static void furnish_branch(struct aj_fork_group *f, const struct aj_notification *call, const struct aj_process_info *info)
{
	struct aj_fork *b = &f->now;
	struct aj_error err = { 0 };
	char path[32];
	snprintf(path, sizeof path, "/proc/%d", info->process);
	b->state = AJ_BRANCH_FURNISHED;
	b->call = *call;
	b->info = *info;
	b->process.init_pidfd = aj_pidfd_open(info->process);
	b->proc_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct aj_copier_target copied = { .parent = b->source->process.init_pidfd,
		                           .branch = b->process.init_pidfd,
		                           .proc_fd = b->proc_fd,
		                           .leaf = f->process.cgroup };
	/* The pidfd is the caller's only if the call still waits: until then the pid cannot be reused. */
	if (b->process.init_pidfd < 0 || b->proc_fd < 0 || !aj_notify_waits(f->listener_fd, call->id))
		aj_fork_fail(f, errno, "the branch has ended");
	else if (aj_copier_start(&b->copier, f->plan, &copied, &err) < 0)
		aj_fork_fail(f, err.errnum, err.cause);
}

bool aj_fork_call(struct aj_fork_group *f, const struct aj_notification *call, const struct aj_process_info *info)
{
	struct aj_fork *b = &f->now;
	switch (b->state) {
	case AJ_BRANCH_ASKED:
		return b->source && info->process == b->source->channel.runner && aj_notify_is(call, AJ_PASS_COPY) &&
		       let_pass(f, call, AJ_PASS_COPY, AJ_BRANCH_COPIED);
	case AJ_BRANCH_COPIED:
		if (!b->source || !aj_notify_is(call, AJ_PASS_DROP) || info->parent != f->process.init_pid ||
		    info->process != call->tid || info->threads != 1 || aj_fork_group_find(f, info->process))
			return false;
		furnish_branch(f, call, info);
		return true;
	case AJ_BRANCH_ADMITTED:
		return call->tid == b->info.process && aj_notify_is(call, AJ_PASS_FOLDER) &&
		       let_pass(f, call, AJ_PASS_FOLDER, AJ_BRANCH_BORN);
	default:
		return false;
	}
}

/* The helper is done: install the channels, last of all, and let the branch continue. */
static void admit_branch(struct aj_fork_group *f)
{
	struct aj_fork *b = &f->now;
	const int fds[] = { b->ends.out, b->ends.err, b->ends.control };
	for (int i = 0; i < CONTROL_FD; i++)
		if (aj_notify_place(f->listener_fd, b->call.id, fds[i], i + 1, true) < 0) {
			aj_fork_fail(f, errno, "the branch's channels cannot be installed");
			return;
		}
	close_helper(f);
	let_pass(f, &b->call, AJ_PASS_DROP, AJ_BRANCH_ADMITTED);
}

void aj_fork_copier(struct aj_fork_group *f)
{
	struct aj_fork *b = &f->now;
	struct aj_copy_msg msg;
	int fd, r;
	while (b->state == AJ_BRANCH_FURNISHED && (r = aj_copier_read(&b->copier, &msg, &fd)) >= 0) {
		if (r == 0) {
			aj_fork_fail(f, 0, "the helper that copies has ended, perhaps out of memory");
		} else if (msg.number == AJ_COPY_DONE) {
			admit_branch(f);
		} else if (msg.number == AJ_COPY_FAILED) {
			aj_fork_fail(f, msg.errnum, msg.what);
		} else if (msg.number < 0 || (msg.number > 0 && msg.number <= CONTROL_FD) || fd < 0 ||
		           aj_notify_place(f->listener_fd, b->call.id, fd, msg.number, false) < 0) {
			aj_fork_fail(f, errno, "an open file cannot be installed in the branch");
		}
		aj_close(&fd);
	}
}
