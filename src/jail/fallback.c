/* A table of the features that a run can do without, by the error of their set-up. Nothing has run when set-up fails. */
#include "jail/fallback.h"

#include "policy/host/host.h"

/* An unusable cgroup: best effort does without, as the result says. A cgroup that the policy requires stays an error. */
static bool drop_cgroup(const struct aj_fallback *f, const struct aj_error *cause)
{
	return aj_host_drop_cgroup(f->host, f->arena, cause) && !aj_plan_lacks_cgroup(f->policy, f->host);
}

/* A copy where the policy's own choice, an overlay, cannot be made: the folder stays untouched in both. */
static bool copy_for_overlay(const struct aj_fallback *f, const struct aj_error *cause)
{
	(void)cause;
	if (f->policy->workspace != AJ_WORKSPACE_OVERLAY || f->request->changes || f->keep_overlay)
		return false;
	f->policy->workspace = AJ_WORKSPACE_COPY;
	return true;
}

/* The workspace itself is written to, and its linked worktree's main repository is left out. */
static bool omit_repository(const struct aj_fallback *f, const struct aj_error *cause)
{
	(void)cause;
	if (f->policy->workspace != AJ_WORKSPACE_READ_WRITE || f->policy->worktree != AJ_WORKTREE_APART || f->request->changes)
		return false;
	f->policy->worktree = AJ_WORKTREE_NONE;
	return true;
}

/* In this order, each once. */
static const struct {
	enum aj_reason cause;
	bool (*prepare)(const struct aj_fallback *f, const struct aj_error *cause); /* false: the error stays */
} rows[] = {
	{ AJ_REASON_CGROUP, drop_cgroup },
	{ AJ_REASON_OVERLAY, copy_for_overlay },
	{ AJ_REASON_OVERLAY, omit_repository },
};

const struct aj_plan *aj_run_with_fallback(const struct aj_fallback *f, const struct aj_plan *plan,
                                           const struct aj_once_events *events, struct aj_result *ret)
{
	aj_run_once(plan, f->policy, f->request, events, ret);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_error ignored = { 0 };
		if (ret->setup.reason != rows[i].cause || !rows[i].prepare(f, &ret->setup))
			continue;
		struct aj_plan *next = aj_alloc(f->arena, sizeof *next);
		if (aj_plan_build(next, f->arena, f->policy, f->request, f->host, &ignored) < 0)
			continue;
		if (f->on_replan)
			f->on_replan(f->arg, next, &ret->setup);
		aj_result_free(ret);
		aj_run_once(next, f->policy, f->request, events, ret);
		plan = next;
	}
	return plan;
}
