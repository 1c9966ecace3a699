/* Opens and examines files of a workspace, in the host's own file tree.
 * It follows no symlink anywhere and changes nothing. */
#include "base/beneath.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/fd.h"

static int open_how(int dir, const char *path, const struct open_how *how)
{
	return (int)syscall(SYS_openat2, dir, path, how, sizeof *how);
}

int aj_open_resolved(int dir, const char *path, int flags, uint64_t resolve)
{
	return open_how(dir, path, &(struct open_how){ .flags = (unsigned)flags | O_CLOEXEC, .resolve = resolve });
}

int aj_beneath_open(int dir, const char *path, int flags)
{
	uint64_t beneath = dir == AT_FDCWD ? 0 : RESOLVE_BENEATH;
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC,
		                .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | beneath };
	if (!(flags & O_PATH))
		how.flags |= O_NONBLOCK | O_NOCTTY;
	return open_how(dir, path, &how);
}

int aj_beneath_open_here(int dir, const char *path, int flags)
{
	struct open_how how = { .flags = (unsigned)flags | O_CLOEXEC | O_NOFOLLOW | (flags & O_PATH ? 0 : O_NONBLOCK | O_NOCTTY),
		                .mode = flags & O_CREAT ? 0644 : 0,
		                .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV };
	return open_how(dir, path, &how);
}

struct aj_listing aj_beneath_list(int dir, const char *path)
{
	return aj_listing_take(aj_beneath_open(dir, path, O_RDONLY | O_DIRECTORY));
}

bool aj_beneath_has(int dir, const char *name)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

bool aj_beneath_owned(int dir, uid_t uid)
{
	struct stat st;
	return fstat(dir, &st) == 0 && st.st_uid == uid;
}

bool aj_beneath_is_tmpfs_of(int dir, uid_t uid)
{
	struct statfs fs;
	struct statx st;
	return fstatfs(dir, &fs) == 0 && fs.f_type == TMPFS_MAGIC && statx(dir, "", AT_EMPTY_PATH, STATX_UID, &st) == 0 &&
	       st.stx_uid == uid && (st.stx_attributes & STATX_ATTR_MOUNT_ROOT);
}

bool aj_beneath_tells_changes(int dir, dev_t *ret_dev)
{
	struct statfs fs;
	struct stat st;
	if (fstatfs(dir, &fs) < 0 || fstat(dir, &st) < 0)
		return false;
	*ret_dev = st.st_dev;
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC || fs.f_type == TMPFS_MAGIC;
}
