/* struct aj_session, private to session.c, session_run.c and checkpoint.c. */
#pragma once
#include "jail/audit/trail.h"
#include "jail/files/collect.h"
#include "session/calls.h"
#include "session/session_inner.h"

/* A session's calls to its lineage. */
struct aj_lineage_hooks {
	void (*on_expired)(struct aj_session *session); /* the lifetime is over; once */
	void (*on_closed)(struct aj_session *session);
};

/* The policy of a session that asked for another Python layer, shared with its forks. */
struct aj_own_policy {
	unsigned references;
	struct aj_arena arena;
	struct aj_python_ask ask;
	struct aj_policy policy;
};
/* NULL with err when the pool's policy does not allow what is asked for. */
struct aj_own_policy *aj_own_policy_new(const struct aj_tenant_pool *pool, const struct aj_python_ask *ask, struct aj_error *err);
void aj_own_policy_release(struct aj_own_policy *own);

struct aj_session {
	struct aj_tenant_pool *pool;
	struct aj_own_policy *own; /* NULL: the pool's policy */
	struct aj_session_events on;
	void *arg;
	struct aj_jail_waiter waiter;
	enum aj_session_state state;
	struct aj_jail *jail; /* NULL: not ready yet, or gone */
	unsigned in_callback; /* depth of callbacks: a session closed inside is freed after the last */
	struct aj_calls calls;
	bool tools_changed; /* the guest does not have them yet */
	struct aj_timer opened, idle, lifetime;
	struct aj_error open_error;
	const char *ending_why;
	struct aj_trail trail;
	struct aj_request request; /* of the run: named in the result and the audit records */
	struct aj_arena arena;     /* of the run */

	/* A run that is over, while its files are read: the session still counts as running it. */
	struct aj_collect *collect; /* NULL: none is being read */
	TAILQ_ENTRY(aj_session) collecting;
	struct aj_members members; /* of the result, up to its files; without a text no report is due */
	struct aj_result brief;    /* the result's own figures; the jail may end meanwhile, which changes its result */
	bool alive, gone;          /* was the jail alive when it answered, and is it gone since? */

	/* Branching, see session/checkpoint.c. */
	struct aj_lineage *lineage;                   /* shared with its forks; NULL: never branched */
	const struct aj_lineage_hooks *lineage_hooks; /* set with `lineage` */
	struct aj_session *source;                    /* of a fork that is being made; NULL: closed */
	struct aj_session *copy;                      /* the fork that is being made of it; NULL: none, or closed */
	struct aj_checkpoint *rolling;                /* the checkpoint of a rollback under way */
	int64_t until_us;                             /* end of the lifetime; 0: never */
	bool expired;                                 /* the lifetime has ended */
};

static inline struct aj_loop *aj_session_loop(const struct aj_session *s)
{
	return s->pool->manager->loop;
}

/* A run is over, and was not reported yet. */
static inline bool aj_session_has_pending_report(const struct aj_session *s)
{
	return s->members.text.bytes > 0;
}

/* A copy or a rollback of the session is being made. */
static inline bool aj_session_is_branching(const struct aj_session *s)
{
	return s->state == AJ_SESSION_COPYING || s->state == AJ_SESSION_ROLLING;
}

/* A session without a jail; the pool must have counted it already. */
struct aj_session *aj_session_new(struct aj_tenant_pool *pool, const struct aj_session_events *events, void *arg);
/* Give the session its jail. */
void aj_session_take(struct aj_session *session, struct aj_jail *jail);
/* A copy of the session or a rollback is done, or has failed: the session is idle, or has ended meanwhile. */
void aj_session_set_idle(struct aj_session *session);
/* Restart the idle time, if the session is idle. */
void aj_session_used(struct aj_session *session);
/* End the session's jail without a callback. */
void aj_session_drop(struct aj_session *session);
/* Report `opened`, with err if any, from the loop. */
void aj_session_opened(struct aj_session *session, const struct aj_error *err);
/* Around each callback, which may close the session; leave: false when the session was closed. */
void aj_session_enter_callback(struct aj_session *session);
bool aj_session_leave_callback(struct aj_session *session);

/* session_run.c: the run is over: report it, now or when its files are read. False when the session is closed, too. */
bool aj_session_report(struct aj_session *session, bool alive);
/* The report that is due, and then the jail's end if it came meanwhile. False when the session is closed. */
bool aj_session_deliver(struct aj_session *session);
/* session.c: the jail is gone, and no report is due. */
void aj_session_gone(struct aj_session *session);

/* session_files.c: the caller's files as the runner takes them (malloced); -1 with err. */
int aj_session_put_json(const json_t *files, struct aj_arena *arena, char **ret, struct aj_error *err);
/* Read the files of the run: true when done at once; else in turns of the loop, and aj_session_deliver() follows. */
bool aj_session_collect(struct aj_session *session, struct aj_collect *collect);
/* Add the files to the result that is delivered. */
void aj_session_add_files(struct aj_session *session);
/* Stop reading the files of the run. */
void aj_session_cancel_collect(struct aj_session *session);
/* A run that is cut short needs an end in the trail, too. */
void aj_session_record_cut(struct aj_session *session);
/* Record network totals since the last run, after the jail's network has ended. */
void aj_session_record_network(struct aj_session *session);
