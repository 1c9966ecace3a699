/* `agentjail changes`: finds the subcommand and the run, and prints errors.
 * A subcommand's file does the rest. */
#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/changes/changescmd.h"
#include "cli/command.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/help.h"
#include "workspace/changes/approval_reached.h"

/* For the search of a workspace: two million files. */
enum { REACH_MS = 30000 };

enum { WITH_RUN = 1, WITH_FORCE = 2, WITH_ALL = 4, WITH_IGNORED = 8, SAYS_RUN = 16 };
const struct aj_changes_command aj_changes_commands[] = {
	{ "list", "list [--json]", "runs with changes, the newest first", 0 },
	{ "show", "show [ID] [PATH...] [--all] [--json]",
	  "what a run changed; held and refused changes apart; also without a subcommand", WITH_RUN | WITH_IGNORED },
	{ "diff", "diff [ID] [PATH...] [--json]",
	  "the changes that are not held, as a patch for `git apply`; on a terminal through git's pager", WITH_RUN },
	{ "apply", "apply [ID] [PATH...] [--force | --merge] [--branch NAME] | --abort [--json]",
	  "apply changes to the workspace, all or none", WITH_RUN | WITH_FORCE | SAYS_RUN },
	{ "fetch", "fetch [ID] [PATH...] [--json]", "take commits into refs/agentjail/ID/ of the host's repositories", WITH_RUN },
	{ "discard", "discard [ID] [PATH...] | --all [--json]", "discard changes, or a run with all its changes",
	  WITH_RUN | WITH_ALL | SAYS_RUN },
	/* The program's own: for the host's git, and for `show`. */
	{ "upload-pack", NULL, NULL, WITH_RUN },
	{ "commits", NULL, NULL, WITH_RUN },
	{ 0 },
};
enum { COMMANDS = sizeof aj_changes_commands / sizeof *aj_changes_commands - 1, FOR_PEOPLE = COMMANDS - 2 };

static void usage(FILE *out)
{
	fprintf(out, "Usage: agentjail changes SUBCOMMAND\n\n");
	for (size_t i = 0; i < FOR_PEOPLE; i++)
		aj_help_row(out, aj_changes_commands[i].synopsis, aj_changes_commands[i].help);
	fprintf(out, "\nID: of a run, or its beginning; without one the newest run on the current folder\n"
	             "or on a folder around it in its repository. PATH: in the workspace, a file or a\n"
	             "folder with all below it; each word after `--` is one. Held changes, by which\n"
	             "programs of the host would run code, are applied, and in a patch, only by a PATH\n"
	             "of their own. --force: overwrite what the host has changed since; --merge: merge\n"
	             "text files that both changed, with markers where they conflict; --branch: make\n"
	             "this branch of the run's commits, and move none; --abort: take an interrupted\n"
	             "apply back; --all: every run that has ended; of `show`: each file that git\n"
	             "ignores, too, in place of a line for each folder.\n\n"
	             "Exit status: 0 done, 1 conflicts, 2 wrong use, 125 a system call failed.\n");
}

static int refuse_word(struct aj_error *err, const char *what, const char *word)
{
	return aj_refuse_word(err, "changes", what, word);
}

static const char *subcommand_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_changes_commands[i].name;
}

static bool set_switch(struct aj_changes_args *a, const char *word, int takes)
{
	const struct {
		const char *name;
		bool *to, fits;
	} switches[] = { { "--json", &a->json, true },
		         { "--force", &a->force, takes & WITH_FORCE },
		         { "--merge", &a->merge, takes & WITH_FORCE },
		         { "--abort", &a->abort, takes & WITH_FORCE },
		         { "--all", &a->all, takes & WITH_ALL },
		         { "--all", &a->unfolded, takes & WITH_IGNORED } };
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (switches[i].fits && strcmp(word, switches[i].name) == 0)
			return *switches[i].to = true;
	return false;
}

