/* Forks, checkpoints and rollbacks: each is a branch of a jail, made by the pool, and given to a session or kept.
 * A checkpoint is a branch that never runs code; it lives as long as a session of its lineage lives or may be rolled back. */
#include <stdlib.h>

#include "base/fd.h"
#include "session/session.h"

struct aj_checkpoint {
	LIST_ENTRY(aj_checkpoint) listed;
	struct aj_lineage *lineage;
	uint64_t id;
	struct aj_jail_waiter waiter;
	struct aj_session *session; /* the session that asked, while the branch is being made; NULL: ready */
	struct aj_jail *jail;
	bool forgotten; /* freed when the last user has left */
	unsigned users;
};

struct aj_lineage {
	struct aj_tenant_pool *pool;
	unsigned sessions, unexpired; /* the latter: sessions whose lifetime is not over */
	uint64_t last_id;
	LIST_HEAD(, aj_checkpoint) checkpoints;
};

static const struct aj_lineage_hooks hooks;

static void join(struct aj_session *s, struct aj_lineage *lineage)
{
	s->lineage = lineage;
	s->lineage_hooks = &hooks;
	lineage->sessions++;
	lineage->unexpired += !s->expired;
}

static struct aj_lineage *lineage_of(struct aj_session *s)
{
	if (s->lineage)
		return s->lineage;
	struct aj_lineage *lineage = calloc(1, sizeof *lineage);
	if (!lineage)
		abort();
	lineage->pool = s->pool;
	join(s, lineage);
	return lineage;
}

static int may_branch(const struct aj_session *s, struct aj_error *err)
{
	if (!s->pool->branching)
		return aj_fail(err, AJ_EXIT_USAGE, "branching", 0, "the session was not opened for branching");
	if (s->state == AJ_SESSION_RUNNING || s->state == AJ_SESSION_COPYING || s->state == AJ_SESSION_ROLLING)
		return aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0,
		                       s->state == AJ_SESSION_RUNNING ? "a snippet is running in this session"
		                                                      : "the session is being branched already");
	return 0;
}

static int may_be_copied(const struct aj_session *s, struct aj_error *err)
{
	if (may_branch(s, err) < 0)
		return -1;
	if (!s->jail || s->jail->gone || s->jail->stopping)
		return aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0,
		                       s->state == AJ_SESSION_WAITING ? "the session has no jail yet" : "the session has ended");
	return 0;
}

/* --- checkpoints --- */

static void free_checkpoint(struct aj_checkpoint *c)
{
	LIST_REMOVE(c, listed);
	if (c->jail)
		aj_pool_return(c->lineage->pool->pool, c->jail);
	free(c);
}

/* A checkpoint runs nothing, but its jail may be killed, for instance by the OOM killer. */
static void on_checkpoint_event(struct aj_jail *jail, unsigned found)
{
	struct aj_checkpoint *c = jail->owner;
	if (!(found & AJ_JAIL_GONE))
		return;
	c->jail = NULL;
	aj_pool_return(c->lineage->pool->pool, jail);
}

static void on_checkpoint(struct aj_jail_waiter *waiter, struct aj_jail *jail, const struct aj_error *err)
{
	struct aj_checkpoint *c = waiter->arg;
	struct aj_session *s = c->session;
	struct aj_error late = { 0 };
	uint64_t id = c->id;
	c->session = NULL;
	if (jail) {
		c->jail = jail;
		jail->owner = c;
		jail->on_event = on_checkpoint_event;
	}
	if (jail && !c->lineage->unexpired) {
		aj_fail_because(&late, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0, "the session reached its lifetime");
		err = &late;
	}
	if (err)
		free_checkpoint(c);
	aj_session_set_idle(s);
	aj_session_enter_callback(s);
	if (s->on.checkpointed)
		s->on.checkpointed(s, s->arg, id, err);
	aj_session_leave_callback(s);
}

uint64_t aj_session_checkpoint(struct aj_session *s, struct aj_error *err)
{
	if (may_be_copied(s, err) < 0)
		return 0;
	struct aj_lineage *lineage = lineage_of(s);
	struct aj_checkpoint *c = calloc(1, sizeof *c);
	if (!c)
		abort();
	*c = (struct aj_checkpoint){ .lineage = lineage, .id = ++lineage->last_id, .session = s };
	c->waiter = (struct aj_jail_waiter){ .fn = on_checkpoint, .arg = c };
	LIST_INSERT_HEAD(&lineage->checkpoints, c, listed);
	if (aj_pool_branch(s->pool->pool, s->jail, &c->waiter, err) < 0) {
		free_checkpoint(c);
		return 0;
	}
	s->state = AJ_SESSION_COPYING;
	return lineage->last_id;
}

static struct aj_checkpoint *find_checkpoint(const struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *c = s->lineage ? LIST_FIRST(&s->lineage->checkpoints) : NULL;
	while (c && (c->id != id || c->forgotten))
		c = LIST_NEXT(c, listed);
	if (!c)
		aj_fail(err, AJ_EXIT_USAGE, "checkpoint", 0, "there is no checkpoint %lu", (unsigned long)id);
	else if (c->session)
		aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "busy", 0, "the checkpoint is being made");
	return c && !c->session ? c : NULL;
}

