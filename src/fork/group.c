/* A fork group, the state that the guests of one jail share: reads init's reports and the calls that the filter reports, and assigns each to its run.
 * Lets no call pass itself: steps of a branch go to fork/fork.c first. */
#include "fork/group.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "fork/fork.h"
#include "mediate/violations.h"
#include "sandbox/handshake.h"

/* Notifications answered in a row before other events get their turn. */
enum { TURN = 16 };
/* Init reports an exit as soon as it has reaped the process; it has this long to do so. */
enum { REPORT_MS = 100 };
enum { STOP_US = 100000 };

static const struct aj_run_group OPS;

int aj_fork_group_create(struct aj_fork_group *f, struct aj_run *first, struct aj_error *err)
{
	struct aj_process_info info;
	*f = (struct aj_fork_group){ .plan = first->plan,
		                     .filters = first->channel.filters,
		                     .jail = AJ_NO_JAIL,
		                     .listener_fd = -1,
		                     .locks.many = true,
		                     .now = { .jail = AJ_NO_JAIL, .ends = AJ_NO_ENDS, .proc_fd = -1, .copier = { -1, -1 } },
		                     .deadline_us = INT64_MAX };
	if (!f->plan->branching)
		return aj_fail(err, AJ_EXIT_USAGE, "branch", 0, "the session was not opened for branching");
	if (first->listener_fd < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", 0,
		               "nobody listens to the jail's filter: the kernel cannot, or another filter above us has a listener");
	int pidfd = aj_procfs_open_child(first->channel.runner, first->jail.init_pid, &info);
	if (pidfd < 0 || info.inner <= 1) {
		aj_close(&pidfd);
		return aj_fail(err, AJ_EXIT_SETUP, "branch", errno, "find the session's process");
	}
	f->jail.init_pid = first->jail.init_pid;
	f->jail.init_pidfd = first->jail.init_pidfd;
	f->jail.report_fd = first->jail.report_fd;
	f->jail.holder = first->jail.holder;
	memcpy(f->jail.cgroup, first->jail.cgroup, sizeof f->jail.cgroup);
	f->listener_fd = first->listener_fd;
	first->listener_fd = first->jail.report_fd = -1;
	first->jail.init_pid = info.process;
	first->jail.init_pidfd = pidfd;
	first->jail.holder = NULL;
	first->jail.branch = true;
	first->inner_pid = info.inner;
	first->fork_group = f;
	first->group = &OPS;
	f->runs = first;
	f->count = 1;
	return 0;
}

struct aj_jail aj_fork_group_take(struct aj_fork_group *f)
{
	struct aj_fork *b = &f->now;
	struct aj_jail jail = b->jail;
	jail.init_pid = b->info.process;
	jail.branch = true;
	memcpy(jail.cgroup, f->jail.cgroup, sizeof jail.cgroup);
	b->jail = (struct aj_jail)AJ_NO_JAIL;
	return jail;
}

void aj_fork_group_join(struct aj_fork_group *f, struct aj_run *branch)
{
	struct aj_fork *b = &f->now;
	branch->channel.expected = b->info.process;
	branch->channel.filters = f->filters;
	branch->result.violations.seen = true;
	branch->inner_pid = b->info.inner;
	branch->depth = b->depth;
	branch->fork_group = f;
	branch->group = &OPS;
	branch->next_of_group = f->runs;
	f->runs = branch;
	f->count++;
	b->state = AJ_BRANCH_NONE;
	f->deadline_us = INT64_MAX;
}

static struct aj_run *find_run(const struct aj_fork_group *f, pid_t process)
{
	struct aj_run *run = f->runs;
	while (run && run->jail.init_pid != process)
		run = run->next_of_group;
	return process > 0 ? run : NULL;
}

bool aj_fork_group_has(const struct aj_fork_group *f, pid_t process)
{
	return find_run(f, process);
}

/* False when there was no report. */
static bool on_report(struct aj_fork_group *f)
{
	struct aj_msg msg;
	int r = aj_msg_recv(f->jail.report_fd, &msg, MSG_DONTWAIT);
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return errno == ECONNRESET;
	if (r <= 0 || msg.kind != AJ_MSG_EXITED) {
		aj_fork_group_closing(f);
		aj_close(&f->jail.report_fd);
		return false;
	}
	for (struct aj_run *run = f->runs; run; run = run->next_of_group)
		if (run->inner_pid == msg.pid && !run->facts.exited) {
			run->facts.exited = true;
			run->facts.wait_status = msg.wait_status;
			return true;
		}
	if (f->now.state != AJ_BRANCH_NONE && f->now.info.inner == msg.pid)
		aj_fork_fail(f, 0, "it ended before it was there");
	return true;
}

static void on_answered(struct aj_fork_group *f, const struct aj_run *source)
{
	if (f->now.source == source && source->channel.branch_errnum)
		aj_fork_fail(f, source->channel.branch_errnum,
		             source->channel.branch_errnum == ENOSPC ? "the kernel allows no user namespace more, in number or in depth"
		                                                     : "the session cannot copy itself");
	if (f->changed)
		f->changed(f->changed_arg);
}

static void on_run_exit(struct aj_fork_group *f, struct aj_run *run)
{
	while (!run->facts.exited && f->jail.report_fd >= 0) {
		struct pollfd p = { .fd = f->jail.report_fd, .events = POLLIN };
		if (poll(&p, 1, REPORT_MS) <= 0 || !on_report(f))
			break;
	}
	struct aj_run **at = &f->runs;
	while (*at && *at != run)
		at = &(*at)->next_of_group;
	if (*at) {
		*at = run->next_of_group;
		f->count--;
	}
	if (f->now.source == run) {
		f->now.source = NULL;
		if (f->now.state != AJ_BRANCH_NONE && f->now.state < AJ_BRANCH_BORN)
			aj_fork_fail(f, 0, "the original ended");
	}
	run->fork_group = NULL;
	run->next_of_group = NULL;
	if (f->changed)
		f->changed(f->changed_arg);
}

