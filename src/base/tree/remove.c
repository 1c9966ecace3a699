/* Removes a tree that a jail has made: any type of file, folders that deny their owner everything, any depth. It follows no link
 * and enters no other mount, and moves folders that lie too deep up to the top of the tree, so that the stack and the number of
 * open folders are bounded. */
#include "base/tree/remove.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

enum { DEEP = 32 };

struct removal {
	int top;
	unsigned long moved;
};

/* An open folder that is ours to empty, and to move: a move changes the folder's entry `..`. */
static int open_folder(int dir, const char *name)
{
	cleanup_fd int place = aj_beneath_open_here(dir, name, O_PATH | O_DIRECTORY);
	if (place < 0)
		return -1;
	aj_fd_chmod(place, S_IRWXU);
	return aj_fd_reopen(place, O_RDONLY | O_DIRECTORY);
}

/* 0: the entry is gone; 1: the entry is a folder that is not empty; -1 with errno. */
static int remove_one(int dir, const char *name)
{
	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	int refused = errno;
	if (refused != EISDIR && refused != EPERM) /* EPERM: a folder, to some file systems */
		return -1;
	if (unlinkat(dir, name, AT_REMOVEDIR) == 0)
		return 0;
	if (errno == ENOTDIR)
		errno = refused;
	return errno == ENOTEMPTY || errno == EEXIST ? 1 : -1;
}

static int empty(struct removal *r, int *folder, unsigned depth);

static int remove_folder(struct removal *r, int dir, const char *name, unsigned depth)
{
	cleanup_fd int folder = open_folder(dir, name);
	if (folder < 0)
		return -1;
	if (depth < DEEP)
		return empty(r, &folder, depth + 1) < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
	char moved[40];
	do
		snprintf(moved, sizeof moved, ".moved-%lu", r->moved++);
	while (aj_beneath_has(r->top, moved));
	return renameat(dir, name, r->top, moved);
}

/* Takes the descriptor. */
static int empty(struct removal *r, int *folder, unsigned depth)
{
	int dir = aj_steal(folder), result = 0;
	cleanup_listing struct aj_listing entries = aj_listing_take(dir);
	for (const struct dirent *e; result == 0 && (e = aj_listing_next(&entries));) {
		result = remove_one(dir, e->d_name);
		if (result > 0)
			result = remove_folder(r, dir, e->d_name, depth);
	}
	if (!entries.error)
		return result;
	errno = entries.error;
	return -1;
}

int aj_tree_remove(int dir, const char *name)
{
	int left = remove_one(dir, name);
	if (left <= 0)
		return left;
	cleanup_fd int top = open_folder(dir, name);
	struct removal r = { .top = top };
	for (unsigned long moved = 1; top >= 0 && r.moved != moved;) {
		cleanup_fd int folder = aj_fd_reopen(top, O_RDONLY | O_DIRECTORY);
		moved = r.moved;
		if (folder < 0 || empty(&r, &folder, 0) < 0)
			return -1;
	}
	return top < 0 ? -1 : unlinkat(dir, name, AT_REMOVEDIR);
}
