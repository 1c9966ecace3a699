/* Looks objects up by their names: as files of their own, and in the indexes of packs (gitformat-pack(5), version 2).
 * It reads no object, and believes no index beyond the bounds of its file. */
#include "workspace/changes/main_objects.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/node.h"

enum { NAME_MAX_BYTES = 32, HEAD_BYTES = 8, FAN = 256, FAN_BYTES = 4 * FAN };

static bool read_at(int fd, void *out, size_t bytes, uint64_t at)
{
	return pread(fd, out, bytes, (off_t)at) == (ssize_t)bytes;
}

static uint32_t number_of(const unsigned char *b)
{
	return (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
}

/* The names are sorted, and the table before them says how many begin with at most each byte. */
static bool index_has(int fd, const unsigned char *name, size_t bytes)
{
	static const unsigned char head[HEAD_BYTES] = { 0xff, 't', 'O', 'c', 0, 0, 0, 2 };
	unsigned char fan[FAN_BYTES], found[NAME_MAX_BYTES], begin[HEAD_BYTES];
	if (!read_at(fd, begin, sizeof begin, 0) || memcmp(begin, head, sizeof head) != 0 || !read_at(fd, fan, sizeof fan, HEAD_BYTES))
		return false;
	uint64_t low = name[0] ? number_of(fan + 4 * (size_t)(name[0] - 1)) : 0, high = number_of(fan + 4 * (size_t)name[0]);
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;
		if (!read_at(fd, found, bytes, HEAD_BYTES + FAN_BYTES + middle * bytes))
			return false;
		int order = memcmp(name, found, bytes);
		if (order == 0)
			return true;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return false;
}

/* A file of a tree that counts: each of the host's, and of the view those that the run has made. */
static bool counts(const struct aj_main *m, bool view, const char *path)
{
	struct aj_base_entry copied;
	return !view || !m->s->record.copy || !aj_base_find(&m->s->repository_base, path, &copied);
}

static bool packs_have(const struct aj_main *m, bool view, const unsigned char *name, size_t bytes)
{
	struct aj_entries names = { 0 };
	struct stat st;
	bool force = view && !m->s->running, found = false;
	cleanup_fd int place = aj_node_place(view ? m->s->repository_view : m->s->repository, "objects", force);
	cleanup_fd int packs = place < 0 ? -1 : aj_node_open_folder(place, "pack", force);
	if (packs < 0 || aj_entries_read(packs, &names) < 0)
		return false;
	for (size_t i = 0; i < names.count && !found; i++) {
		char path[PATH_MAX];
		const char *end = strrchr(names.items[i], '.');
		if (!end || strcmp(end, ".idx") != 0 || snprintf(path, sizeof path, "objects/pack/%s", names.items[i]) >= PATH_MAX)
			continue;
		cleanup_fd int fd = counts(m, view, path) ? aj_node_open_file(packs, names.items[i], force, &st) : -1;
		found = fd >= 0 && index_has(fd, name, bytes);
	}
	aj_entries_free(&names);
	return found;
}

static bool has_file(const struct aj_main *m, bool view, const char *path)
{
	struct stat st;
	cleanup_fd int place = aj_node_place(view ? m->s->repository_view : m->s->repository, path, view && !m->s->running);
	return place >= 0 && fstat(place, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0 && counts(m, view, path);
}

static unsigned digit(char c)
{
	return c <= '9' ? (unsigned)(c - '0') : (unsigned)(c - 'a') + 10;
}

bool aj_main_has_object(const struct aj_main *m, const char *hex, bool added)
{
	char path[2 * NAME_MAX_BYTES + 16];
	unsigned char name[NAME_MAX_BYTES];
	size_t bytes = strlen(hex) / 2;
	if (bytes > sizeof name || bytes < 2)
		return false;
	for (size_t i = 0; i < bytes; i++)
		name[i] = (unsigned char)(digit(hex[2 * i]) << 4 | digit(hex[2 * i + 1]));
	snprintf(path, sizeof path, "objects/%.2s/%s", hex, hex + 2);
	for (int view = 0; view <= added; view++)
		if (has_file(m, view, path) || packs_have(m, view, name, bytes))
			return true;
	return aj_beneath_has(m->s->repository, "objects/info/alternates");
}
