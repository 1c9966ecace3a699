/* A session from inside: for the two files that make one. */
#pragma once
#include "audit/trail.h"
#include "session/calls.h"
#include "session/inner.h"

struct aj_session {
	struct aj_tenant_pool *pool;
	struct aj_session_events on;
	void *arg;
	struct aj_waiter asker;
	struct aj_worker *worker; /* NULL: not there yet, or gone */
	bool waiting;             /* for a jail */
	bool running;
	unsigned in_callback; /* we are inside callbacks: what was closed meanwhile is freed after them */
	bool closed;
	struct aj_calls calls;
	bool tools_changed; /* the guest does not know them yet */
	struct aj_timer opened, idle, lifetime;
	struct aj_error open_error;
	const char *ending_why;
	struct aj_trail trail;
	struct aj_request request; /* of the run: what the result and the records name */
	struct aj_arena arena;     /* of the run */

	/* Branching, see session/checkpoint.c. */
	struct aj_lineage *lineage;    /* the session's, and its forks'; NULL: none of them was branched */
	struct aj_session *source;     /* of a fork that is not there yet; NULL: it is closed */
	struct aj_session *pending;    /* the next such fork of the line */
	struct aj_checkpoint *rolling; /* the checkpoint that it goes back to */
	unsigned copying;              /* branches of it that are under way: it runs nothing meanwhile */
	int64_t until_us;              /* its lifetime ends then; 0: never */
	bool expired;                  /* it has ended */
};

/* A session without a jail, in a room that counts it already. */
struct aj_session *aj_session_new(struct aj_tenant_pool *pool, const struct aj_session_events *events, void *arg);
/* It has a jail from here on. */
void aj_session_take(struct aj_session *session, struct aj_worker *worker);
/* Its idle time begins anew, if it is idle. */
void aj_session_used(struct aj_session *session);
/* End its jail without a word to anybody. */
void aj_session_drop(struct aj_session *session);
/* Tell that it is open, or `err`, from the loop. */
void aj_session_opened(struct aj_session *session, const struct aj_error *err);
/* Around a callback, which may close it; false when there is no session any more. */
void aj_session_enter_callback(struct aj_session *session);
bool aj_session_leave_callback(struct aj_session *session);
