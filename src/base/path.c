/* Lexical path functions: the folder of a path (dirname), joining, normalisation. */
#include "base/path.h"

const char *aj_path_folder(const char *path, struct aj_arena *arena)
{
	const char *slash = strrchr(path, '/');
	return !slash ? "." : slash == path ? "/" : aj_strndup(arena, path, (size_t)(slash - path));
}

const char *aj_path_simplify(const char *path, struct aj_arena *arena)
{
	char *out = aj_alloc(arena, strlen(path) + 2);
	size_t used = 0;
	for (const char *at = path; *at;) {
		size_t bytes = strcspn(at, "/");
		if (bytes == 2 && strncmp(at, "..", 2) == 0) {
			while (used && out[--used] != '/')
				;
		} else if (aj_path_part_valid(at, bytes)) {
			out[used++] = '/';
			memcpy(out + used, at, bytes);
			used += bytes;
		}
		at += bytes + (at[bytes] == '/');
	}
	out[used] = '\0';
	return used ? out : "/";
}
