/* Forks, checkpoints and rollbacks: each is a branch of a jail that the pool makes, given to a session or kept.
 * A checkpoint is a branch that nothing is ever run in; it lives as long as one session of its line does, or might. */
#include "session/checkpoint.h"

#include <stdlib.h>

#include "base/fd.h"
#include "session/session.h"

struct aj_checkpoint {
	struct aj_checkpoint *next;
	struct aj_lineage *lineage;
	uint64_t id;
	struct aj_waiter asker;
	struct aj_session *session; /* whose it was, while it is on its way; NULL: it is there */
	struct aj_worker *worker;
	bool forgotten; /* when nobody goes back to it any more */
	unsigned users;
};

struct aj_lineage {
	struct aj_tenant_pool *pool;
	unsigned sessions, keepers; /* the latter: whose lifetime is not over */
	uint64_t last_id;
	struct aj_checkpoint *checkpoints;
	struct aj_session *pending; /* forks that are on their way */
};

static struct aj_lineage *line_of(struct aj_session *s)
{
	if (s->lineage)
		return s->lineage;
	struct aj_lineage *lineage = calloc(1, sizeof *lineage);
	if (!lineage)
		abort();
	lineage->pool = s->pool;
	lineage->sessions = 1;
	lineage->keepers = !s->expired;
	return s->lineage = lineage;
}

static int may_branch(const struct aj_session *s, struct aj_error *err)
{
	if (!s->pool->branching)
		return aj_fail(err, AJ_EXIT_USAGE, "branching", 0, "the session was not opened for branching");
	if (s->running || s->copying || s->rolling)
		return aj_fail(err, AJ_EXIT_USAGE, "busy", 0,
		               s->running ? "a snippet is running in this session" : "the session is being branched already");
	return 0;
}

static int may_be_copied(const struct aj_session *s, struct aj_error *err)
{
	if (may_branch(s, err) < 0)
		return -1;
	if (!s->worker || s->worker->run.gone || s->worker->run.stopping)
		return aj_fail(err, AJ_EXIT_USAGE, "session", 0, s->waiting ? "the session has no jail yet" : "the session has ended");
	return 0;
}

/* --- checkpoints --- */

static void free_moment(struct aj_checkpoint *m)
{
	struct aj_checkpoint **at = &m->lineage->checkpoints;
	while (*at != m)
		at = &(*at)->next;
	*at = m->next;
	if (m->worker)
		aj_pool_return(m->lineage->pool->pool, m->worker);
	free(m);
}

/* It does nothing; but it may be killed, for memory as an instance. */
static void on_kept(struct aj_worker *worker, unsigned found)
{
	struct aj_checkpoint *m = worker->owner;
	if (!(found & AJ_RUN_GONE))
		return;
	m->worker = NULL;
	aj_pool_return(m->lineage->pool->pool, worker);
}

static void on_moment(struct aj_waiter *asker, struct aj_worker *worker, const struct aj_error *err)
{
	struct aj_checkpoint *m = asker->arg;
	struct aj_session *s = m->session;
	struct aj_error late = { 0 };
	uint64_t id = m->id;
	m->session = NULL;
	if (worker) {
		m->worker = worker;
		worker->owner = m;
		worker->on_event = on_kept;
	}
	if (worker && !m->lineage->keepers) {
		aj_fail(&late, AJ_EXIT_USAGE, "session", 0, "the session reached its lifetime");
		err = &late;
	}
	if (err)
		free_moment(m);
	s->copying--;
	aj_session_used(s);
	aj_session_enter_callback(s);
	if (s->on.checkpointed)
		s->on.checkpointed(s, s->arg, id, err);
	aj_session_leave_callback(s);
}

uint64_t aj_session_checkpoint(struct aj_session *s, struct aj_error *err)
{
	if (may_be_copied(s, err) < 0)
		return 0;
	struct aj_lineage *lineage = line_of(s);
	struct aj_checkpoint *m = calloc(1, sizeof *m);
	if (!m)
		abort();
	*m = (struct aj_checkpoint){ .next = lineage->checkpoints, .lineage = lineage, .id = ++lineage->last_id, .session = s };
	m->asker = (struct aj_waiter){ .fn = on_moment, .arg = m };
	lineage->checkpoints = m;
	s->copying++;
	if (aj_pool_branch(s->pool->pool, s->worker, &m->asker, err) < 0) {
		s->copying--;
		free_moment(m);
		return 0;
	}
	return lineage->last_id;
}

static struct aj_checkpoint *find(const struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *m = s->lineage ? s->lineage->checkpoints : NULL;
	while (m && (m->id != id || m->forgotten))
		m = m->next;
	if (!m)
		aj_fail(err, AJ_EXIT_USAGE, "checkpoint", 0, "there is no checkpoint %lu", (unsigned long)id);
	else if (m->session)
		aj_fail(err, AJ_EXIT_USAGE, "busy", 0, "the checkpoint is being made");
	return m && !m->session ? m : NULL;
}

