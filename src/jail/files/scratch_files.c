/* Opens each path beneath the jail's /tmp, without following symlinks, entering other mounts or blocking.
 * It reads no more than an answer needs, and creates and changes nothing. */
#include "jail/files/scratch_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/path.h"
#include "base/sha256.h"
#include "jail/files/media_type.h"

static int fail(struct aj_error *err, int errnum, const char *what, const char *path)
{
	if (errnum == ELOOP)
		aj_fail_because(err, AJ_REASON_FILE, AJ_EXIT_USAGE, "files", 0, "%s `%s`: a symlink is not followed", what, path);
	else
		aj_fail_because(err, AJ_REASON_FILE, AJ_EXIT_USAGE, "files", errnum, "%s `%s`", what, path);
	return -1;
}

/* The path below scratch->tmp; NULL with err. */
static const char *below(const char *path, char room[AJ_SCRATCH_PATH], struct aj_error *err)
{
	const char *why, *found = aj_scratch_path(path, room, &why);
	if (!found)
		aj_fail(err, AJ_EXIT_USAGE, "files", 0, "`%.200s`: %s", aj_scratch_name_bad(path) ? "path" : path, why);
	return found;
}

static json_t *part_json(const struct stat *st, const char *path, uint64_t offset, const char *data, size_t bytes)
{
	char sha256[AJ_SHA256_HEX];
	aj_sha256(data, bytes, sha256);
	json_t *part = json_pack("{s:I, s:s, s:I, s:s, s:b}", "size", (json_int_t)st->st_size, "media_type", aj_media_type(path),
	                         "offset", (json_int_t)offset, "sha256", sha256, "end", offset + bytes >= (uint64_t)st->st_size);
	json_object_set_new(part, "data", aj_json_base64(data, bytes));
	return part;
}

/* A regular file; -1 with err. */
static int open_file(const struct aj_scratch *scratch, const char *path, struct stat *ret, struct aj_error *err)
{
	char room[AJ_SCRATCH_PATH];
	const char *name = below(path, room, err);
	if (!name)
		return -1;
	/* Looked at first: to open a FIFO is seen at its other end. */
	cleanup_fd int place = aj_beneath_open_here(scratch->tmp, name, O_PATH);
	if (place < 0 || fstat(place, ret) < 0)
		return fail(err, errno, "open", path);
	if (!S_ISREG(ret->st_mode))
		return fail(err, S_ISDIR(ret->st_mode) ? EISDIR : S_ISLNK(ret->st_mode) ? ELOOP : EINVAL, "read", path);
	cleanup_fd int fd = aj_beneath_open_here(scratch->tmp, name, O_RDONLY);
	if (fd < 0 || fstat(fd, ret) < 0)
		return fail(err, errno, "open", path);
	return S_ISREG(ret->st_mode) ? aj_steal(&fd) : fail(err, EINVAL, "read", path);
}

static ssize_t read_part(int fd, const struct stat *st, uint64_t offset, void *buffer, uint64_t bytes, const char *path,
                         struct aj_error *err)
{
	uint64_t left = offset < (uint64_t)st->st_size ? (uint64_t)st->st_size - offset : 0;
	bytes = bytes < left ? bytes : left;
	ssize_t n = bytes ? pread(fd, buffer, bytes, (off_t)offset) : 0;
	return n < 0 ? fail(err, errno, "read", path) : n;
}

ssize_t aj_scratch_read_bytes(const struct aj_scratch *scratch, const char *path, uint64_t offset, void *buffer, size_t bytes,
                              struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = open_file(scratch, path, &st, err);
	return fd < 0 ? -1 : read_part(fd, &st, offset, buffer, bytes, path, err);
}

json_t *aj_scratch_read(const struct aj_scratch *scratch, const char *path, uint64_t offset, uint64_t most, struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = open_file(scratch, path, &st, err);
	char *data = fd < 0 ? NULL : malloc(AJ_SCRATCH_READ_MAX);
	if (fd < 0)
		return NULL;
	if (!data)
		abort();
	ssize_t n = read_part(fd, &st, offset, data, most < AJ_SCRATCH_READ_MAX ? most : AJ_SCRATCH_READ_MAX, path, err);
	json_t *part = n < 0 ? NULL : part_json(&st, path, offset, data, (size_t)n);
	free(data);
	return part;
}

static const char *type_of(mode_t mode)
{
	return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : "other";
}

json_t *aj_scratch_list(const struct aj_scratch *scratch, const char *path, struct aj_error *err)
{
	char room[AJ_SCRATCH_PATH];
	struct stat st;
	const char *name = below(path, room, err);
	if (!name)
		return NULL;
	int fd = aj_beneath_open_here(scratch->tmp, name, O_RDONLY | O_DIRECTORY);
	/* These two are made when they are first needed. */
	if (fd < 0 && errno == ENOENT && (strcmp(name, "input") == 0 || strcmp(name, "output") == 0))
		return json_pack("{s:[], s:b}", "files", "truncated", false);
	cleanup_listing struct aj_listing entries = aj_listing_take(fd);
	json_t *files = json_array();
	bool truncated = false;
	size_t seen = 0;
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		bool full = seen++ == AJ_SCRATCH_LIST_MAX, bad = aj_scratch_name_bad(e->d_name);
		truncated = truncated || full || bad;
		if (full)
			break;
		if (!bad && fstatat(dirfd(entries.dir), e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0)
			json_array_append_new(files, json_pack("{s:s, s:s, s:I}", "name", e->d_name, "type", type_of(st.st_mode),
			                                       "size", (json_int_t)(S_ISREG(st.st_mode) ? st.st_size : 0)));
	}
	if (entries.error) {
		json_decref(files);
		fail(err, entries.error, "list", path);
		return NULL;
	}
	return json_pack("{s:o, s:b}", "files", files, "truncated", truncated);
}

int aj_scratch_remove(const struct aj_scratch *scratch, const char *path, struct aj_error *err)
{
	char room[AJ_SCRATCH_PATH];
	char *name = below(path, room, err) ? room : NULL, *slash = name ? strrchr(name, '/') : NULL;
	if (!name)
		return -1;
	if (!slash)
		return fail(err, EBUSY, "remove", path);
	*slash = '\0';
	cleanup_fd int parent = aj_beneath_open_here(scratch->tmp, name, O_PATH | O_DIRECTORY);
	if (parent >= 0 && unlinkat(parent, slash + 1, 0) == 0)
		return 0;
	if (parent >= 0 && errno == EISDIR && unlinkat(parent, slash + 1, AT_REMOVEDIR) == 0)
		return 0;
	return fail(err, errno, "remove", path);
}
