/* Joins a family to an event loop, and makes one branch after the other for those who wait.
 * It gives nobody a branch that has not armed itself, and keeps none that nobody wants. */
#include "pool/kin.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "run/family.h"

/* A branch that is born says that it is armed within this time. */
enum { ARM_US = 20000000 };

struct aj_kin {
	struct aj_kin *next, **list;
	struct aj_loop *loop;
	struct aj_kin_owner owner;
	int filters;
	struct aj_family family;
	struct aj_quota quota; /* of what its jails are refused, and what init reports */
	struct aj_io io[AJ_FAMILY_FDS];
	struct aj_timer timer; /* a deadline, or a look */
	struct aj_askers askers;
	struct aj_asker *asker;   /* whose branch is under way; NULL: nobody's (any more) */
	struct aj_worker *arming; /* it is born */
	bool looking;
};

static void look(struct aj_kin *k, unsigned found);

static struct aj_kin *of_live(const struct aj_live *live)
{
	return live->family ? live->family->changed_arg : NULL;
}

static void watch(struct aj_kin *k)
{
	struct pollfd fds[AJ_FAMILY_FDS];
	aj_family_poll(&k->family, fds);
	for (int i = 0; i < AJ_FAMILY_FDS; i++) {
		if (fds[i].fd < 0)
			aj_loop_unwatch(k->loop, &k->io[i]);
		else if (aj_loop_watch(k->loop, &k->io[i], fds[i].fd, EPOLLIN) < 0)
			aj_jail_kill(&k->family.jail);
	}
	int64_t due_us = k->looking ? aj_now_us() : aj_family_deadline_us(&k->family);
	if (due_us == INT64_MAX)
		aj_loop_unset(k->loop, &k->timer);
	else
		aj_loop_set(k->loop, &k->timer, due_us);
}

static void tell(struct aj_asker *asker, struct aj_worker *worker, const struct aj_error *err)
{
	if (asker)
		asker->fn(asker, worker, err);
}

/* The next one in the queue, if nothing is under way. */
static void next(struct aj_kin *k)
{
	while (k->askers.first && !k->asker && !k->arming && k->family.now.state == AJ_BRANCH_NONE) {
		struct aj_asker *asker = k->asker = aj_askers_take(&k->askers);
		struct aj_error err = { 0 };
		if (aj_family_branch(&k->family, &asker->of->live, &err) < 0) {
			k->asker = NULL;
			tell(asker, NULL, &err);
			continue;
		}
		aj_channel_write(&asker->of->live.channel);
		aj_worker_watch(asker->of);
	}
}

static void on_arming(struct aj_worker *w, unsigned found)
{
	struct aj_kin *k = w->owner;
	struct aj_asker *asker = k->asker;
	if (!(found & (AJ_LIVE_ARMED | AJ_LIVE_GONE)))
		return;
	k->arming = NULL;
	k->asker = NULL;
	if (found & AJ_LIVE_GONE) {
		struct aj_error err = w->live.result.setup;
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it ended before it was used: %s", w->live.result.reason);
		k->owner.failed(k->owner.arg, w);
		tell(asker, NULL, &err);
	} else if (!asker) {
		k->owner.failed(k->owner.arg, w);
	} else {
		w->live.deadline_us = INT64_MAX;
		aj_worker_watch(w);
		k->owner.there(k->owner.arg, w);
		tell(asker, w, NULL);
	}
	k->looking = true;
	watch(k);
}

static void take_in(struct aj_kin *k)
{
	struct aj_error err = { 0 };
	struct aj_worker *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	const struct aj_worker *source = k->asker ? k->asker->of : NULL;
	w->live.plan = k->family.plan;
	w->live.policy = k->family.lives ? k->family.lives->policy : NULL;
	w->live.jail = aj_family_take(&k->family);
	w->on_event = on_arming;
	w->owner = k;
	w->warm = source && source->warm;
	k->arming = w;
	if (!w->live.policy || aj_worker_start(w, k->loop, k->filters, &err) < 0) {
		struct aj_asker *asker = k->asker;
		k->family.now.state = AJ_BRANCH_NONE;
		k->asker = NULL;
		k->arming = NULL;
		free(w);
		aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "it cannot be watched");
		tell(asker, NULL, &err);
		return;
	}
	aj_family_join(&k->family, &w->live);
	w->live.deadline_us = aj_now_us() + ARM_US;
	aj_worker_watch(w);
}

static void look(struct aj_kin *k, unsigned found)
{
	k->looking = false;
	if (found & AJ_FAMILY_FAILED) {
		struct aj_error err = k->family.now.err;
		struct aj_asker *asker = k->asker;
		k->family.now.err = (struct aj_error){ 0 };
		k->asker = NULL;
		tell(asker, NULL, &err);
		found |= aj_family_look(&k->family);
	} else if (found & AJ_FAMILY_BORN) {
		take_in(k);
	}
	if (found & AJ_FAMILY_GONE) {
		aj_kin_free(k);
		return;
	}
	next(k);
	watch(k);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_kin *k = io->arg;
	struct pollfd fds[AJ_FAMILY_FDS] = { 0 };
	int which = (int)(io - k->io);
	fds[which].revents = (short)((events & EPOLLIN ? POLLIN : 0) | (events & ~EPOLLIN ? POLLHUP : 0));
	look(k, aj_family_step(&k->family, fds));
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_kin *k = timer->arg;
	unsigned found = aj_family_due(&k->family);
	look(k, found | aj_family_look(&k->family));
}

