/* Parses a bind's text: the host's path, the jail's path, and the mode.
 * It reads no file and expands nothing; it refuses a jail path with `.`, `..` or empty components. */
#include "policy/bind.h"

#include <string.h>

#include "base/path.h"

bool aj_jail_path_valid(const char *path)
{
	if (path[0] != '/' || path[1] == '\0')
		return false;
	for (const char *at = path; (at = strchr(at, '/')); at++) {
		size_t bytes = strcspn(at + 1, "/");
		if (!aj_path_part_valid(at + 1, bytes))
			return false;
	}
	return true;
}

const char *aj_bind_parse(struct aj_arena *arena, const char *text, struct aj_bind *ret)
{
	char *source = aj_strdup(arena, text), *target = strchr(source, ':'), *mode = NULL;
	if (target) {
		*target++ = '\0';
		if (target[0] != '/') { /* a path in the jail starts with a slash: this is the mode */
			mode = target;
			target = NULL;
		} else if ((mode = strchr(target, ':'))) {
			*mode++ = '\0';
		}
	}
	bool writable = mode && strcmp(mode, "rw") == 0;
	if (mode && !writable && strcmp(mode, "ro") != 0)
		return "with a mode that is neither ro nor rw";
	if (!*source)
		return "without a host path";
	if (!aj_jail_path_valid(target ? target : source))
		return "not HOST:JAIL with an absolute path in the jail (no `.`, `..` or `//` in it)";
	*ret = (struct aj_bind){ .source = source, .target = target ? target : source, .writable = writable };
	return NULL;
}

const char *aj_mask_parse(struct aj_arena *arena, const char *text, struct aj_masked *ret)
{
	static const char optional[] = ":if-present";
	size_t bytes = strlen(text);
	bool if_present = bytes >= sizeof optional - 1 && strcmp(text + bytes - (sizeof optional - 1), optional) == 0;
	const char *path = aj_strndup(arena, text, bytes - (if_present ? sizeof optional - 1 : 0));
	if (path[0] != '/')
		path = aj_printf(arena, "/workspace/%s", path);
	if (!aj_jail_path_valid(path))
		return "not a path (absolute in the jail, or relative to the workspace; no `.`, `..`, `//` or slash at the end)";
	*ret = (struct aj_masked){ .target = path, .if_present = if_present };
	return NULL;
}
