/* Walks an upper layer beside the workspace and removes what was applied, discarded, or is equal to the workspace's. A folder
 * that replaced another one becomes a folder over that one, with whiteouts in it, so that settled entries become visible. It
 * writes to the layer and to the marks of its run alone, and can be killed at any instant: the next call continues. */
#include "workspace/staging/trim.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/tree/node.h"
#include "workspace/changes/change.h"
#include "workspace/changes/upper_layer.h"

struct trim {
	const struct aj_unapplied *unapplied;
	struct aj_error *err;
	struct aj_arena *arena;
	AJ_LIST(struct aj_mark) marks;
	unsigned depth;
	size_t bytes; /* of path */
	char path[PATH_MAX];
};

static int fail(struct trim *t, const char *what)
{
	return aj_fail(t->err, AJ_EXIT_SETUP, "changes", errno, "%s `%s` in the changes of the earlier run", what,
	               t->bytes ? t->path : ".");
}

static void mark_conflict(struct trim *t, const char *path)
{
	aj_marks_set_conflict(AJ_PUSH(t->arena, &t->marks), path);
}

/* --- the path at hand --- */

static bool enter(struct trim *t, const char *name, size_t *ret_before)
{
	size_t bytes = strlen(name);
	*ret_before = t->bytes;
	if (t->bytes + bytes + 2 > sizeof t->path)
		return false;
	if (t->bytes)
		t->path[t->bytes++] = '/';
	memcpy(t->path + t->bytes, name, bytes + 1);
	t->bytes += bytes;
	return true;
}

static void leave(struct trim *t, size_t before)
{
	t->bytes = before;
	t->path[before] = '\0';
}

/* -1: none, or, with *ret_unknown, not known. */
static int open_lower(int dir, const char *name, bool *ret_unknown)
{
	int fd = dir < 0 ? -1 : aj_node_open_folder(dir, name, false);
	*ret_unknown = dir >= 0 && fd < 0 && errno != ENOENT && errno != ENOTDIR && errno != ELOOP;
	return fd;
}

/* --- what is hidden --- */

/* Below an unapplied deletion: a settled part of it was left to the host on purpose. It is reported again, as a conflict. */
static int mark_left(struct trim *t, int work)
{
	struct aj_entries names;
	if (aj_entries_read(work, &names) < 0)
		return fail(t, "list the folder");
	for (size_t i = 0; i < names.count; i++) {
		size_t before;
		bool unknown;
		if (!enter(t, names.items[i], &before))
			continue;
		int below = t->depth < AJ_CHANGES_DEPTH ? open_lower(work, names.items[i], &unknown) : -1;
		if (!aj_unapplied_has(t->unapplied, t->path))
			mark_conflict(t, t->path);
		t->depth++;
		if (below >= 0 && mark_left(t, below) < 0)
			t->depth = AJ_CHANGES_DEPTH; /* the error is set */
		t->depth--;
		aj_close(&below);
		leave(t, before);
	}
	aj_entries_free(&names);
	return t->err->exit_code ? -1 : 0;
}

/* The names of the folder below, which a deletion that waits hides, are hidden one by one from now on. */
static int hide_names(struct trim *t, int view, int work)
{
	struct aj_entries names;
	if (aj_entries_read(work, &names) < 0)
		return fail(t, "list the folder");
	int result = 0;
	for (size_t i = 0; i < names.count && result == 0; i++) {
		size_t before;
		if (!enter(t, names.items[i], &before))
			continue;
		if (aj_unapplied_has(t->unapplied, t->path) && mknodat(view, names.items[i], S_IFCHR, makedev(0, 0)) < 0 &&
		    errno != EEXIST)
			result = fail(t, "hide");
		leave(t, before);
	}
	aj_entries_free(&names);
	return result;
}

/* --- the walk --- */

static int trim_names(struct trim *t, int view, int work, bool hidden);

