/* The parts that all phases of an apply use: the step at hand, its folder, and the entry that is there. All names are looked up
 * beneath the workspace, through no link and into no other file system. */
#include "workspace/changes/apply_steps.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/node.h"

/* More steps than that, and the whole file system is flushed once instead of each file. */
enum { FLUSH_EACH = 500, MARKS_AT_ONCE = 256 };

int aj_step_fail(struct aj_applying *a, int errnum, const char *what)
{
	return aj_fail(a->err, AJ_EXIT_SETUP, "changes", errnum, "%s `%s`", what, a->step.path);
}

int aj_step_raced(struct aj_applying *a)
{
	return aj_fail(a->err, AJ_EXIT_ERROR, "changes", 0, "the host has changed `%s` during the apply", a->step.path);
}

static int open_parent(struct aj_applying *a)
{
	char folder[PATH_MAX] = ".";
	const char *slash = strrchr(a->step.path, '/');
	a->at = slash ? slash + 1 : a->step.path;
	if (slash) {
		memcpy(folder, a->step.path, (size_t)(slash - a->step.path));
		folder[slash - a->step.path] = '\0';
	}
	if (a->parent >= 0 && strcmp(folder, a->parent_path) == 0)
		return 0;
	if (aj_steps_flush(a, false) < 0)
		return -1;
	aj_close(&a->parent);
	struct aj_change_side side = aj_change_side(a->s, folder);
	if (side.host < 0)
		return aj_step_fail(a, EINVAL, "a path outside of the workspace and of its main repository:");
	a->parent = aj_beneath_open_here(side.host, side.path, O_PATH | O_DIRECTORY);
	if (a->parent >= 0)
		memcpy(a->parent_path, folder, sizeof folder);
	else if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
		return aj_step_fail(a, errno, "open the folder of");
	return a->parent < 0;
}

int aj_step_load(struct aj_applying *a, size_t index)
{
	if (!aj_journal_step(&a->j, index, a->room, &a->step))
		return aj_fail(a->err, AJ_EXIT_SETUP, "changes", errno, "read step %zu of the journal", index);
	a->merged = a->step.op == AJ_STEP_MERGED;
	if (a->merged)
		a->step.op = AJ_STEP_PUT;
	aj_journal_name(&a->j, a->step.number, false, a->fresh);
	aj_journal_name(&a->j, a->step.number, true, a->old);
	return open_parent(a);
}

int aj_steps_each(struct aj_applying *a, unsigned pass, bool backward, int (*fn)(struct aj_applying *a))
{
	for (size_t n = 0; n < a->j.count; n++) {
		size_t i = backward ? a->j.count - 1 - n : n;
		if (!aj_step_is_file(a->j.places[i].op) || (pass < AJ_PASSES && a->j.places[i].pass != (char)pass))
			continue;
		int missing = aj_step_load(a, i);
		if (missing < 0 || (!missing && fn(a) < 0))
			return -1;
	}
	return 0;
}

static int place_in_view(const struct aj_applying *a)
{
	struct aj_change_side side = aj_change_side(a->s, a->step.path);
	return aj_node_place(side.view, side.path, true);
}

int aj_step_place(const struct aj_applying *a)
{
	char name[AJ_JOURNAL_NAME];
	snprintf(name, sizeof name, AJ_MERGED "%" PRIu64, a->step.number);
	return a->merged ? aj_beneath_open_here(a->s->dir, name, O_PATH) : place_in_view(a);
}

struct stat aj_step_stat(const struct aj_applying *a, const char *name)
{
	struct stat st;
	return fstatat(a->parent, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st : (struct stat){ 0 };
}

bool aj_step_is_old(const struct aj_applying *a, const struct stat *st)
{
	const struct aj_apply_step *s = &a->step;
	return st->st_mode && st->st_dev == s->dev && st->st_ino == s->ino && ((st->st_mode ^ s->was_mode) & S_IFMT) == 0 &&
	       (S_ISDIR(st->st_mode) || ((uint64_t)st->st_size == s->bytes && aj_node_mtime_ns(st) == s->mtime_ns));
}

int aj_steps_flush(struct aj_applying *a, bool end)
{
	bool each = a->j.count <= FLUSH_EACH;
	if (end && !each)
		return syncfs(a->s->workspace) < 0 || (a->s->repository >= 0 && syncfs(a->s->repository) < 0)
		         ? aj_step_fail(a, errno, "flush the file system of")
		         : 0;
	if (!each || !a->dirty || a->parent < 0)
		return 0;
	a->dirty = false;
	cleanup_fd int fd = openat(a->parent, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* A folder that cannot be read, or a file system that knows no fsync(2) for folders, is left to the kernel. */
	if (fd >= 0 && fsync(fd) < 0 && errno != EINVAL)
		return aj_step_fail(a, errno, "flush the folder of");
	return 0;
}

int aj_step_chmod(struct aj_applying *a, mode_t mode)
{
	cleanup_fd int place = aj_beneath_open_here(a->parent, a->at, O_PATH);
	return place < 0 || aj_fd_chmod(place, mode & 0777) < 0 ? aj_step_fail(a, errno, "change the mode of") : 0;
}

/* Write down the times of change that the workspace's files have now, as ours; `settled`: and that the view's files are no
 * changes any more. */
int aj_steps_mark(struct aj_applying *a, bool settled)
{
	struct aj_mark marks[MARKS_AT_ONCE + 2];
	size_t count = 0;
	cleanup_fd int fd = aj_marks_open(a->s->dir, AJ_MARKS_FILE);
	bool failed = fd < 0;
	for (size_t i = 0; i < a->j.count && !failed; i++) {
		if (!aj_step_is_file(a->j.places[i].op))
			continue;
		int missing = aj_step_load(a, i);
		if (missing < 0)
			return -1;
		struct stat now = missing ? (struct stat){ 0 } : aj_step_stat(a, a->at), view;
		if (settled) {
			cleanup_fd int place = place_in_view(a);
			bool there = place >= 0 && fstat(place, &view) == 0 && a->step.op != AJ_STEP_DELETE;
			aj_marks_set_settled(&marks[count++], a->step.path, there ? aj_node_ctime_ns(&view) : 0);
		}
		if (now.st_mode)
			aj_marks_set_ours(&marks[count++], a->step.path, aj_node_ctime_ns(&now));
		if (count >= MARKS_AT_ONCE) {
			failed = aj_marks_append(fd, marks, count) < 0;
			count = 0;
		}
	}
	if (failed || aj_marks_append(fd, marks, count) < 0 || fsync(fd) < 0)
		return aj_fail(a->err, AJ_EXIT_SETUP, "changes", errno, "write down what was applied");
	return 0;
}
