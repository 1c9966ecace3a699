/* Makes the overlays through which folders of the host are shown.
 * It resolves no path of the host: the layers are the working directory and a folder beside its mount point. */
#include "sandbox/mounts/overlay.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"

/* The layers lie in a subfolder: `..` out of a mount ignores whether the folder above is covered, as the root of `blanks` is. */
#define LAYERS "layers"
#define NONE "none" /* in AJ_OVERLAY_LAYERS too */

/* Attach `source` as a folder `name` beside the layers. */
static int attach(int blanks, const char *name, int source)
{
	if (mkdirat(blanks, name, 0700) < 0)
		return -1;
	cleanup_fd int place = openat(blanks, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return place < 0 ? -1 : move_mount(source, "", place, "", MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);
}

/* Mount `source` beside an empty folder. Before Linux 6.15 a layer has to be a mount of the caller's namespace, and before 6.13
 * it can be named by a path only: the working directory is the only path that no other process can replace. */
static int enter_layers(int blanks, int source)
{
	char name[32];
	snprintf(name, sizeof name, LAYERS "/%d", source);
	if ((mkdirat(blanks, LAYERS, 0700) < 0 || mkdirat(blanks, LAYERS "/" NONE, 0700) < 0) && errno != EEXIST)
		return -1;
	return attach(blanks, name, source) < 0 ? -1 : fchdir(source);
}

/* The options with which a change is a plain file of the upper layer, which needs nothing of the lower one: no `index`, no
 * `metacopy`, and with userxattr no redirect_dir. */
static int set_upper(int fs, int layers)
{
	static const char *const off[] = { "index", "metacopy" };
	char path[40];
	for (size_t i = 0; i < sizeof off / sizeof *off; i++)
		if (fsconfig(fs, FSCONFIG_SET_STRING, off[i], "off", 0) < 0)
			return -1;
	snprintf(path, sizeof path, "../state%d/upper", layers);
	if (fsconfig(fs, FSCONFIG_SET_STRING, "upperdir", path, 0) < 0)
		return -1;
	snprintf(path, sizeof path, "../state%d/work", layers);
	return fsconfig(fs, FSCONFIG_SET_STRING, "workdir", path, 0);
}

/* The lower layer is the working directory. `layers`: the mount with the upper one; -1: none. `read_only`: the upper one is
 * only read, as a lower layer: a run may be using it. */
static int make_overlay(int source, int layers, bool read_only, unsigned attributes)
{
	struct statvfs of_source;
	char both[60];
	if (fstatvfs(source, &of_source) < 0)
		return -1;
	snprintf(both, sizeof both, "../state%d/upper:.", layers);
	cleanup_fd int fs = fsopen("overlay", FSOPEN_CLOEXEC);
	/* Without an upper layer the kernel requires two lower ones, and no userxattr (it trusts no attributes of the host). */
	if (fs < 0 || fsconfig(fs, FSCONFIG_SET_STRING, "lowerdir", read_only ? both : AJ_OVERLAY_LAYERS, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "xino", "off", 0) < 0 || /* with xino each mount writes to the kernel log */
	    /* Attributes of the kernel's own, trusted.overlay.*, need a right over the host. */
	    (layers >= 0 && fsconfig(fs, FSCONFIG_SET_FLAG, "userxattr", NULL, 0) < 0) ||
	    (layers >= 0 && !read_only && set_upper(fs, layers) < 0) || fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	/* An overlay does not inherit noexec from the mount of its layer. */
	return fsmount(fs, FSMOUNT_CLOEXEC, attributes | (of_source.f_flag & ST_NOEXEC ? MOUNT_ATTR_NOEXEC : 0));
}

int aj_overlay(int blanks, int source)
{
	return enter_layers(blanks, source) < 0 ? -1 : make_overlay(source, -1, false, 0);
}

int aj_overlay_layered(int blanks, int source, int layers, bool read_only)
{
	char name[32];
	snprintf(name, sizeof name, LAYERS "/state%d", layers);
	if (enter_layers(blanks, source) < 0 || attach(blanks, name, layers) < 0)
		return -1;
	return make_overlay(source, layers, read_only, 0);
}

/* Before Linux 6.15 the kernel clones no part of a detached mount. */
int aj_overlay_attached(int blanks, int source, unsigned attributes)
{
	char name[32];
	cleanup_fd int overlay = enter_layers(blanks, source) < 0 ? -1 : make_overlay(source, -1, false, attributes);
	snprintf(name, sizeof name, LAYERS "/over%d", source);
	return overlay < 0 || attach(blanks, name, overlay) < 0 ? -1 : aj_steal(&overlay);
}

int aj_overlay_entry(int overlay, const char *path, mode_t *type)
{
	struct stat st;
	const char *slash = strrchr(path, '/');
	cleanup_fd int found = slash ? aj_beneath_open(overlay, path, O_PATH) : -1;
	if (slash && found < 0)
		return -1;
	cleanup_fd int entry = open_tree(slash ? found : overlay, slash ? "" : path,
	                                 OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW | (slash ? AT_EMPTY_PATH : 0));
	if (entry < 0 || fstat(entry, &st) < 0)
		return -1;
	mode_t is = st.st_mode & S_IFMT;
	errno = ESTALE; /* another file has taken its place */
	if (*type ? is != *type : is != S_IFREG && is != S_IFDIR)
		return -1;
	*type = is;
	return aj_steal(&entry);
}
