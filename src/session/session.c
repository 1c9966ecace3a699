/* The life of a session: from the request for a jail to its end, by its owner, a timer or itself, reported to the owner.
 * Reports nothing after the session was closed; session_run.c has the runs in between. */
#include <stdio.h>
#include <stdlib.h>

#include "base/fd.h"
#include "session/session.h"

static void free_session(struct aj_session *s)
{
	aj_calls_free(&s->calls);
	aj_arena_free(&s->arena);
	aj_own_policy_release(s->own);
	free(s);
}

void aj_session_enter_callback(struct aj_session *s)
{
	s->in_callback++;
}

bool aj_session_leave_callback(struct aj_session *s)
{
	bool closed = s->state == AJ_SESSION_CLOSED, gone = --s->in_callback == 0 && closed;
	if (gone)
		free_session(s);
	return !closed;
}

void aj_session_used(struct aj_session *s)
{
	uint64_t idle_ms = s->pool->manager->config.idle_ms;
	if (idle_ms && s->jail && s->state != AJ_SESSION_RUNNING)
		aj_loop_set(aj_session_loop(s), &s->idle, aj_in_ms(idle_ms));
}

void aj_session_set_idle(struct aj_session *s)
{
	s->state = s->jail ? AJ_SESSION_IDLE : AJ_SESSION_ENDED;
	aj_session_used(s);
}

void aj_session_gone(struct aj_session *s)
{
	char why[560];
	struct aj_jail *jail = s->jail;
	snprintf(why, sizeof why, "%s", s->ending_why ? s->ending_why : jail->outcome.result.reason);
	aj_loop_unset(aj_session_loop(s), &s->idle);
	/* The session's checkpoints expire with it, so a session that can be rolled back keeps its lifetime timer. */
	if (!s->pool->branching)
		aj_loop_unset(aj_session_loop(s), &s->lifetime);
	s->jail = NULL;
	if (!aj_session_is_branching(s)) /* else aj_session_set_idle() follows */
		s->state = AJ_SESSION_ENDED;
	aj_pool_return(s->pool->pool, jail);
	aj_session_enter_callback(s);
	if (s->opened.place) { /* the jail died before `opened` was reported */
		aj_loop_unset(aj_session_loop(s), &s->opened);
		s->on.opened(s, s->arg, NULL);
		if (s->state == AJ_SESSION_CLOSED) {
			aj_session_leave_callback(s);
			return;
		}
	}
	s->on.ended(s, s->arg, why);
	aj_session_leave_callback(s);
}

static void on_event(struct aj_jail *jail, unsigned found)
{
	struct aj_session *s = jail->owner;
	if ((found & AJ_JAIL_ANSWERED) && !aj_session_report(s, true))
		return;
	if (!(found & AJ_JAIL_GONE))
		return;
	if (s->state == AJ_SESSION_RUNNING && !aj_session_has_pending_report(s)) {
		if (!aj_session_report(s, false))
			return;
	} else
		aj_session_record_network(s);
	s->gone = true;
	if (!aj_session_has_pending_report(s)) /* else once the report was delivered */
		aj_session_gone(s);
}

static void on_output(int number, const char *data, size_t bytes, void *arg)
{
	struct aj_session *s = arg;
	if (s->state != AJ_SESSION_RUNNING)
		return;
	aj_session_enter_callback(s);
	s->on.output(s, s->arg, number, data, bytes);
	aj_session_leave_callback(s);
}

static void on_call(void *arg, const struct aj_tool_call *call)
{
	struct aj_session *s = arg;
	aj_session_enter_callback(s);
	/* Tool calls and output have separate channels: a call may overtake output. */
	if (s->on.output && s->jail)
		aj_jail_drain(s->jail);
	if (s->state != AJ_SESSION_CLOSED)
		s->on.call(s, s->arg, call->number, call->tool->name, call->args);
	aj_session_leave_callback(s);
}

static void send_answer(void *arg, const char *text, size_t bytes)
{
	struct aj_session *s = arg;
	if (s->jail)
		aj_jail_tool(s->jail, text, bytes);
}