static int parse(struct aj_changes_args *a, int takes, int argc, char **argv, struct aj_error *err)
{
	bool options = true;
	a->paths = aj_alloc(a->arena, ((size_t)argc + 1) * sizeof *a->paths);
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i];
		if (options && strcmp(word, "--") == 0) {
			options = false;
		} else if (options && word[0] == '-') {
			if ((takes & WITH_FORCE) && strcmp(word, "--branch") == 0 && i + 1 < argc)
				a->branch = argv[++i];
			else if (!set_switch(a, word, takes))
				return refuse_word(err, "unexpected option", word);
		} else if (takes & WITH_RUN) {
			a->may_be_id |= options && !a->paths_count;
			a->paths[a->paths_count++] = word;
		} else {
			return refuse_word(err, "unexpected", word);
		}
	}
	if (a->all && a->paths_count)
		return refuse_word(err, "--all takes no ID:", a->paths[0]);
	if (a->abort && (a->force || a->merge || a->branch))
		return refuse_word(err, "no other option can be combined with", "--abort");
	if (a->force && a->merge)
		return refuse_word(err, "--force cannot be combined with", "--merge");
	return 0;
}

/* A caller's paths become relative to the workspace, and plain; those in the main repository stay absolute. */
static int plain_paths(struct aj_changes_args *a, const struct aj_change_record *r, struct aj_error *err)
{
	for (size_t i = 0; i < a->paths_count; i++) {
		const char *word = a->paths[i], *rest = word[0] == '/' ? aj_path_rest(word, r->workspace) : word;
		bool repository = !rest && *r->repository && aj_path_within(word, r->repository);
		rest = repository ? word : rest;
		if (!*word || !rest)
			return refuse_word(err, "not a path in the workspace:", word);
		for (const char *at = rest; *at; at += strcspn(at, "/"), at += strspn(at, "/"))
			if (strcspn(at, "/") == 2 && strncmp(at, "..", 2) == 0)
				return refuse_word(err, "a path with `..`:", word);
		const char *plain = aj_path_simplify(aj_printf(a->arena, "/%s", rest), a->arena) + !repository;
		if (strlen(plain) >= 4096)
			return refuse_word(err, "a path that is too long:", "PATH");
		a->paths[i] = *plain ? plain : ".";
	}
	return 0;
}

/* Open the run that the first word names, or the newest one. */
static int open_run(struct aj_changes_args *a, int all, bool says, struct aj_change_state *s, struct aj_error *err)
{
	char newest[AJ_CHANGES_ID];
	bool named = a->may_be_id && aj_changes_has_run(all, a->paths[0]);
	struct aj_error none = { 0 };
	if (!named && aj_changes_newest(all, a->arena, newest, &none) < 0) {
		*err = none;
		if (a->may_be_id && none.exit_code == AJ_EXIT_USAGE)
			snprintf(err->cause, sizeof err->cause,
			         "there are no changes of a run `%s`, and none of the current folder", a->paths[0]);
		return -1;
	}
	if (aj_change_state_open(all, named ? a->paths[0] : newest, s, err) < 0)
		return -1;
	const char *word = !named && a->may_be_id ? a->paths[0] : NULL;
	a->paths += named;
	a->paths_count -= named;
	if (plain_paths(a, &s->record, err) < 0)
		return -1;
	if (word && !aj_change_state_has_path(s, a->paths[0])) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
		        "`%s` is neither the ID of a run nor a path in the workspace of the newest run, `%s`", word, s->id);
		aj_advise(err, "`agentjail changes list` shows the runs");
		return -1;
	}
	if (a->abort && a->paths_count)
		return refuse_word(err, "--abort takes no PATH:", a->paths[0]);
	if (!named && says)
		fprintf(stderr, "agentjail: the newest run here is `%s`\n", s->id);
	return 0;
}

