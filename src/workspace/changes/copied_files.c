/* Looks paths up in the list of the files that a copy was made from. Of a line only its position and a hash are kept in memory:
 * the list of a million files takes 16 MiB. It trusts no length and no number that it has not checked. */
#include "workspace/changes/copied_files.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "workspace/changes/number.h"

enum { CHUNK = 1 << 20, LINE_BYTES = 2 * PATH_MAX + 200 };

static uint64_t hash_of(const char *path) /* FNV-1a: a collision costs one more look */
{
	uint64_t hash = 0xcbf29ce484222325;
	for (; *path; path++)
		hash = (hash ^ (unsigned char)*path) * 0x100000001b3;
	return hash;
}

static bool unescape(const char *from, size_t bytes, char *to)
{
	for (const char *end = from + bytes; from < end; from++) {
		char c = *from;
		if (c == '\\' && ++from == end)
			return false;
		if (c == '\\' && *from != '\\' && *from != 'n')
			return false;
		if (c == '\\' && *from == 'n')
			c = '\n';
		*to++ = c;
	}
	*to = '\0';
	return true;
}

bool aj_base_line(const char *line, size_t bytes, struct aj_base_entry *ret, char *path)
{
	struct aj_base_entry e = { 0 };
	const char *at = line + 2, *end = line + bytes;
	uint64_t mode;
	if (bytes < 2 || line[0] == '\0' || !strchr("fdl", line[0]) || line[1] != ' ' || memchr(line, '\0', bytes))
		return false;
	if (!aj_take_number(&at, end, 8, 07777777, &mode) || !aj_take_number(&at, end, 10, UINT64_MAX, &e.bytes) ||
	    !aj_take_signed(&at, end, &e.mtime_ns) || !aj_take_signed(&at, end, &e.ctime_ns) ||
	    !aj_take_number(&at, end, 10, UINT64_MAX, &e.ino) || at == end)
		return false;
	e.type = line[0];
	e.mode = (unsigned)mode;
	*ret = e;
	return unescape(at, (size_t)(end - at), path);
}

static int by_hash(const void *a, const void *b)
{
	uint64_t x = ((const struct aj_base_line *)a)->hash, y = ((const struct aj_base_line *)b)->hash;
	return (x > y) - (x < y);
}

/* The line that begins at `at`: its length, 0 where none is whole. */
static size_t line_at(int fd, uint64_t at, char room[LINE_BYTES])
{
	ssize_t n = pread(fd, room, LINE_BYTES, (off_t)at);
	const char *end = n > 0 ? memchr(room, '\n', (size_t)n) : NULL;
	return end ? (size_t)(end - room) : 0;
}

static int add_line(struct aj_base *b, size_t *room, const char *line, size_t bytes, uint64_t at, char *path)
{
	struct aj_base_entry e;
	if (bytes >= LINE_BYTES || !aj_base_line(line, bytes, &e, path))
		return -1;
	if (b->count == *room) {
		*room = *room ? 2 * *room : 256;
		b->lines = realloc(b->lines, *room * sizeof *b->lines);
		if (!b->lines)
			abort();
	}
	b->lines[b->count++] = (struct aj_base_line){ hash_of(path), at };
	return 0;
}

int aj_base_read(struct aj_base *b, int fd)
{
	char *chunk = malloc(CHUNK + 1), path[LINE_BYTES];
	size_t room = 0, kept = 0; /* bytes of an incomplete line at the beginning of the chunk */
	uint64_t at = 0;           /* of the chunk */
	ssize_t n;
	int result = 0;
	*b = (struct aj_base){ .fd = fd };
	if (!chunk)
		abort();
	while (result == 0 && (n = pread(fd, chunk + kept, CHUNK - kept, (off_t)(at + kept))) > 0) {
		const char *line = chunk, *end = chunk + kept + n, *newline;
		for (; result == 0 && (newline = memchr(line, '\n', (size_t)(end - line))); line = newline + 1)
			result = add_line(b, &room, line, (size_t)(newline - line), at + (uint64_t)(line - chunk), path);
		kept = (size_t)(end - line);
		if (kept >= LINE_BYTES)
			result = -1;
		at += (uint64_t)(line - chunk);
		memmove(chunk, line, kept);
	}
	free(chunk);
	if (b->count)
		qsort(b->lines, b->count, sizeof *b->lines, by_hash);
	errno = EINVAL;
	return kept ? -1 : result;
}

bool aj_base_find(const struct aj_base *b, const char *path, struct aj_base_entry *ret)
{
	char line[LINE_BYTES], found[LINE_BYTES];
	uint64_t hash = hash_of(path);
	size_t low = 0, high = b->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (b->lines[middle].hash < hash)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < b->count && b->lines[low].hash == hash; low++) {
		size_t bytes = line_at(b->fd, b->lines[low].at, line);
		if (bytes && aj_base_line(line, bytes, ret, found) && strcmp(found, path) == 0)
			return true;
	}
	return false;
}

void aj_base_free(struct aj_base *b)
{
	aj_close(&b->fd);
	free(b->lines);
	*b = (struct aj_base){ .fd = -1 };
}
