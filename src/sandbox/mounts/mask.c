/* Hides paths of the jail behind an empty folder or file, or holds them unchanged, once every other row of the tree stands.
 * It hides a path, not a file: other names of the file (a hard link, a second bind) stay. It follows no symlink.
 *
 * A mount point can be neither renamed nor removed, but the folders above it can, and be made anew without the mount. So each
 * of those folders that the jail could rename is bind-mounted on itself. */
#include "sandbox/mounts/mask.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"

/* The task at a target, for which its path is walked. */
struct mask_task {
	const char *step; /* in errors */
	enum aj_reason reason;
	bool holds;
};
static const struct mask_task mask = { "mask", AJ_REASON_SETUP, false };
static const struct mask_task hold = { "protect", AJ_REASON_SETUP, true };
static const struct mask_task pin = { "mounts", AJ_REASON_MOUNT, false };

int aj_mask_blanks(size_t rows, struct aj_error *err)
{
	char options[64];
	snprintf(options, sizeof options, "mode=0755,size=4096,nr_inodes=%zu", 10 + rows);
	if (mount("tmpfs", AJ_MOUNT_CARRIER, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, options) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "mask", errno, "mount the tmpfs of the masks' placeholders");
	cleanup_fd int fd = open(AJ_MOUNT_CARRIER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || mkdirat(fd, AJ_BLANK_FOLDER, 0555) < 0 || mknodat(fd, AJ_BLANK_FILE, S_IFREG | 0444, 0) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "mask", errno, "create the masks' placeholders");
	cleanup_fd int itself = openat(fd, AJ_BLANK_ITSELF, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0444);
	if (itself < 0 || aj_write_all(itself, AJ_BLANK_ITSELF_TEXT, strlen(AJ_BLANK_ITSELF_TEXT)) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "mask", errno, "create the masks' placeholders");
	return aj_steal(&fd);
}

/* May the jail create, rename or remove entries in this folder, as far as its mount says? The root itself is sealed later. */
static int may_change(int root, int dir, bool *ret, bool *ret_mount_root)
{
	struct statx of_root, of_dir;
	struct statvfs fs;
	if (statx(root, "", AT_EMPTY_PATH, STATX_MNT_ID, &of_root) < 0 ||
	    statx(dir, "", AT_EMPTY_PATH, STATX_MNT_ID, &of_dir) < 0 || fstatvfs(dir, &fs) < 0)
		return -1;
	/* Where a filter forbids statx, libc emulates it without mount ids, and all mounts look alike. */
	if (!(of_root.stx_mask & of_dir.stx_mask & STATX_MNT_ID)) {
		errno = ENOSYS;
		return -1;
	}
	*ret = of_root.stx_mnt_id != of_dir.stx_mnt_id && !(fs.f_flag & ST_RDONLY);
	*ret_mount_root = of_dir.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	return 0;
}

