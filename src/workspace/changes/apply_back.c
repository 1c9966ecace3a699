/* The phases that roll an apply back: the previous entry returns to its place, and new content is removed if it is still what the
 * run left. A file that the host has changed during the apply is left where it is, with the previous entry beside it, and
 * reported. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/content.h"
#include "base/tree/node.h"
#include "workspace/changes/apply_steps.h"

static int keep_name(struct aj_applying *a, const char *name)
{
	aj_buffer_text(&a->kept, strcmp(a->parent_path, ".") == 0 ? "" : a->parent_path);
	aj_buffer_text(&a->kept, strcmp(a->parent_path, ".") == 0 ? "" : "/");
	aj_buffer_text(&a->kept, name);
	aj_buffer_text(&a->kept, "\n");
	return 0;
}

static int give_back(struct aj_applying *a, const char *from, unsigned flags)
{
	if (renameat2(a->parent, from, a->parent, a->at, flags) == 0)
		return 0;
	if (errno == EINVAL && flags == RENAME_NOREPLACE && !aj_step_stat(a, a->at).st_mode &&
	    renameat(a->parent, from, a->parent, a->at) == 0)
		return 0;
	return errno == EEXIST ? keep_name(a, from) : aj_step_fail(a, errno, "give back");
}

static int drop(struct aj_applying *a, const char *name)
{
	return unlinkat(a->parent, name, 0) < 0 && errno != ENOENT ? aj_step_fail(a, errno, "remove the new content of") : 0;
}

/* Is the file in the place still the one that the run left? */
static bool is_ours(const struct aj_applying *a)
{
	char one[PATH_MAX], two[PATH_MAX];
	struct stat st, now;
	cleanup_fd int place = aj_step_place(a);
	cleanup_fd int there = aj_beneath_open_here(a->parent, a->at, O_PATH);
	if (place < 0 || there < 0 || fstat(place, &st) < 0 || fstat(there, &now) < 0 || ((st.st_mode ^ now.st_mode) & S_IFMT))
		return false;
	if (S_ISLNK(st.st_mode))
		return aj_node_link(place, "", one, sizeof one) >= 0 && aj_node_link(there, "", two, sizeof two) >= 0 &&
		       strcmp(one, two) == 0;
	cleanup_fd int from = aj_node_open_place(place, true, &st);
	cleanup_fd int to = aj_node_open_place(there, true, &now);
	return from >= 0 && to >= 0 && st.st_size == now.st_size && aj_content_same(from, to, st.st_size) == 1;
}

static int unswap_put(struct aj_applying *a)
{
	struct stat fresh = aj_step_stat(a, a->fresh), old = aj_step_stat(a, a->old), now = aj_step_stat(a, a->at);
	if (!a->step.was_mode) {
		if (fresh.st_mode || !now.st_mode)
			return 0;
		return is_ours(a) ? drop(a, a->at) : keep_name(a, a->at);
	}
	if (aj_step_is_old(a, &fresh)) { /* killed between the two renames; the new content goes with what was staged */
		if (!now.st_mode)
			return give_back(a, a->fresh, RENAME_NOREPLACE);
		return renameat2(a->parent, a->fresh, a->parent, a->at, RENAME_EXCHANGE) < 0 ? aj_step_fail(a, errno, "give back")
		                                                                             : 0;
	}
	if (!aj_step_is_old(a, &old))
		return 0;
	if (aj_step_is_old(a, &now)) /* two links of it: killed before the new one took the place */
		return drop(a, a->old);
	if (!now.st_mode)
		return give_back(a, a->old, RENAME_NOREPLACE);
	if (!is_ours(a))
		return keep_name(a, a->old);
	if (!S_ISDIR(old.st_mode))
		return give_back(a, a->old, 0);
	return drop(a, a->at) < 0 ? -1 : give_back(a, a->old, RENAME_NOREPLACE);
}

static int unswap_delete(struct aj_applying *a)
{
	struct stat old = aj_step_stat(a, a->old);
	return old.st_mode ? give_back(a, a->old, RENAME_NOREPLACE) : 0;
}

static int unset_mode(struct aj_applying *a)
{
	struct stat now = aj_step_stat(a, a->at);
	if (a->step.op != AJ_STEP_MODE && a->step.op != AJ_STEP_FOLDER)
		return 0;
	if (a->step.op == AJ_STEP_FOLDER)
		return S_ISDIR(now.st_mode) && (now.st_mode & S_IRWXU) != S_IRWXU ? aj_step_chmod(a, S_IRWXU) : 0;
	/* A folder of the host's that was made writable for the apply stays so until its entries are back. */
	if (S_ISDIR(now.st_mode) && aj_step_is_old(a, &now))
		return (now.st_mode & S_IRWXU) != S_IRWXU ? aj_step_chmod(a, now.st_mode | S_IRWXU) : 0;
	return aj_step_is_old(a, &now) && ((now.st_mode ^ a->step.was_mode) & 0777) ? aj_step_chmod(a, a->step.was_mode) : 0;
}

static int unswap(struct aj_applying *a)
{
	a->dirty = true;
	return a->step.op == AJ_STEP_PUT ? unswap_put(a) : a->step.op == AJ_STEP_DELETE ? unswap_delete(a) : 0;
}

int aj_steps_unswap(struct aj_applying *a)
{
	if (aj_steps_each(a, AJ_PASSES, false, unset_mode) < 0)
		return -1;
	for (unsigned pass = AJ_PASSES; pass-- > 0;)
		if (aj_steps_each(a, pass, true, unswap) < 0)
			return -1;
	return 0;
}

/* The new folder goes unless the host has put something into it. */
static int unstage_folder(struct aj_applying *a)
{
	struct stat old = aj_step_stat(a, a->old);
	if (unlinkat(a->parent, a->at, AT_REMOVEDIR) < 0 && errno != ENOENT && errno != ENOTDIR) {
		if (errno != ENOTEMPTY && errno != EEXIST)
			return aj_step_fail(a, errno, "remove the new folder");
		keep_name(a, old.st_mode ? a->old : a->at);
		return 0;
	}
	return old.st_mode ? give_back(a, a->old, RENAME_NOREPLACE) : 0;
}

static int unstage(struct aj_applying *a)
{
	a->dirty = true;
	return a->step.op == AJ_STEP_PUT ? drop(a, a->fresh) : a->step.op == AJ_STEP_FOLDER ? unstage_folder(a) : 0;
}

/* Give folders that unset_mode() left writable their modes back. */
static int give_back_mode(struct aj_applying *a)
{
	struct stat now = aj_step_stat(a, a->at);
	bool changed = S_ISDIR(now.st_mode) && aj_step_is_old(a, &now) && ((now.st_mode ^ a->step.was_mode) & 0777);
	return a->step.op == AJ_STEP_MODE && changed ? aj_step_chmod(a, a->step.was_mode) : 0;
}

int aj_steps_unstage(struct aj_applying *a)
{
	if (aj_steps_each(a, AJ_PASSES, true, unstage) < 0 || aj_steps_each(a, AJ_PASSES, true, give_back_mode) < 0)
		return -1;
	return aj_steps_flush(a, false) < 0 ? -1 : aj_steps_flush(a, true);
}