int aj_session_forget(struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *c = find_checkpoint(s, id, err);
	if (!c)
		return -1;
	if (c->users)
		c->forgotten = true;
	else
		free_checkpoint(c);
	return 0;
}

/* --- rollbacks --- */

static void release_checkpoint(struct aj_checkpoint *c)
{
	if (--c->users == 0 && c->forgotten)
		free_checkpoint(c);
}

static void on_rollback(struct aj_jail_waiter *waiter, struct aj_jail *jail, const struct aj_error *err)
{
	struct aj_session *s = waiter->arg;
	struct aj_checkpoint *c = s->rolling;
	uint64_t id = c->id;
	s->rolling = NULL;
	if (jail) {
		aj_session_drop(s);
		aj_session_take(s, jail);
		s->ending_why = NULL;
		if (s->until_us)
			aj_loop_set(s->pool->manager->loop, &s->lifetime, s->until_us);
		s->tools_changed = s->calls.tools.count > 0; /* the checkpoint may not know the latest tools */
	}
	release_checkpoint(c);
	aj_session_set_idle(s);
	aj_session_enter_callback(s);
	if (s->on.rolled_back)
		s->on.rolled_back(s, s->arg, id, err);
	aj_session_leave_callback(s);
}

int aj_session_rollback(struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *c = may_branch(s, err) < 0 ? NULL : find_checkpoint(s, id, err);
	if (!c)
		return -1;
	if (!c->jail)
		return aj_fail(err, AJ_EXIT_LIMIT, "checkpoint", 0, "the checkpoint %lu was killed, probably for lack of memory",
		               (unsigned long)id);
	s->waiter.fn = on_rollback;
	if (aj_pool_branch(s->pool->pool, c->jail, &s->waiter, err) < 0)
		return -1;
	s->state = AJ_SESSION_ROLLING;
	s->rolling = c;
	c->users++;
	return 0;
}

/* --- forks --- */

/* The fork is ready, has failed or is closed: its original, if it still exists, continues. */
static void part_from_source(struct aj_session *s)
{
	if (!s->source)
		return;
	s->source->copy = NULL;
	aj_session_set_idle(s->source);
	s->source = NULL;
}

static void on_forked(struct aj_jail_waiter *waiter, struct aj_jail *jail, const struct aj_error *err)
{
	struct aj_session *s = waiter->arg;
	part_from_source(s);
	if (jail)
		aj_session_take(s, jail);
	aj_session_opened(s, err);
}

struct aj_session *aj_session_fork(struct aj_session *s, const struct aj_session_events *events, void *arg, struct aj_error *err)
{
	if (may_be_copied(s, err) < 0)
		return NULL;
	struct aj_session *copy = aj_session_new(s->pool, events, arg);
	s->pool->sessions++;
	join(copy, lineage_of(s));
	if (s->own) {
		copy->own = s->own;
		copy->own->references++;
	}
	aj_tools_share(&copy->calls.tools, &s->calls.tools);
	copy->tools_changed = s->tools_changed;
	copy->waiter.fn = on_forked;
	if (aj_pool_branch(s->pool->pool, s->jail, &copy->waiter, err) < 0) {
		aj_session_close(copy);
		return NULL;
	}
	copy->state = AJ_SESSION_WAITING;
	copy->source = s;
	s->state = AJ_SESSION_COPYING;
	s->copy = copy;
	return copy;
}

/* No session can roll back any more. A checkpoint that is being made is freed once it is ready. */
static void forget_checkpoints(struct aj_lineage *lineage)
{
	for (struct aj_checkpoint *c = LIST_FIRST(&lineage->checkpoints), *next; c; c = next) {
		next = LIST_NEXT(c, listed);
		c->forgotten = true;
		if (!c->users && !c->session)
			free_checkpoint(c);
	}
}

static void on_expired(struct aj_session *s)
{
	if (--s->lineage->unexpired == 0)
		forget_checkpoints(s->lineage);
}

static void on_closed(struct aj_session *s)
{
	struct aj_lineage *lineage = s->lineage;
	part_from_source(s);
	if (s->copy)
		s->copy->source = NULL;
	if (s->rolling) {
		aj_pool_cancel(s->pool->pool, &s->waiter);
		release_checkpoint(s->rolling);
		s->rolling = NULL;
	}
	if (!s->expired)
		on_expired(s);
	bool last = --lineage->sessions == 0;
	for (struct aj_checkpoint *c = LIST_FIRST(&lineage->checkpoints), *next; c; c = next) {
		next = LIST_NEXT(c, listed);
		if (c->session == s)
			aj_pool_cancel(s->pool->pool, &c->waiter);
		if (c->session == s || last)
			free_checkpoint(c);
	}
	s->lineage = NULL;
	s->lineage_hooks = NULL;
	if (last)
		free(lineage);
}

static const struct aj_lineage_hooks hooks = { .on_expired = on_expired, .on_closed = on_closed };
