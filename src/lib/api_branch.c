/* Forks, checkpoints and rollbacks of sessions, as blocking calls.
 * Copies nothing itself, and knows no more of a branch than whether there is one. */
#include "lib/api_inner.h"

/* May this session be branched now? */
static int begin_branch(agentjail_session *s, struct aj_error *err)
{
	if (aj_lib_enter_session(s, err) < 0)
		return -1;
	s->branch_error = (struct aj_error){ 0 };
	return 0;
}

/* Waits for the branch; a tool of another session may close this one meanwhile. */
static int await_branch(agentjail_session *s, struct aj_error *err)
{
	aj_lib_await(s, aj_lib_branching, err);
	if (!s->inner)
		aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "session", 0, "it was closed");
	else if (s->branch_error.exit_code && !err->exit_code)
		*err = s->branch_error;
	if (!s->inner && !s->entered)
		aj_lib_session_free(s);
	return err->exit_code ? -1 : 0;
}

agentjail_session *agentjail_session_fork(agentjail_session *s, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	agentjail_session *copy = begin_branch(s, &err) < 0 ? NULL : aj_lib_session_fork(s, &err);
	if (copy && aj_lib_session_await(copy, &err) < 0)
		copy = NULL;
	if (!copy)
		aj_lib_refuse(&err, ret_err);
	return copy;
}

uint64_t agentjail_session_checkpoint(agentjail_session *s, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	uint64_t id = begin_branch(s, &err) < 0 ? 0 : aj_session_checkpoint(s->inner, &err);
	if (id && await_branch(s, &err) == 0)
		return id;
	aj_lib_refuse(&err, ret_err);
	return 0;
}

int agentjail_session_rollback(agentjail_session *s, uint64_t id, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (begin_branch(s, &err) < 0 || aj_session_rollback(s->inner, id, &err) < 0 || await_branch(s, &err) < 0)
		return aj_lib_refuse(&err, ret_err);
	s->why[0] = '\0';
	return 0;
}

int agentjail_session_forget(agentjail_session *s, uint64_t id, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (begin_branch(s, &err) < 0 || aj_session_forget(s->inner, id, &err) < 0)
		return aj_lib_refuse(&err, ret_err);
	return 0;
}
