/* Files of a session: the caller's on their way in, and what is in the jail, read, listed and removed.
 * A path of the host is opened here, in the caller's process and with the caller's rights; no jail names one. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json/tree.h"
#include "lib/api_inner.h"

enum { FILE_BYTES = 64 << 20 };

/* The size is a hint: a file of /proc or /sys has 0 or a page, and another process may be writing. -1 with errno, EFBIG if too
 * large; free *ret either way. */
static ssize_t read_to_end(int fd, size_t hint, char **ret)
{
	size_t bytes = 0, room = hint < FILE_BYTES ? hint + 1 : FILE_BYTES + 1;
	for (ssize_t n = 1; n;) {
		if (bytes == room || !*ret) {
			room = *ret ? room * 2 : room;
			*ret = realloc(*ret, room);
			if (!*ret)
				abort();
		}
		n = read(fd, *ret + bytes, room - bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -1;
		bytes += (size_t)n;
		if (bytes > FILE_BYTES) {
			errno = EFBIG;
			return -1;
		}
	}
	return (ssize_t)bytes;
}

static int read_host(const char *path, char **ret_data, size_t *ret_bytes, struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "files", errno, "open `%.200s`", path);
	if (!S_ISREG(st.st_mode))
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "`%.200s` is not a regular file", path);
	if (st.st_size > FILE_BYTES)
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "`%.200s` is larger than %d MiB", path, FILE_BYTES >> 20);
	char *data = NULL;
	ssize_t bytes = read_to_end(fd, (size_t)st.st_size, &data);
	if (bytes < 0) {
		if (errno == EFBIG)
			aj_fail(err, AJ_EXIT_USAGE, "files", 0, "`%.200s` is larger than %d MiB", path, FILE_BYTES >> 20);
		else
			aj_fail(err, AJ_EXIT_USAGE, "files", errno, "read `%.200s`", path);
		free(data);
		return -1;
	}
	*ret_data = data;
	*ret_bytes = (size_t)bytes;
	return 0;
}

static json_t *one_file(const struct agentjail_file *f, struct aj_error *err)
{
	char *host = NULL;
	size_t bytes = f->bytes;
	if (!f->name || !f->data == !f->path)
		aj_fail(err, AJ_EXIT_USAGE, "files", 0, "a file has a name, and either data or a path");
	else if (bytes > AJ_LIB_BYTES_MAX)
		aj_fail(err, AJ_EXIT_USAGE, "files", 0, "`%.200s`: %zu bytes is too large", f->name, bytes);
	else if (!f->path || read_host(f->path, &host, &bytes, err) == 0) {
		json_t *file = json_pack("{s:s, s:o}", "name", f->name, "data", aj_json_base64(host ? host : f->data, bytes));
		if (!file)
			aj_fail(err, AJ_EXIT_USAGE, "files", 0, "the name of a file is not UTF-8");
		free(host);
		return file;
	}
	return NULL;
}

int aj_lib_files(const struct agentjail_file *files, size_t count, json_t **ret, struct aj_error *err)
{
	if (count && !files)
		return aj_fail(err, AJ_EXIT_USAGE, "files", 0, "no files are given, and their number is %zu", count);
	json_t *all = count ? json_array() : NULL;
	for (size_t i = 0; i < count && !err->exit_code; i++) {
		json_t *file = one_file(&files[i], err);
		if (file)
			json_array_append_new(all, file);
	}
	if (err->exit_code) {
		json_decref(all);
		return -1;
	}
	*ret = all;
	return 0;
}

static int enter_files(agentjail_session *s, const char *path, struct aj_error *err)
{
	if (aj_lib_enter_session(s, err) < 0)
		return -1;
	return path ? 0 : aj_fail(err, AJ_EXIT_USAGE, "files", 0, "no path is given");
}

int64_t agentjail_session_read_file(agentjail_session *s, const char *path, uint64_t offset, void *buffer, size_t bytes,
                                    struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	ssize_t n = enter_files(s, path, &err) < 0 ? -1 : aj_session_read_bytes(s->inner, path, offset, buffer, bytes, &err);
	return n < 0 ? aj_lib_refuse(&err, ret_err) : n;
}

agentjail_result *agentjail_session_list_files(agentjail_session *s, const char *path, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	json_t *found = enter_files(s, path, &err) < 0 ? NULL : aj_session_list_files(s->inner, path, &err);
	if (!found) {
		aj_lib_refuse(&err, ret_err);
		return NULL;
	}
	struct aj_buffer text = { 0 };
	aj_buffer_json(&text, found);
	json_decref(found);
	return aj_lib_result(&(struct aj_result){ 0 }, &text);
}

int agentjail_session_remove_file(agentjail_session *s, const char *path, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	int r = enter_files(s, path, &err) < 0 ? -1 : aj_session_remove_file(s->inner, path, &err);
	return r < 0 ? aj_lib_refuse(&err, ret_err) : 0;
}
