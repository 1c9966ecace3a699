/* The phases of an apply that go forward: new content is written beside its place, then renamed to it, then the previous entry is
 * removed.
 * Nothing is replaced or removed unless it matches the journal. */
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

enum { FSYNC_EACH = 500 };

/* --- staging --- */

/* A file that is replaced keeps its owner and group, as far as the caller may set them; root gives what is new to the owner of
 * its folder. The file is `fd`, which may be O_PATH. Where the kernel refuses, it stays the caller's. */
static void give_owner(const struct aj_applying *a, int fd)
{
	struct stat like = a->step.op == AJ_STEP_PUT && a->step.was_mode ? aj_step_stat(a, a->at) : (struct stat){ 0 };
	bool root = geteuid() == 0;
	if (!like.st_mode && (!root || fstat(a->parent, &like) < 0))
		return;
	if ((root || like.st_gid != getegid()) &&
	    fchownat(fd, "", root ? like.st_uid : (uid_t)-1, like.st_gid, AT_EMPTY_PATH) < 0)
		return;
}

static int stage_file(struct aj_applying *a, int place)
{
	struct stat st;
	cleanup_fd int from = aj_node_open_place(place, true, &st);
	if (from < 0)
		return aj_step_fail(a, errno, "read the new content of");
	cleanup_fd int to = openat(a->parent, a->fresh, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to >= 0)
		give_owner(a, to);
	int copied = to < 0 ? -1 : aj_content_copy(from, to, st.st_size, NULL);
	if (copied > 0)
		errno = EIO;
	if (copied != 0 || fchmod(to, a->step.mode & 0777) < 0 || (a->j.count <= FSYNC_EACH && fsync(to) < 0))
		return aj_step_fail(a, errno, "write the new content of");
	return 0;
}

static int stage_put(struct aj_applying *a)
{
	char target[PATH_MAX];
	struct stat st;
	if (unlinkat(a->parent, a->fresh, 0) < 0 && errno != ENOENT)
		return aj_step_fail(a, errno, "remove an unfinished copy of");
	cleanup_fd int place = aj_step_place(a);
	if (place < 0 || fstat(place, &st) < 0)
		return aj_step_fail(a, errno, "find the new content of");
	if ((st.st_mode ^ a->step.mode) & S_IFMT)
		return aj_step_fail(a, EINVAL, "the type has changed of");
	if (S_ISREG(st.st_mode))
		return stage_file(a, place);
	if (aj_node_link(place, "", target, sizeof target) < 0 || symlinkat(target, a->parent, a->fresh) < 0)
		return aj_step_fail(a, errno, "make the link");
	cleanup_fd int made = aj_beneath_open_here(a->parent, a->fresh, O_PATH);
	if (made >= 0 && fstat(made, &st) == 0 && S_ISLNK(st.st_mode))
		give_owner(a, made);
	return 0;
}

static int stage_folder(struct aj_applying *a)
{
	struct stat now = aj_step_stat(a, a->at), old = aj_step_stat(a, a->old);
	if (now.st_mode && !old.st_mode && a->step.was_mode) { /* it makes room */
		if (!aj_step_is_old(a, &now))
			return aj_step_raced(a);
		if (renameat(a->parent, a->at, a->parent, a->old) < 0)
			return aj_step_fail(a, errno, "move aside");
	}
	if (mkdirat(a->parent, a->at, 0700) == 0) {
		cleanup_fd int made = aj_beneath_open_here(a->parent, a->at, O_PATH | O_DIRECTORY);
		if (made >= 0)
			give_owner(a, made);
		return 0;
	}
	int error = errno;
	now = aj_step_stat(a, a->at);
	return error == EEXIST && S_ISDIR(now.st_mode) ? 0
	     : error == EEXIST                         ? aj_step_raced(a)
	                                               : aj_step_fail(a, error, "make the folder");
}

