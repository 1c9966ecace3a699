/* The phase of an apply in which the host's git moves branches, each from the commit that it had to the run's, and the index with
 * it. Like the others it can be killed at any instant and run again, forward or back. No file of the working tree, no hook and no
 * filter takes part. */
#include "workspace/changes/apply_git.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/arena.h"
#include "base/path.h"

/* Git of the host, such as an editor's, holds an index's lock for a moment. */
enum { LOCKED_TRIES = 40, LOCKED_MS = 50 };

struct moving {
	struct aj_applying *a;
	struct aj_arena arena;
	struct aj_git git;
	struct aj_git_move move;
	char room[AJ_STEP_BYTES];
};

const char *aj_apply_git_dir(const struct aj_change_record *r, const char *git, struct aj_arena *arena)
{
	if (aj_change_is_main(r, git)) /* HEAD and index of a linked worktree are in a folder of its own */
		return aj_printf(arena, "%s/worktrees/%s", git, r->worktree);
	return aj_change_host_path(r, git, arena);
}

static int load(struct moving *m, struct aj_applying *a, size_t index)
{
	*m = (struct moving){ .a = a };
	if (!aj_journal_step(&a->j, index, a->room, &a->step) || !aj_git_move_read(&a->step, m->room, &m->move)) {
		aj_fail(a->err, AJ_EXIT_SETUP, "changes", errno, "read step %zu of the journal", index);
		return -1;
	}
	const struct aj_change_record *r = &a->s->record;
	m->git = (struct aj_git){ .dir = aj_apply_git_dir(r, m->move.git, &m->arena), .lock = a->s->lock };
	if (*m->move.tree)
		m->git.tree = aj_change_host_path(r, m->move.tree, &m->arena);
	return 0;
}

static int fail(struct moving *m, const struct aj_error *cause, const char *what)
{
	return aj_fail(m->a->err, AJ_EXIT_SETUP, "changes", 0, "%s of `%s`: %.300s", what, m->move.git, cause->cause);
}

static int raced(struct moving *m)
{
	return aj_fail(m->a->err, AJ_EXIT_ERROR, "changes", 0, "the host's git has moved %s of `%s` during the apply",
	               m->move.ref, m->move.git);
}

/* The first line of the output, "" where git says that there is none. NULL with err. */
static const char *ask(struct moving *m, const char *const *argv)
{
	struct aj_error why = { 0 };
	int status;
	const char *line = aj_git_line(&m->git, argv, &m->arena, &status, &why);
	if (status == 0 || status == 1)
		return line ? line : "";
	fail(m, &why, "read a reference");
	return NULL;
}

static const char *value(struct moving *m)
{
	const char *const argv[] = { "rev-parse", "-q", "--verify", m->move.ref, NULL };
	return ask(m, argv);
}

/* Is the reference the one that the working tree is on? -1 with err. */
static int is_head(struct moving *m)
{
	const char *const argv[] = { "symbolic-ref", "-q", "HEAD", NULL };
	const char *branch = ask(m, argv);
	return branch ? strcmp(*branch ? branch : "HEAD", m->move.ref) == 0 : -1;
}

static int set(struct moving *m, const char *to, const char *from)
{
	struct aj_error why = { 0 };
	const char *note = aj_printf(&m->arena, "agentjail changes apply %s", m->a->s->id);
	bool none = strcmp(from, "0") == 0, gone = strcmp(to, "0") == 0;
	const char *const argv[] = { "update-ref", "--no-deref", "-m", note, m->move.ref, to, none ? "" : from, NULL };
	const char *const remove[] = { "update-ref", "--no-deref", "-d", m->move.ref, from, NULL };
	if (aj_git_run(&m->git, gone ? remove : argv, NULL, NULL, &why) != 0)
		return fail(m, &why, "move a reference");
	return 0;
}

/* The tree without entries, which git knows in a repository that has no commit. */
static const char *tree_of(const char *commit, const char *other)
{
	if (strcmp(commit, "0") != 0)
		return commit;
	return strlen(other) == 40 ? "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
	                           : "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
}

/* The index gets the times of the files, as far as that needs no filter: a file of the run could choose one of the host's. The
 * host's git does the same when asked for a status. */
static void refresh(const struct aj_git *git)
{
	const char *const filters[] = { "config", "--get-regexp", "^filter\\.", NULL };
	const char *const argv[] = { "update-index", "-q", "--refresh", NULL };
	struct aj_error ignored = { 0 };
	if (aj_git_run(git, filters, NULL, NULL, &ignored) == 1)
		aj_git_run(git, argv, NULL, NULL, &ignored);
}

int aj_apply_read_tree(const struct aj_git *git, const char *from, const char *to, bool check, struct aj_error *err)
{
	const char *const argv[] = { "read-tree", check ? "-nim" : "-im", tree_of(from, to), tree_of(to, from), NULL };
	int status = -1;
	for (int tries = 0; tries < LOCKED_TRIES; tries++) {
		*err = (struct aj_error){ 0 };
		status = aj_git_run(git, argv, NULL, NULL, err);
		if (status == 0 || !strstr(err->cause, ".lock"))
			break;
		nanosleep(&(struct timespec){ .tv_nsec = LOCKED_MS * 1000000L }, NULL);
	}
	if (status != 0)
		return -1;
	if (!check)
		refresh(git);
	return 0;
}

/* The reference from one commit to the other, and the index, where git of the host has not left them since. */
static int move_one(struct moving *m, const char *from, const char *to)
{
	struct aj_error why = { 0 };
	const char *now = value(m);
	int head = *m->move.tree ? is_head(m) : 0;
	if (!now || head < 0)
		return -1;
	now = *now ? now : "0";
	bool done = strcmp(now, to) == 0;
	if (!done && (strcmp(now, from) != 0 || (*m->move.tree && !head)))
		return raced(m);
	if (!done && set(m, to, from) < 0)
		return -1;
	if (head && aj_apply_read_tree(&m->git, from, to, false, &why) < 0)
		return fail(m, &why, "move the index");
	return 0;
}

/* What git of the host has moved on from the run's commit stays there. */
static int unmove_one(struct moving *m)
{
	const char *now = value(m);
	if (!now)
		return -1;
	now = *now ? now : "0";
	if (strcmp(now, m->move.to) == 0 || strcmp(now, m->move.from) == 0)
		return move_one(m, m->move.to, m->move.from);
	aj_buffer_text(&m->a->kept, m->move.ref);
	aj_buffer_text(&m->a->kept, "\n");
	return 0;
}

static int each(struct aj_applying *a, bool back)
{
	int result = 0;
	for (size_t n = 0; n < a->j.count && result == 0; n++) {
		size_t i = back ? a->j.count - 1 - n : n;
		struct moving m;
		if (a->j.places[i].op != AJ_STEP_MOVE)
			continue;
		result = load(&m, a, i);
		if (result == 0)
			result = back ? unmove_one(&m) : move_one(&m, m.move.from, m.move.to);
		aj_arena_free(&m.arena);
	}
	return result;
}

int aj_steps_move(struct aj_applying *a)
{
	return each(a, false);
}

int aj_steps_unmove(struct aj_applying *a)
{
	return each(a, true);
}
