/* Walks a tree depth first.
 * It changes nothing, and does not wait for any file: only folders are opened. */
#include "workspace/staging/copied_tree.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

enum { LEVELS_MAX = 200, PER_LOOK = 256 };

static bool may_go_on(struct aj_tree_walk *w)
{
	if (++w->entries <= w->entries_max && (w->entries % PER_LOOK || aj_now_us() < w->until_us))
		return true;
	w->incomplete = true;
	return false;
}

/* False: the walk ends. */
static bool walk_folder(struct aj_tree_walk *w, int folder, int level)
{
	size_t bytes = w->path_bytes;
	bool going = true;
	if (level >= LEVELS_MAX) {
		w->incomplete = true;
		return true;
	}
	cleanup_listing struct aj_listing entries = aj_beneath_list(folder, ".");
	for (const struct dirent *e; going && (e = aj_listing_next(&entries));) {
		struct stat st;
		int n = snprintf(w->path + bytes, sizeof w->path - bytes, "%s%s", bytes ? "/" : "", e->d_name);
		if ((size_t)n >= sizeof w->path - bytes ||
		    fstatat(dirfd(entries.dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) < 0) {
			w->incomplete = true;
			continue;
		}
		if (st.st_dev != w->dev)
			continue;
		w->path_bytes = bytes + (size_t)n;
		if (w->visit(w, dirfd(entries.dir), e->d_name, &st) && S_ISDIR(st.st_mode)) {
			cleanup_fd int next = aj_beneath_open_here(dirfd(entries.dir), e->d_name, O_RDONLY | O_DIRECTORY);
			if (next >= 0)
				going = walk_folder(w, next, level + 1);
			else
				w->incomplete = true;
		}
		going = going && may_go_on(w);
	}
	w->incomplete |= entries.error != 0;
	w->path[w->path_bytes = bytes] = '\0';
	return going;
}

void aj_tree_walk(struct aj_tree_walk *w, int folder)
{
	struct stat st;
	w->incomplete = false;
	w->entries = w->path_bytes = 0;
	w->path[0] = '\0';
	if (fstat(folder, &st) < 0) {
		w->incomplete = true;
		return;
	}
	w->dev = st.st_dev;
	walk_folder(w, folder, 0);
}
