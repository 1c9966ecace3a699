/* Reads the files that a policy imports from the caller's home: through no symlink, regular files alone, within bounds.
 * It writes nothing, and follows no link even within the home: an earlier jail may have chosen where a link leads. */
#include "workspace/home/imports.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/host/home.h"

enum { FILES_MAX = 200, BYTES_MAX = 1 << 20, DEPTH_MAX = 8 };

struct import_reader {
	struct aj_request *request;
	struct aj_arena *arena;
	struct aj_error *err;
	int home;
	size_t bytes;
};

static int fail(struct import_reader *r, int errnum, const char *what, const char *path)
{
	aj_fail(r->err, AJ_EXIT_SETUP, "home", errnum, "%s `~/%s`, which filesystem.home_import names", what, path);
	aj_advise(r->err, "name single files there, or take this entry off the list");
	return -1;
}

static int read_file(struct import_reader *r, int fd, const struct stat *st, const char *path)
{
	size_t bytes = st->st_size > 0 ? (size_t)st->st_size : 0;
	if (r->request->imports.count >= FILES_MAX || st->st_size > BYTES_MAX || r->bytes + bytes > BYTES_MAX)
		return fail(r, 0, "more than 200 files or 1 MiB are to be copied with", path);
	char *data = aj_alloc(r->arena, bytes + 1);
	size_t used = 0;
	for (ssize_t n; used < bytes && (n = read(fd, data + used, bytes - used)) != 0; used += (size_t)n)
		if (n < 0)
			return fail(r, errno, "read", path);
	r->bytes += used;
	*AJ_PUSH(r->arena, &r->request->imports) = (struct aj_import){
		.path = path, .data = data, .bytes = used, .program = st->st_mode & S_IXUSR
	};
	return 0;
}

static int read_one(struct import_reader *r, const char *path, int depth);

static int read_folder(struct import_reader *r, const char *path, int depth)
{
	if (depth >= DEPTH_MAX)
		return fail(r, 0, "more than 8 nested folders in", path);
	cleanup_listing struct aj_listing entries = aj_beneath_list(r->home, path);
	int code = 0;
	for (const struct dirent *e; code == 0 && (e = aj_listing_next(&entries));)
		code = read_one(r, aj_printf(r->arena, "%s/%s", path, e->d_name), depth + 1);
	return code == 0 && entries.error ? fail(r, entries.error, "list", path) : code;
}

static int read_one(struct import_reader *r, const char *path, int depth)
{
	struct stat st;
	cleanup_fd int look = aj_beneath_open(r->home, path, O_PATH | O_NOFOLLOW);
	if (look < 0 && (errno == ENOENT || errno == ENOTDIR))
		return 0;
	if (look < 0 && errno != ELOOP)
		return fail(r, errno, "open", path);
	if (look < 0 || (fstat(look, &st) == 0 && S_ISLNK(st.st_mode))) {
		*AJ_PUSH(r->arena, &r->request->import_links) = path;
		return 0;
	}
	if (fstat(look, &st) < 0)
		return fail(r, errno, "examine", path);
	if (S_ISDIR(st.st_mode))
		return read_folder(r, path, depth);
	if (!S_ISREG(st.st_mode)) /* opening a FIFO or a device could act on it */
		return 0;
	cleanup_fd int fd = aj_beneath_open(r->home, path, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return fail(r, errno, "open", path);
	return S_ISREG(st.st_mode) ? read_file(r, fd, &st, path) : 0;
}

int aj_imports_read(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err)
{
	const char *home = policy->home_import.count && !request->is_snippet ? aj_home_of_caller(arena) : NULL;
	if (!home)
		return 0;
	cleanup_fd int dir = aj_beneath_open(AT_FDCWD, home, O_PATH | O_DIRECTORY);
	struct import_reader r = { .request = request, .arena = arena, .err = err, .home = dir };
	if (dir < 0)
		return fail(&r, errno, "open the home of", policy->home_import.items[0]);
	for (size_t i = 0; i < policy->home_import.count; i++)
		if (read_one(&r, policy->home_import.items[i], 0) < 0)
			return -1;
	return 0;
}
