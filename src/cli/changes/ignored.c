/* Asks `git check-ignore` of the host about paths of a run. What git does not answer, or tracks, counts as not ignored. */
#include "cli/changes/ignored.h"

#include <string.h>

#include "base/buffer.h"
#include "workspace/git/host_git.h"

/* git ends at a path in a submodule or behind a symlink, after it has answered for those before: so many times it is asked for
 * the rest. */
enum { ATTEMPTS = 16 };

/* The next field of git's answer, which a NUL ends; NULL: none is left. */
static const char *next_field(const char **at, const char *end)
{
	const char *field = *at, *nul = memchr(field, '\0', (size_t)(end - field));
	if (nul)
		*at = nul + 1;
	return nul ? field : NULL;
}

/* The number of paths that are answered. Each answer has the rule's file, line and text, and the path. */
static size_t read_answers(const struct aj_buffer *out, size_t count, const char **ret, struct aj_arena *arena)
{
	const char *at = out->data, *end = out->data + out->bytes;
	size_t answered = 0;
	for (; at && at < end && answered < count; answered++) {
		const char *fields[4] = { 0 };
		for (size_t i = 0; i < 4; i++)
			if (!(fields[i] = next_field(&at, end)))
				return answered;
		if (fields[0][0] && fields[2][0] != '!')
			ret[answered] = aj_strdup(arena, fields[2]);
	}
	return answered;
}

/* The first path that does not begin with the same name as paths[from]. */
static size_t skip_top(const char *const *paths, size_t from, size_t count)
{
	size_t bytes = strcspn(paths[from], "/"), i = from + 1;
	while (i < count && strncmp(paths[i], paths[from], bytes) == 0 && (paths[i][bytes] == '/' || !paths[i][bytes]))
		i++;
	return i;
}

struct tracked_files {
	AJ_LIST(const char *); /* in the order of the index: strcmp */
};

/* Is it a file of the index, or a folder with one? A folder may end with a slash. */
static bool is_tracked(const struct tracked_files *tracked, const char *path)
{
	size_t from = 0, to = tracked->count, bytes = strlen(path);
	bytes -= bytes && path[bytes - 1] == '/';
	while (from < to) {
		size_t middle = from + (to - from) / 2;
		const char *file = tracked->items[middle];
		int order = strncmp(file, path, bytes);
		if (order == 0 && (!file[bytes] || file[bytes] == '/'))
			return true;
		if (order < 0 || (order == 0 && (unsigned char)file[bytes] < '/'))
			from = middle + 1;
		else
			to = middle;
	}
	return false;
}

/* By one look at the index: check-ignore itself would look through all of it for each path. */
static void except_tracked(const struct aj_git *git, const char *inside, const char *const *paths, size_t count, const char **ret,
                           struct aj_arena *arena)
{
	const char *const words[] = { "ls-files", "-z", NULL };
	struct aj_buffer out = { 0 };
	struct aj_error err = { 0 };
	struct tracked_files tracked = { 0 };
	bool read = aj_git_run(git, words, NULL, &out, &err) == 0;
	const char *at = out.data, *end = at ? at + out.bytes : at, *field;
	while (read && at < end && (field = next_field(&at, end)))
		*AJ_PUSH(arena, &tracked) = field;
	for (size_t i = 0; i < count; i++)
		if (ret[i] && is_tracked(&tracked, aj_printf(arena, "%s%s", inside, paths[i])))
			ret[i] = NULL;
	aj_buffer_free(&out);
}

void aj_ignored(const struct aj_host_repository *repository, const char *const *paths, size_t count, const char **ret,
                struct aj_arena *arena)
{
	const char *const words[] = { "check-ignore", "--no-index", "--stdin", "-z", "-v", "-n", NULL };
	const struct aj_git git = { .dir = repository->git, .common = repository->common, .tree = repository->tree };
	memset(ret, 0, count * sizeof *ret);
	size_t from = 0;
	for (int attempt = 0; repository->git && from < count && attempt < ATTEMPTS; attempt++) {
		struct aj_buffer in = { 0 }, out = { 0 };
		struct aj_error err = { 0 };
		for (size_t i = from; i < count; i++) {
			/* Without the dot a path could be one of git's patterns. */
			aj_buffer_text(&in, "./");
			aj_buffer_text(&in, repository->inside);
			aj_buffer_add(&in, paths[i], strlen(paths[i]) + 1);
		}
		int status = aj_git_run(&git, words, &in, &out, &err);
		if (status >= 0)
			from += read_answers(&out, count - from, ret + from, arena);
		aj_buffer_free(&in);
		aj_buffer_free(&out);
		if (status < 0)
			break;
		if (from < count)
			from = skip_top(paths, from, count);
	}
	for (size_t i = 0; i < count; i++)
		if (ret[i]) {
			except_tracked(&git, repository->inside, paths, count, ret, arena);
			break;
		}
}
