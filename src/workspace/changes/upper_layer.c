/* Reads an upper layer as overlayfs(5) has written it, and removes single marks: character devices 0:0, and attributes of the
 * class that a user may set. It opens only folders and regular files, and ignores attributes longer than one byte. */
#include "workspace/changes/upper_layer.h"

#include <stddef.h>
#include <sys/xattr.h>

#include "base/fd.h"
#include "base/tree/node.h"

#define OVERLAY "user.overlay."

static char opaque_attribute(int folder)
{
	char value;
	if (fgetxattr(folder, OVERLAY "opaque", &value, 1) != 1)
		return '\0';
	return value;
}

bool aj_upper_is_opaque(int folder)
{
	return opaque_attribute(folder) == 'y';
}

int aj_upper_show_through(int folder)
{
	return fremovexattr(folder, OVERLAY "opaque");
}

bool aj_upper_has_marked_whiteouts(int folder)
{
	return opaque_attribute(folder) == 'x';
}

bool aj_upper_is_whiteout(int dir, const char *name, const struct stat *st, bool marked, bool force)
{
	struct stat again;
	if (S_ISCHR(st->st_mode) && st->st_rdev == 0)
		return true;
	if (!marked || !S_ISREG(st->st_mode) || st->st_size != 0)
		return false;
	cleanup_fd int fd = aj_node_open_file(dir, name, force, &again);
	return fd >= 0 && fgetxattr(fd, OVERLAY "whiteout", NULL, 0) >= 0;
}

bool aj_upper_was_copied_up(int dir, const char *name, mode_t mode, bool force)
{
	struct stat st;
	cleanup_fd int fd = S_ISDIR(mode) ? aj_node_open_folder(dir, name, force)
	                  : S_ISREG(mode) ? aj_node_open_file(dir, name, force, &st)
	                                  : -1;
	bool found = fd >= 0 && fgetxattr(fd, OVERLAY "origin", NULL, 0) >= 0;
	if (fd >= 0 && S_ISDIR(mode))
		aj_node_restore(fd, mode);
	return found;
}
