/* Compares paths as text, component by component: absolute ones without `.`, `..`, `//` or a slash at the end. It reads no file,
 * so two names of one folder are two paths; aj_source_within() of base/toml/source.h compares the folders themselves. */
#pragma once
#include <stdbool.h>
#include <string.h>

#include "base/arena.h"

/* Is `part`, the text between two slashes, a name: neither empty, `.` nor `..`? */
static inline bool aj_path_part_valid(const char *part, size_t bytes)
{
	return bytes > 2 || (bytes > 0 && strncmp(part, "..", bytes) != 0);
}

/* `.` or `..`, the two entries of every folder. */
static inline bool aj_path_is_dots(const char *name)
{
	return !aj_path_part_valid(name, strlen(name));
}

/* The rest of `path` after `folder`: "" for the folder itself, else with a leading slash. NULL: `path` is elsewhere. */
static inline const char *aj_path_rest(const char *path, const char *folder)
{
	size_t bytes = strcmp(folder, "/") == 0 ? 0 : strlen(folder);
	return strncmp(path, folder, bytes) == 0 && (path[bytes] == '\0' || path[bytes] == '/') ? path + bytes : NULL;
}

/* Is `path` the folder, or below it? */
static inline bool aj_path_within(const char *path, const char *folder)
{
	return aj_path_rest(path, folder) != NULL;
}

static inline bool aj_path_below(const char *path, const char *folder)
{
	const char *rest = aj_path_rest(path, folder);
	return rest && rest[0] == '/' && rest[1] != '\0';
}

/* The folder that `path` lies in, "." for a bare name. */
const char *aj_path_folder(const char *path, struct aj_arena *arena);
/* An absolute path without `.`, `..` and `//`, removed as text: only right where no folder before a `..` is a symlink. */
const char *aj_path_simplify(const char *path, struct aj_arena *arena);
