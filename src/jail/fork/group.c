/* A fork group in an event loop: it watches what its members share, answers the calls that the filter reports, and ends with its
 * last member. Steps of a branch go to jail/fork/fork.c first. */
#include "jail/fork/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "jail/fork/fork_inner.h"
#include "sandbox/mediate/violations.h"

/* Notifications answered in a row before other events get their turn. */
enum { TURN = 16 };
enum { STOP_US = 100000 };

void aj_fork_group_close(struct aj_fork_group *g, enum aj_fork_group_fd which, int *fd)
{
	aj_loop_unwatch(g->loop, &g->io[which]);
	aj_close(fd);
}

/* --- reported calls --- */

/* Ends the whole group, as its guests share one jail. */
static void end_all(const struct aj_fork_group *g)
{
	struct aj_jail *jail;
	LIST_FOREACH(jail, &g->members, fork.grouped)
		aj_jail_end_for_lock(jail);
}

/* False: the listener is of no use any more. */
static bool answer_call(struct aj_fork_group *g, const struct aj_notification *call)
{
	struct aj_process_info info = aj_procfs_process(call->tid);
	if (!aj_notify_waits(g->listener_fd, call->id) || aj_fork_call(g, call, &info))
		return true;
	struct aj_jail *jail = aj_fork_group_find(g, info.process);
	enum aj_lock lock = aj_locks_call(&g->locks, g->plan, (const int[AJ_LOCKABLE_PIPES]){ -1, -1 }, g->listener_fd, call);
	if (lock == AJ_LOCK_NOT_ALLOWED)
		end_all(g);
	if (lock == AJ_LOCK_HANDLED)
		return true;
	g->reported++;
	return aj_violations_refuse(jail ? &jail->outcome.result.violations : NULL, &(struct aj_built){ .plan = g->plan },
	                            g->listener_fd, call) >= 0;
}

static void on_listener(struct aj_fork_group *g)
{
	struct aj_notification call;
	int r = 0;
	for (int i = 0; i < TURN && (r = aj_violations_take(g->listener_fd, &call)) > 0; i++)
		if (!answer_call(g, &call)) {
			r = -1;
			break;
		}
	if (r < 0 || g->reported >= AJ_VIOLATIONS_END)
		aj_fork_group_close(g, AJ_FORK_GROUP_LISTENER, &g->listener_fd);
}

/* --- the loop --- */

/* False: it cannot be watched, and the jail was killed. */
static bool watch_fd(struct aj_fork_group *g, enum aj_fork_group_fd which, int fd)
{
	if (fd < 0)
		aj_loop_unwatch(g->loop, &g->io[which]);
	else if (aj_loop_watch(g->loop, &g->io[which], fd, EPOLLIN) < 0)
		return aj_process_kill(&g->process), false;
	return true;
}

static void watch_group(struct aj_fork_group *g)
{
	int64_t locks_us = aj_locks_deadline_us(&g->locks), due_us = locks_us < g->deadline_us ? locks_us : g->deadline_us;
	const int fds[] = { g->process.report_fd, g->listener_fd, g->now.copier.socket, g->process.init_pidfd };
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		if (!watch_fd(g, (enum aj_fork_group_fd)i, fds[i]))
			due_us = aj_now_us() + STOP_US; /* then once more */
	if (g->changed)
		due_us = aj_now_us();
	if (due_us == INT64_MAX)
		aj_loop_unset(g->loop, &g->timer);
	else
		aj_loop_set(g->loop, &g->timer, due_us);
}

void aj_fork_group_changed(struct aj_fork_group *g)
{
	g->changed = true;
	aj_loop_set(g->loop, &g->timer, aj_now_us());
}

static void free_group(struct aj_fork_group *g)
{
	aj_fork_requests_drop(g);
	aj_fork_fail(g, 0, "the jail is ended");
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		aj_loop_unwatch(g->loop, &g->io[i]);
	aj_loop_unset(g->loop, &g->timer);
	aj_loop_forget(g->loop, &g->quota);
	aj_locks_close(&g->locks);
	aj_close(&g->listener_fd);
	if (g->process.init_pidfd >= 0) {
		aj_process_kill(&g->process);
		aj_process_end(&g->process, NULL);
	}
	LIST_REMOVE(g, listed);
	free(g);
}

/* Carries out the consequences of an event, as its last act: a group that is gone is freed. */
static void step_group(struct aj_fork_group *g)
{
	g->changed = false;
	if (LIST_EMPTY(&g->members) && g->now.state == AJ_BRANCH_NONE && !g->stopping && g->process.init_pidfd >= 0) {
		g->stopping = true;
		g->deadline_us = aj_now_us() + STOP_US;
		aj_process_stop(&g->process);
	}
	aj_fork_requests_settle(g);
	if (LIST_EMPTY(&g->members) && g->process.init_pidfd < 0) {
		free_group(g);
		return;
	}
	aj_fork_requests_next(g);
	watch_group(g);
}