static int stage(struct aj_applying *a)
{
	switch (a->step.op) {
	case AJ_STEP_FOLDER:
		return stage_folder(a);
	case AJ_STEP_PUT:
		return stage_put(a);
	case AJ_STEP_MODE: { /* a folder must be writable before it is written; the end of the apply sets the rest */
		struct stat now = aj_step_stat(a, a->at);
		if (S_ISDIR(now.st_mode) && aj_step_is_old(a, &now) && (a->step.mode & ~now.st_mode & S_IRWXU))
			return aj_step_chmod(a, now.st_mode | (a->step.mode & S_IRWXU));
		return 0;
	}
	default:
		return 0;
	}
}

int aj_steps_stage(struct aj_applying *a)
{
	/* Modes first: the steps for a folder's entries come before the one for its mode. */
	for (int modes = 1; modes >= 0; modes--)
		for (size_t i = 0; i < a->j.count; i++) {
			char op = a->j.places[i].op;
			if ((op == AJ_STEP_MODE) != modes || op == AJ_STEP_DELETE || !aj_step_is_file(op))
				continue;
			int missing = aj_step_load(a, i);
			if (missing > 0 && modes)
				continue;
			if (missing > 0)
				return aj_step_raced(a);
			if (missing < 0 || stage(a) < 0)
				return -1;
		}
	return aj_steps_flush(a, true);
}

/* --- swapping --- */

/* Has a folder that is to go entries that are not ours? */
static bool has_others(int parent, const char *name)
{
	struct aj_entries names = { 0 };
	cleanup_fd int fd = aj_node_open_folder(parent, name, false);
	bool found = fd < 0 || aj_entries_read(fd, &names) < 0;
	for (size_t i = 0; i < names.count && !found; i++)
		found = !aj_changes_own(names.items[i]);
	aj_entries_free(&names);
	return found;
}

static int put_new(struct aj_applying *a)
{
	if (renameat2(a->parent, a->fresh, a->parent, a->at, RENAME_NOREPLACE) == 0)
		return 0;
	/* File systems that know no such rename have links, or nothing: then the name is looked up a moment before. */
	if (errno == EINVAL && linkat(a->parent, a->fresh, a->parent, a->at, 0) == 0)
		return unlinkat(a->parent, a->fresh, 0) < 0 ? aj_step_fail(a, errno, "put into its place") : 0;
	if (errno != EEXIST && !aj_step_stat(a, a->at).st_mode && renameat(a->parent, a->fresh, a->parent, a->at) == 0)
		return 0;
	return errno == EEXIST || aj_step_stat(a, a->at).st_mode ? aj_step_raced(a)
	                                                         : aj_step_fail(a, errno, "put into its place");
}

/* The old file is never without a name, and the new one takes its place at one instant where the file system can do that. */
static int put_over(struct aj_applying *a)
{
	struct stat old = aj_step_stat(a, a->old);
	if (renameat2(a->parent, a->fresh, a->parent, a->at, RENAME_EXCHANGE) == 0) {
		struct stat was = aj_step_stat(a, a->fresh);
		if (!aj_step_is_old(a, &was)) { /* the host was quicker than our look at it */
			if (renameat2(a->parent, a->fresh, a->parent, a->at, RENAME_EXCHANGE) < 0)
				return aj_step_fail(a, errno, "give back the place of");
			return aj_step_raced(a);
		}
		return renameat(a->parent, a->fresh, a->parent, a->old) < 0
		         ? aj_step_fail(a, errno, "keep what was in the place of")
		         : 0;
	}
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return aj_step_fail(a, errno, "put into its place");
	if (!old.st_mode && linkat(a->parent, a->at, a->parent, a->old, 0) < 0 &&
	    renameat(a->parent, a->at, a->parent, a->old) < 0)
		return aj_step_fail(a, errno, "keep what was in the place of");
	return renameat(a->parent, a->fresh, a->parent, a->at) < 0 ? aj_step_fail(a, errno, "put into its place") : 0;
}

