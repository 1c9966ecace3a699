/* The common part of exec and run: completes the request, plans, runs, reports.
 * It prints results of exec and run, and adds nothing to them. */
#include "cli/run_jail.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/command.h"
#include "cli/host_program.h"
#include "cli/notices.h"
#include "cli/refuse.h"
#include "cli/scope.h"
#include "cli/surroundings.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/report.h"
#include "cli/terminal/show.h"
#include "cli/terminal/terminal.h"
#include "jail/audit/trail.h"
#include "jail/fallback.h"
#include "jail/files/copy_out.h"
#include "jail/host_ids.h"
#include "policy/host/paths.h"
#include "policy/item_types.h"
#include "workspace/home/imports.h"
#include "workspace/home/kept.h"
#include "workspace/home/network_settings.h"
#include "workspace/home/toolchains.h"
#include "workspace/location.h"
#include "workspace/worktree.h"

/* A run of exec or run, from the request to its result. */
struct jail_task {
	struct aj_options *o;
	struct aj_host host;
	struct aj_id id;            /* of the jail */
	const struct aj_plan *plan; /* of the result, once there is one */
	int output_to, home;        /* the folder of --output, and the lock of a kept home; or -1 */
	struct aj_trail trail;
	struct aj_show show;
	struct aj_result result;
};

static void tell(const char *text)
{
	fprintf(stderr, "agentjail: %s\n", text);
}

/* A file that --network-ask-save makes extends the policy of this run. */
static int choose_whom_to_ask(struct aj_options *o, struct aj_error *err)
{
	struct aj_ask_whom *whom = &o->request.ask;
	if (!whom->save)
		return 0;
	if (!whom->command && !whom->fd && !whom->terminal) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", 0, "--network-ask-save saves answers, and no question is asked");
		aj_advise(err, "add --network-ask, --network-ask-command or --network-ask-fd");
		return -1;
	}
	char *path = o->ask.file ? realpath(o->ask.file, NULL) : NULL;
	whom->extends = aj_toml_quote(path ? path : o->loaded.policy.name, o->arena);
	free(path);
	return 0;
}

/* The parts of the request that the command line does not have. */
static int complete_request(struct aj_options *o, struct aj_error *err)
{
	const struct aj_policy *policy = &o->loaded.policy;
	struct aj_request *request = &o->request;
	/* An id that the caller gives names the changes of this run alone. */
	request->changes_newest |= request->command.argv && !request->id && !request->changes && !o->changes_new;
	if (!request->id)
		request->id = aj_trail_new_id(o->arena);
	if (strcmp(policy->rootfs, "host") != 0 &&
	    aj_find_rootfs(&request->rootfs, policy->rootfs, o->site.rootfs, o->arena, err) < 0)
		return -1;
	request->notice = o->json ? NULL : tell;
	request->may_hold = true;
	if (aj_places_check(request, &o->loaded, &o->site, o->arena, err) < 0)
		return -1;
	aj_surroundings_start(o);
	if (aj_worktree_find(request, &o->loaded, &o->site, o->arena, err) < 0 ||
	    aj_kept_choose(request, policy, o->arena, err) < 0 || aj_imports_read(request, policy, o->arena, err) < 0 ||
	    aj_toolchains_find(request, policy, o->arena, err) < 0)
		return -1;
	aj_network_settings_take(request, policy, o->arena);
	return 0;
}

static int plan_run(struct jail_task *t, struct aj_error *err)
{
	struct aj_options *o = t->o;
	struct aj_plan *plan = aj_alloc(o->arena, sizeof *plan);
	if (aj_host_gather(&t->host, o->arena, o->request.cgroup, err) < 0 || aj_id_take(&t->id, &t->host, &o->site, err) < 0 ||
	    choose_whom_to_ask(o, err) < 0)
		return -1;
	aj_scope_when_demanded(&t->host, o);
	if (aj_plan_build(plan, o->arena, &o->loaded.policy, &o->request, &t->host, err) < 0)
		return -1;
	if (plan->host_uid != t->id.id) /* the jail writes to host folders, whose files keep one owner: the id is not used */
		aj_id_give(&t->id);
	t->plan = plan;
	return 0;
}