/* What is left is watched again when the step is over. */
static void on_closing(void *arg)
{
	struct aj_kin *k = arg;
	for (int i = 0; i < AJ_FAMILY_FDS; i++)
		aj_loop_unwatch(k->loop, &k->io[i]);
}

static void on_change(void *arg)
{
	struct aj_kin *k = arg;
	k->looking = true;
	aj_loop_set(k->loop, &k->timer, aj_now_us());
}

struct aj_kin *aj_kin_new(struct aj_kin **list, struct aj_loop *loop, const struct aj_kin_owner *owner, struct aj_worker *first,
                          int filters, struct aj_error *err)
{
	struct aj_kin *k = calloc(1, sizeof *k);
	if (!k)
		abort();
	k->list = list;
	k->loop = loop;
	k->owner = *owner;
	k->filters = filters;
	k->timer = (struct aj_timer){ .fn = on_timer, .arg = k };
	for (int i = 0; i < AJ_FAMILY_FDS; i++)
		k->io[i] = (struct aj_io){
			.fn = on_io, .arg = k, .fd = -1, .quota = i == AJ_FAMILY_LISTENER || i == AJ_FAMILY_REPORT ? &k->quota : NULL
		};
	/* Its descriptors change hands: no event of theirs may come to the jail any more. */
	static const enum aj_live_fd ours[] = { AJ_LIVE_REPORT, AJ_LIVE_LISTENER, AJ_LIVE_INIT };
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		aj_loop_unwatch(loop, &first->io[ours[i]]);
	int r = aj_family_found(&k->family, &first->live, err);
	aj_worker_watch(first);
	if (r < 0) {
		free(k);
		return NULL;
	}
	k->family.changed = on_change;
	k->family.closing = on_closing;
	k->family.changed_arg = k;
	k->next = *list;
	*list = k;
	watch(k);
	return k;
}

struct aj_kin *aj_kin_next(const struct aj_kin *k)
{
	return k->next;
}

struct aj_kin *aj_kin_of(struct aj_kin *list, const struct aj_worker *w)
{
	struct aj_kin *mine = of_live(&w->live);
	while (list && list != mine)
		list = list->next;
	return list;
}

void aj_kin_ask(struct aj_kin *k, struct aj_worker *of, struct aj_asker *asker)
{
	asker->of = of;
	aj_askers_add(&k->askers, asker);
	on_change(k);
}

bool aj_kin_unask(struct aj_kin *k, struct aj_asker *asker)
{
	if (aj_askers_remove(&k->askers, asker))
		return true;
	if (k->asker != asker)
		return false;
	/* What is under way comes to its end, and is then let go. */
	k->asker = NULL;
	return true;
}

static struct aj_asker *asks_for(const struct aj_kin *k, const struct aj_worker *w)
{
	struct aj_asker *asker = k->askers.first;
	while (asker && asker->of != w)
		asker = asker->next;
	return asker;
}

/* Whom it tells may take back other questions. */
void aj_kin_lose(struct aj_kin *k, struct aj_worker *w)
{
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_USAGE, "branch", 0, "the original was closed");
	for (struct aj_asker *asker; (asker = asks_for(k, w));) {
		aj_askers_remove(&k->askers, asker);
		tell(asker, NULL, &err);
	}
}

void aj_kin_stop(struct aj_kin *k)
{
	k->askers = (struct aj_askers){ 0 };
	k->asker = NULL;
	aj_family_cancel(&k->family);
	if (k->arming) {
		struct aj_worker *w = k->arming;
		k->arming = NULL;
		k->owner.failed(k->owner.arg, w);
	}
	aj_jail_kill(&k->family.jail);
}

void aj_kin_free(struct aj_kin *k)
{
	struct aj_kin **at = k->list;
	while (*at != k)
		at = &(*at)->next;
	*at = k->next;
	struct aj_error err = { 0 };
	aj_fail(&err, AJ_EXIT_SETUP, "branch", 0, "the jail and all its branches have ended");
	tell(k->asker, NULL, &err);
	for (struct aj_asker *asker; (asker = aj_askers_take(&k->askers));)
		tell(asker, NULL, &err);
	for (int i = 0; i < AJ_FAMILY_FDS; i++)
		aj_loop_unwatch(k->loop, &k->io[i]);
	aj_loop_unset(k->loop, &k->timer);
	aj_loop_forget(k->loop, &k->quota);
	aj_family_end(&k->family);
	free(k);
}
