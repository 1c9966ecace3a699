/* Lists the files of a workspace on the first lookup. Opens only folders. */
#include "workspace/changes/origins.h"

#include <fcntl.h>
#include <stdlib.h>

#include "base/fd.h"
#include "base/tree/node.h"
#include "workspace/changes/change.h"

static struct aj_file_origin of(const struct stat *st)
{
	return (struct aj_file_origin){ .bytes = st->st_size, .mtime_ns = aj_node_mtime_ns(st) };
}

static void add(struct aj_origins *o, const struct stat *st)
{
	if (o->count == o->room) {
		o->room = o->room ? 2 * o->room : 1024;
		o->files = realloc(o->files, o->room * sizeof *o->files);
		if (!o->files)
			abort();
	}
	o->files[o->count++] = of(st);
}

static void list(struct aj_origins *o, int dir, unsigned depth)
{
	struct aj_entries names = { 0 };
	struct stat st;
	if (depth >= AJ_CHANGES_DEPTH || aj_entries_read(dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++) {
		if (fstatat(dir, names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			add(o, &st);
		cleanup_fd int folder = S_ISDIR(st.st_mode) ? aj_node_open_folder(dir, names.items[i], false) : -1;
		if (folder >= 0)
			list(o, folder, depth + 1);
	}
	aj_entries_free(&names);
}

static int by_time(const void *a, const void *b)
{
	const struct aj_file_origin *x = a, *y = b;
	return x->mtime_ns != y->mtime_ns ? (x->mtime_ns < y->mtime_ns ? -1 : 1) : (x->bytes > y->bytes) - (x->bytes < y->bytes);
}

bool aj_origins_has(struct aj_origins *o, int workspace, const struct stat *file)
{
	struct aj_file_origin wanted = of(file);
	if (!o->listed) {
		list(o, workspace, 0);
		if (o->count)
			qsort(o->files, o->count, sizeof *o->files, by_time);
		o->listed = true;
	}
	return o->count && bsearch(&wanted, o->files, o->count, sizeof wanted, by_time);
}

void aj_origins_free(struct aj_origins *o)
{
	free(o->files);
	*o = (struct aj_origins){ 0 };
}