/* Everything of the host that the run's end writes to, and the records of its start. */
static int open_outputs(struct jail_task *t, struct aj_error *err)
{
	struct aj_options *o = t->o;
	if (o->output && (t->output_to = aj_copy_out_folder(o->output, err)) >= 0 && aj_fd_move_high(&t->output_to) < 0)
		aj_fail(err, AJ_EXIT_SETUP, "output", errno, "keep `%s` open", o->output);
	if (err->exit_code)
		return -1;
	o->request.snippet.output_to = o->output ? t->output_to : 0;
	t->home = aj_kept_open(t->plan, &o->request, err); /* held until the end */
	if (err->exit_code || (o->report && !(o->report_to = aj_report_open(o->report, err))))
		return -1;
	return aj_trail_start(&t->trail, &o->site, &o->loaded.policy, &o->request, t->plan, err);
}

/* An overlay that the caller asked for or that is locked is what the caller gets, or an error. */
static bool keeps_overlay(const struct aj_options *o)
{
	for (size_t i = 0; i < o->ask.settings.count; i++)
		if (strcmp(o->ask.settings.items[i].key, "filesystem.workspace") == 0)
			return true;
	return o->loaded.locked[aj_key_index("filesystem.workspace")];
}

static void on_replan(void *arg, const struct aj_plan *plan, const struct aj_error *cause)
{
	const struct aj_options *o = arg;
	char why[600];
	if (o->json)
		return;
	if (cause->reason == AJ_REASON_CGROUP)
		aj_notices_unenforced(o, plan);
	else
		fprintf(stderr, "agentjail: %s, since no overlay can be made: %s\n",
		        plan->staged_workspace
		            ? "the jail gets a copy of the folder"
		            : "git finds no repository in the jail, which does not get the worktree's main repository",
		        aj_line(o->arena, aj_error_cause(cause, why, sizeof why)));
}

static void run(struct jail_task *t)
{
	struct aj_options *o = t->o;
	struct aj_terminal saved;
	bool command = !t->plan->snippet;
	const struct aj_once_events events = { .output = o->json && !o->json_to ? NULL : aj_show_output,
		                               .output_arg = &t->show,
		                               .connections = aj_trail_connections,
		                               .connections_arg = &t->trail };
	const struct aj_fallback fallback = { .arena = o->arena,
		                              .policy = &o->loaded.policy,
		                              .host = &t->host,
		                              .request = &o->request,
		                              .keep_overlay = keeps_overlay(o),
		                              .on_replan = on_replan,
		                              .arg = o };
	aj_show_init(&t->show, t->plan);
	if (command)
		aj_terminal_save(&saved);
	t->plan = aj_run_with_fallback(&fallback, t->plan, &events, &t->result);
	if (command)
		aj_terminal_restore(&saved);
}

/* The remedy for a set-up that failed. */
static void advise(struct jail_task *t)
{
	struct aj_error *setup = &t->result.setup;
	if (setup->exit_code)
		aj_host_advise(setup);
	if (!t->plan->snippet)
		aj_host_program_advise(setup, t->o->request.command.argv[0], t->o->arena);
	if (t->plan->home_source && setup->reason == AJ_REASON_MOUNT)
		aj_advise(setup,
		          "an earlier run may have put something else there, in the kept home `%s`: `agentjail homes remove` removes that home",
		          t->plan->home_source);
}

/* Returns the exit code. */
static int record_end(struct jail_task *t)
{
	struct aj_options *o = t->o;
	struct aj_error err = { 0 };
	int code = aj_status_exit_code(&t->result, t->plan);
	if (aj_trail_end(&t->trail, &o->loaded.policy, &o->request, t->plan, &t->result, &err) < 0)
		code = aj_print_error(&err);
	if (t->result.recorded == AJ_MISSED && !o->json)
		fprintf(stderr, "agentjail: warning: the audit trail's record of this run is not complete: %s\n",
		        aj_line(o->arena, t->result.audit_why));
	return code;
}

/* For a package that a snippet's Python lacks: the command that gets it. The name is a claim, and nothing is looked up by it. */
static void advise_package(const struct jail_task *t)
{
	static const struct {
		const char *module, *package;
	} others[] = { { "sklearn", "scikit-learn" }, { "PIL", "pillow" },         { "cv2", "opencv-python-headless" },
		       { "yaml", "PyYAML" },          { "bs4", "beautifulsoup4" }, { "dateutil", "python-dateutil" },
		       { "skimage", "scikit-image" }, { "docx", "python-docx" } };
	static const char begin[] = "No module named '";
	const json_t *error = json_object_get(t->result.claim, "error");
	const char *type = json_string_value(json_object_get(error, "type")), *env = t->o->loaded.policy.python_env;
	const char *message = json_string_value(json_object_get(error, "message"));
	if (!type || !message || strcmp(type, "ModuleNotFoundError") != 0 || strncmp(message, begin, sizeof begin - 1) != 0)
		return;
	const char *name = message + sizeof begin - 1, *module = aj_strndup(t->o->arena, name, strcspn(name, ".'")),
		   *package = module;
	if (strlen(module) > 100 || !aj_import_pattern_valid(module))
		return;
	for (size_t i = 0; i < sizeof others / sizeof *others; i++)
		package = strcmp(module, others[i].module) == 0 ? others[i].package : package;
	if (*env)
		fprintf(stderr, "  fix: `agentjail env update %s --packages ...`, with %s among the packages\n", env, package);
	else
		fprintf(stderr, "  fix: `agentjail env create data --packages %s`, then --env data\n", package);
}

