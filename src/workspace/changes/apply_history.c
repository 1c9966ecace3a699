/* Plans what an apply does with history. A branch moves only where the host's is an ancestor of the run's; else the fetched
 * references wait for a merge, and with them the files that their commits touch. */
#include "workspace/changes/apply_history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/apply_git.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/repositories.h"
#include "workspace/changes/settled.h"
#include "workspace/changes/walk.h"

/* Larger files are not compared with their blobs. */
enum { BLOB_MAX = 16 << 20, HELD_SHOWN = 5 };

struct repository_search {
	struct aj_apply_history *h;
	struct aj_selection selection;
};

static int collect_repository(void *arg, const struct aj_change *c)
{
	struct repository_search *search = arg;
	struct aj_apply_history *h = search->h;
	if (!c->refused && aj_select(&search->selection, c) == AJ_SELECTED)
		*AJ_PUSH(&h->arena, &h->asked) = aj_strdup(&h->arena, c->path);
	if (c->kind == AJ_CHANGE_ADDED)
		*AJ_PUSH(&h->arena, &h->made) = aj_strdup(&h->arena, c->path);
	return 0;
}

void aj_apply_history_free(struct aj_apply_history *h)
{
	aj_arena_free(&h->arena);
}

/* --- repositories --- */

static struct aj_git git_of(const struct aj_history_repo *r)
{
	return (struct aj_git){ .dir = r->dir, .tree = r->work };
}

/* Has the file, which may be -1, the content of this blob? */
static bool is_blob(const struct aj_history_repo *r, int fd, const struct stat *st, const char *blob)
{
	struct aj_error why = { 0 };
	struct aj_buffer wanted = { 0 }, content = { 0 };
	struct aj_git git = git_of(r);
	const char *const argv[] = { "cat-file", "blob", blob, NULL };
	bool same = fd >= 0 && st->st_size <= BLOB_MAX && aj_git_run(&git, argv, NULL, &wanted, &why) == 0 &&
	            wanted.bytes == (size_t)st->st_size &&
	            aj_read_all(fd, aj_buffer_reserve(&content, wanted.bytes + 1), wanted.bytes) == 0 &&
	            (!wanted.bytes || memcmp(content.data, wanted.data, wanted.bytes) == 0);
	aj_buffer_free(&wanted);
	aj_buffer_free(&content);
	return same;
}

/* --- commits with held places --- */

/* Is the host's file what the commit has at the path? */
static bool has_blob(struct aj_apply_history *h, const struct aj_history_repo *r, const struct aj_history_path *touched)
{
	struct stat st;
	cleanup_fd int place = aj_node_place(h->s->workspace, touched->path, false);
	if (place < 0 || !touched->oid)
		return place < 0 && !touched->mode;
	cleanup_fd int fd = aj_node_open_place(place, false, &st);
	return is_blob(r, fd, &st, touched->oid);
}

/* Is a link, a submodule or a file that a commit has in a held place? The working tree may have another one there, or none. */
static bool is_place_held(struct aj_apply_history *h, const struct aj_history_repo *r, const struct aj_history_path *touched,
                          struct aj_change *c)
{
	enum { LINKS_MAX = 500 };
	struct aj_error why = { 0 };
	struct aj_buffer target = { 0 };
	struct aj_git git = git_of(r);
	bool submodule = touched->mode == AJ_HISTORY_SUBMODULE, link = S_ISLNK(touched->mode);
	c->is.st_mode = link ? S_IFREG : submodule ? S_IFDIR : touched->mode;
	aj_change_judge_approval(c, h->s);
	if (c->held || (!submodule && !link))
		return c->held;
	c->held = submodule ? aj_change_judge_link(c, NULL, h->s) : "a link whose target cannot be read";
	c->held_bytes = strlen(c->path);
	if (submodule)
		return c->held;
	const char *const argv[] = { "cat-file", "blob", touched->oid, NULL };
	if (++h->links <= LINKS_MAX && aj_git_run(&git, argv, NULL, &target, &why) == 0 && target.bytes < PATH_MAX) {
		aj_buffer_add(&target, "", 1);
		c->held = aj_change_judge_link(c, target.data, h->s);
	}
	aj_buffer_free(&target);
	return c->held;
}

/* Would it be applied only by name, and is it new for the host? */
static bool is_held(struct aj_apply_history *h, const struct aj_history_repo *r, const struct aj_history_path *touched,
                    const char *const *paths, size_t paths_count)
{
	struct aj_change c = { .path = touched->path, .kind = touched->mode ? AJ_CHANGE_MODIFIED : AJ_CHANGE_DELETED };
	bool named = false, held = is_place_held(h, r, touched, &c);
	for (size_t i = 0; i < paths_count && held; i++)
		named |= aj_select_names(paths[i], &c);
	return held && !named && !has_blob(h, r, touched);
}

