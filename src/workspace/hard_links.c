/* Walks a protected folder for files with several links.
 * It does not search for the other names, which may be anywhere on that file system, and changes nothing. */
#include "workspace/hard_links.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

/* Longer paths are skipped: folders of hooks and tools are not that deep, and the caller's stack may be small. */
enum { PATH_BYTES = 200 };

bool aj_hard_links_each(int dir, const char *path, struct aj_arena *arena, size_t *left,
                        void (*found)(void *arg, const char *path, const struct stat *st), void *arg)
{
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	bool whole = true;
	for (const struct dirent *e; *left && (e = aj_listing_next(&entries)); --*left) {
		struct stat st;
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode) && st.st_nlink > 1)
			found(arg, aj_printf(arena, "%s/%s", path, e->d_name), &st);
		cleanup_fd int next = S_ISDIR(st.st_mode) ? openat(dir, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
		                                          : -1;
		if (next >= 0 && strlen(path) < PATH_BYTES)
			whole &= aj_hard_links_each(next, aj_printf(arena, "%s/%s", path, e->d_name), arena, left, found, arg);
	}
	return whole && (!entries.dir || !entries.error);
}