/* What --json prints on standard output, a snippet's value there, or why a command did not end by itself on standard error. */
static void print_result(struct jail_task *t)
{
	struct aj_options *o = t->o;
	const struct aj_result *result = &t->result;
	if (o->json)
		t->show.failed = aj_show_json(aj_result_json(result, t->plan, &o->loaded.policy, &o->request), o->json_to) < 0;
	else if (t->plan->snippet)
		aj_show_result(&t->show, result);
	else if (result->status == AJ_STATUS_SETUP_ERROR)
		aj_refuse_setup(o, &result->setup);
	else if (result->status != AJ_STATUS_OK && result->status != AJ_STATUS_ERROR && result->status != AJ_STATUS_SIGNAL)
		fprintf(stderr, "agentjail: %s: %s\n", aj_status_name(result->status), result->reason);
	if (!o->json && t->plan->snippet)
		advise_package(t);
	const char *script = o->json || t->plan->snippet || result->status != AJ_STATUS_ERROR
	                       ? NULL
	                       : aj_host_script_not_shown(t->plan, o->request.command.argv, o->arena);
	if (script)
		fprintf(stderr, "agentjail: hint: %s\n", aj_line(o->arena, script));
}

/* Returns the exit code. */
static int report(struct jail_task *t, int code)
{
	struct aj_options *o = t->o;
	struct aj_error err = { 0 };
	const struct aj_report report = { t->plan, &o->loaded.policy, &o->request, &t->result, o->output };
	if (!o->json && !o->quiet)
		aj_report_print(stderr, &report);
	if (o->report_to && aj_report_write(o->report_to, o->report, &report) < 0) {
		aj_fail(&err, AJ_EXIT_SETUP, "report", errno, "write `%s`; the command ran", o->report);
		code = aj_print_error(&err);
	}
	if (t->show.failed) {
		aj_fail(&err, AJ_EXIT_SETUP, "output", 0, "the result could not be written");
		code = aj_print_error(&err);
	}
	aj_show_close(&t->show);
	return code;
}

/* Whether a person can be asked about the changes. A program behind a pipe could show the command's output over the question. */
static const char *changes_to_ask_for(const struct aj_options *o, const struct aj_plan *plan, const struct aj_result *result)
{
	struct stat st;
	bool terminals = (o->request.command.terminal & 5) == 5 &&
	                 (o->request.command.terminal & 2 || (fstat(1, &st) == 0 && S_ISREG(st.st_mode)));
	if (o->json || o->mcp || o->changes_keep || plan->snippet || !terminals || result->interrupt_sent ||
	    plan->escapes == AJ_ESCAPES_ALL)
		return NULL;
	return json_string_value(json_object_get(result->changes, "id"));
}

static void ask_about_changes(struct jail_task *t)
{
	const char *changes = changes_to_ask_for(t->o, t->plan, &t->result);
	if (!changes)
		return;
	aj_close(&t->home); /* another run may have it meanwhile */
	const char *workspace = t->plan->staged_workspace, *repository = t->plan->staged_repository;
	aj_changes_ask(changes, workspace ? workspace : repository, workspace ? repository : NULL);
}

int aj_run_command(struct aj_options *o)
{
	struct aj_error err = { 0 };
	struct jail_task t = { .o = o, .output_to = -1, .home = -1 };
	int code;
	if (complete_request(o, &err) < 0 || plan_run(&t, &err) < 0)
		return aj_refuse_setup(o, &err);
	if (o->dry_run) {
		aj_plan_dump(t.plan, stdout);
		return 0;
	}
	if (open_outputs(&t, &err) < 0) {
		code = aj_refuse_setup(o, &err);
	} else {
		if (!o->quiet)
			aj_notices_print(o, t.plan);
		run(&t);
		advise(&t);
		code = record_end(&t);
		print_result(&t);
		code = report(&t, code);
		ask_about_changes(&t);
		aj_result_free(&t.result);
	}
	aj_close(&t.output_to);
	aj_close(&t.home);
	return code;
}
