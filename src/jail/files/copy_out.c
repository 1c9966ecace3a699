/* Writes the host's copies. A name from the jail is resolved beneath the folder alone, and every file is new (O_EXCL), with mode
 * 0644 at most. It removes only its own incomplete copies. */
#include "jail/files/copy_out.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

static bool is_empty(int folder)
{
	cleanup_listing struct aj_listing entries = aj_beneath_list(folder, ".");
	return !aj_listing_next(&entries) && !entries.error;
}

/* Open the folder, after making it where it is missing; through no symlink. */
static int open_folder(const char *path)
{
	char parent[PATH_MAX];
	size_t bytes = strlen(path);
	while (bytes > 1 && path[bytes - 1] == '/')
		bytes--;
	errno = ENAMETOOLONG;
	if (bytes >= sizeof parent)
		return -1;
	memcpy(parent, path, bytes);
	parent[bytes] = '\0';
	char *slash = strrchr(parent, '/');
	const char *base = slash ? slash + 1 : parent;
	if (!aj_path_part_valid(base, strlen(base))) /* such as `.` */
		return aj_beneath_open(AT_FDCWD, parent, O_RDONLY | O_DIRECTORY);
	if (slash)
		*slash = '\0';
	cleanup_fd int above = aj_beneath_open(AT_FDCWD, !slash ? "." : *parent ? parent : "/", O_PATH | O_DIRECTORY);
	if (above < 0 || (mkdirat(above, base, 0755) < 0 && errno != EEXIST))
		return -1;
	return aj_beneath_open(above, base, O_RDONLY | O_DIRECTORY);
}

int aj_copy_out_folder(const char *path, struct aj_error *err)
{
	cleanup_fd int fd = open_folder(path);
	if (fd < 0 && errno == ELOOP)
		return aj_fail(err, AJ_EXIT_USAGE, "output", 0, "`%s` is a symlink, or below one", path);
	if (fd < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "output", errno, "open the folder `%s`", path);
	if (faccessat(fd, ".", W_OK | X_OK, AT_EACCESS) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "output", errno, "write to the folder `%s`", path);
	if (!is_empty(fd)) {
		aj_fail(err, AJ_EXIT_USAGE, "output", 0, "`%s` is not empty", path);
		aj_advise(err,
		          "name a new or an empty folder: the snippet chooses the names of its files, and none may take another file's place");
		return -1;
	}
	return aj_steal(&fd);
}

static const char *why(int error)
{
	return error == EEXIST                    ? "the host's folder has something of that name"
	     : error == ENOSPC || error == EDQUOT ? "the host's disk is full"
	     : error == ENAMETOOLONG              ? "the host takes no name of that length"
	                                          : "it cannot be written to the host's folder";
}

/* Make the parent folders of `name`, and open the last one. */
static int open_parent(int to, const char *name, const char **ret_base)
{
	cleanup_fd int at = fcntl(to, F_DUPFD_CLOEXEC, 3);
	for (const char *slash; at >= 0 && (slash = strchr(name, '/')); name = slash + 1) {
		char part[NAME_MAX + 1];
		size_t bytes = (size_t)(slash - name);
		errno = ENAMETOOLONG;
		if (bytes > NAME_MAX)
			return -1;
		memcpy(part, name, bytes);
		part[bytes] = '\0';
		if (mkdirat(at, part, 0755) < 0 && errno != EEXIST)
			return -1;
		int next = aj_beneath_open_here(at, part, O_RDONLY | O_DIRECTORY);
		aj_close(&at);
		at = next;
	}
	*ret_base = name;
	return aj_steal(&at);
}

const char *aj_copy_out_begin(struct aj_copy_out *copy, int to, const char *name)
{
	const char *base;
	cleanup_fd int parent = open_parent(to, name, &base);
	cleanup_fd int fd = parent < 0 ? -1 : aj_beneath_open_here(parent, base, O_WRONLY | O_CREAT | O_EXCL);
	if (fd < 0)
		return why(errno);
	*copy = (struct aj_copy_out){ .parent = aj_steal(&parent), .fd = aj_steal(&fd), .name = strdup(base) };
	if (!copy->name)
		abort();
	return NULL;
}

const char *aj_copy_out_add(struct aj_copy_out *copy, const void *data, size_t bytes)
{
	return !copy->name || aj_write_all(copy->fd, data, bytes) == 0 ? NULL : why(errno);
}

static void end_file(struct aj_copy_out *copy, bool keep)
{
	if (!keep)
		unlinkat(copy->parent, copy->name, 0);
	aj_close(&copy->fd);
	aj_close(&copy->parent);
	free(copy->name);
	copy->name = NULL;
}

const char *aj_copy_out_end(struct aj_copy_out *copy)
{
	if (!copy->name)
		return NULL;
	/* A network file system may report only now that the disk is full. */
	int error = close(aj_steal(&copy->fd)) < 0 ? errno : 0;
	end_file(copy, !error);
	return error ? why(error) : NULL;
}

void aj_copy_out_drop(struct aj_copy_out *copy)
{
	if (copy->name)
		end_file(copy, false);
}