/* The workspace is gone, or another folder, but it was a linked worktree: its commits are in the main repository. */
static bool without_worktree(struct aj_change_state *s, bool says, struct aj_arena *arena, struct aj_error *err)
{
	char why[600];
	struct aj_error unusable = *err, other = { 0 };
	aj_close(&s->workspace);
	if (!*s->record.repository || aj_change_state_repository(s, &other) < 0)
		return false;
	if (says)
		fprintf(stderr, "agentjail: the main repository alone is fetched: %s\n",
		        aj_line(arena, aj_error_cause(&unusable, why, sizeof why)));
	*err = (struct aj_error){ 0 };
	return true;
}

static int run_on(size_t sub, struct aj_changes_args *a, int all, struct aj_change_state *s, struct aj_error *err)
{
	bool discard = strcmp(aj_changes_commands[sub].name, "discard") == 0,
	     apply = strcmp(aj_changes_commands[sub].name, "apply") == 0;
	if (open_run(a, all, aj_changes_commands[sub].takes & SAYS_RUN, s, err) < 0)
		return -1;
	if ((discard || apply) && aj_change_state_lock(s, err) < 0)
		return -1;
	if (discard)
		return aj_changes_discard(a, all, s, err);
	bool fetch = strcmp(aj_changes_commands[sub].name, "fetch") == 0,
	     pack = strcmp(aj_changes_commands[sub].name, "upload-pack") == 0,
	     log = strcmp(aj_changes_commands[sub].name, "commits") == 0;
	if (aj_change_state_trees(s, err) < 0 && (!(fetch || pack || log) || !without_worktree(s, fetch, a->arena, err)))
		return -1;
	if (fetch)
		return aj_changes_fetch(a, s, err);
	if (pack || log)
		return aj_changes_export(a, s, log, err);
	if (!aj_change_reach(s, REACH_MS))
		fprintf(stderr,
		        "agentjail: the search of the workspace for repositories stopped after %d s or at its limits: every change is held, since git's configuration may name any of them\n",
		        REACH_MS / 1000);
	return apply                                              ? aj_changes_apply(a, s, err)
	     : strcmp(aj_changes_commands[sub].name, "diff") == 0 ? aj_changes_diff(a, s, err)
	                                                          : aj_changes_show(a, s, err);
}

static int run_sub(size_t sub, struct aj_changes_args *a, struct aj_error *err)
{
	if (strcmp(aj_changes_commands[sub].name, "list") == 0)
		return aj_changes_list(a, err);
	cleanup_fd int all = aj_changes_folder(false);
	if (all < 0 && errno != ENOENT)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno,
		               "open the folder of the changes, $XDG_STATE_HOME/agentjail/changes");
	if (a->all)
		return aj_changes_discard(a, all, NULL, err);
	struct aj_change_state state = AJ_NO_CHANGE_STATE;
	int code = run_on(sub, a, all, &state, err);
	aj_change_state_close(&state);
	return code;
}

/* Without a subcommand, or with options of `show` alone, it is `show`. */
static size_t find_subcommand(int argc, char **argv, int *ret_words)
{
	bool none = argc < 2 || argv[1][0] == '-';
	const char *name = none ? "show" : argv[1];
	size_t sub = 0;
	while (sub < COMMANDS && strcmp(name, aj_changes_commands[sub].name) != 0)
		sub++;
	*ret_words = none ? 1 : 2;
	return sub;
}

int aj_cmd_changes(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_changes_args args = { .arena = &arena };
	int words, code;
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0) {
			usage(stdout);
			return 0;
		}
	size_t sub = find_subcommand(argc, argv, &words);
	if (sub == COMMANDS)
		code = aj_refuse_subcommand(&err, "changes", argv[1], subcommand_at, FOR_PEOPLE);
	else if ((code = parse(&args, aj_changes_commands[sub].takes, argc - words, argv + words, &err)) == 0)
		code = run_sub(sub, &args, &err);
	if (code < 0)
		code = aj_print_error(&err);
	aj_arena_free(&arena);
	return code;
}
