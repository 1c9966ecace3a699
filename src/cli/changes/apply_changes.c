/* `agentjail changes apply` and `discard`: prints which changes were applied, which were left, and what to do about these.
 * The decisions are made in workspace/changes/apply. */
#include "workspace/changes/apply.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/tree/node.h"
#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"
#include "workspace/changes/history.h"

enum { SHOWN_MAX = 50, LISTED_MAX = 10000, REFS_SHOWN = 8 };

static const char *const outcome_names[AJ_APPLY_OUTCOMES] = { "conflicts", "held",    "refused", "for_merge",
	                                                      "arrived",   "applied", "merged" };

struct printing {
	bool json;
	size_t shown[AJ_APPLY_OUTCOMES];
	json_t *lists[AJ_APPLY_OUTCOMES], *repositories;
	struct aj_tally taken;
};

static void print_outcome(void *arg, enum aj_apply_outcome outcome, const struct aj_change *c)
{
	struct printing *t = arg;
	if (outcome == AJ_APPLY_TAKEN || outcome == AJ_APPLY_MERGED)
		aj_tally_add(&t->taken, c);
	if (t->json) {
		if (json_array_size(t->lists[outcome]) < LISTED_MAX)
			json_array_append_new(t->lists[outcome], aj_change_json(c));
		return;
	}
	if (outcome == AJ_APPLY_TAKEN || outcome == AJ_APPLY_FOR_MERGE || t->shown[outcome]++ >= SHOWN_MAX)
		return;
	static const char arrived[] = "your branch has the run's version, and your file is newer";
	const char *const texts[AJ_APPLY_OUTCOMES][2] = { [AJ_APPLY_CONFLICT] = { "conflict", c->conflict },
		                                          [AJ_APPLY_NEEDS_APPROVAL] = { "held    ", c->held },
		                                          [AJ_APPLY_REFUSED] = { "refused ", c->refused },
		                                          [AJ_APPLY_ARRIVED] = { "arrived ", arrived },
		                                          [AJ_APPLY_MERGED] = { "merged  ", c->note } };
	fprintf(stderr, "%s  ", texts[outcome][0]);
	aj_path_print(c->path, stderr);
	fprintf(stderr, "  %s\n", texts[outcome][1]);
}

static void note_repository(void *arg, const struct aj_history_repo *r, bool moves, const char *branch)
{
	struct printing *t = arg;
	json_t *row = aj_history_json(r);
	json_object_set_new(row, "moved", json_boolean(moves));
	json_object_set_new(row, "made", branch ? json_string(branch) : json_null());
	json_array_append_new(t->repositories, row);
}

static const char *text_of(const json_t *row, const char *name)
{
	const char *text = json_string_value(json_object_get(row, name));
	return text ? text : "";
}

/* References that a move of the branch has not made needless. */
static void print_references(const json_t *row, struct aj_arena *arena, FILE *out)
{
	json_t *refs = json_object_get(row, "refs"), *ref;
	bool moved = json_is_true(json_object_get(row, "moved"));
	const char *head = text_of(row, "run_branch"), *command = text_of(row, "command");
	size_t i, shown = 0;
	json_array_foreach(refs, i, ref) {
		const char *of = text_of(ref, "of"), *name = text_of(ref, "name");
		name += strncmp(name, "refs/", 5) == 0 ? 5 : 0;
		bool is_head = strcmp(of, "HEAD") == 0, is_branch = strcmp(of, head) == 0;
		if ((moved && (is_head || is_branch)) || (is_head && *head) || strstr(command, name))
			continue;
		if (shown++ < REFS_SHOWN)
			fprintf(out, "%s%s", shown == 1 ? "  also fetched: " : ", ", aj_line(arena, name));
	}
	if (shown > REFS_SHOWN)
		fprintf(out, ", and %zu more", shown - REFS_SHOWN);
	if (shown)
		putc('\n', out);
}

