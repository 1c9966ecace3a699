/* Asks for each change in turn, as `git add -p` does for hunks, then applies the picked ones by their paths.
 * The number of the question has shown that a person reads the terminal; keys typed before a change was shown are dropped. */
#include "cli/changes/pick.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "cli/changes/commits.h"
#include "cli/changes/fold.h"
#include "cli/changes/paint.h"
#include "cli/command.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/guard.h"
#include "cli/terminal/pager.h"
#include "workspace/changes/approval_reached.h"
#include "workspace/changes/patch.h"

enum { PICK_MAX = 5000, COMMITS_MAX = 20, REACH_MS = 30000 };

struct item {
	struct aj_change_row row;
	struct aj_change change;
	const char *path; /* as `agentjail changes apply` takes it */
	bool picked;
};

struct pick {
	struct aj_change_state state;
	struct aj_arena arena;
	AJ_LIST(struct item) items;
	struct aj_error err;
};

static int collect(void *arg, const struct aj_change_row *row)
{
	struct pick *p = arg;
	if (p->items.count == PICK_MAX)
		return aj_fail(&p->err, AJ_EXIT_USAGE, "changes", 0,
		               "there are more than %d changes to pick from: apply them by PATH", PICK_MAX);
	struct item *item = AJ_PUSH(&p->arena, &p->items);
	item->row = *row;
	item->path = aj_strdup(&p->arena, row->change ? row->change->path : row->folder);
	if (row->change)
		item->change = *row->change;
	else
		item->row.folder = item->path;
	item->change.path = item->path;
	item->change.note = item->change.note ? aj_strdup(&p->arena, item->change.note) : NULL;
	return 0;
}

/* The list may have moved while it grew. */
static const struct aj_change_row *row_of(struct item *item)
{
	item->row.change = item->row.change ? &item->change : NULL;
	return &item->row;
}

/* --- what is asked for --- */

/* A folder comes and goes with what is in it; it is asked for by itself where nothing else of it is among the changes. */
static bool is_implied(const struct pick *p, size_t at)
{
	const struct item *item = &p->items.items[at];
	const struct aj_change *c = &item->change;
	if (!item->row.change || c->repository || aj_change_is_file(c) || c->kind == AJ_CHANGE_MODE)
		return false;
	bool before = at > 0 && aj_path_below(p->items.items[at - 1].path, item->path);
	bool behind = at + 1 < p->items.count && aj_path_below(p->items.items[at + 1].path, item->path);
	return c->kind == AJ_CHANGE_DELETED ? before : behind;
}

/* A deleted folder goes if all in it goes. */
static void pick_deleted_folders(struct pick *p)
{
	for (size_t i = 0; i < p->items.count; i++) {
		bool whole = is_implied(p, i) && p->items.items[i].change.kind == AJ_CHANGE_DELETED;
		for (size_t k = i; whole && k > 0 && aj_path_below(p->items.items[k - 1].path, p->items.items[i].path); k--)
			whole = p->items.items[k - 1].picked;
		if (whole)
			p->items.items[i].picked = true;
	}
}

static const char *not_for_picking(const struct aj_change *c)
{
	return c->refused ? "it is never applied" : c->conflict ? "it is in conflict" : NULL;
}

static void put_part(void *arg, const char *data, size_t bytes)
{
	aj_paint_put(arg, data, bytes);
}

static void print_commits(const struct pick *p, const struct aj_change *c)
{
	struct aj_commit_lists lists = { 0 };
	aj_commits_note(&lists, c);
	aj_commits_print(&lists, &p->state, COMMITS_MAX, stderr);
	aj_commits_free(&lists);
}

