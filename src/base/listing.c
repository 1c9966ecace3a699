/* Lists the entries of a folder. */
#include "base/listing.h"

#include <errno.h>
#include <fcntl.h>

#include "base/fd.h"
#include "base/path.h"

struct aj_listing aj_listing_open(const char *path)
{
	return aj_listing_take(open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

struct aj_listing aj_listing_take(int fd)
{
	struct aj_listing l = { .dir = fd < 0 ? NULL : fdopendir(fd) };
	if (!l.dir) {
		l.error = errno;
		aj_close(&fd);
	}
	return l;
}

const struct dirent *aj_listing_next(struct aj_listing *l)
{
	const struct dirent *e = NULL;
	if (!l->dir || l->error)
		return NULL;
	do {
		errno = 0;
		e = readdir(l->dir);
	} while (e && aj_path_is_dots(e->d_name));
	l->error = e ? 0 : errno;
	return e;
}

void aj_listing_close(struct aj_listing *l)
{
	int error = errno;
	if (l->dir)
		closedir(l->dir);
	l->dir = NULL;
	errno = error;
}
