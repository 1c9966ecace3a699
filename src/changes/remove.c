/* Removes a tree that a jail has made: unreadable folders, any type of file, any depth.
 * It follows no link, and what lies too deep is moved up within the tree, so that the number of open folders is bounded. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "changes/node.h"

enum { DEEP = 64 };

struct removal {
	int top;
	unsigned long moved;
};

/* The folder has to be ours to write before its entries go. */
static int open_writable(int dir, const char *name)
{
	struct stat st;
	int fd = aj_node_open_folder(dir, name, true);
	if (fd >= 0 && fstat(fd, &st) == 0 && (st.st_mode & S_IRWXU) != S_IRWXU)
		fchmod(fd, S_IRWXU);
	return fd;
}

static int remove_entry(struct removal *r, int dir, const char *name, unsigned depth);

static int remove_entries(struct removal *r, int dir, unsigned depth)
{
	struct aj_entries names;
	if (aj_entries_read(dir, &names) < 0)
		return -1;
	int result = 0;
	for (size_t i = 0; i < names.count && result == 0; i++)
		result = remove_entry(r, dir, names.items[i], depth);
	aj_entries_free(&names);
	return result;
}

static int remove_entry(struct removal *r, int dir, const char *name, unsigned depth)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	cleanup_fd int fd = open_writable(dir, name);
	if (fd < 0)
		return -1;
	if (depth >= DEEP) {
		char moved[40];
		do
			snprintf(moved, sizeof moved, ".moved-%lu", r->moved++);
		while (faccessat(r->top, moved, F_OK, AT_SYMLINK_NOFOLLOW) == 0);
		return renameat(dir, name, r->top, moved);
	}
	return remove_entries(r, fd, depth + 1) < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}

int aj_node_remove(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	cleanup_fd int top = open_writable(dir, name);
	struct removal r = { .top = top };
	if (top < 0)
		return -1;
	for (;;) {
		unsigned long moved = r.moved;
		if (remove_entries(&r, top, 0) < 0)
			return -1;
		if (r.moved == moved)
			return unlinkat(dir, name, AT_REMOVEDIR);
	}
}
