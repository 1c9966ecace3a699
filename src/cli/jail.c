/* From parsed options to an exit code: gather the host, plan, run, print.
 * It prints results of exec and run, and adds nothing to them. */
#include "cli/jail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/trail.h"
#include "base/fd.h"
#include "cli/command.h"
#include "cli/host_program.h"
#include "cli/refuse.h"
#include "cli/scope.h"
#include "cli/surroundings.h"
#include "files/copy_out.h"
#include "home/imports.h"
#include "home/kept.h"
#include "home/network_settings.h"
#include "home/toolchains.h"
#include "host/paths.h"
#include "jail/host_ids.h"
#include "jail/once.h"
#include "plan/answer.h"
#include "terminal/findings.h"
#include "terminal/report.h"
#include "terminal/show.h"
#include "terminal/terminal.h"
#include "workspace/places.h"
#include "workspace/repository.h"
#include "workspace/worktree.h"

/* Plan again without a cgroup that proved unusable: best effort does without, and the result says so. A cgroup that the policy demands
 * stays an error. Nothing has run yet. */
static bool do_without_cgroup(const struct aj_result *result, struct aj_host *host, struct aj_plan *plan, struct aj_options *o)
{
	struct aj_error err = { 0 };
	if (!aj_host_drop_cgroup(host, o->arena, &result->setup))
		return false;
	return !aj_plan_lacks_cgroup(&o->loaded.policy, host) &&
	       aj_plan_build(plan, o->arena, &o->loaded.policy, &o->request, host, &err) == 0;
}

/* Plan again with a copy where the policy's own choice, an overlay, cannot be made: the folder stays untouched in both. An overlay that the
 * caller asked for or that is locked is what the caller gets, or an error. Nothing has run yet. */
static bool do_without_overlay(const struct aj_result *result, const struct aj_host *host, struct aj_plan *plan, struct aj_options *o)
{
	struct aj_error err = { 0 };
	char why[600];
	struct aj_policy *policy = &o->loaded.policy;
	if (result->setup.reason != AJ_REASON_OVERLAY || policy->workspace != AJ_WORKSPACE_OVERLAY || o->request.changes)
		return false;
	for (size_t i = 0; i < o->ask.settings.count; i++)
		if (strcmp(o->ask.settings.items[i].key, "filesystem.workspace") == 0)
			return false;
	if (o->loaded.locked[aj_key_index("filesystem.workspace")])
		return false;
	policy->workspace = AJ_WORKSPACE_COPY;
	if (aj_plan_build(plan, o->arena, policy, &o->request, host, &err) < 0)
		return false;
	if (!o->json)
		fprintf(stderr, "agentjail: the jail gets a copy of the folder, since no overlay can be made: %s\n",
		        aj_line(o->arena, aj_error_cause(&result->setup, why, sizeof why)));
	return true;
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
			fprintf(stderr, "agentjail: `%s` is bound writable, and programs of the host obey `%s` there: review that file after the run, or name the folder with --workspace\n",
			        aj_line(arena, m->target), aj_line(arena, pattern));
	}
}

/* One line for each limit that an option asked for, and that this host does not enforce, or not exactly. */
static void warn_unenforced(const struct aj_plan *plan, const struct aj_options *o)
{
	for (size_t i = 0; i < o->ask.settings.count; i++) {
		const struct aj_setting *set = &o->ask.settings.items[i];
		const char *line = aj_plan_unenforced(plan, set->key, set->option, set->value, o->arena);
		if (line)
			fprintf(stderr, "agentjail: %s\n", line);
	}
}

/* Git works in a linked worktree by its main repository. Without it git finds no repository; and where one of the two lies in the other, no
 * layer covers it, so that what reads works, and a commit fails in the middle of a run. */
