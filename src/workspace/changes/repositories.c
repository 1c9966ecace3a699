/* Finds repositories as git does, by the name `.git` or by their entries, and reports each as one change. It looks for the first
 * difference in one, and no further: what became of branches and commits is read by git, in a jail. */
#include "workspace/changes/repositories.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/walk_inner.h"
#include "workspace/git/index.h"

/* --- a repository by its entries --- */

enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMONDIR = 8, MARKS = 4 };
static const char *const marks[MARKS] = { "HEAD", "objects", "refs", "commondir" };
static const char *const plain_marks[MARKS] = { "head", "objects", "refs", "commondir" };

/* Is there such an entry, and one that git would take? */
static bool has_mark(int dir, const char *name, unsigned mark)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISCHR(st.st_mode) &&
	       (mark != HAS_HEAD || !S_ISDIR(st.st_mode));
}

static unsigned marks_in_view(const struct aj_folder *f)
{
	unsigned found = 0;
	for (size_t i = 0; i < f->in_view.count; i++) {
		const char *name = f->in_view.items[i];
		if (!strchr("HhOoRrCc", name[0]) && (unsigned char)name[0] < 0x80) /* rejects most names at once */
			continue;
		for (unsigned m = 0; m < MARKS; m++)
			if (aj_spelling_is(name, plain_marks[m]) && has_mark(f->view, name, 1U << m))
				found |= 1U << m;
	}
	return found;
}

/* Without a HEAD the others mean nothing. */
static unsigned marks_in_work(const struct aj_folder *f, unsigned in_view)
{
	unsigned found = f->work >= 0 && has_mark(f->work, marks[0], HAS_HEAD) ? HAS_HEAD : 0;
	for (unsigned m = 1; f->work >= 0 && m < MARKS && ((found | in_view) & HAS_HEAD); m++)
		found |= has_mark(f->work, marks[m], 1U << m) ? 1U << m : 0;
	return found;
}

static bool is_whole(unsigned found)
{
	return (found & HAS_HEAD) && ((found & HAS_COMMONDIR) || ((found & HAS_OBJECTS) && (found & HAS_REFS)));
}

/* Any of the changes may be applied now, and the others later: so both sides count. */
bool aj_repository_by_entries(const struct aj_folder *f)
{
	unsigned in_view = marks_in_view(f);
	return is_whole(in_view | marks_in_work(f, in_view));
}

