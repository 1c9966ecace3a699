/* Compares paths as text, component by component: absolute ones without `.`, `..`, `//` or a slash at the end.
 * It reads no file, so two names of one folder are two paths; aj_source_within() of toml/source.h compares the folders themselves. */
#pragma once
#include <stdbool.h>
#include <string.h>

/* What follows `folder` in `path`: "" for the folder itself, else a text that starts with a slash. NULL: `path` is elsewhere. */
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
