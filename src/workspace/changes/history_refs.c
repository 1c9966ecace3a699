/* References of a repository as lists, and the names that those of a run get in the host's repository. */
#include <stdlib.h>
#include <string.h>

#include "workspace/changes/history_inner.h"

/* Of a name on a file system, with what git adds to it. */
enum { PART_MAX = 200, NAME_MAX_BYTES = 1000 };

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct aj_ref *)a)->name, ((const struct aj_ref *)b)->name);
}

static bool is_oid(const char *text, size_t bytes)
{
	return (bytes == 40 || bytes == 64) && strspn(text, "0123456789abcdef") == bytes;
}

static bool part_valid(const char *part, size_t bytes)
{
	return bytes > 0 && bytes <= PART_MAX && part[0] != '.' && part[bytes - 1] != '.' &&
	       !(bytes >= 5 && memcmp(part + bytes - 5, ".lock", 5) == 0);
}

/* What git-check-ref-format(1) accepts. */
static bool name_valid(const char *name)
{
	if (strlen(name) > NAME_MAX_BYTES || strstr(name, "..") || strstr(name, "@{"))
		return false;
	for (const char *at = name; *at; at++)
		if ((unsigned char)*at <= 0x20 || *at == 0x7f || strchr("~^:?*[\\", *at))
			return false;
	for (const char *at = name;; at++) {
		size_t bytes = strcspn(at, "/");
		if (!part_valid(at, bytes))
			return false;
		at += bytes;
		if (!*at)
			return true;
	}
}

static void read_line(struct aj_refs *ret, struct aj_arena *arena, const char *line, size_t bytes)
{
	static const char symbolic[] = "ref: ", peeled[] = "^{}";
	const char *split = memchr(line, '\t', bytes);
	split = split ? split : memchr(line, ' ', bytes);
	if (bytes > sizeof symbolic && memcmp(line, symbolic, sizeof symbolic - 1) == 0 && (split = memchr(line, '\t', bytes))) {
		const char *to = aj_strndup(arena, line + sizeof symbolic - 1, (size_t)(split - line) - (sizeof symbolic - 1));
		if (bytes - (size_t)(split - line) == 5 && memcmp(split + 1, "HEAD", 4) == 0 &&
		    strncmp(to, "refs/heads/", 11) == 0 && name_valid(to))
			ret->head = to;
		return;
	}
	if (!split || !is_oid(line, (size_t)(split - line)) ||
	    (bytes > 3 && memcmp(line + bytes - 3, peeled, sizeof peeled - 1) == 0))
		return;
	const char *name = aj_strndup(arena, split + 1, bytes - (size_t)(split + 1 - line));
	if (strlen(name) != bytes - (size_t)(split + 1 - line) || !name_valid(name)) {
		ret->left_out++;
		return;
	}
	*AJ_PUSH(arena, ret) = (struct aj_ref){ name, aj_strndup(arena, line, (size_t)(split - line)) };
}

void aj_refs_sort(struct aj_refs *refs)
{
	if (refs->count)
		qsort(refs->items, refs->count, sizeof *refs->items, by_name);
}

void aj_refs_read(struct aj_refs *ret, struct aj_arena *arena, const struct aj_buffer *text)
{
	const char *at = text->data, *end = at ? at + text->bytes : at;
	*ret = (struct aj_refs){ 0 };
	for (const char *newline; at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		newline = newline ? newline : end;
		read_line(ret, arena, at, (size_t)(newline - at));
	}
	aj_refs_sort(ret);
	/* Of two lines with one name the first counts. */
	size_t kept = 0;
	for (size_t i = 0; i < ret->count; i++)
		if (!kept || strcmp(ret->items[kept - 1].name, ret->items[i].name) != 0)
			ret->items[kept++] = ret->items[i];
	ret->count = kept;
}

const char *aj_refs_find(const struct aj_refs *refs, const char *name)
{
	const struct aj_ref key = { .name = name },
			    *found = refs->count ? bsearch(&key, refs->items, refs->count, sizeof key, by_name) : NULL;
	return found ? found->oid : NULL;
}

const char *aj_ref_map(struct aj_arena *arena, const char *prefix, const char *name)
{
	static const char *const own[] = { "tags", "stash", "index", "HEAD", "heads" };
	static const char heads[] = "refs/heads/", tags[] = "refs/tags/", made[] = "refs/agentjail/";
	const char *rest = name + sizeof heads - 1;
	if (strcmp(name, "HEAD") == 0)
		return aj_printf(arena, "%sHEAD", prefix);
	if (strncmp(name, tags, sizeof tags - 1) == 0)
		return aj_printf(arena, "%stags/%s", prefix, name + sizeof tags - 1);
	if (strncmp(name, made, sizeof made - 1) == 0) {
		rest = name + sizeof made - 1;
		bool stash = strncmp(rest, "stash/", 6) == 0 && rest[6] && strspn(rest + 6, "0123456789") == strlen(rest + 6);
		return stash || strcmp(rest, "index") == 0 ? aj_printf(arena, "%s%s", prefix, rest) : NULL;
	}
	if (strncmp(name, heads, sizeof heads - 1) != 0)
		return NULL;
	size_t first = strcspn(rest, "/");
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (strlen(own[i]) == first && strncmp(own[i], rest, first) == 0)
			return aj_printf(arena, "%sheads/%s", prefix, rest);
	return aj_printf(arena, "%s%s", prefix, rest);
}
