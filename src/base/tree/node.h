/* Files of a hostile tree, such as a jail's view of a workspace, and the workspace itself. A file's type is known before the file
 * is opened, no link is followed, and only regular files and folders are opened. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/fd.h"

/* An open regular file; -1 with errno (EINVAL: of another type). `force`: changes a mode that denies access for the moment. */
int aj_node_open_file(int dir, const char *name, bool force, struct stat *ret);
/* An open folder of the same file system; -1 with errno. `force`: where its mode denies access, give it another, until
 * aj_node_restore(). */
int aj_node_open_folder(int dir, const char *name, bool force);
void aj_node_restore(int folder, mode_t mode);
/* O_PATH descriptor of the entry at `path` below `top`; -1 with errno. `force`: also below folders whose mode denies access. */
int aj_node_place(int top, const char *path, bool force);
/* A regular file by such a descriptor; -1 with errno. */
int aj_node_open_place(int place, bool force, struct stat *ret);
/* The target of a link, with a NUL; `name` may be "". -1 with errno. */
ssize_t aj_node_link(int dir, const char *name, char *out, size_t out_bytes);

/* The names in an open folder, sorted by their bytes. */
struct aj_entries {
	char **items;
	size_t count;
	char *text;
};
int aj_entries_read(int dir, struct aj_entries *ret); /* -1 with errno */
void aj_entries_free(struct aj_entries *names);

/* Are the two files or links, of one type, alike but for their modes? -1 with errno. `force`: see above, for the first one. */
int aj_node_same(int dir_a, bool force, int dir_b, const char *name);
/* The time of change that no program sets. */
static inline long long aj_node_ctime_ns(const struct stat *st)
{
	return aj_ns_of(st->st_ctim);
}
static inline long long aj_node_mtime_ns(const struct stat *st)
{
	return aj_ns_of(st->st_mtim);
}
