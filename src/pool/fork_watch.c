/* Joins a fork group to an event loop, and makes one branch after the other for the waiters.
 * Never hands out a branch that is not armed, and keeps none whose waiter has cancelled. */
#include "pool/fork_watch.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "fork/group.h"

/* A newborn branch must report that it is armed within this time. */
enum { ARM_US = 20000000 };

struct aj_fork_watch {
	struct aj_fork_watch *next, **list;
	struct aj_loop *loop;
	struct aj_fork_watch_owner owner;
	int filters;
	struct aj_fork_group fork_group;
	struct aj_quota quota; /* for reported calls and init's reports */
	struct aj_io io[AJ_FORK_GROUP_FDS];
	struct aj_timer timer; /* the next deadline, or a check of the group */
	struct aj_waiters waiters;
	struct aj_waiter *waiter; /* whose branch is under way; NULL: none, or cancelled */
	struct aj_worker *arming; /* the newborn branch */
	bool checking;
};

static void handle_group(struct aj_fork_watch *k, unsigned found);

static struct aj_fork_watch *watch_of_run(const struct aj_run *run)
{
	return run->fork_group ? run->fork_group->changed_arg : NULL;
}

static void watch(struct aj_fork_watch *k)
{
	struct pollfd fds[AJ_FORK_GROUP_FDS];
	aj_fork_group_poll(&k->fork_group, fds);
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++) {
		if (fds[i].fd < 0)
			aj_loop_unwatch(k->loop, &k->io[i]);
		else if (aj_loop_watch(k->loop, &k->io[i], fds[i].fd, EPOLLIN) < 0)
			aj_jail_kill(&k->fork_group.jail);
	}
	int64_t due_us = k->checking ? aj_now_us() : aj_fork_group_deadline_us(&k->fork_group);
	if (due_us == INT64_MAX)
		aj_loop_unset(k->loop, &k->timer);
	else
		aj_loop_set(k->loop, &k->timer, due_us);
}

static void notify(struct aj_waiter *waiter, struct aj_worker *worker, const struct aj_error *err)
{
	if (waiter)
		waiter->fn(waiter, worker, err);
}

/* Start the next queued branch, unless one is under way. */
static void start_next(struct aj_fork_watch *k)
{
	while (k->waiters.first && !k->waiter && !k->arming && k->fork_group.now.state == AJ_BRANCH_NONE) {
		struct aj_waiter *waiter = k->waiter = aj_waiters_take(&k->waiters);
		struct aj_error err = { 0 };
		if (aj_fork_group_branch(&k->fork_group, &waiter->of->run, &err) < 0) {
			k->waiter = NULL;
			notify(waiter, NULL, &err);
			continue;
		}
		aj_channel_write(&waiter->of->run.channel);
		aj_worker_watch(waiter->of);
	}
}

static void on_arming(struct aj_worker *w, unsigned found)
{
	struct aj_fork_watch *k = w->owner;
	struct aj_waiter *waiter = k->waiter;
	if (!(found & (AJ_RUN_ARMED | AJ_RUN_GONE)))
		return;
	k->arming = NULL;
	k->waiter = NULL;
	if (found & AJ_RUN_GONE) {
		struct aj_error err = w->run.result.setup;
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it ended before it was used: %s", w->run.result.reason);
		k->owner.failed(k->owner.arg, w);
		notify(waiter, NULL, &err);
	} else if (!waiter) {
		k->owner.failed(k->owner.arg, w);
	} else {
		w->run.deadline_us = INT64_MAX;
		aj_worker_watch(w);
		k->owner.there(k->owner.arg, w);
		notify(waiter, w, NULL);
	}
	k->checking = true;
	watch(k);
}

static void adopt_branch(struct aj_fork_watch *k)
{
	struct aj_error err = { 0 };
	struct aj_worker *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	const struct aj_worker *source = k->waiter ? k->waiter->of : NULL;
	w->run.plan = k->fork_group.plan;
	w->run.policy = k->fork_group.runs ? k->fork_group.runs->policy : NULL;
	w->run.jail = aj_fork_group_take(&k->fork_group);
	w->on_event = on_arming;
	w->owner = k;
	w->warm = source && source->warm;
	k->arming = w;
	if (!w->run.policy || aj_worker_start(w, k->loop, k->filters, &err) < 0) {
		struct aj_waiter *waiter = k->waiter;
		k->fork_group.now.state = AJ_BRANCH_NONE;
		k->waiter = NULL;
		k->arming = NULL;
		free(w);
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it cannot be watched");
		notify(waiter, NULL, &err);
		return;
	}
	aj_fork_group_join(&k->fork_group, &w->run);
	w->run.deadline_us = aj_now_us() + ARM_US;
	aj_worker_watch(w);
}