/* The pager ends at once where the diff fits on the screen. */
static void show_item(struct pick *p, size_t at, size_t number, size_t of)
{
	struct item *item = &p->items.items[at];
	struct aj_paint paint = { .colours = aj_colours_wanted() };
	struct aj_pager pager;
	struct aj_error err = { 0 };
	fprintf(stderr, "\n(%zu/%zu) ", number, of);
	aj_change_row_print(row_of(item), stderr);
	if (item->row.change && item->change.held)
		fprintf(stderr, "held: %s\n", item->change.held);
	if (item->row.change && item->change.repository)
		print_commits(p, &item->change);
	if (!item->row.change || item->change.repository || item->change.refused)
		return;
	fflush(stderr);
	aj_pager_begin(&pager);
	int result = aj_patch(&p->state, &item->change, put_part, &paint, &err);
	aj_paint_end(&paint);
	aj_pager_end(&pager);
	if (result < 0)
		aj_print_error(&err);
}

static void print_help(void)
{
	fputs("y: take this change\n"
	      "n: leave it; it waits with the others\n"
	      "a: take this one and all that follow, but those that are held\n"
	      "d: leave this one and all that follow\n"
	      "q: apply nothing, and go back to the question\n",
	      stderr);
}

/* One of "ynadq"; 0: no answer came. */
static char ask_for(const struct aj_answers *answers)
{
	char line[80];
	for (;;) {
		if (!aj_answers_drop_typed())
			return 0;
		fputs("agentjail: apply this change [y,n,a,d,q,?]? ", stderr);
		if (!aj_answers_read(answers, line, sizeof line))
			return 0;
		if (line[0] && !line[1] && strchr("ynadq", line[0]))
			return line[0];
		print_help();
	}
}

/* False: nothing is to be applied. */
static bool ask_for_each(struct pick *p, const struct aj_answers *answers)
{
	size_t of = 0, number = 0;
	char answer = 'n';
	for (size_t i = 0; i < p->items.count; i++)
		of += !is_implied(p, i);
	for (size_t i = 0; i < p->items.count && answer != 'd'; i++) {
		struct item *item = &p->items.items[i];
		if (is_implied(p, i))
			continue;
		number++;
		const char *why = not_for_picking(&item->change);
		if (answer == 'a') {
			item->picked = !why && !item->change.held;
			continue;
		}
		show_item(p, i, number, of);
		if (why) {
			fprintf(stderr, "left: %s\n", why);
			continue;
		}
		answer = ask_for(answers);
		if (!answer || answer == 'q') {
			fputs(answer ? "" : "\n", stderr);
			return false;
		}
		item->picked = answer == 'y' || answer == 'a';
	}
	pick_deleted_folders(p);
	return true;
}

static bool apply_picked(const struct pick *p, const char *id)
{
	size_t count = 0, begin = 4;
	char **argv = calloc(p->items.count + begin + 1, sizeof *argv);
	if (!argv)
		abort();
	const char *const words[] = { "changes", "apply", id, "--" };
	for (size_t i = 0; i < begin; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	for (size_t i = 0; i < p->items.count; i++)
		if (p->items.items[i].picked)
			argv[begin + count++] = (char *)(uintptr_t)p->items.items[i].path;
	int code = count ? aj_cmd_changes((int)(begin + count), argv) : -1;
	free(argv);
	fflush(stdout);
	return code == 0;
}

bool aj_changes_pick(const char *id, const struct aj_answers *answers)
{
	struct pick p = { .state = AJ_NO_CHANGE_STATE };
	struct aj_changes_args args = { 0 };
	bool done = false;
	cleanup_fd int all = aj_changes_folder(false);
	if (all >= 0 && aj_change_state_open(all, id, &p.state, &p.err) == 0 && aj_change_state_trees(&p.state, &p.err) == 0) {
		aj_change_reach(&p.state, REACH_MS);
		if (aj_changes_rows(&args, &p.state, AJ_FOLD_FOLDERS, collect, &p, &p.err) == 0 && ask_for_each(&p, answers))
			done = apply_picked(&p, id);
	}
	if (p.err.exit_code)
		aj_print_error(&p.err);
	aj_change_state_close(&p.state);
	aj_arena_free(&p.arena);
	return done;
}
