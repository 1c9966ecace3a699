/* Opens, lists and compares single files of two trees, one of which a jail has made.
 * It opens no FIFO, socket or device, follows no link, and enters no other file system. */
#include "base/tree/node.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/content.h"

int aj_node_open_place(int place, bool force, struct stat *ret)
{
	if (fstat(place, ret) < 0)
		return -1;
	errno = EINVAL;
	if (!S_ISREG(ret->st_mode))
		return -1;
	int fd = aj_fd_reopen(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 || errno != EACCES || !force || aj_fd_chmod(place, (ret->st_mode & 07777) | S_IRUSR) < 0)
		return fd;
	fd = aj_fd_reopen(place, O_RDONLY | O_NONBLOCK | O_NOCTTY);
	aj_fd_chmod(place, ret->st_mode & 07777);
	return fd;
}

int aj_node_open_file(int dir, const char *name, bool force, struct stat *ret)
{
	cleanup_fd int place = aj_beneath_open_here(dir, name, O_PATH);
	return place < 0 ? -1 : aj_node_open_place(place, force, ret);
}

int aj_node_place(int top, const char *path, bool force)
{
	int place = aj_beneath_open_here(top, path, O_PATH);
	const char *slash = strchr(path, '/');
	char name[NAME_MAX + 1];
	struct stat st;
	if (place >= 0 || errno != EACCES || !force || !slash || slash - path > NAME_MAX)
		return place;
	memcpy(name, path, (size_t)(slash - path));
	name[slash - path] = '\0';
	if (fstatat(top, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	cleanup_fd int folder = aj_node_open_folder(top, name, true);
	if (folder < 0)
		return -1;
	place = aj_node_place(folder, slash + 1, true); /* as deep as the walk went */
	aj_node_restore(folder, st.st_mode);
	return place;
}

int aj_node_open_folder(int dir, const char *name, bool force)
{
	struct stat st;
	cleanup_fd int place = aj_beneath_open_here(dir, name, O_PATH | O_DIRECTORY);
	if (place < 0 || fstat(place, &st) < 0)
		return -1;
	if (force && (st.st_mode & S_IRWXU) != S_IRWXU && faccessat(place, ".", R_OK | X_OK, AT_EACCESS) < 0)
		aj_fd_chmod(place, (st.st_mode & 07777) | S_IRWXU);
	return aj_fd_reopen(place, O_RDONLY | O_DIRECTORY | O_NONBLOCK | O_NOCTTY);
}

void aj_node_restore(int folder, mode_t mode)
{
	struct stat st;
	if (fstat(folder, &st) == 0 && ((st.st_mode ^ mode) & 07777))
		fchmod(folder, mode & 07777);
}

ssize_t aj_node_link(int dir, const char *name, char *out, size_t out_bytes)
{
	ssize_t n = readlinkat(dir, name, out, out_bytes);
	if (n >= 0 && (size_t)n >= out_bytes) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (n >= 0)
		out[n] = '\0';
	return n;
}

/* --- names --- */

static int by_bytes(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

int aj_entries_read(int dir, struct aj_entries *ret)
{
	struct aj_buffer text = { 0 };
	*ret = (struct aj_entries){ 0 };
	cleanup_listing struct aj_listing entries = aj_listing_take(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	for (const struct dirent *e; (e = aj_listing_next(&entries)); ret->count++)
		aj_buffer_add(&text, e->d_name, strlen(e->d_name) + 1);
	ret->text = text.data;
	ret->items = malloc((ret->count + 1) * sizeof *ret->items);
	if (!ret->items)
		abort();
	char *at = text.data;
	for (size_t i = 0; at && i < ret->count; i++, at += strlen(at) + 1)
		ret->items[i] = at;
	if (ret->count)
		qsort(ret->items, ret->count, sizeof *ret->items, by_bytes);
	if (entries.error)
		aj_entries_free(ret);
	errno = entries.error;
	return entries.error ? -1 : 0;
}

void aj_entries_free(struct aj_entries *names)
{
	free(names->items);
	free(names->text);
	*names = (struct aj_entries){ 0 };
}

/* --- content --- */

static int same_link(int dir_a, int dir_b, const char *name)
{
	char one[PATH_MAX], two[PATH_MAX];
	ssize_t n = aj_node_link(dir_a, name, one, sizeof one), m = aj_node_link(dir_b, name, two, sizeof two);
	return n < 0 || m < 0 ? -1 : n == m && memcmp(one, two, (size_t)n) == 0;
}

int aj_node_same(int dir_a, bool force, int dir_b, const char *name)
{
	struct stat st_a, st_b;
	if (fstatat(dir_a, name, &st_a, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (S_ISLNK(st_a.st_mode))
		return same_link(dir_a, dir_b, name);
	if (fstatat(dir_b, name, &st_b, AT_SYMLINK_NOFOLLOW) < 0)
		return -1;
	if (st_a.st_size != st_b.st_size) /* without reading either */
		return 0;
	cleanup_fd int fd_a = aj_node_open_file(dir_a, name, force, &st_a);
	cleanup_fd int fd_b = fd_a < 0 ? -1 : aj_node_open_file(dir_b, name, false, &st_b);
	if (fd_b < 0)
		return -1;
	return st_a.st_size == st_b.st_size ? aj_content_same(fd_a, fd_b, st_a.st_size) : 0;
}
