/* Notices before a run about options, files or repositories of the caller that will not behave as a person may expect.
 * They change nothing. */
#include "cli/notices.h"

#include <string.h>

#include "cli/host_program.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/terminal.h"
#include "policy/plan/is_allowed.h"
#include "workspace/location.h"
#include "workspace/protect.h"
#include "workspace/repository.h"
#include "workspace/worktree.h"

static void warn_left_out(const struct aj_options *o)
{
	for (size_t i = 0; i < o->request.import_links.count; i++)
		fprintf(stderr,
		        "agentjail: home: `~/%s` is behind a symlink, and is not copied: an earlier run may have chosen where that leads\n",
		        aj_line(o->arena, o->request.import_links.items[i]));
	for (size_t i = 0; i < o->request.settings_notices.count; i++)
		fprintf(stderr, "agentjail: network: %s\n", aj_line(o->arena, o->request.settings_notices.items[i]));
}

static void warn_offline(const struct aj_options *o, const struct aj_plan *plan)
{
	const char *offline = plan->snippet ? NULL : aj_host_runner_offline(&o->loaded.policy, o->request.command.argv, o->arena);
	if (offline)
		fprintf(stderr, "agentjail: %s\n", aj_line(o->arena, offline));
}

void aj_notices_unenforced(const struct aj_options *o, const struct aj_plan *plan)
{
	for (size_t i = 0; i < o->ask.settings.count; i++) {
		const struct aj_setting *set = &o->ask.settings.items[i];
		const char *line = aj_plan_unenforced(plan, set->key, set->option, set->value, o->arena);
		if (line)
			fprintf(stderr, "agentjail: %s\n", line);
	}
}

/* Warn of writable binds that contain places which the policy would protect in a workspace, but does not in a bind. */
static void warn_unprotected(const struct aj_plan *plan, const struct aj_policy *policy, struct aj_arena *arena)
{
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		const char *pattern = aj_plan_unheld(plan, m)
		                        ? aj_protect_unheld(m->source, policy->protect.items, policy->protect.count)
		                        : NULL;
		if (pattern)
			fprintf(stderr,
			        "agentjail: `%s` is bound writable, and programs of the host obey `%s` there: review that file after the run, or name the folder with --workspace\n",
			        aj_line(arena, m->target), aj_line(arena, pattern));
	}
}

/* Git works in a linked worktree by its main repository. Without it git finds no repository; and where one of the two lies in the
 * other, no layer covers it, so that what reads works, and a commit fails in the middle of a run. */
static void warn_main_repository(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                                 struct aj_arena *arena)
{
	const char *path = request->main_repository, *unseen = aj_worktree_unseen(request, policy, arena);
	if (unseen && aj_plan_match_path(plan, unseen).kind != AJ_MATCH_HOST)
		fprintf(stderr,
		        "agentjail: the workspace is a linked worktree, whose main repository `%s` is not in the jail: git finds no repository there; a policy with `filesystem.worktree = \"apart\"` shows it\n",
		        aj_line(arena, unseen));
	if (request->worktree_unseen)
		fprintf(stderr, "agentjail: git finds no repository in the jail: %s\n", aj_line(arena, request->worktree_unseen));
	if (path && !plan->main_repository && !plan->staged_repository)
		fprintf(stderr,
		        "agentjail: the workspace is a linked worktree, whose main repository `%s` is read-only for this run, since one of the two lies in the other: git can read it, and a commit, a branch or a stash fails; `filesystem.worktree = \"shared\"` with `--workspace-mode rw` lets git write there\n",
		        aj_line(arena, path));
}

/* Name the repository of the workspace where it is not the obvious one: git needs the whole repository. */
static void warn_repository(const struct aj_options *o, const struct aj_plan *plan)
{
	const struct aj_request *request = &o->request;
	struct aj_error ignored = { 0 };
	if (!request->workspace || plan->snippet)
		return;
	if (request->workspace_around)
		fprintf(stderr,
		        "agentjail: the workspace is `%s`, the root of this git repository; use --workspace . for this folder alone\n",
		        aj_line(o->arena, request->workspace));
	struct aj_repository found = aj_repository_around(request->workspace, o->arena);
	struct aj_request probe = { .workspace = found.root, .may_hold = true };
	if (found.git && aj_plan_match_path(plan, found.git).kind != AJ_MATCH_HOST)
		fprintf(stderr,
		        "agentjail: the repository of the workspace is in `%s`, which the jail does not show, so git does not work; --bind with that path shows it, read-only\n",
		        aj_line(o->arena, found.git));
	else if (found.root && strcmp(found.root, request->workspace) != 0 &&
	         aj_plan_match_path(plan, found.root).kind != AJ_MATCH_HOST &&
	         aj_places_check(&probe, &o->loaded, &o->site, o->arena, &ignored) == 0)
		fprintf(stderr,
		        "agentjail: the workspace is a part of the git repository `%s`, which the jail does not show, so git does not work; --workspace with that path shows it\n",
		        aj_line(o->arena, found.root));
}

void aj_notices_print(const struct aj_options *o, const struct aj_plan *plan)
{
	if (o->json)
		return;
	warn_left_out(o);
	warn_offline(o, plan);
	aj_notices_unenforced(o, plan);
	warn_unprotected(plan, &o->loaded.policy, o->arena);
	warn_main_repository(plan, &o->loaded.policy, &o->request, o->arena);
	warn_repository(o, plan);
}
