/* Keeps marks in a file of fixed-size records, in order of creation; a torn record at the end is ignored.
 * It stores hashes of paths, not paths. */
#include "workspace/changes/settled.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/sha256.h"
#include "base/tree/node.h"

static int by_sum(const void *a, const void *b)
{
	const struct aj_mark *x = a, *y = b;
	int order = memcmp(x->sum, y->sum, sizeof x->sum);
	return order ? order : (x->stamp_ns > y->stamp_ns) - (x->stamp_ns < y->stamp_ns);
}

int aj_marks_read(struct aj_marks *marks, int dir, const char *file)
{
	struct stat st;
	*marks = (struct aj_marks){ 0 };
	cleanup_fd int fd = aj_node_open_file(dir, file, false, &st);
	if (fd < 0)
		return errno == ENOENT ? 0 : -1;
	marks->count = (size_t)st.st_size / sizeof *marks->items;
	marks->items = malloc((marks->count + 1) * sizeof *marks->items);
	if (!marks->items)
		abort();
	if (aj_read_all(fd, marks->items, marks->count * sizeof *marks->items) < 0)
		return -1;
	if (marks->count)
		qsort(marks->items, marks->count, sizeof *marks->items, by_sum);
	return 0;
}

void aj_marks_free(struct aj_marks *marks)
{
	free(marks->items);
	*marks = (struct aj_marks){ 0 };
}

static void set(struct aj_mark *mark, const char *path, long long stamp_ns)
{
	char sum[AJ_SHA256_HEX];
	aj_sha256(path, strlen(path), sum);
	memcpy(mark->sum, sum, sizeof mark->sum);
	mark->stamp_ns = stamp_ns;
}

static long long settled_stamp(long long view_ns)
{
	return view_ns > 0 ? -view_ns : -1;
}

void aj_marks_set_settled(struct aj_mark *mark, const char *path, long long view_ns)
{
	set(mark, path, settled_stamp(view_ns));
}

void aj_marks_set_ours(struct aj_mark *mark, const char *path, long long ctime_ns)
{
	set(mark, path, ctime_ns);
}

void aj_marks_set_conflict(struct aj_mark *mark, const char *path)
{
	set(mark, path, 0);
}

void aj_marks_set_original(struct aj_mark *mark, const char *path, unsigned mode, const char *content)
{
	struct aj_sha256 sum;
	char head[AJ_SHA256_HEX + 16], hex[AJ_SHA256_HEX];
	aj_sha256_begin(&sum);
	aj_sha256_add(&sum, head, (size_t)snprintf(head, sizeof head, "%o %s ", mode, content));
	aj_sha256_add(&sum, path, strlen(path));
	aj_sha256_end(&sum, hex);
	memcpy(mark->sum, hex, sizeof mark->sum);
	mark->stamp_ns = 0;
}

bool aj_marks_has(const struct aj_marks *marks, const struct aj_mark *wanted)
{
	return bsearch(wanted, marks->items, marks->count, sizeof *wanted, by_sum) != NULL;
}

static bool has(const struct aj_marks *marks, const char *path, long long stamp_ns)
{
	struct aj_mark wanted;
	if (!marks->count)
		return false;
	set(&wanted, path, stamp_ns);
	return aj_marks_has(marks, &wanted);
}

bool aj_marks_settled(const struct aj_marks *marks, const char *path, long long view_ns)
{
	return has(marks, path, settled_stamp(view_ns));
}

bool aj_marks_ours(const struct aj_marks *marks, const char *path, long long ctime_ns)
{
	return has(marks, path, ctime_ns);
}

bool aj_marks_conflict(const struct aj_marks *marks, const char *path)
{
	return has(marks, path, 0);
}

bool aj_marks_original(const struct aj_marks *marks, const char *path, unsigned mode, const char *content)
{
	struct aj_mark wanted;
	aj_marks_set_original(&wanted, path, mode, content);
	return aj_marks_has(marks, &wanted);
}

int aj_marks_open(int dir, const char *file)
{
	struct stat st;
	cleanup_fd int fd = aj_beneath_open_here(dir, file, O_WRONLY | O_CREAT | O_APPEND);
	/* A torn record of an append that was killed. */
	if (fd < 0 || fstat(fd, &st) < 0 || ftruncate(fd, st.st_size - st.st_size % (off_t)sizeof(struct aj_mark)) < 0)
		return -1;
	return aj_steal(&fd);
}

int aj_marks_append(int fd, const struct aj_mark *marks, size_t count)
{
	return aj_write_all(fd, marks, count * sizeof *marks);
}

int aj_marks_replace(int dir, const struct aj_mark *marks, size_t count)
{
	cleanup_fd int fd = aj_beneath_open_here(dir, AJ_MARKS_FILE ".new", O_WRONLY | O_CREAT | O_TRUNC);
	if (fd < 0 || fchmod(fd, 0600) < 0 || aj_marks_append(fd, marks, count) < 0)
		return -1;
	return renameat(dir, AJ_MARKS_FILE ".new", dir, AJ_MARKS_FILE);
}