static void on_init_exit(struct aj_fork_group *g)
{
	while (g->process.report_fd >= 0 && aj_fork_group_report(g))
		;
	aj_fork_fail(g, 0, "the jail is gone");
	aj_locks_close(&g->locks);
	aj_fork_group_close(g, AJ_FORK_GROUP_LISTENER, &g->listener_fd);
	aj_loop_unwatch(g->loop, &g->io[AJ_FORK_GROUP_REPORT]);
	aj_loop_unwatch(g->loop, &g->io[AJ_FORK_GROUP_INIT]);
	aj_process_end(&g->process, NULL);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_fork_group *g = io->arg;
	(void)events;
	switch ((enum aj_fork_group_fd)(io - g->io)) {
	case AJ_FORK_GROUP_REPORT:
		aj_fork_group_report(g);
		break;
	case AJ_FORK_GROUP_LISTENER:
		on_listener(g);
		break;
	case AJ_FORK_GROUP_COPIER:
		aj_fork_copier(g);
		break;
	default:
		on_init_exit(g);
	}
	step_group(g);
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_fork_group *g = timer->arg;
	if (aj_locks_due(&g->locks, g->listener_fd))
		end_all(g);
	if (aj_now_us() >= g->deadline_us) {
		g->deadline_us = INT64_MAX;
		if (g->stopping)
			aj_process_kill(&g->process);
		else
			aj_fork_late(g);
	}
	step_group(g);
}

/* --- its life --- */

/* The first jail hands over init, cgroup and listener, and is watched by its own process from here on. */
static void take_shared(struct aj_fork_group *g, struct aj_jail *first, const struct aj_process_info *info, int pidfd)
{
	static const enum aj_jail_fd shared[] = { AJ_JAIL_REPORT, AJ_JAIL_LISTENER, AJ_JAIL_INIT };
	for (size_t i = 0; i < sizeof shared / sizeof *shared; i++)
		aj_jail_unwatch(first, shared[i]);
	g->process.init_pid = first->process.init_pid;
	g->process.init_pidfd = first->process.init_pidfd;
	g->process.report_fd = first->process.report_fd;
	g->process.holder = first->process.holder;
	memcpy(g->process.cgroup, first->process.cgroup, sizeof g->process.cgroup);
	g->listener_fd = first->calls.listener_fd;
	first->calls.listener_fd = first->process.report_fd = -1;
	first->process.init_pid = info->process;
	first->process.init_pidfd = pidfd;
	first->process.holder = NULL;
	first->process.branch = true;
	aj_fork_group_add(g, first, info->inner);
	aj_jail_watch(first);
}

static struct aj_fork_group *new_group(struct aj_fork_groups *list, const struct aj_fork_owner *owner, struct aj_jail *first,
                                       int filters)
{
	struct aj_fork_group *g = calloc(1, sizeof *g);
	if (!g)
		abort();
	*g = (struct aj_fork_group){ .loop = first->loop,
		                     .owner = *owner,
		                     .plan = first->built.plan,
		                     .policy = first->policy,
		                     .own_filters = filters,
		                     .filters = first->channel.filters,
		                     .process = AJ_NO_PROCESS,
		                     .listener_fd = -1,
		                     .locks.many = true,
		                     .now = { .process = AJ_NO_PROCESS, .ends = AJ_NO_ENDS, .proc_fd = -1, .copier = { -1, -1 } },
		                     .deadline_us = INT64_MAX };
	g->timer = (struct aj_timer){ .fn = on_timer, .arg = g };
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		g->io[i] = (struct aj_io){ .fn = on_io, .arg = g, .fd = -1 };
	g->io[AJ_FORK_GROUP_LISTENER].quota = g->io[AJ_FORK_GROUP_REPORT].quota = &g->quota;
	TAILQ_INIT(&g->waiters);
	LIST_INSERT_HEAD(list, g, listed);
	return g;
}

struct aj_fork_group *aj_fork_group_get(struct aj_fork_groups *list, const struct aj_fork_owner *owner, struct aj_jail *jail,
                                        int filters, struct aj_error *err)
{
	struct aj_process_info info;
	if (jail->fork.group)
		return jail->fork.group;
	if (!jail->built.plan->branching)
		return aj_fail(err, AJ_EXIT_USAGE, "branch", 0, "the session was not opened for branching"), NULL;
	if (jail->calls.listener_fd < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", 0,
		               "the supervisor cannot listen to the jail's filter: the kernel lacks that, or another filter above agentjail has a listener"),
		       NULL;
	int pidfd = aj_procfs_open_child(jail->channel.runner, jail->process.init_pid, &info);
	if (pidfd < 0 || info.inner <= 1) {
		aj_close(&pidfd);
		return aj_fail(err, AJ_EXIT_SETUP, "branch", errno, "find the session's process"), NULL;
	}
	struct aj_fork_group *g = new_group(list, owner, jail, filters);
	take_shared(g, jail, &info, pidfd);
	watch_group(g);
	return g;
}

void aj_fork_groups_stop(const struct aj_fork_groups *list)
{
	struct aj_fork_group *g;
	LIST_FOREACH(g, list, listed) {
		aj_fork_requests_stop(g);
		aj_process_kill(&g->process);
	}
}

void aj_fork_groups_free(struct aj_fork_groups *list)
{
	while (!LIST_EMPTY(list))
		free_group(LIST_FIRST(list));
}
