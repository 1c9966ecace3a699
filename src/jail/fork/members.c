/* The members of a fork group: joins them, assigns init's reports to them, and takes out those whose process has ended.
 * Ends none: a member ends as any other jail does. */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "jail/fork/fork_inner.h"
#include "sandbox/handshake.h"

/* Init reports an exit as soon as it has reaped the process; it has this long to do so. */
enum { REPORT_MS = 100 };

struct aj_jail *aj_fork_group_find(const struct aj_fork_group *g, pid_t process)
{
	struct aj_jail *jail;
	LIST_FOREACH(jail, &g->members, fork.grouped)
		if (process > 0 && jail->process.init_pid == process)
			return jail;
	return NULL;
}

bool aj_fork_group_report(struct aj_fork_group *g)
{
	struct aj_msg msg;
	struct aj_jail *jail;
	int r = aj_msg_recv(g->process.report_fd, &msg, MSG_DONTWAIT);
	if (r < 0 && (errno == EAGAIN || errno == ECONNRESET))
		return errno == ECONNRESET;
	if (r <= 0 || msg.kind != AJ_MSG_EXITED) {
		aj_fork_group_close(g, AJ_FORK_GROUP_REPORT, &g->process.report_fd);
		return false;
	}
	LIST_FOREACH(jail, &g->members, fork.grouped)
		if (jail->fork.inner_pid == msg.pid && !jail->outcome.facts.exited) {
			jail->outcome.facts.exited = true;
			jail->outcome.facts.wait_status = msg.wait_status;
			return true;
		}
	if (g->now.state != AJ_BRANCH_NONE && g->now.info.inner == msg.pid)
		aj_fork_fail(g, 0, "it ended before it was there");
	return true;
}

static void on_answered(struct aj_fork_group *g, const struct aj_jail *source)
{
	int error = source->channel.branch_errnum;
	const char *why = error == ENOSPC ? "the kernel allows no further user namespace, in number or in depth"
	                                  : "the session cannot copy itself";
	if (g->now.source == source && error)
		aj_fork_fail(g, error, why);
	aj_fork_group_changed(g);
}

static void on_run_exit(struct aj_fork_group *g, struct aj_jail *jail)
{
	while (!jail->outcome.facts.exited && g->process.report_fd >= 0) {
		struct pollfd p = { .fd = g->process.report_fd, .events = POLLIN };
		if (poll(&p, 1, REPORT_MS) <= 0 || !aj_fork_group_report(g))
			break;
	}
	LIST_REMOVE(jail, fork.grouped);
	g->count--;
	jail->fork.group = NULL;
	if (g->now.source == jail) {
		g->now.source = NULL;
		if (g->now.state != AJ_BRANCH_NONE && g->now.state < AJ_BRANCH_BORN)
			aj_fork_fail(g, 0, "the original ended");
	}
	aj_fork_group_changed(g);
}

static bool is_listening(const struct aj_fork_group *g)
{
	return g->listener_fd >= 0;
}

static const struct aj_jail_group OPS = { .answered = on_answered, .on_exit = on_run_exit, .listens = is_listening };

void aj_fork_group_add(struct aj_fork_group *g, struct aj_jail *jail, pid_t inner)
{
	jail->fork.inner_pid = inner;
	jail->fork.group = g;
	jail->fork.functions = &OPS;
	LIST_INSERT_HEAD(&g->members, jail, fork.grouped);
	g->count++;
}

void aj_fork_group_join(struct aj_fork_group *g, struct aj_jail *branch)
{
	struct aj_fork *b = &g->now;
	branch->channel.expected = b->info.process;
	branch->channel.filters = g->filters;
	branch->outcome.result.violations.seen = true;
	branch->fork.depth = b->depth;
	aj_fork_group_add(g, branch, b->info.inner);
	b->state = AJ_BRANCH_NONE;
	g->deadline_us = INT64_MAX;
}
