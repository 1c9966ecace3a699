/* Parses a bind's text: the host's path, the jail's path, and the mode.
 * It reads no file; it refuses a jail path with `.`, `..` or empty components. */
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

const char *aj_host_path(struct aj_arena *arena, const char *text, const char *home, const char *folder, const char **ret)
{
	size_t bytes = strcspn(text, ":");
	bool in_home = text[0] == '~' && (bytes == 1 || text[1] == '/');
	*ret = text;
	if (text[0] == '/' || !bytes)
		return NULL;
	if (text[0] == '~' && !in_home)
		return "`~` and a user's name are not expanded: write the whole path, or ~/ for the caller's home";
	const char *from = in_home ? home : folder;
	if (!from)
		return in_home ? "the home that `~` stands for is not known: HOME names no folder of the caller"
		               : "relative, and the folder that it starts at is not known";
	if (strchr(from, ':')) /* the bind's first colon would be that one */
		return aj_printf(arena, "`%s`, where this path starts, has a colon in its name", from);
	const char *whole = aj_printf(arena, "%s/%.*s", from, (int)bytes - in_home, text + in_home);
	*ret = aj_printf(arena, "%s%s", aj_path_simplify(whole, arena), text + bytes);
	return NULL;
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