static void warn_main_repository(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_request *request,
                                 struct aj_arena *arena)
{
	const char *path = request->main_repository, *unseen = aj_worktree_unseen(request, policy, arena);
	if (unseen && aj_plan_match_path(plan, unseen).kind != AJ_MATCH_HOST)
		fprintf(stderr, "agentjail: the workspace is a linked worktree, whose main repository `%s` is not in the jail: git finds no repository there; a policy with `filesystem.worktree = true` shows it\n",
		        aj_line(arena, unseen));
	if (path && plan->apart && !plan->apart_repository)
		fprintf(stderr, "agentjail: the workspace is a linked worktree, whose main repository `%s` is read-only for this run, since one of the two lies in the other: git can read it, and a commit, a branch or a stash fails; `--workspace-mode rw` lets git write there\n",
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
		fprintf(stderr, "agentjail: the workspace is `%s`, the root of this git repository; use --workspace . for this folder alone\n",
		        aj_line(o->arena, request->workspace));
	struct aj_repository found = aj_repository_around(request->workspace, o->arena);
	struct aj_request probe = { .workspace = found.root, .may_hold = true };
	if (found.git && aj_plan_match_path(plan, found.git).kind != AJ_MATCH_HOST)
		fprintf(stderr, "agentjail: the repository of the workspace is in `%s`, which the jail does not show, so git does not work; --bind with that path shows it, read-only\n",
		        aj_line(o->arena, found.git));
	else if (found.root && strcmp(found.root, request->workspace) != 0 && aj_plan_match_path(plan, found.root).kind != AJ_MATCH_HOST &&
	         aj_places_check(&probe, &o->loaded, &o->site, o->arena, &ignored) == 0)
		fprintf(stderr, "agentjail: the workspace is a part of the git repository `%s`, which the jail does not show, so git does not work; --workspace with that path shows it\n",
		        aj_line(o->arena, found.root));
}

/* A file that --network-ask-save makes extends the policy of this run. */
static int choose_whom_to_ask(struct aj_options *o, struct aj_error *err)
{
	struct aj_ask_whom *whom = &o->request.ask;
	if (!whom->save)
		return 0;
	if (!whom->command && !whom->fd && !whom->terminal) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", 0, "--network-ask-save is for answers, and nobody is asked");
		aj_advise(err, "add --network-ask, --network-ask-command or --network-ask-fd");
		return -1;
	}
	char *path = o->ask.file ? realpath(o->ask.file, NULL) : NULL;
	whom->extends = aj_toml_quote(path ? path : o->loaded.policy.name, o->arena);
	free(path);
	return 0;
}

/* Is there a person to ask what becomes of the changes? A program behind a pipe could show the command's output over the question. */
static const char *changes_to_ask_for(const struct aj_options *o, const struct aj_plan *plan, const struct aj_result *result)
{
	struct stat st;
	bool terminals = (o->request.terminal & 5) == 5 && (o->request.terminal & 2 || (fstat(1, &st) == 0 && S_ISREG(st.st_mode)));
	if (o->json || o->mcp || o->changes_keep || plan->snippet || !terminals || result->told || plan->escapes == AJ_ESCAPES_ALL)
		return NULL;
	return json_string_value(json_object_get(result->changes, "id"));
}

static void tell(const char *text)
{
	fprintf(stderr, "agentjail: %s\n", text);
}

