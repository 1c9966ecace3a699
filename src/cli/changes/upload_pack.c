/* `agentjail changes upload-pack` and `commits`: one repository of a run for the host's git, or its log, from a jail that shows
 * the run read-only.
 * The policy of that jail is made here: no policy, option or site makes it wider, and none can forbid what only reads. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/changes/changescmd.h"
#include "cli/run_jail.h"
#include "cli/terminal/findings.h"
#include "policy/host/home.h"

enum { MEMORY_BYTES = 1 << 30 };

static const char script[] = AJ_SETTINGS "/export.sh";

static int load(struct aj_options *o, const struct aj_change_record *r, bool main, struct aj_error *err)
{
	struct aj_diags diags = { .arena = o->arena };
	struct aj_policy *policy = &o->loaded.policy;
	if (aj_site_load(&o->site, NULL, &diags) < 0) {
		aj_findings_print(&diags, stderr);
		return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the site's configuration cannot be used");
	}
	aj_policy_preset(policy, o->arena, "command");
	policy->name = "changes";
	policy->workspace = r->copy ? AJ_WORKSPACE_COPY
	                            : AJ_WORKSPACE_OVERLAY; /* of a main repository alone it is the layer's form */
	policy->workspace_at = strcmp(r->seen_at, r->workspace) == 0 ? AJ_AT_SAME : AJ_AT_WORKSPACE;
	policy->worktree = main ? AJ_WORKTREE_APART : AJ_WORKTREE_NONE;
	policy->wall_ms = r->git_ms;
	policy->memory_bytes = 4 * (uint64_t)MEMORY_BYTES;
	*AJ_PUSH(o->arena, &policy->workspace_under) = AJ_UNDER_ANYWHERE; /* the run had it */
	return 0;
}

/* An overlay shows the host's HEAD of now where the run did not write that file: the run was on what it had at the start. */
static const char *head_of(const struct aj_change_state *s, const char *repository, struct aj_arena *arena)
{
	const struct aj_change_record *r = &s->record;
	struct stat st;
	if (r->copy || strcmp(repository, *r->repository ? r->repository : ".git") != 0)
		return "";
	const char *head = *r->worktree ? aj_printf(arena, "%s/worktrees/%s/HEAD", repository, r->worktree) : ".git/HEAD";
	struct aj_change_side side = aj_change_side(s, head);
	return fstatat(side.view, side.path, &st, AT_SYMLINK_NOFOLLOW) < 0 ? r->head : "";
}

int aj_changes_export(const struct aj_changes_args *args, struct aj_change_state *state, bool log, struct aj_error *err)
{
	const struct aj_change_record *r = &state->record;
	struct aj_options o = { .arena = args->arena, .quiet = true };
	const char *repository = args->paths[0];
	/* Where the worktree is gone, the run's HEAD and index are, too. */
	bool main = repository[0] == '/', gone = aj_change_is_main(r, repository) && !aj_change_state_has_worktree(state);
	const char *worktree = gone ? "." : aj_change_is_main(r, repository) ? r->worktree : "";
	const char *head = gone ? "ref: refs/heads/none" : head_of(state, repository, args->arena);
	char *argv[] = { "sh",
		         (char *)(uintptr_t)script,
		         (char *)(uintptr_t)repository,
		         (char *)(uintptr_t)worktree,
		         (char *)(uintptr_t)head,
		         log ? "log" : "pack",
		         NULL };
	if (load(&o, r, main, err) < 0)
		return -1;
	*AJ_PUSH(o.arena, &o.request.settings) = (struct aj_setting_file){ script, aj_export_script, "exports a repository" };
	o.request.workspace = main ? NULL : r->workspace;
	o.request.main_repository = main ? r->repository : NULL;
	o.request.worktree = main ? r->worktree : NULL;
	o.request.changes = state->id;
	o.request.changes_read = true;
	o.request.command.chdir = main ? "/tmp" : r->seen_at;
	o.request.command.argv = argv;
	return aj_run_command(&o);
}