void aj_session_take(struct aj_session *s, struct aj_jail *jail)
{
	s->jail = jail;
	jail->owner = s;
	jail->on_event = on_event;
	jail->channel.on_call = aj_calls_take;
	jail->channel.on_call_arg = &s->calls;
	jail->channel.call_values = AJ_TOOL_CALL_VALUES;
	if (s->on.output) {
		jail->output = on_output;
		jail->output_arg = s;
	}
	jail->network.connections = aj_trail_connections;
	jail->network.connections_arg = &s->trail;
	aj_session_used(s);
}

void aj_session_opened(struct aj_session *s, const struct aj_error *err)
{
	if (err)
		s->open_error = *err;
	s->state = AJ_SESSION_OPENING;
	/* Always from the loop: `opened` must not come before aj_session_open() has returned the session. */
	aj_loop_set(aj_session_loop(s), &s->opened, aj_now_us());
}

static void on_jail(struct aj_jail_waiter *waiter, struct aj_jail *jail, const struct aj_error *err)
{
	struct aj_session *s = waiter->arg;
	if (jail)
		aj_session_take(s, jail);
	if (jail && s->own)
		aj_jail_layer(jail, &s->own->policy);
	aj_session_opened(s, err);
}

static void request_jail(struct aj_session *s)
{
	s->state = AJ_SESSION_WAITING;
	aj_pool_request(s->pool->pool, &s->waiter);
}

/* An open that failed in a pool which is no longer current (for example because its cgroup was unusable) is retried in the new
 * pool. */
static bool retry_open(struct aj_session *s)
{
	struct aj_tenant_pool *old = s->pool;
	if (!s->open_error.exit_code || s->lineage || s->expired || aj_manager_current(old))
		return false;
	struct aj_session_params place = {
		.policy = old->policy, .tenant = old->tenant, .workspace = old->workspace, .branching = old->branching
	};
	s->open_error = (struct aj_error){ 0 };
	struct aj_tenant_pool *pool = aj_tenant_pool_get(old->manager, &place, &s->open_error);
	if (!pool)
		return false;
	struct aj_own_policy *own = s->own ? aj_own_policy_new(pool, &s->own->ask, &s->open_error) : NULL;
	if (s->own && !own) {
		aj_tenant_pool_release(pool);
		return false;
	}
	aj_own_policy_release(s->own);
	s->own = own;
	s->pool = pool;
	aj_tenant_pool_release(old);
	request_jail(s);
	return true;
}

static void on_opened(struct aj_timer *timer)
{
	struct aj_session *s = timer->arg;
	if (retry_open(s))
		return;
	if (s->state == AJ_SESSION_OPENING)
		s->state = s->jail ? AJ_SESSION_IDLE : AJ_SESSION_ENDED;
	aj_session_enter_callback(s);
	s->on.opened(s, s->arg, s->open_error.exit_code ? &s->open_error : NULL);
	aj_session_leave_callback(s);
}

static void end_jail(struct aj_session *s, const char *why)
{
	s->ending_why = why;
	if (s->jail)
		aj_jail_end(s->jail);
}

static void on_idle(struct aj_timer *timer)
{
	struct aj_session *s = timer->arg;
	/* Else the idle time starts again when the branch is done. */
	if (!aj_session_is_branching(s))
		end_jail(s, "the session was idle for too long");
}

/* There is no jail whose end would be reported: fail a pending open or rollback now; report the end of a session whose jail has
 * ended already. */
static void end_without_jail(struct aj_session *s, const char *why)
{
	struct aj_error err = { 0 };
	aj_fail_because(&err, AJ_REASON_CLOSED, AJ_EXIT_LIMIT, "session", 0, "%s", why);
	aj_session_enter_callback(s);
	if (s->state == AJ_SESSION_WAITING || s->state == AJ_SESSION_ROLLING) {
		bool opening = s->state == AJ_SESSION_WAITING;
		aj_pool_cancel(s->pool->pool, &s->waiter);
		s->waiter.fn(&s->waiter, NULL, &err);
		if (opening || s->state == AJ_SESSION_CLOSED) {
			aj_session_leave_callback(s);
			return;
		}
	}
	if (!s->opened.place)
		s->on.ended(s, s->arg, why);
	aj_session_leave_callback(s);
}