static int swap_put(struct aj_applying *a)
{
	struct stat fresh = aj_step_stat(a, a->fresh), now = aj_step_stat(a, a->at), old = aj_step_stat(a, a->old);
	if (!fresh.st_mode) /* it has its place */
		return 0;
	if (!a->step.was_mode)
		return put_new(a);
	if (aj_step_is_old(a, &fresh)) /* killed between the two renames */
		return renameat(a->parent, a->fresh, a->parent, a->old) < 0
		         ? aj_step_fail(a, errno, "keep what was in the place of")
		         : 0;
	if (!now.st_mode && aj_step_is_old(a, &old))
		return put_new(a);
	if (!aj_step_is_old(a, &now) || (S_ISDIR(now.st_mode) && has_others(a->parent, a->at)))
		return aj_step_raced(a);
	return put_over(a);
}

static int swap_delete(struct aj_applying *a)
{
	struct stat now = aj_step_stat(a, a->at);
	if (!now.st_mode) /* the host has deleted it too, or this was done */
		return 0;
	if (!aj_step_is_old(a, &now) || (S_ISDIR(now.st_mode) && has_others(a->parent, a->at)))
		return aj_step_raced(a);
	return renameat(a->parent, a->at, a->parent, a->old) < 0 ? aj_step_fail(a, errno, "delete") : 0;
}

static int set_mode(struct aj_applying *a)
{
	struct stat now = aj_step_stat(a, a->at);
	if (a->step.op == AJ_STEP_MODE && !aj_step_is_old(a, &now))
		return aj_step_raced(a);
	return ((now.st_mode ^ a->step.mode) & 0777) ? aj_step_chmod(a, a->step.mode) : 0;
}

int aj_steps_swap(struct aj_applying *a)
{
	for (unsigned pass = 0; pass < AJ_PASSES; pass++)
		for (size_t i = 0; i < a->j.count; i++) {
			char op = a->j.places[i].op;
			if (a->j.places[i].pass != (char)pass || (op != AJ_STEP_PUT && op != AJ_STEP_DELETE))
				continue;
			int missing = aj_step_load(a, i);
			if (missing < 0)
				return -1;
			if (missing > 0 && a->step.op == AJ_STEP_DELETE) /* its folder has gone already */
				continue;
			a->dirty = true;
			if (missing > 0 || (a->step.op == AJ_STEP_PUT ? swap_put(a) : swap_delete(a)) < 0)
				return missing > 0 ? aj_step_raced(a) : -1;
		}
	/* From the inside outwards: a folder may lose the right to be entered. */
	for (size_t i = a->j.count; i-- > 0;) {
		if (a->j.places[i].op != AJ_STEP_MODE && a->j.places[i].op != AJ_STEP_FOLDER)
			continue;
		int missing = aj_step_load(a, i);
		if (missing || set_mode(a) < 0)
			return missing > 0 ? aj_step_raced(a) : -1;
	}
	return aj_steps_flush(a, false) < 0 ? -1 : aj_steps_flush(a, true);
}

/* --- cleaning --- */

/* Remove what was there. Of a folder all that is left are our own names; a file that the host has put there since stays, and with
 * it the folder, under our name. */
static void remove_old(int parent, const char *name)
{
	struct aj_entries names = { 0 };
	if (unlinkat(parent, name, 0) == 0 || (errno != EISDIR && errno != EPERM))
		return;
	cleanup_fd int fd = aj_node_open_folder(parent, name, true);
	if (fd >= 0 && aj_entries_read(fd, &names) == 0)
		for (size_t i = 0; i < names.count; i++)
			if (aj_changes_own(names.items[i]))
				remove_old(fd, names.items[i]);
	aj_entries_free(&names);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static int clean(struct aj_applying *a)
{
	if (a->step.was_mode && a->step.op != AJ_STEP_MODE)
		remove_old(a->parent, a->old);
	return 0;
}

int aj_steps_clean(struct aj_applying *a)
{
	return aj_steps_mark(a, true) < 0 ? -1 : aj_steps_each(a, AJ_PASSES, false, clean);
}