/* A name may come from the run: no control character of it reaches a terminal. */
static void print_repository(const json_t *row, FILE *out)
{
	struct aj_arena arena = { 0 };
	const char *git = aj_line(&arena, text_of(row, "path")), *branch = text_of(row, "branch"), *made = text_of(row, "made");
	const char *verdict = text_of(row, "verdict"), *why = aj_line(&arena, text_of(row, "why")),
		   *command = text_of(row, "command");
	const char *plain = strncmp(branch, "refs/heads/", 11) == 0 ? branch + 11 : "HEAD";
	if (json_is_true(json_object_get(row, "moved")))
		fprintf(out, "%s: %s moved forward to %.10s\n", git, aj_line(&arena, plain), text_of(row, "run"));
	else if (*made)
		fprintf(out, "%s: branch %s made at %.10s\n", git, aj_line(&arena, made), text_of(row, "run"));
	else if (*command)
		fprintf(out, "%s: %s; to take the run's:\n  %s\n", git, why, aj_line(&arena, command));
	else if (*why)
		fprintf(out, "%s: its history stays in the run: %s\n", git, why);
	else if (strcmp(verdict, "made") == 0)
		fprintf(out, "%s: made, without the settings, hooks and stash of the run\n", git);
	else if (json_array_size(json_object_get(row, "refs")))
		fprintf(out, "%s:\n", git);
	print_references(row, &arena, out);
	aj_arena_free(&arena);
}

static void print_json(const struct printing *t, const struct aj_applied *done, const char *id, bool failed,
                       const struct aj_error *err)
{
	char why[600];
	json_t *doc = json_pack("{s:s, s:b, s:b}", "id", id, "done", !failed, "resumed", done->resumed);
	json_t *sum = json_object();
	for (int i = 0; i < AJ_APPLY_OUTCOMES; i++) {
		json_object_set(doc, outcome_names[i], t->lists[i]);
		json_object_set_new(sum, outcome_names[i], json_integer((json_int_t)done->counts[i]));
	}
	json_object_set_new(sum, "files", json_integer((json_int_t)t->taken.files));
	json_object_set(doc, "repositories", t->repositories);
	json_object_set_new(doc, "sum", sum);
	json_object_set_new(doc, "error", failed ? json_string(aj_error_cause(err, why, sizeof why)) : json_null());
	json_dumpf(doc, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(doc);
}

static void print_kept(const struct aj_applied *done)
{
	const char *at = done->kept.data, *end = at + done->kept.bytes;
	while (at && at < end) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct aj_arena arena = { 0 };
		fprintf(stderr, "left in place, since the host has changed it meanwhile: %s\n",
		        aj_line(&arena, aj_strndup(&arena, at, (size_t)(newline - at))));
		aj_arena_free(&arena);
		at = newline + 1;
	}
}

static void print_more(const struct printing *t)
{
	for (int i = 0; i < AJ_APPLY_OUTCOMES; i++)
		if (t->shown[i] > SHOWN_MAX)
			fprintf(stderr, "and %zu more %s\n", t->shown[i] - SHOWN_MAX, outcome_names[i]);
}

static void print_done(const struct aj_changes_args *args, const struct aj_change_state *s, const struct printing *t,
                       const struct aj_applied *done, const char *verb)
{
	char files[64];
	if (args->abort)
		printf("the interrupted apply is undone: `agentjail changes show %s` has what is left\n", s->id);
	else if (done->resumed)
		printf("the interrupted apply is complete: `agentjail changes show %s` has what is left\n", s->id);
	else
		printf("%s %s\n", aj_tally_text(&t->taken, files), verb);
	for (size_t i = 0; i < json_array_size(t->repositories); i++)
		print_repository(json_array_get(t->repositories, i), stdout);
	if (done->counts[AJ_APPLY_FOR_MERGE])
		fprintf(stderr, "%zu left: a part of the run's commits, and comes with these\n",
		        done->counts[AJ_APPLY_FOR_MERGE]);
	if (done->counts[AJ_APPLY_NEEDS_APPROVAL])
		fprintf(stderr, "%zu held: name each, or the folder that holds it, to apply it too\n",
		        done->counts[AJ_APPLY_NEEDS_APPROVAL]);
}