static void handle_group(struct aj_fork_watch *k, unsigned found)
{
	k->checking = false;
	if (found & AJ_FORK_GROUP_FAILED) {
		struct aj_error err = k->fork_group.now.err;
		struct aj_waiter *waiter = k->waiter;
		k->fork_group.now.err = (struct aj_error){ 0 };
		k->waiter = NULL;
		notify(waiter, NULL, &err);
		found |= aj_fork_group_check(&k->fork_group);
	} else if (found & AJ_FORK_GROUP_BORN) {
		adopt_branch(k);
	}
	if (found & AJ_FORK_GROUP_GONE) {
		aj_fork_watch_free(k);
		return;
	}
	start_next(k);
	watch(k);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_fork_watch *k = io->arg;
	struct pollfd fds[AJ_FORK_GROUP_FDS] = { 0 };
	int which = (int)(io - k->io);
	fds[which].revents = (short)((events & EPOLLIN ? POLLIN : 0) | (events & ~EPOLLIN ? POLLHUP : 0));
	handle_group(k, aj_fork_group_step(&k->fork_group, fds));
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_fork_watch *k = timer->arg;
	unsigned found = aj_fork_group_due(&k->fork_group);
	handle_group(k, found | aj_fork_group_check(&k->fork_group));
}

/* handle_group() watches the remaining descriptors again after the step. */
static void on_closing(void *arg)
{
	struct aj_fork_watch *k = arg;
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		aj_loop_unwatch(k->loop, &k->io[i]);
}

static void on_change(void *arg)
{
	struct aj_fork_watch *k = arg;
	k->checking = true;
	aj_loop_set(k->loop, &k->timer, aj_now_us());
}

struct aj_fork_watch *aj_fork_watch_new(struct aj_fork_watch **list, struct aj_loop *loop, const struct aj_fork_watch_owner *owner,
                                        struct aj_worker *first, int filters, struct aj_error *err)
{
	struct aj_fork_watch *k = calloc(1, sizeof *k);
	if (!k)
		abort();
	k->list = list;
	k->loop = loop;
	k->owner = *owner;
	k->filters = filters;
	k->timer = (struct aj_timer){ .fn = on_timer, .arg = k };
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		k->io[i] = (struct aj_io){ .fn = on_io,
			                   .arg = k,
			                   .fd = -1,
			                   .quota = i == AJ_FORK_GROUP_LISTENER || i == AJ_FORK_GROUP_REPORT ? &k->quota : NULL };
	/* These descriptors move to the group: the first jail must get no event of theirs any more. */
	static const enum aj_run_fd ours[] = { AJ_RUN_REPORT, AJ_RUN_LISTENER, AJ_RUN_INIT };
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		aj_loop_unwatch(loop, &first->io[ours[i]]);
	int r = aj_fork_group_create(&k->fork_group, &first->run, err);
	aj_worker_watch(first);
	if (r < 0) {
		free(k);
		return NULL;
	}
	k->fork_group.changed = on_change;
	k->fork_group.closing = on_closing;
	k->fork_group.changed_arg = k;
	k->next = *list;
	*list = k;
	watch(k);
	return k;
}

struct aj_fork_watch *aj_fork_watch_next(const struct aj_fork_watch *k)
{
	return k->next;
}

struct aj_fork_watch *aj_fork_watch_of(struct aj_fork_watch *list, const struct aj_worker *w)
{
	struct aj_fork_watch *mine = watch_of_run(&w->run);
	while (list && list != mine)
		list = list->next;
	return list;
}

void aj_fork_watch_request(struct aj_fork_watch *k, struct aj_worker *of, struct aj_waiter *waiter)
{
	waiter->of = of;
	aj_waiters_add(&k->waiters, waiter);
	on_change(k);
}

bool aj_fork_watch_cancel(struct aj_fork_watch *k, struct aj_waiter *waiter)
{
	if (aj_waiters_remove(&k->waiters, waiter))
		return true;
	if (k->waiter != waiter)
		return false;
	/* The branch under way is completed, and then ended. */
	k->waiter = NULL;
	return true;
}

static struct aj_waiter *find_waiter_for(const struct aj_fork_watch *k, const struct aj_worker *w)
{
	struct aj_waiter *waiter = k->waiters.first;
	while (waiter && waiter->of != w)
		waiter = waiter->next;
	return waiter;
}

/* A callback may cancel other queued requests. */
void aj_fork_watch_lose(struct aj_fork_watch *k, struct aj_worker *w)
{
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_USAGE, "branch", 0, "the original was closed");
	for (struct aj_waiter *waiter; (waiter = find_waiter_for(k, w));) {
		aj_waiters_remove(&k->waiters, waiter);
		notify(waiter, NULL, &err);
	}
}

void aj_fork_watch_stop(struct aj_fork_watch *k)
{
	k->waiters = (struct aj_waiters){ 0 };
	k->waiter = NULL;
	aj_fork_group_cancel(&k->fork_group);
	if (k->arming) {
		struct aj_worker *w = k->arming;
		k->arming = NULL;
		k->owner.failed(k->owner.arg, w);
	}
	aj_jail_kill(&k->fork_group.jail);
}

void aj_fork_watch_free(struct aj_fork_watch *k)
{
	struct aj_fork_watch **at = k->list;
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "the jail and all its branches have ended");
	notify(k->waiter, NULL, &err);
	for (struct aj_waiter *waiter; (waiter = aj_waiters_take(&k->waiters));)
		notify(waiter, NULL, &err);
	for (int i = 0; i < AJ_FORK_GROUP_FDS; i++)
		aj_loop_unwatch(k->loop, &k->io[i]);
	aj_loop_unset(k->loop, &k->timer);
	aj_loop_forget(k->loop, &k->quota);
	aj_fork_group_end(&k->fork_group);
	free(k);
}