static bool is_listening(const struct aj_fork_group *f)
{
	return f->listener_fd >= 0;
}

static const struct aj_run_group OPS = { .answered = on_answered, .on_exit = on_run_exit, .listens = is_listening };

void aj_fork_group_closing(const struct aj_fork_group *f)
{
	if (f->closing)
		f->closing(f->changed_arg);
}

/* Ends the whole group, as its guests share one jail. */
static void end_all(const struct aj_fork_group *f)
{
	for (struct aj_run *run = f->runs; run; run = run->next_of_group)
		aj_run_cheated(run);
}

static void on_listener(struct aj_fork_group *f)
{
	struct aj_notification call;
	int r = 0;
	for (int i = 0; i < TURN && (r = aj_violations_take(f->listener_fd, &call)) > 0; i++) {
		struct aj_process_info info = aj_procfs_process(call.tid);
		if (!aj_notify_waits(f->listener_fd, call.id))
			continue;
		if (aj_fork_call(f, &call, &info))
			continue;
		struct aj_run *run = find_run(f, info.process);
		enum aj_lock lock = aj_locks_call(&f->locks, f->plan, (const int[AJ_LOCKABLE_PIPES]){ -1, -1 }, f->listener_fd, &call);
		if (lock == AJ_LOCK_CHEATED)
			end_all(f);
		if (lock == AJ_LOCK_HANDLED)
			continue;
		f->reported++;
		if (aj_violations_refuse(run ? &run->result.violations : NULL, f->plan, f->listener_fd, &call) < 0) {
			r = -1;
			break;
		}
	}
	if (r < 0 || f->reported >= AJ_VIOLATIONS_END) {
		aj_fork_group_closing(f);
		aj_close(&f->listener_fd);
	}
}

void aj_fork_group_poll(const struct aj_fork_group *f, struct pollfd fds[AJ_FORK_GROUP_FDS])
{
	fds[AJ_FORK_GROUP_REPORT] = (struct pollfd){ .fd = f->jail.report_fd, .events = POLLIN };
	fds[AJ_FORK_GROUP_LISTENER] = (struct pollfd){ .fd = f->listener_fd, .events = POLLIN };
	fds[AJ_FORK_GROUP_COPIER] = (struct pollfd){ .fd = f->now.copier.socket, .events = POLLIN };
	fds[AJ_FORK_GROUP_INIT] = (struct pollfd){ .fd = f->jail.init_pidfd, .events = POLLIN };
}

/* Returns the bits that the owner must handle now. */
unsigned aj_fork_group_check(struct aj_fork_group *f)
{
	unsigned found = 0;
	if (!f->runs && f->now.state == AJ_BRANCH_NONE && !f->stopping && f->jail.init_pidfd >= 0) {
		f->stopping = true;
		f->deadline_us = aj_now_us() + STOP_US;
		aj_jail_stop(&f->jail);
	}
	if (f->now.err.exit_code)
		found |= AJ_FORK_GROUP_FAILED;
	else if (f->now.state == AJ_BRANCH_BORN)
		found |= AJ_FORK_GROUP_BORN;
	if (f->jail.init_pidfd < 0 && !f->runs)
		found |= AJ_FORK_GROUP_GONE;
	return found;
}

unsigned aj_fork_group_step(struct aj_fork_group *f, const struct pollfd fds[AJ_FORK_GROUP_FDS])
{
	if (fds[AJ_FORK_GROUP_REPORT].revents && f->jail.report_fd >= 0)
		on_report(f);
	if (fds[AJ_FORK_GROUP_LISTENER].revents && f->listener_fd >= 0)
		on_listener(f);
	if (fds[AJ_FORK_GROUP_COPIER].revents && f->now.copier.socket >= 0)
		aj_fork_copier(f);
	if (fds[AJ_FORK_GROUP_INIT].revents && f->jail.init_pidfd >= 0) {
		while (f->jail.report_fd >= 0 && on_report(f))
			;
		aj_fork_fail(f, 0, "the jail is gone");
		aj_locks_close(&f->locks);
		aj_fork_group_closing(f);
		aj_close(&f->listener_fd);
		aj_jail_end(&f->jail, NULL);
	}
	return aj_fork_group_check(f);
}

int64_t aj_fork_group_deadline_us(const struct aj_fork_group *f)
{
	int64_t locks_us = aj_locks_deadline_us(&f->locks);
	return locks_us < f->deadline_us ? locks_us : f->deadline_us;
}

unsigned aj_fork_group_due(struct aj_fork_group *f)
{
	if (aj_locks_due(&f->locks, f->listener_fd))
		end_all(f);
	if (aj_now_us() < f->deadline_us)
		return 0;
	f->deadline_us = INT64_MAX;
	if (f->stopping) {
		aj_jail_kill(&f->jail);
	} else {
		/* An original that has not answered the request never may: it may be running code of its own. */
		if (f->now.source && f->now.source->channel.branching)
			aj_jail_kill(&f->now.source->jail);
		aj_fork_fail(f, ETIMEDOUT, "it took too long");
	}
	return aj_fork_group_check(f);
}

void aj_fork_group_end(struct aj_fork_group *f)
{
	aj_fork_fail(f, 0, "the jail is ended");
	aj_locks_close(&f->locks);
	aj_close(&f->listener_fd);
	if (f->jail.init_pidfd >= 0) {
		aj_jail_kill(&f->jail);
		aj_jail_end(&f->jail, NULL);
	}
}