static void on_lifetime(struct aj_timer *timer)
{
	static const char why[] = "the session reached its lifetime";
	struct aj_session *s = timer->arg;
	if (!s->expired && s->lineage_hooks)
		s->lineage_hooks->on_expired(s);
	s->expired = true;
	if (s->jail)
		end_jail(s, why);
	else
		end_without_jail(s, why);
}

static void on_waits(void *arg, bool waits)
{
	struct aj_session *s = arg;
	if (s->on.waits)
		s->on.waits(s, s->arg, waits);
}

struct aj_session *aj_session_new(struct aj_tenant_pool *pool, const struct aj_session_events *events, void *arg)
{
	struct aj_manager *manager = pool->manager;
	struct aj_session *s = calloc(1, sizeof *s);
	if (!s)
		abort();
	s->state = AJ_SESSION_ENDED;
	s->pool = pool;
	s->on = *events;
	s->arg = arg;
	s->waiter = (struct aj_jail_waiter){ .fn = on_jail, .arg = s };
	s->idle = (struct aj_timer){ .fn = on_idle, .arg = s };
	s->opened = (struct aj_timer){ .fn = on_opened, .arg = s };
	s->lifetime = (struct aj_timer){ .fn = on_lifetime, .arg = s };
	aj_calls_init(&s->calls, manager->loop, on_call, send_answer, s);
	s->calls.on_waits = on_waits;
	if (manager->config.lifetime_ms)
		aj_loop_set(manager->loop, &s->lifetime, s->until_us = aj_in_ms(manager->config.lifetime_ms));
	return s;
}

struct aj_session *aj_session_open(struct aj_manager *manager, const struct aj_session_params *place,
                                   const struct aj_session_events *events, void *arg, struct aj_error *err)
{
	struct aj_tenant_pool *pool = aj_tenant_pool_get(manager, place, err);
	if (!pool)
		return NULL;
	struct aj_own_policy *own = NULL;
	if (aj_python_asked(&place->python) && !(own = aj_own_policy_new(pool, &place->python, err))) {
		aj_tenant_pool_release(pool);
		return NULL;
	}
	struct aj_session *s = aj_session_new(pool, events, arg);
	s->own = own;
	request_jail(s);
	return s;
}

void aj_session_drop(struct aj_session *s)
{
	struct aj_jail *jail = s->jail;
	if (!jail)
		return;
	jail->output = NULL;
	jail->network.connections = NULL;
	jail->channel.on_call = NULL;
	s->jail = NULL;
	aj_pool_return(s->pool->pool, jail);
}

void aj_session_close(struct aj_session *s)
{
	enum aj_session_state was = s->state;
	if (was == AJ_SESSION_CLOSED)
		return;
	s->state = AJ_SESSION_CLOSED;
	aj_loop_unset(aj_session_loop(s), &s->opened);
	aj_loop_unset(aj_session_loop(s), &s->idle);
	aj_loop_unset(aj_session_loop(s), &s->lifetime);
	aj_calls_drop(&s->calls);
	if (was == AJ_SESSION_WAITING)
		aj_pool_cancel(s->pool->pool, &s->waiter);
	if (s->jail)
		aj_jail_end_network(s->jail);
	if (was == AJ_SESSION_RUNNING && !aj_session_has_pending_report(s))
		aj_session_record_cut(s);
	else if (s->jail)
		aj_session_record_network(s);
	aj_session_cancel_collect(s);
	if (s->lineage_hooks)
		s->lineage_hooks->on_closed(s);
	aj_session_drop(s);
	aj_tenant_pool_release(s->pool);
	if (!s->in_callback)
		free_session(s);
}

enum aj_session_state aj_session_state(const struct aj_session *s)
{
	return s->state;
}

bool aj_session_may_return(const struct aj_session *s)
{
	return s->pool->branching && !s->expired;
}

bool aj_session_warm(const struct aj_session *s)
{
	return s->jail && s->jail->warm;
}