static int end_printing(const struct aj_changes_args *args, const struct aj_change_state *s, struct printing *t,
                        struct aj_applied *done, int result, const struct aj_error *err, const char *verb)
{
	if (args->json)
		print_json(t, done, s->id, result < 0, err);
	print_kept(done);
	if (!args->json)
		print_more(t);
	if (!args->json && result == 0)
		print_done(args, s, t, done, verb);
	for (int i = 0; i < AJ_APPLY_OUTCOMES; i++)
		json_decref(t->lists[i]);
	json_decref(t->repositories);
	aj_buffer_free(&done->kept);
	return result;
}

static struct printing begin_printing(const struct aj_changes_args *args)
{
	struct printing t = { .json = args->json, .repositories = json_array() };
	for (int i = 0; i < AJ_APPLY_OUTCOMES; i++)
		t.lists[i] = json_array();
	return t;
}

int aj_changes_apply(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct printing t = begin_printing(args);
	struct aj_applied done;
	struct aj_apply_how how = { args->paths,  args->paths_count, args->force,     args->merge,
		                    args->branch, print_outcome,     note_repository, &t };
	int result = args->abort ? aj_apply_abort(state, &done, err) : aj_apply(state, &how, &done, err);
	return end_printing(args, state, &t, &done, result, err, "applied");
}

static int discard_some(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct printing t = begin_printing(args);
	struct aj_applied done;
	struct aj_apply_how how = { args->paths, args->paths_count, false, false, NULL, print_outcome, NULL, &t };
	if (aj_change_state_trees(state, err) < 0)
		return -1;
	int result = aj_changes_drop(state, &how, &done, err);
	return end_printing(args, state, &t, &done, result, err, "discarded");
}

/* Its references in the host's repositories go with it; a repository that is gone itself, or damaged, does not keep the run. */
static void forget_history(struct aj_change_state *s)
{
	struct aj_error err = { 0 };
	char why[600];
	struct aj_arena arena = { 0 };
	if (aj_history_forget(s, &err) < 0)
		fprintf(stderr, "agentjail: references of `%s` may be left: %s\n", s->id,
		        aj_line(&arena, aj_error_cause(&err, why, sizeof why)));
	aj_arena_free(&arena);
}

/* Runs that are under way stay, and those whose apply was interrupted: their journals know how to take it back. */
static int discard_all(const struct aj_changes_args *args, int all, struct aj_error *err)
{
	struct aj_entries names = { 0 };
	size_t gone = 0, kept = 0;
	if (all >= 0 && aj_entries_read(all, &names) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "list the runs");
	for (size_t i = 0; i < names.count; i++) {
		struct aj_change_state s;
		struct aj_error one = { 0 };
		if (!aj_changes_id_valid(names.items[i]))
			continue;
		/* A folder whose record cannot be read is removed as well, if it can be locked. */
		aj_change_state_open(all, names.items[i], &s, &one);
		bool ended = s.dir >= 0 && s.lock >= 0 && aj_change_state_lock(&s, &one) == 0 && !s.interrupted;
		if (ended)
			forget_history(&s);
		if (ended && aj_change_state_remove(all, &s, err) == 0)
			gone++;
		else
			kept++;
		aj_change_state_close(&s);
	}
	aj_entries_free(&names);
	if (args->json)
		printf("{\"discarded\":%zu,\"kept\":%zu}\n", gone, kept);
	else
		printf(kept ? "%zu discarded, %zu kept: still running, or with an interrupted apply\n" : "%zu discarded\n", gone,
		       kept);
	return err->exit_code ? -1 : 0;
}

int aj_changes_discard(const struct aj_changes_args *args, int all, struct aj_change_state *state, struct aj_error *err)
{
	if (args->all)
		return discard_all(args, all, err);
	if (state->interrupted) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "an apply of `%s` was interrupted", state->id);
		aj_advise(err, "complete it with `agentjail changes apply %s`, or undo it with --abort, then discard", state->id);
		return -1;
	}
	if (args->paths_count)
		return discard_some(args, state, err);
	forget_history(state);
	if (aj_change_state_remove(all, state, err) < 0)
		return -1;
	printf(args->json ? "{\"id\":\"%s\",\"discarded\":1,\"kept\":0}\n" : "the changes of %s are discarded\n", state->id);
	return 0;
}
