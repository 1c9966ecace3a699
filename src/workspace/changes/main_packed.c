/* Reads a packed-refs file, and finds references in it by binary search: a file of the jail's may have any number of lines.
 * It accepts only lines that git writes, in git's order, which git's own search relies on. */
#include "workspace/changes/main_packed.h"

#include <limits.h>
#include <string.h>

static bool is_id(const char *text, size_t bytes)
{
	return (bytes == 40 || bytes == 64) && strspn(text, "0123456789abcdef") == bytes;
}

const char *aj_packed_read(struct aj_arena *arena, char *text, aj_packed_refs *ret)
{
	static const char other[] = "it has a line that git does not write",
			  unordered[] = "git would not find its references: they are not ordered";
	const char *before = NULL;
	bool first = true;
	for (char *line = text, *next; line && *line; line = next, first = false) {
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		if (*line == '#' && first)
			continue;
		if (*line == '^' && before && is_id(line + 1, strlen(line + 1)))
			continue;
		char *space = strchr(line, ' ');
		if (!space || strchr(space + 1, ' ') || strlen(space + 1) >= PATH_MAX)
			return other;
		*space = '\0';
		if (!is_id(line, (size_t)(space - line)))
			return other;
		if (before && strcmp(before, space + 1) >= 0)
			return unordered;
		before = space + 1;
		*AJ_PUSH(arena, ret) = (struct aj_packed_ref){ .name = before, .id = line };
	}
	return NULL;
}

/* The first one that is not before the name. */
static size_t lower_bound(const aj_packed_refs *refs, const char *name)
{
	size_t low = 0, high = refs->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (strcmp(refs->items[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const char *aj_packed_id(const aj_packed_refs *refs, const char *name)
{
	size_t at = lower_bound(refs, name);
	return at < refs->count && strcmp(refs->items[at].name, name) == 0 ? refs->items[at].id : NULL;
}

bool aj_packed_crosses(const aj_packed_refs *refs, const char *name)
{
	char part[PATH_MAX];
	size_t bytes = strlen(name);
	if (bytes + 2 > sizeof part)
		return true;
	memcpy(part, name, bytes);
	memcpy(part + bytes, "/", 2);
	size_t at = lower_bound(refs, part);
	if (at < refs->count && strncmp(refs->items[at].name, part, bytes + 1) == 0)
		return true;
	for (char *slash = part + bytes; (slash = memrchr(part, '/', (size_t)(slash - part)));) {
		*slash = '\0';
		if (aj_packed_id(refs, part))
			return true;
	}
	return false;
}