int aj_jail_and_report(struct aj_options *o)
{
	struct aj_error err = { 0 };
	struct aj_host host;
	struct aj_plan plan;
	/* An id that the caller gives names the changes of this run alone. */
	o->request.changes_newest |= o->request.argv && !o->request.id && !o->request.changes && !o->changes_new;
	if (!o->request.id)
		o->request.id = aj_trail_new_id(o->arena);
	if (strcmp(o->loaded.policy.rootfs, "host") != 0 &&
	    aj_find_rootfs(&o->request.rootfs, o->loaded.policy.rootfs, o->site.rootfs, o->arena, &err) < 0)
		return aj_refuse_setup(o, &err);
	o->request.notice = o->json ? NULL : tell;
	o->request.may_hold = true;
	if (aj_places_check(&o->request, &o->loaded, &o->site, o->arena, &err) < 0)
		return aj_refuse_setup(o, &err);
	aj_surroundings_start(o);
	if (aj_worktree_find(&o->request, &o->loaded, &o->site, o->arena, &err) < 0)
		return aj_refuse_setup(o, &err);
	if (aj_kept_choose(&o->request, &o->loaded.policy, o->arena, &err) < 0 ||
	    aj_imports_read(&o->request, &o->loaded.policy, o->arena, &err) < 0 ||
	    aj_toolchains_find(&o->request, &o->loaded.policy, o->arena, &err) < 0)
		return aj_refuse_setup(o, &err);
	aj_network_settings_take(&o->request, &o->loaded.policy, o->arena);
	if (aj_host_gather(&host, o->arena, o->request.cgroup, &err) < 0)
		return aj_refuse_setup(o, &err);
	struct aj_id id;
	if (aj_id_take(&id, &host, &o->site, &err) < 0)
		return aj_refuse_setup(o, &err);
	if (choose_whom_to_ask(o, &err) < 0)
		return aj_refuse_setup(o, &err);
	aj_scope_when_demanded(&host, o);
	if (aj_plan_build(&plan, o->arena, &o->loaded.policy, &o->request, &host, &err) < 0)
		return aj_refuse_setup(o, &err);
	if (plan.host_uid != id.id) /* the jail writes to host folders, whose files keep one owner: the id is not used */
		aj_id_give(&id);
	if (o->dry_run) {
		aj_plan_dump(&plan, stdout);
		return 0;
	}
	struct aj_result result;
	struct aj_show show;
	struct aj_trail trail = { 0 };
	cleanup_fd int output_to = -1;
	if (o->output && (output_to = aj_copy_out_folder(o->output, &err)) >= 0 && aj_fd_move_high(&output_to) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "output", errno, "keep `%s` open", o->output);
	if (err.exit_code)
		return aj_refuse_setup(o, &err);
	o->request.output_to = o->output ? output_to : 0;
	cleanup_fd int home = aj_kept_open(&plan, &o->request, &err); /* held until the end */
	if (err.exit_code)
		return aj_refuse_setup(o, &err);
	if (o->report && !(o->report_to = aj_report_open(o->report, &err)))
		return aj_refuse_setup(o, &err);
	if (aj_trail_start(&trail, &o->site, &o->loaded.policy, &o->request, &plan, &err) < 0)
		return aj_refuse_setup(o, &err);
	for (size_t i = 0; i < o->request.import_links.count && !o->json; i++)
		fprintf(stderr, "agentjail: home: `~/%s` is behind a symlink, and is not copied: an earlier run may have chosen where that leads\n",
		        aj_line(o->arena, o->request.import_links.items[i]));
	for (size_t i = 0; i < o->request.settings_notices.count && !o->json; i++)
		fprintf(stderr, "agentjail: network: %s\n", aj_line(o->arena, o->request.settings_notices.items[i]));
	const char *offline = o->json || plan.snippet ? NULL : aj_host_runner_offline(&o->loaded.policy, o->request.argv, o->arena);
	if (offline)
		fprintf(stderr, "agentjail: %s\n", aj_line(o->arena, offline));
	if (!o->json) {
		warn_unenforced(&plan, o);
		warn_unprotected(&plan, &o->loaded.policy, o->arena);
		warn_main_repository(&plan, &o->loaded.policy, &o->request, o->arena);
		warn_repository(o, &plan);
	}
	struct aj_terminal saved;
	if (!plan.snippet)
		aj_terminal_save(&saved);
	aj_show_init(&show, &plan);
	const struct aj_once_events events = { .output = o->json && !o->json_to ? NULL : aj_show_output,
		                               .output_arg = &show,
		                               .connections = aj_trail_connections,
		                               .connections_arg = &trail };
	aj_run_once(&plan, &o->loaded.policy, &o->request, &events, &result);
	if (result.setup.exit_code && do_without_cgroup(&result, &host, &plan, o)) {
		aj_result_free(&result);
		if (!o->json)
			warn_unenforced(&plan, o);
		aj_run_once(&plan, &o->loaded.policy, &o->request, &events, &result);
	}
	if (result.setup.exit_code && do_without_overlay(&result, &host, &plan, o)) {
		aj_result_free(&result);
		aj_run_once(&plan, &o->loaded.policy, &o->request, &events, &result);
	}
	if (result.setup.exit_code)
		aj_host_advise(&result.setup);
	if (!plan.snippet)
		aj_host_program_advise(&result.setup, o->request.argv[0], o->arena);
	if (plan.home_source && strcmp(result.setup.step, "mounts") == 0 && !result.setup.fix[0])
		aj_advise(&result.setup,
		          "an earlier run may have put something else there, in the kept home `%s`: `agentjail homes remove` removes that home",
		          plan.home_source);
	if (!plan.snippet)
		aj_terminal_restore(&saved);
	int code = aj_status_exit_code(&result, &plan);
	if (aj_trail_end(&trail, &o->loaded.policy, &o->request, &plan, &result, &err) < 0)
		code = aj_print_error(&err);
	if (result.recorded == AJ_MISSED && !o->json)
		fprintf(stderr, "agentjail: warning: the audit trail's record of this run is not complete: %s\n",
		        aj_line(o->arena, result.audit_why));
	const struct aj_report report = { &plan, &o->loaded.policy, &o->request, &result, o->output };
	if (o->json) {
		show.failed = aj_show_json(aj_result_json(&result, &plan, &o->loaded.policy, &o->request), o->json_to) < 0;
	} else if (plan.snippet) {
		aj_show_result(&show, &result);
	} else if (result.status == AJ_STATUS_SETUP_ERROR) {
		aj_refuse_setup(o, &result.setup);
	} else if (result.status != AJ_STATUS_OK && result.status != AJ_STATUS_ERROR && result.status != AJ_STATUS_SIGNAL) {
		fprintf(stderr, "agentjail: %s: %s\n", aj_status_name(result.status), result.reason);
	}
	const char *script = o->json || plan.snippet || result.status != AJ_STATUS_ERROR
	                       ? NULL
	                       : aj_host_script_not_shown(&plan, o->request.argv, o->arena);
	if (script)
		fprintf(stderr, "agentjail: hint: %s\n", aj_line(o->arena, script));
	if (!o->json)
		aj_report_print(stderr, &report);
	if (o->report_to && aj_report_write(o->report_to, o->report, &report) < 0) {
		aj_fail(&err, AJ_EXIT_SETUP, "report", errno, "write `%s`; the command ran", o->report);
		code = aj_print_error(&err);
	}
	if (show.failed) {
		aj_fail(&err, AJ_EXIT_SETUP, "output", 0, "the result could not be written");
		code = aj_print_error(&err);
	}
	aj_show_close(&show);
	const char *changes = changes_to_ask_for(o, &plan, &result);
	if (changes) {
		aj_close(&home); /* another run may have it meanwhile */
		aj_changes_ask(changes, plan.apart, plan.apart_repository);
	}
	aj_result_free(&result);
	return code;
}