/* Is it one of the names by which git finds its data in a repository? */
static bool is_own(const char *name)
{
	static const char *const names[] = { "head",
		                             "config",
		                             "config.worktree",
		                             "commondir",
		                             "gitdir",
		                             "hooks",
		                             "info",
		                             "objects",
		                             "refs",
		                             "logs",
		                             "index",
		                             "shared",
		                             "packed-refs",
		                             "shallow",
		                             "reftable",
		                             "modules",
		                             "worktrees",
		                             "description",
		                             "branches",
		                             "orig_head",
		                             "lfs",
		                             "fetch_head",
		                             "merge_head",
		                             "rr-cache",
		                             "commit_editmsg",
		                             "sequencer",
		                             "remotes",
		                             "rebase-merge",
		                             "rebase-apply",
		                             "index.lock",
		                             "head.lock",
		                             "gc.log",
		                             "config.lock",
		                             "packed-refs.lock",
		                             "shallow.lock" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (aj_spelling_is(name, names[i]))
			return true;
	return false;
}

bool aj_repository_holds(const char *repository, const char *path)
{
	const char *slash = strrchr(repository, '/'), *name = slash ? slash + 1 : repository;
	const char *rest = strcmp(repository, ".") == 0 ? path : aj_path_rest(path, repository);
	char first[256];
	if (!rest || (rest == path && path[0] == '/'))
		return false;
	if (repository[0] == '/' || !*rest || aj_is_git_name(name))
		return true;
	snprintf(first, sizeof first, "%.*s", (int)strcspn(rest + (*rest == '/'), "/"), rest + (*rest == '/'));
	return is_own(first);
}

/* --- reporting --- */

/* The newest time of change in the run's part of a repository. */
static long long newest_ns(int dir, unsigned depth)
{
	struct aj_entries names = { 0 };
	struct stat st;
	long long newest = fstat(dir, &st) == 0 ? aj_node_ctime_ns(&st) : 0;
	if (depth >= AJ_CHANGES_DEPTH || aj_entries_read(dir, &names) < 0)
		return newest;
	for (size_t i = 0; i < names.count; i++) {
		if (fstatat(dir, names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		cleanup_fd int folder = S_ISDIR(st.st_mode) ? aj_node_open_folder(dir, names.items[i], false) : -1;
		long long ns = folder >= 0 ? newest_ns(folder, depth + 1) : aj_node_ctime_ns(&st);
		newest = ns > newest ? ns : newest;
	}
	aj_entries_free(&names);
	return newest;
}

void aj_repository_set_settled(const struct aj_change_state *s, const char *path, struct aj_mark *ret)
{
	char key[PATH_MAX + 2]; /* a bare repository's folder is a change of its own, by its path alone */
	struct aj_change_side side = aj_change_side(s, path);
	cleanup_fd int folder = aj_node_open_folder(side.view, side.path, false);
	snprintf(key, sizeof key, "%s/", path);
	aj_marks_set_settled(ret, key, folder < 0 ? 0 : newest_ns(folder, 0));
}

static int report(struct aj_walk *w, struct aj_change *c)
{
	struct aj_mark mark;
	c->path = w->bytes ? w->path : ".";
	c->repository = true;
	if (w->s->marks.count) {
		aj_repository_set_settled(w->s, c->path, &mark);
		if (aj_marks_has(&w->s->marks, &mark))
			return 0;
	}
	if (c->kind == AJ_CHANGE_DELETED && !c->refused)
		c->refused = "an apply deletes no repository";
	else if (c->kind == AJ_CHANGE_ADDED && !c->refused)
		c->held = "a new repository: by its name the host's git makes it";
	c->held_bytes = c->held ? strlen(c->path) : 0;
	return w->each(w->arg, c);
}

/* A walk that ends at the first difference. */
struct first_difference {
	aj_change_fn *each;
	void *arg;
	const struct aj_change_state *s;
	size_t bytes; /* of the repository's path */
	bool any;
};

static bool same_index(const struct aj_change_state *s, const char *path)
{
	struct stat st;
	struct aj_change_side side = aj_change_side(s, path);
	cleanup_fd int place = aj_node_place(side.host, side.path, false);
	cleanup_fd int was = place < 0 ? -1 : aj_node_open_place(place, false, &st);
	cleanup_fd int is = was < 0 ? -1 : aj_change_open_file(s, path, &st);
	return is >= 0 && aj_gitindex_same(is, was);
}

/* Does it say nothing of commits, references or what is staged? `git status` writes such files; below `refs` every name is a
 * reference. */
static bool is_noise(const struct first_difference *scan, const struct aj_change *c)
{
	static const char *const notes[] = { "FETCH_HEAD", "gc.log", "gc.pid" };
	const char *rest = c->path + scan->bytes, *name = strrchr(c->path, '/');
	rest += *rest == '/';
	name = name ? name + 1 : c->path;
	if (aj_path_within(rest, "logs"))
		return !c->refused;
	if (c->refused || aj_path_within(rest, "refs") || strstr(rest, "/refs/") || !S_ISREG(c->is.st_mode))
		return false;
	for (size_t i = 0; i < sizeof notes / sizeof *notes; i++)
		if (strcmp(name, notes[i]) == 0)
			return true;
	return c->kind == AJ_CHANGE_MODIFIED && strcmp(name, "index") == 0 && same_index(scan->s, c->path);
}

static int stop(void *arg, const struct aj_change *c)
{
	struct first_difference *scan = arg;
	scan->any = !is_noise(scan, c);
	return scan->any ? -1 : 0;
}

static void begin_scan(struct aj_walk *w, struct first_difference *scan)
{
	*scan = (struct first_difference){ w->each, w->arg, w->s, w->bytes, false };
	w->each = stop;
	w->arg = scan;
	w->in_repository = true;
}

/* Was a difference found? -1: the walk failed, with err. */
static int end_scan(struct aj_walk *w, const struct first_difference *scan, int result)
{
	w->each = scan->each;
	w->arg = scan->arg;
	w->in_repository = false;
	return scan->any || result > 0 ? 1 : result;
}

int aj_walk_git(struct aj_walk *w, const struct aj_pair *p)
{
	bool was = p->was.st_mode, is = p->is.st_mode, folders = S_ISDIR(p->is.st_mode) && S_ISDIR(p->was.st_mode);
	struct aj_change c = { .was = p->was, .is = p->is };
	struct first_difference scan;
	begin_scan(w, &scan);
	int result = end_scan(w, &scan, aj_walk_entry(w, p));
	if (result <= 0)
		return result;
	c.kind = !was                                      ? AJ_CHANGE_ADDED
	       : !is                                       ? AJ_CHANGE_DELETED
	       : (p->is.st_mode ^ p->was.st_mode) & S_IFMT ? AJ_CHANGE_TYPE
	                                                   : AJ_CHANGE_MODIFIED;
	if (strcmp(p->name, ".git") != 0)
		c.refused = "some file systems take the name for .git";
	else if (is && was && !folders)
		c.refused = "the host's git would take the folder for another repository by it";
	else if (is && !S_ISDIR(p->is.st_mode))
		c.refused = "a file or a link by which git finds a repository elsewhere";
	return report(w, &c);
}

static struct aj_entries pick(const struct aj_entries *all, bool own)
{
	struct aj_entries some = { .items = calloc(all->count + 1, sizeof *some.items) };
	if (!some.items)
		abort();
	for (size_t i = 0; i < all->count; i++)
		if (is_own(all->items[i]) == own)
			some.items[some.count++] = all->items[i];
	return some;
}

int aj_walk_bare(struct aj_walk *w, const struct aj_folder *f)
{
	struct aj_folder own = { f->view, f->work, pick(&f->in_view, true), pick(&f->in_work, true) };
	struct aj_folder others = { f->view, f->work, pick(&f->in_view, false), pick(&f->in_work, false) };
	struct aj_change c = { .kind = f->view < 0                   ? AJ_CHANGE_DELETED
		                     : is_whole(marks_in_work(f, 0)) ? AJ_CHANGE_MODIFIED
		                                                     : AJ_CHANGE_ADDED };
	struct first_difference scan;
	begin_scan(w, &scan);
	int result = end_scan(w, &scan, aj_walk_names(w, &own));
	if (result > 0 && ((f->view >= 0 && fstat(f->view, &c.is) < 0) || (f->work >= 0 && fstat(f->work, &c.was) < 0)))
		c.refused = "it cannot be read";
	if (result > 0)
		result = report(w, &c);
	if (result >= 0)
		result = aj_walk_names(w, &others);
	free(own.in_view.items);
	free(own.in_work.items);
	free(others.in_view.items);
	free(others.in_work.items);
	return result;
}

int aj_walk_main(struct aj_walk *w)
{
	struct aj_change_state *s = w->s;
	struct aj_change c = { .kind = AJ_CHANGE_MODIFIED };
	size_t bytes = strlen(s->record.repository);
	if (bytes + 2 > sizeof w->path || fstat(s->repository_view, &c.is) < 0 || fstat(s->repository, &c.was) < 0)
		return aj_fail(w->err, AJ_EXIT_SETUP, "changes", errno, "examine the main repository `%s`", s->record.repository);
	if (!aj_change_state_has_worktree(s))
		c.refused = "the repository has this working tree no more";
	memcpy(w->path, s->record.repository, bytes + 1);
	w->bytes = bytes;
	struct first_difference scan;
	begin_scan(w, &scan);
	int result = end_scan(w, &scan, aj_walk_top(w, s->repository_view, s->repository));
	if (result > 0)
		result = report(w, &c);
	w->bytes = 0;
	w->path[0] = '\0';
	return result;
}
