/* New objects of a fetch: kept apart in the host's repository until the fetch is complete and within its limits, as git does for
 * a push. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/node.h"
#include "base/tree/remove.h"
#include "workspace/changes/history_inner.h"

/* `git prune` removes old folders whose names begin so. */
#define INCOMING "tmp_objdir-agentjail-"

static int fail(struct aj_error *err, const struct aj_incoming *in, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "%s for new objects in `%s`", what, in->path);
}

/* The parts that the repository's owner does: aj_git_as_owner(). */

/* What killed fetches left: nobody holds its lock. */
static void remove_left(int objects)
{
	struct aj_entries names;
	if (aj_entries_read(objects, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		bool ours = strncmp(names.items[i], INCOMING, sizeof INCOMING - 1) == 0;
		cleanup_fd int fd = ours ? aj_beneath_open_here(objects, names.items[i], O_RDONLY | O_DIRECTORY) : -1;
		if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
			aj_tree_remove(objects, names.items[i]);
	}
	aj_entries_free(&names);
}

static int make(void *arg)
{
	const struct aj_incoming *in = arg;
	remove_left(in->objects);
	return mkdirat(in->objects, in->name, 0700);
}

static int discard(void *arg)
{
	const struct aj_incoming *in = arg;
	return aj_tree_remove(in->objects, in->name);
}

/* What a pack is found by comes last. */
static int move_packs(int from, int to)
{
	static const char *const kinds[] = { ".pack", ".rev", ".idx" };
	struct aj_entries names;
	if (aj_entries_read(from, &names) < 0)
		return -1;
	int result = 0;
	for (size_t k = 0; result == 0 && k < sizeof kinds / sizeof *kinds; k++)
		for (size_t i = 0; result == 0 && i < names.count; i++) {
			const char *name = names.items[i], *end = strrchr(name, '.');
			if (strncmp(name, "pack-", 5) == 0 && end && strcmp(end, kinds[k]) == 0)
				result = renameat(from, name, to, name);
		}
	aj_entries_free(&names);
	return result;
}

static int keep(void *arg)
{
	const struct aj_incoming *in = arg;
	cleanup_fd int from = aj_beneath_open_here(in->lock, "pack", O_RDONLY | O_DIRECTORY);
	if (from < 0)
		return errno == ENOENT ? 0 : -1; /* nothing was new */
	if (mkdirat(in->objects, "pack", 0777) < 0 && errno != EEXIST)
		return -1;
	cleanup_fd int to = aj_beneath_open_here(in->objects, "pack", O_RDONLY | O_DIRECTORY);
	return to < 0 ? -1 : move_packs(from, to);
}

int aj_incoming_open(struct aj_incoming *in, const char *common, struct aj_arena *arena, struct aj_error *err)
{
	unsigned long long number;
	struct stat st;
	*in = (struct aj_incoming){ .objects = -1, .lock = -1 };
	if (getrandom(&number, sizeof number, 0) != sizeof number)
		return aj_fail(err, AJ_EXIT_SETUP, "git", errno, "choose a name for new objects");
	snprintf(in->name, sizeof in->name, INCOMING "%016llx", number);
	in->path = aj_printf(arena, "%s/objects/%s", common, in->name);
	in->objects = aj_beneath_open(AT_FDCWD, aj_printf(arena, "%s/objects", common), O_RDONLY | O_DIRECTORY);
	if (in->objects < 0 || fstat(in->objects, &in->owner) < 0)
		return fail(err, in, "open the folder");
	if (aj_git_as_owner(&in->owner, make, in) < 0)
		return fail(err, in, "make a folder");
	in->lock = aj_beneath_open_here(in->objects, in->name, O_RDONLY | O_DIRECTORY);
	if (in->lock < 0 || flock(in->lock, LOCK_SH | LOCK_NB) < 0 ||
	    fstatat(in->objects, in->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return fail(err, in, "lock a folder"); /* another fetch may have removed it before */
	return 0;
}

uint64_t aj_incoming_largest(const char *path)
{
	struct aj_entries names;
	struct stat st;
	uint64_t largest = 0;
	cleanup_fd int top = aj_beneath_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	cleanup_fd int dir = top < 0 ? -1 : aj_beneath_open_here(top, "pack", O_RDONLY | O_DIRECTORY);
	if (dir < 0 || aj_entries_read(dir, &names) < 0)
		return 0;
	for (size_t i = 0; i < names.count; i++)
		if (fstatat(dir, names.items[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && (uint64_t)st.st_size > largest)
			largest = (uint64_t)st.st_size;
	aj_entries_free(&names);
	return largest;
}

int aj_incoming_keep(struct aj_incoming *in, struct aj_error *err)
{
	return aj_git_as_owner(&in->owner, keep, in) < 0 ? fail(err, in, "move the packs") : 0;
}

void aj_incoming_close(struct aj_incoming *in)
{
	if (in->objects >= 0)
		aj_git_as_owner(&in->owner, discard, in);
	aj_close(&in->lock);
	aj_close(&in->objects);
}