/* Bind-mount the folder on itself, if the jail could rename it otherwise; `*dir` then refers to the folder in that mount. */
static int pin_folder(int root, int *dir)
{
	bool changeable, mount_root;
	if (may_change(root, *dir, &changeable, &mount_root) < 0)
		return -1;
	if (!changeable || mount_root)
		return 0;
	cleanup_fd int self = open_tree(*dir, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (self < 0 || move_mount(self, "", *dir, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -1;
	close(*dir);
	*dir = aj_steal(&self);
	return 0;
}

static int cover(int blanks, int place, const char *name)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	cleanup_fd int blank = open_tree(blanks, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (blank < 0 || mount_setattr(blank, "", AT_EMPTY_PATH, &attr, sizeof attr) < 0)
		return -1;
	return move_mount(blank, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* Bind the target over itself, read-only, with all mounts below it. */
static int cover_with_itself(int place)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };
	cleanup_fd int self = open_tree(place, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (self < 0 || mount_setattr(self, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
		return -1;
	return move_mount(self, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* A missing target needs no mask, unless the jail could create it. */
static int absent(int root, int dir, const struct mask_task *task, const char *target, int above_bytes, struct aj_error *err)
{
	bool changeable, mount_root;
	if (may_change(root, dir, &changeable, &mount_root) < 0)
		return aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, errno, "examine the folder above `%s`",
		                       target);
	if (!changeable)
		return 0;
	if (task->holds)
		return aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, 0,
		                       "`%s` has disappeared during set-up: another process changes the workspace", target);
	aj_fail(err, AJ_EXIT_SETUP, "mask", 0,
	        "`%s` does not exist, and the jail could create it: `%.*s` is writable in the jail", target, above_bytes, target);
	aj_advise(err,
	          "create an empty file or folder there first, show `%.*s` read-only, add `:if-present` to that mask, or remove the mask",
	          above_bytes, target);
	return -1;
}

/* Walk to `target` and pin_folder every folder above it. Returns the target, or with `if_present` a folder above it that is
 * closed to the jail; -1 with err; or -1 without err for a missing target that the jail cannot create, or with `if_present`. */
static int walk_to(int root, const struct mask_task *task, const char *target, bool if_present, bool *ret_folder,
                   struct aj_error *err)
{
	cleanup_fd int dir = fcntl(root, F_DUPFD_CLOEXEC, 3);
	for (const char *at = target + 1;;) {
		char part[NAME_MAX + 1];
		size_t bytes = strcspn(at, "/");
		int above_bytes = (int)(at - target - 1);
		if (bytes == 0 || bytes > NAME_MAX)
			return aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, ENAMETOOLONG, "`%s`", target);
		memcpy(part, at, bytes);
		part[bytes] = '\0';
		cleanup_fd int next = openat(dir, part, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		struct stat st;
		if (next < 0 && errno == ENOENT)
			return if_present ? -1 : absent(root, dir, task, target, above_bytes, err) - 1;
		/* The jail's id may not search this folder and does not own it: that holds the target well enough. A mask must be
		 * mounted all the same, over the folder if need be. */
		bool closed = next < 0 && errno == EACCES && (task->holds || if_present);
		if (closed && fstat(dir, &st) == 0 && st.st_uid != geteuid()) {
			*ret_folder = true;
			return task->holds ? -1 : aj_steal(&dir);
		}
		if (next < 0 || fstat(next, &st) < 0)
			return aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, errno, "open `%.*s`",
			                       above_bytes + 1 + (int)bytes, target);
		if (S_ISLNK(st.st_mode)) {
			aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, 0,
			                "`%.*s` is a symlink, so the path `%s` could be made to lead elsewhere",
			                above_bytes + 1 + (int)bytes, target, target);
			aj_advise(err, "name the path that the link leads to");
			return -1;
		}
		if (at[bytes] == '\0') {
			*ret_folder = S_ISDIR(st.st_mode);
			return aj_steal(&next);
		}
		if (!S_ISDIR(st.st_mode))
			return if_present ? -1 : absent(root, dir, task, target, above_bytes, err) - 1;
		if (pin_folder(root, &next) < 0)
			return aj_fail_because(err, task->reason, AJ_EXIT_SETUP, task->step, errno,
			                       "mount `%.*s` on itself, so that it cannot be renamed",
			                       above_bytes + 1 + (int)bytes, target);
		close(dir);
		dir = aj_steal(&next);
		at += bytes + 1;
	}
}

int aj_mask_apply(int root, int blanks, const char *target, bool if_present, struct aj_error *err)
{
	bool folder;
	cleanup_fd int place = walk_to(root, &mask, target, if_present, &folder, err);
	if (place < 0)
		return err->exit_code ? -1 : 0;
	if (cover(blanks, place, folder ? AJ_BLANK_FOLDER : AJ_BLANK_FILE) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, mask.step, errno, "hide `%s`", target);
	return 0;
}

int aj_hold_apply(int root, int blanks, const char *target, const char *blank, struct aj_error *err)
{
	bool folder;
	cleanup_fd int place = walk_to(root, &hold, target, false, &folder, err);
	if (place < 0)
		return err->exit_code ? -1 : 0;
	if (*blank && folder != (strcmp(blank, AJ_BLANK_FOLDER) == 0))
		return aj_fail(err, AJ_EXIT_SETUP, hold.step, 0,
		               "`%s` has been replaced during set-up: another process changes the workspace", target);
	if ((*blank ? cover(blanks, place, blank) : cover_with_itself(place)) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, hold.step, errno, "mount `%s` read-only on itself", target);
	return 0;
}

int aj_hold_above(int root, const char *target, struct aj_error *err)
{
	bool folder;
	cleanup_fd int place = walk_to(root, &pin, target, false, &folder, err);
	return place < 0 ? -1 : 0;
}