/* A branch with a held file would bring it at the next `git restore`: it moves only by the user's own merge. */
static void hold_back(struct aj_apply_history *h, struct aj_history_repo *r, const char *const *paths, size_t paths_count)
{
	const char *names = "";
	size_t count = 0;
	if (r->verdict != AJ_HISTORY_FORWARD && r->verdict != AJ_HISTORY_APART)
		return;
	for (size_t i = 0; i < r->touched.count; i++)
		if (is_held(h, r, &r->touched.items[i], paths, paths_count) && count++ < HELD_SHOWN)
			names = aj_printf(&h->arena, "%s%s%s", names, *names ? ", " : "", r->touched.items[i].path);
	if (!count)
		return;
	if (count > HELD_SHOWN)
		names = aj_printf(&h->arena, "%s and %zu more", names, count - HELD_SHOWN);
	r->why = aj_printf(&h->arena, "%s%sthe run's commits change held places (%s)", r->why ? r->why : "",
	                   r->why ? ", and " : "", names);
	if (r->verdict != AJ_HISTORY_FORWARD)
		return;
	r->verdict = AJ_HISTORY_APART;
	for (size_t i = 0; i < r->refs.count; i++)
		if (strcmp(r->refs.items[i].named, r->run_branch ? r->run_branch : "HEAD") == 0)
			r->command = aj_history_command(&h->arena, r, "merge --ff-only", r->refs.items[i].name);
}

int aj_apply_history_read(struct aj_apply_history *h, const char *const *paths, size_t paths_count, struct aj_error *err)
{
	struct repository_search search = { .h = h, .selection = { .paths = paths, .paths_count = paths_count } };
	search.selection.met = aj_alloc(&h->arena, (paths_count + 1) * sizeof *search.selection.met);
	if (aj_changes_repositories(h->s, collect_repository, &search, err) < 0)
		return -1;
	aj_history_fetch(h->s, h->asked.items, h->asked.count, &h->arena, &h->history);
	for (size_t i = 0; i < h->history.repos.count; i++)
		hold_back(h, &h->history.repos.items[i], paths, paths_count);
	return 0;
}

int aj_apply_history_resume(struct aj_apply_history *h, const struct aj_journal *journal, struct aj_error *err)
{
	char room[AJ_STEP_BYTES];
	struct aj_apply_step step;
	h->resumed = true;
	for (size_t i = 0; i < journal->count; i++) {
		if (journal->places[i].op != AJ_STEP_SETTLE)
			continue;
		if (!aj_journal_step(journal, i, room, &step))
			return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "read step %zu of the journal", i);
		*AJ_PUSH(&h->arena, &h->asked) = aj_strdup(&h->arena, step.path);
	}
	aj_history_fetch(h->s, h->asked.items, h->asked.count, &h->arena, &h->history);
	return 0;
}

bool aj_apply_history_moves(const struct aj_apply_history *h, const struct aj_history_repo *r)
{
	return r->verdict == AJ_HISTORY_FORWARD && !h->branch && !h->resumed;
}

bool aj_apply_history_branches(const struct aj_apply_history *h, const struct aj_history_repo *r)
{
	return h->branch && r->run_oid && (r->verdict == AJ_HISTORY_FORWARD || r->verdict == AJ_HISTORY_APART);
}

/* Do its commits wait for a merge? */
static bool waits(const struct aj_apply_history *h, const struct aj_history_repo *r)
{
	return r->verdict == AJ_HISTORY_APART || (r->verdict == AJ_HISTORY_FORWARD && !aj_apply_history_moves(h, r));
}

static int add_move(struct aj_journal_writer *journal, const struct aj_git_move *move)
{
	struct aj_buffer path = { 0 };
	aj_git_move_write(&path, move);
	aj_journal_add(journal, &(struct aj_apply_step){ .op = AJ_STEP_MOVE, .bytes = strlen(move->git), .path = path.data });
	aj_buffer_free(&path);
	return 0;
}

static int plan_branch(struct aj_apply_history *h, const struct aj_history_repo *r, struct aj_journal_writer *journal,
                       struct aj_error *err)
{
	struct aj_error why = { 0 };
	struct aj_git git = git_of(r);
	const char *ref = aj_printf(&h->arena, "refs/heads/%s", h->branch);
	const char *const valid[] = { "check-ref-format", "--branch", h->branch, NULL };
	const char *const there[] = { "rev-parse", "-q", "--verify", ref, NULL };
	if (h->branch[0] == '-' || aj_git_run(&git, valid, NULL, NULL, &why) != 0)
		return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "`%s` is not a valid name of a branch", h->branch);
	if (aj_git_run(&git, there, NULL, NULL, &why) == 0) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "`%s` has a branch `%s` already", r->git, h->branch);
		aj_advise(err, "choose another name for --branch");
		return -1;
	}
	return add_move(journal, &(struct aj_git_move){ r->git, "", ref, "0", r->run_oid });
}