int aj_session_forget(struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *m = find(s, id, err);
	if (!m)
		return -1;
	if (m->users)
		m->forgotten = true;
	else
		free_moment(m);
	return 0;
}

/* --- going back --- */

static void leave_moment(struct aj_checkpoint *m)
{
	if (--m->users == 0 && m->forgotten)
		free_moment(m);
}

static void on_back(struct aj_waiter *asker, struct aj_worker *worker, const struct aj_error *err)
{
	struct aj_session *s = asker->arg;
	struct aj_checkpoint *m = s->rolling;
	uint64_t id = m->id;
	s->rolling = NULL;
	if (worker) {
		aj_session_drop(s);
		aj_session_take(s, worker);
		s->ending_why = NULL;
		if (s->until_us)
			aj_loop_set(s->pool->manager->loop, &s->lifetime, s->until_us);
		s->tools_changed = s->calls.tools.count > 0; /* it may not know the latest */
	}
	leave_moment(m);
	aj_session_used(s);
	aj_session_enter_callback(s);
	if (s->on.rolled_back)
		s->on.rolled_back(s, s->arg, id, err);
	aj_session_leave_callback(s);
}

int aj_session_rollback(struct aj_session *s, uint64_t id, struct aj_error *err)
{
	struct aj_checkpoint *m = may_branch(s, err) < 0 ? NULL : find(s, id, err);
	if (!m)
		return -1;
	if (!m->worker)
		return aj_fail(err, AJ_EXIT_LIMIT, "checkpoint", 0, "the checkpoint %lu was killed, for memory most likely",
		               (unsigned long)id);
	s->asker.fn = on_back;
	if (aj_pool_branch(s->pool->pool, m->worker, &s->asker, err) < 0)
		return -1;
	s->rolling = m;
	m->users++;
	return 0;
}

/* --- forks --- */

/* A fork is not on its way any more. */
static void arrive(struct aj_session *s)
{
	struct aj_session **at = &s->lineage->pending;
	while (*at && *at != s)
		at = &(*at)->pending;
	if (*at)
		*at = s->pending;
	if (s->source) {
		s->source->copying--;
		aj_session_used(s->source);
	}
	s->source = NULL;
}

static void on_forked(struct aj_waiter *asker, struct aj_worker *worker, const struct aj_error *err)
{
	struct aj_session *s = asker->arg;
	s->waiting = false;
	arrive(s);
	if (worker)
		aj_session_take(s, worker);
	aj_session_opened(s, err);
}

struct aj_session *aj_session_fork(struct aj_session *s, const struct aj_session_events *events, void *arg, struct aj_error *err)
{
	if (may_be_copied(s, err) < 0)
		return NULL;
	struct aj_session *fork_of = aj_session_new(s->pool, events, arg);
	s->pool->sessions++;
	fork_of->lineage = line_of(s);
	fork_of->lineage->sessions++;
	fork_of->lineage->keepers++;
	aj_tools_share(&fork_of->calls.tools, &s->calls.tools);
	fork_of->tools_changed = s->tools_changed;
	fork_of->asker.fn = on_forked;
	fork_of->waiting = true;
	if (aj_pool_branch(s->pool->pool, s->worker, &fork_of->asker, err) < 0) {
		fork_of->waiting = false;
		aj_session_close(fork_of);
		return NULL;
	}
	fork_of->source = s;
	fork_of->pending = fork_of->lineage->pending;
	fork_of->lineage->pending = fork_of;
	s->copying++;
	return fork_of;
}

/* Nobody can go back to a checkpoint any more. One that is under way is seen to when it is there. */
static void forget_all(struct aj_lineage *lineage)
{
	for (struct aj_checkpoint *m = lineage->checkpoints, *next; m; m = next) {
		next = m->next;
		m->forgotten = true;
		if (!m->users && !m->session)
			free_moment(m);
	}
}

void aj_lineage_expire(struct aj_session *s)
{
	if (!s->expired && s->lineage && --s->lineage->keepers == 0)
		forget_all(s->lineage);
	s->expired = true;
}

void aj_lineage_leave(struct aj_session *s)
{
	struct aj_lineage *lineage = s->lineage;
	if (lineage)
		arrive(s);
	for (struct aj_session *fork_of = lineage ? lineage->pending : NULL; fork_of; fork_of = fork_of->pending)
		if (fork_of->source == s)
			fork_of->source = NULL;
	if (s->rolling) {
		aj_pool_unask(s->pool->pool, &s->asker);
		leave_moment(s->rolling);
		s->rolling = NULL;
	}
	if (!lineage)
		return;
	aj_lineage_expire(s);
	bool last = --lineage->sessions == 0;
	for (struct aj_checkpoint *m = lineage->checkpoints, *next; m; m = next) {
		next = m->next;
		if (m->session == s)
			aj_pool_unask(s->pool->pool, &m->asker);
		if (m->session == s || last)
			free_moment(m);
	}
	s->lineage = NULL;
	if (last)
		free(lineage);
}