/* Folders whose whole is not known to the walk of the changes stay as they are. */
static int trim_folder(struct trim *t, int dir, int work, const char *name, const struct stat *st, bool hidden)
{
	bool unknown;
	if (t->depth >= AJ_CHANGES_DEPTH)
		return 0;
	cleanup_fd int below = open_lower(work, name, &unknown);
	cleanup_fd int view = unknown ? -1 : aj_node_open_folder(dir, name, true);
	if (view < 0)
		return 0;
	if ((st->st_mode & S_IRWXU) != S_IRWXU && fchmod(view, (st->st_mode & 07777) | S_IRWXU) < 0)
		return fail(t, "open");
	bool replaced = aj_upper_is_opaque(view);
	t->depth++;
	int result = trim_names(t, view, below, hidden || replaced);
	t->depth--;
	if (result == 0 && replaced && aj_upper_show_through(view) < 0)
		result = fail(t, "show what lies below");
	aj_node_restore(view, st->st_mode);
	if (result == 0 && !aj_unapplied_has(t->unapplied, t->path) && unlinkat(dir, name, AT_REMOVEDIR) < 0 &&
	    errno != ENOTEMPTY && errno != EEXIST)
		result = fail(t, "remove");
	return result;
}

static int trim_entry(struct trim *t, int view, int work, const char *name, bool hidden)
{
	struct stat st;
	bool unknown;
	if (fstatat(view, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(t, "examine");
	if (S_ISDIR(st.st_mode))
		return trim_folder(t, view, work, name, &st, hidden);
	if (!aj_unapplied_has(t->unapplied, t->path))
		return unlinkat(view, name, 0) < 0 ? fail(t, "remove") : 0;
	cleanup_fd int below = open_lower(work, name, &unknown);
	return below >= 0 ? mark_left(t, below) : 0;
}

/* `hidden`: the names of `work` are not seen in the view. */
static int trim_names(struct trim *t, int view, int work, bool hidden)
{
	struct aj_entries names;
	if (aj_entries_read(view, &names) < 0)
		return fail(t, "list the folder");
	int result = 0;
	for (size_t i = 0; i < names.count && result == 0; i++) {
		size_t before;
		if (!enter(t, names.items[i], &before))
			continue;
		result = trim_entry(t, view, work, names.items[i], hidden);
		leave(t, before);
	}
	aj_entries_free(&names);
	return result == 0 && hidden && work >= 0 ? hide_names(t, view, work) : result;
}

/* The main repository's layer, whose paths are absolute. */
static int trim_repository(struct trim *t, const struct aj_change_state *state)
{
	size_t before;
	if (state->repository_view < 0)
		return 0;
	if (!enter(t, state->record.repository, &before))
		return aj_fail(t->err, AJ_EXIT_SETUP, "changes", ENAMETOOLONG, "the path of the main repository");
	int result = trim_names(t, state->repository_view, state->repository, false);
	leave(t, before);
	return result;
}

int aj_staging_trim(struct aj_change_state *state, const struct aj_unapplied *unapplied, struct aj_error *err)
{
	struct trim *t = calloc(1, sizeof *t);
	if (!t)
		abort();
	*t = (struct trim){ .unapplied = unapplied, .err = err, .arena = &state->arena };
	for (size_t i = 0; i < unapplied->conflicts.count; i++)
		mark_conflict(t, unapplied->conflicts.items[i]);
	/* Marks of conflicts are written before anything changes by which a conflict is found; those of settled paths are removed
	 * last. */
	cleanup_fd int marks = aj_marks_open(state->dir, AJ_MARKS_FILE);
	if (marks < 0 || aj_marks_append(marks, t->marks.items, t->marks.count) < 0)
		aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write the marks of conflicts");
	if (!err->exit_code && (state->view < 0 || trim_names(t, state->view, state->workspace, false) == 0) &&
	    trim_repository(t, state) == 0 && aj_marks_replace(state->dir, t->marks.items, t->marks.count) < 0)
		aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write the marks of conflicts");
	free(t);
	return err->exit_code ? -1 : 0;
}
