/* Makes the overlays that read-only folders of the host are shown through.
 * It looks up no path of the host: the layers are the working directory and a folder beside its mount point. */
#include "mounts/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/fd.h"

/* The layers lie in a subfolder: `..` out of a mount ignores whether the folder above is covered, as the root of `blanks` is. */
#define LAYERS "layers"
#define NONE "none" /* in AJ_OVERLAY_LAYERS too */

/* Mount `source` beside an empty folder. Before Linux 6.15 a layer has to be a mount of the caller's namespace, and before 6.13 it can
 * be named by a path only: the working directory is the only path that no other process can replace. */
static int enter_layers(int blanks, int source)
{
	char name[32];
	snprintf(name, sizeof name, LAYERS "/%d", source);
	if ((mkdirat(blanks, LAYERS, 0700) < 0 || mkdirat(blanks, LAYERS "/" NONE, 0700) < 0) && errno != EEXIST)
		return -1;
	if (mkdirat(blanks, name, 0700) < 0)
		return -1;
	cleanup_fd int place = openat(blanks, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0 || move_mount(source, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -1;
	return fchdir(source);
}

int aj_overlay(int blanks, int source)
{
	struct statvfs of_source;
	if (fstatvfs(source, &of_source) < 0 || enter_layers(blanks, source) < 0)
		return -1;
	cleanup_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	/* Without an upper layer the kernel requires two lower ones. No userxattr: overlay attributes of the host's folders are not
	 * trusted. */
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", AJ_OVERLAY_LAYERS, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "xino", "off", 0) < 0 || /* with xino each mount writes a line to the kernel's log */
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	/* An overlay does not inherit noexec from the mount of its layer. */
	return fsmount(fs, FSMOUNT_CLOEXEC, of_source.f_flag & ST_NOEXEC ? MOUNT_ATTR_NOEXEC : 0);
}

/* Before Linux 6.15 the kernel clones no part of a detached mount. */
int aj_overlay_attached(int blanks, int source)
{
	char name[32];
	cleanup_fd int overlay = aj_overlay(blanks, source);
	snprintf(name, sizeof name, LAYERS "/over%d", source);
	if (overlay < 0 || mkdirat(blanks, name, 0700) < 0)
		return -1;
	cleanup_fd int place = openat(blanks, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (place < 0 || move_mount(overlay, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH) < 0)
		return -1;
	return aj_steal(&overlay);
}

int aj_overlay_file(int overlay, const char *name)
{
	struct stat st;
	cleanup_fd int file = open_tree(overlay, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
	if (file < 0 || fstat(file, &st) < 0)
		return -1;
	errno = ESTALE; /* another file has taken its place */
	return S_ISREG(st.st_mode) ? aj_steal(&file) : -1;
}