static int plan_move(const struct aj_history_repo *r, struct aj_journal_writer *journal, struct aj_error *err)
{
	struct aj_error why = { 0 };
	struct aj_git git = git_of(r);
	const char *from = r->host_oid ? r->host_oid : "0", *tree = r->tree;
	if (tree && aj_apply_read_tree(&git, from, r->run_oid, true, &why) < 0) {
		aj_fail(err, AJ_EXIT_ERROR, "changes", 0, "git cannot move the index of `%s`: %.250s", r->git, why.cause);
		aj_advise(err,
		          "commit or unstage what you have staged there, or take the commits as a branch with --branch NAME");
		return -1;
	}
	return add_move(journal,
	                &(struct aj_git_move){ r->git, tree ? tree : "", r->branch ? r->branch : "HEAD", from, r->run_oid });
}

int aj_apply_history_plan(struct aj_apply_history *h, struct aj_journal_writer *journal, struct aj_error *err)
{
	int result = 0;
	bool any = false;
	for (size_t i = 0; i < h->history.repos.count && result == 0; i++) {
		const struct aj_history_repo *r = &h->history.repos.items[i];
		any = any || aj_apply_history_branches(h, r);
		result = aj_apply_history_moves(h, r)    ? plan_move(r, journal, err)
		       : aj_apply_history_branches(h, r) ? plan_branch(h, r, journal, err)
		                                         : 0;
	}
	for (size_t i = 0; i < h->asked.count; i++)
		aj_journal_add(journal, &(struct aj_apply_step){ .op = AJ_STEP_SETTLE, .path = h->asked.items[i] });
	if (result == 0 && h->branch && !any)
		return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "no repository has commits of the run for a branch `%s`",
		               h->branch);
	return result;
}

/* Is nothing of its history left that only the run has? */
static bool is_taken(const struct aj_apply_history *h, const char *git)
{
	bool all = false;
	for (size_t i = 0; i < h->history.repos.count; i++) {
		const struct aj_history_repo *r = &h->history.repos.items[i];
		if (!aj_repository_holds(git, r->git))
			continue;
		all = r->verdict == AJ_HISTORY_SAME || r->verdict == AJ_HISTORY_MADE || aj_apply_history_moves(h, r);
		if (!all)
			return false;
	}
	return all;
}

int aj_apply_history_end(struct aj_apply_history *h, struct aj_error *err)
{
	for (size_t i = 0; i < h->history.repos.count; i++) {
		struct aj_history_repo *r = &h->history.repos.items[i];
		if (r->verdict == AJ_HISTORY_NEW && aj_history_make(h->s, r, err) < 0)
			return -1;
		r->verdict = r->verdict == AJ_HISTORY_NEW ? AJ_HISTORY_MADE : r->verdict;
	}
	cleanup_fd int marks = aj_marks_open(h->s->dir, AJ_MARKS_FILE);
	for (size_t i = 0; i < h->asked.count; i++) {
		struct aj_mark mark;
		if (!is_taken(h, h->asked.items[i]))
			continue;
		aj_repository_set_settled(h->s, h->asked.items[i], &mark);
		if (aj_marks_append(marks, &mark, 1) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write down what was applied");
	}
	return 0;
}

/* --- files --- */

static const char *path_in_tree(const struct aj_history_repo *r, const char *path)
{
	return strcmp(r->tree, ".") == 0 ? path : aj_path_rest(path, r->tree) + 1;
}

/* Is the run's file the one that its commit has, byte by byte? */
static bool is_committed(struct aj_apply_history *h, const struct aj_history_repo *r, const struct aj_change *c)
{
	struct stat st;
	if (!S_ISREG(c->is.st_mode))
		return false;
	cleanup_fd int fd = aj_change_open_file(h->s, c->path, &st);
	return is_blob(r, fd, &st, aj_printf(&h->arena, "%s:%s", r->run_oid, path_in_tree(r, c->path)));
}

enum aj_apply_source aj_apply_history_source(struct aj_apply_history *h, const struct aj_change *c)
{
	const struct aj_history_repo *r = c->repository ? NULL : aj_history_of(&h->history, c->path);
	if (!r)
		return AJ_APPLY_FROM_RUN;
	if (waits(h, r))
		return aj_history_touched(r, c->path) ? AJ_APPLY_FROM_MERGE : AJ_APPLY_FROM_RUN;
	bool merged = r->verdict == AJ_HISTORY_SAME && c->conflict && r->run_oid;
	return merged && is_committed(h, r, c) ? AJ_APPLY_FROM_BRANCH : AJ_APPLY_FROM_RUN;
}

bool aj_apply_history_makes(const struct aj_apply_history *h, const char *folder)
{
	for (size_t i = 0; i < h->made.count; i++)
		if (strcmp(h->made.items[i], folder) == 0)
			return true;
	const struct aj_history_repo *r = aj_history_of(&h->history, folder);
	size_t bytes = strlen(folder), from = 0, to = r && waits(h, r) ? r->touched.count : 0, end = to;
	while (from < to) { /* the first path that is not before "FOLDER/" */
		size_t middle = from + (to - from) / 2;
		const char *path = r->touched.items[middle].path;
		int order = strncmp(path, folder, bytes);
		if (order < 0 || (order == 0 && (unsigned char)path[bytes] < '/'))
			from = middle + 1;
		else
			to = middle;
	}
	return from < end && aj_path_below(r->touched.items[from].path, folder);
}
