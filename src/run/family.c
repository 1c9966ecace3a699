/* Keeps what the guests of one jail have in common: reads init's reports and the calls that the filter refuses, each for whom it is.
 * It lets no call pass: those that are steps of a branch go to run/branching.c first. */
#include "run/family.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "run/branching.h"
#include "run/violations.h"
#include "sandbox/handshake.h"

/* Calls seen to in a row, before everything else has its turn. */
enum { TURN = 16 };
/* Init reports an end as soon as it has reaped; it has this long to do so. */
enum { REPORT_MS = 100 };
enum { STOP_US = 100000 };

int aj_family_found(struct aj_family *f, struct aj_live *first, struct aj_error *err)
{
	struct aj_attested who;
	*f = (struct aj_family){ .plan = first->plan,
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
	int pidfd = aj_attest_open(first->channel.runner, first->jail.init_pid, &who);
	if (pidfd < 0 || who.inner <= 1) {
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
	first->jail.init_pid = who.process;
	first->jail.init_pidfd = pidfd;
	first->jail.holder = NULL;
	first->jail.branch = true;
	first->inner_pid = who.inner;
	first->family = f;
	f->lives = first;
	f->count = 1;
	return 0;
}

struct aj_jail aj_family_take(struct aj_family *f)
{
	struct aj_branching *b = &f->now;
	struct aj_jail jail = b->jail;
	jail.init_pid = b->who.process;
	jail.branch = true;
	memcpy(jail.cgroup, f->jail.cgroup, sizeof jail.cgroup);
	b->jail = (struct aj_jail)AJ_NO_JAIL;
	return jail;
}

void aj_family_join(struct aj_family *f, struct aj_live *branch)
{
	struct aj_branching *b = &f->now;
	branch->channel.expected = b->who.process;
	branch->channel.filters = f->filters;
	branch->result.violations.seen = true;
	branch->inner_pid = b->who.inner;
	branch->depth = b->depth;
	branch->family = f;
	branch->kin = f->lives;
	f->lives = branch;
	f->count++;
	b->state = AJ_BRANCH_NONE;
	f->deadline_us = INT64_MAX;
}

static struct aj_live *find(const struct aj_family *f, pid_t process)
{
	struct aj_live *l = f->lives;
	while (l && l->jail.init_pid != process)
		l = l->kin;
	return process > 0 ? l : NULL;
}

bool aj_family_has(const struct aj_family *f, pid_t process)
{
	return find(f, process);
}

/* False when nothing was there. */
static bool on_report(struct aj_family *f)
{
	struct aj_msg msg;
	int r = aj_msg_recv(f->jail.report_fd, &msg, MSG_DONTWAIT);
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return errno == ECONNRESET;
	if (r <= 0 || msg.kind != AJ_MSG_EXITED) {
		aj_family_closing(f);
		aj_close(&f->jail.report_fd);
		return false;
	}
	for (struct aj_live *l = f->lives; l; l = l->kin)
		if (l->inner_pid == msg.pid && !l->facts.exited) {
			l->facts.exited = true;
			l->facts.wait_status = msg.wait_status;
			return true;
		}
	if (f->now.state != AJ_BRANCH_NONE && f->now.who.inner == msg.pid)
		aj_branching_fail(f, 0, "it ended before it was there");
	return true;
}

void aj_family_closing(const struct aj_family *f)
{
	if (f->closing)
		f->closing(f->changed_arg);
}

/* Which of them did it is not looked for: they have one jail. */
static void end_all(const struct aj_family *f)
{
	for (struct aj_live *l = f->lives; l; l = l->kin)
		aj_live_cheated(l);
}

static void on_listener(struct aj_family *f)
{
	struct aj_notice call;
	int r = 0;
	for (int i = 0; i < TURN && (r = aj_violations_take(f->listener_fd, &call)) > 0; i++) {
		struct aj_attested who = aj_attest_process(call.tid);
		if (!aj_notice_waits(f->listener_fd, call.id))
			continue;
		if (aj_branching_call(f, &call, &who))
			continue;
		struct aj_live *live = find(f, who.process);
		enum aj_lock lock = aj_locks_call(&f->locks, f->plan, (const int[AJ_LOCKABLE_PIPES]){ -1, -1 }, f->listener_fd, &call);
		if (lock == AJ_LOCK_CHEATED)
			end_all(f);
		if (lock == AJ_LOCK_SEEN_TO)
			continue;
		f->reported++;
		if (aj_violations_refuse(live ? &live->result.violations : NULL, f->plan, f->listener_fd, &call) < 0) {
			r = -1;
			break;
		}
	}
	if (r < 0 || f->reported >= AJ_VIOLATIONS_END) {
		aj_family_closing(f);
		aj_close(&f->listener_fd);
	}
}

void aj_family_bury(struct aj_family *f, struct aj_live *live)
{
	while (!live->facts.exited && f->jail.report_fd >= 0) {
		struct pollfd p = { .fd = f->jail.report_fd, .events = POLLIN };
		if (poll(&p, 1, REPORT_MS) <= 0 || !on_report(f))
			break;
	}
	struct aj_live **at = &f->lives;
	while (*at && *at != live)
		at = &(*at)->kin;
	if (*at) {
		*at = live->kin;
		f->count--;
	}
	if (f->now.source == live) {
		f->now.source = NULL;
		if (f->now.state != AJ_BRANCH_NONE && f->now.state < AJ_BRANCH_BORN)
			aj_branching_fail(f, 0, "the original ended");
	}
	live->family = NULL;
	live->kin = NULL;
	if (f->changed)
		f->changed(f->changed_arg);
}

void aj_family_poll(const struct aj_family *f, struct pollfd fds[AJ_FAMILY_FDS])
{
	fds[AJ_FAMILY_REPORT] = (struct pollfd){ .fd = f->jail.report_fd, .events = POLLIN };
	fds[AJ_FAMILY_LISTENER] = (struct pollfd){ .fd = f->listener_fd, .events = POLLIN };
	fds[AJ_FAMILY_COPIER] = (struct pollfd){ .fd = f->now.copier.socket, .events = POLLIN };
	fds[AJ_FAMILY_INIT] = (struct pollfd){ .fd = f->jail.init_pidfd, .events = POLLIN };
}

/* What the owner has to know of, now. */
unsigned aj_family_look(struct aj_family *f)
{
	unsigned tell = 0;
	if (!f->lives && f->now.state == AJ_BRANCH_NONE && !f->stopping && f->jail.init_pidfd >= 0) {
		f->stopping = true;
		f->deadline_us = aj_now_us() + STOP_US;
		aj_jail_stop(&f->jail);
	}
	if (f->now.err.exit_code)
		tell |= AJ_FAMILY_FAILED;
	else if (f->now.state == AJ_BRANCH_BORN)
		tell |= AJ_FAMILY_BORN;
	if (f->jail.init_pidfd < 0 && !f->lives)
		tell |= AJ_FAMILY_GONE;
	return tell;
}

unsigned aj_family_step(struct aj_family *f, const struct pollfd fds[AJ_FAMILY_FDS])
{
	if (fds[AJ_FAMILY_REPORT].revents && f->jail.report_fd >= 0)
		on_report(f);
	if (fds[AJ_FAMILY_LISTENER].revents && f->listener_fd >= 0)
		on_listener(f);
	if (fds[AJ_FAMILY_COPIER].revents && f->now.copier.socket >= 0)
		aj_branching_copier(f);
	if (fds[AJ_FAMILY_INIT].revents && f->jail.init_pidfd >= 0) {
		while (f->jail.report_fd >= 0 && on_report(f))
			;
		aj_branching_fail(f, 0, "the jail is gone");
		aj_locks_close(&f->locks);
		aj_family_closing(f);
		aj_close(&f->listener_fd);
		aj_jail_end(&f->jail, NULL);
	}
	return aj_family_look(f);
}

void aj_family_answered(struct aj_family *f, const struct aj_live *source)
{
	if (f->now.source == source && source->channel.branch_errnum)
		aj_branching_fail(f, source->channel.branch_errnum,
		                  source->channel.branch_errnum == ENOSPC ? "the kernel allows no user namespace more, in number or in depth"
		                                                          : "the session cannot copy itself");
	if (f->changed)
		f->changed(f->changed_arg);
}

int64_t aj_family_deadline_us(const struct aj_family *f)
{
	int64_t locks_us = aj_locks_deadline_us(&f->locks);
	return locks_us < f->deadline_us ? locks_us : f->deadline_us;
}

unsigned aj_family_due(struct aj_family *f)
{
	if (aj_locks_due(&f->locks, f->listener_fd))
		end_all(f);
	if (aj_now_us() < f->deadline_us)
		return 0;
	f->deadline_us = INT64_MAX;
	if (f->stopping) {
		aj_jail_kill(&f->jail);
	} else {
		/* An original that has not come back from being asked never may: code of its own runs there. */
		if (f->now.source && f->now.source->channel.branching)
			aj_jail_kill(&f->now.source->jail);
		aj_branching_fail(f, ETIMEDOUT, "it took too long");
	}
	return aj_family_look(f);
}

void aj_family_end(struct aj_family *f)
{
	aj_branching_fail(f, 0, "the jail is ended");
	aj_locks_close(&f->locks);
	aj_close(&f->listener_fd);
	if (f->jail.init_pidfd >= 0) {
		aj_jail_kill(&f->jail);
		aj_jail_end(&f->jail, NULL);
	}
}
