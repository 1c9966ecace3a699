/* Plans what an apply does with history. A branch moves only where the host's is an ancestor of the run's; else the fetched references wait
 * for a merge, and with them the files that their commits touch. */
#include "workspace/changes/apply_history.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"
#include "workspace/changes/apply_git.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/repositories.h"
#include "workspace/changes/settled.h"
#include "workspace/changes/walk.h"

/* Larger files are not compared with their blobs. */
enum { BLOB_MAX = 16 << 20 };

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
	return 0;
}

int aj_apply_history_read(struct aj_apply_history *h, const char *const *paths, size_t paths_count, struct aj_error *err)
{
	struct repository_search search = { .h = h, .selection = { .paths = paths, .paths_count = paths_count } };
	search.selection.met = aj_alloc(&h->arena, (paths_count + 1) * sizeof *search.selection.met);
	if (aj_changes_repositories(h->s, collect_repository, &search, err) < 0)
		return -1;
	struct aj_history_ask wanted = { h->asked.items, h->asked.count };
	return h->asked.count ? aj_history_fetch(h->s, &wanted, &h->arena, &h->history, err) : 0;
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

bool aj_apply_history_moves(const struct aj_apply_history *h, const struct aj_history_repo *r)
{
	return r->verdict == AJ_HISTORY_FORWARD && !h->branch;
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
		all = r->verdict == AJ_HISTORY_SAME || r->verdict == AJ_HISTORY_NEW || aj_apply_history_moves(h, r);
		if (!all)
			return false;
	}
	return all;
}

int aj_apply_history_end(struct aj_apply_history *h, struct aj_error *err)
{
	for (size_t i = 0; i < h->history.repos.count; i++)
		if (h->history.repos.items[i].verdict == AJ_HISTORY_NEW &&
		    aj_history_make(h->s, &h->history.repos.items[i], err) < 0)
			return -1;
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
	struct aj_error why = { 0 };
	struct aj_buffer blob = { 0 };
	struct aj_git git = git_of(r);
	const char *const argv[] = { "cat-file", "blob", aj_printf(&h->arena, "%s:%s", r->run_oid, path_in_tree(r, c->path)),
		                     NULL };
	if (!S_ISREG(c->is.st_mode) || c->is.st_size > BLOB_MAX)
		return false;
	bool same = aj_git_run(&git, argv, NULL, &blob, &why) == 0 && blob.bytes == (size_t)c->is.st_size;
	cleanup_fd int fd = same ? aj_change_open_file(h->s, c->path, &st) : -1;
	char *content = same ? malloc(blob.bytes + 1) : NULL;
	same = content && fd >= 0 && aj_read_all(fd, content, blob.bytes) == 0 && memcmp(content, blob.data, blob.bytes) == 0;
	free(content);
	aj_buffer_free(&blob);
	return same;
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

bool aj_apply_history_below(const struct aj_apply_history *h, const char *folder)
{
	const struct aj_history_repo *r = aj_history_of(&h->history, folder);
	bool found = false;
	for (size_t i = 0; r && waits(h, r) && i < r->touched.count && !found; i++)
		found = aj_path_below(r->touched.items[i].path, folder);
	return found;
}
