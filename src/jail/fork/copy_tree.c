/* Copies a tree of hostile files, and opens single files of the copy. It follows no link, waits for no FIFO and allocates
 * nothing; depth is limited here, size and number by the file system. */
#include "jail/fork/copy_tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/dirent64.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/content.h"

enum { LIST_BYTES = 2048, MODE = 01777 };

static const char *copy_file(int from_dir, int to_dir, const char *name, const struct stat *seen)
{
	struct stat st;
	cleanup_fd int from = openat(from_dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) < 0)
		return "open a file";
	if (!S_ISREG(st.st_mode) || st.st_ino != seen->st_ino) {
		errno = ESTALE;
		return "open a file that changes";
	}
	cleanup_fd int to = openat(to_dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return "make a file";
	if (aj_content_copy(from, to, st.st_size, NULL) < 0 || fchmod(to, st.st_mode & MODE) < 0 ||
	    futimens(to, (struct timespec[]){ st.st_atim, st.st_mtim }) < 0)
		return "copy a file";
	return NULL;
}

static const char *copy_link(int from_dir, int to_dir, const char *name)
{
	char text[PATH_MAX];
	ssize_t n = readlinkat(from_dir, name, text, sizeof text - 1);
	if (n < 0)
		return "read a link";
	text[n] = '\0';
	return symlinkat(text, to_dir, name) < 0 ? "make a link" : NULL;
}

static const char *copy_folder(int from, int to, int depth, dev_t device);

static const char *copy_subfolder(int from_dir, int to_dir, const char *name, const struct stat *st, int depth)
{
	if (depth == AJ_COPY_DEPTH) {
		errno = ELOOP;
		return "copy folders nested this deep";
	}
	cleanup_fd int from = openat(from_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (from < 0 || mkdirat(to_dir, name, 0700) < 0)
		return "make a folder";
	cleanup_fd int to = openat(to_dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (to < 0)
		return "open a folder";
	const char *wrong = copy_folder(from, to, depth + 1, st->st_dev);
	if (!wrong && (fchmod(to, st->st_mode & MODE) < 0 || futimens(to, (struct timespec[]){ st->st_atim, st->st_mtim }) < 0))
		wrong = "set the mode of a folder";
	return wrong;
}

static const char *copy_one(int from, int to, const char *name, int depth, dev_t device)
{
	struct stat st;
	if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? NULL : "examine a file";
	if (st.st_dev != device)
		return NULL;
	switch (st.st_mode & S_IFMT) {
	case S_IFREG:
		return copy_file(from, to, name, &st);
	case S_IFDIR:
		return copy_subfolder(from, to, name, &st, depth);
	case S_IFLNK:
		return copy_link(from, to, name);
	case S_IFIFO:
		return mknodat(to, name, S_IFIFO | (st.st_mode & 0777), 0) < 0 ? "make a FIFO" : NULL;
	default:
		return NULL; /* a socket has no listener in a branch; devices cannot exist there */
	}
}

static const char *copy_folder(int from, int to, int depth, dev_t device)
{
	_Alignas(struct aj_dirent64) char list[LIST_BYTES];
	long n;
	while ((n = syscall(SYS_getdents64, from, list, sizeof list)) > 0) {
		for (long at = 0; at < n;) {
			const struct aj_dirent64 *e = (const struct aj_dirent64 *)(list + at);
			at += e->bytes;
			if (aj_path_is_dots(e->name))
				continue;
			const char *wrong = copy_one(from, to, e->name, depth, device);
			if (wrong)
				return wrong;
		}
	}
	return n < 0 ? "list a folder" : NULL;
}

const char *aj_copy_tree(int from, int to)
{
	struct stat st;
	if (fstat(from, &st) < 0)
		return "examine the scratch space";
	return copy_folder(from, to, 0, st.st_dev);
}

int aj_copy_open(const char *path, int flags, const struct stat *st, int copied)
{
	struct stat now;
	cleanup_fd int fd = aj_open_resolved(AT_FDCWD, path, flags | O_NONBLOCK, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (fd < 0 || fstat(fd, &now) < 0)
		return -1;
	bool same = now.st_dev == st->st_dev && now.st_ino == st->st_ino;
	/* A file outside the copy may be read, as before the copy, but not written. */
	bool fits = copied ? !same && (now.st_mode & S_IFMT) == (st->st_mode & S_IFMT) : same && (flags & O_ACCMODE) == O_RDONLY;
	if (!fits || (!(flags & O_NONBLOCK) && fcntl(fd, F_SETFL, flags & O_APPEND) < 0))
		return -1;
	return aj_steal(&fd);
}

int aj_copy_unnamed(int fds, const char *number, const char *folder, int flags)
{
	struct stat st;
	cleanup_fd int from = openat(fds, number, O_RDONLY | O_CLOEXEC);
	cleanup_fd int to = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	if (from < 0 || to < 0 || fstat(from, &st) < 0 || aj_content_copy(from, to, st.st_size, NULL) < 0 ||
	    fcntl(to, F_SETFL, flags & O_APPEND) < 0) /* with it, every write would have gone to the end */
		return -1;
	return aj_steal(&to);
}
