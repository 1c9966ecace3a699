/* Reads the format of gitformat-index(5), versions 2 to 4 with names of objects by SHA-1, and checks the paths in it.
 * An index is not plain if it cannot be read as a whole, or if its extensions place entries elsewhere than they lie. */
#include "workspace/git/index.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/path.h"

enum {
	HEAD_BYTES = 12,
	MODE_AT = 24,     /* in an entry; before it are times and numbers of the file */
	OBJECT_AT = 40,   /* its name and the flags */
	ENTRY_BYTES = 62, /* before the path */
	EXTENDED = 0x4000,
	LENGTH = 0xfff, /* of the path; the most where it is longer */
	SUM_BYTES = 20,
	END_BYTES = 32, /* of the extension EOIE, which is the last */
	BLOCKS_MAX = 1024,
	START = 1,
	WHOLE = 2,
	PATH_BYTES = 4096,
	FILE_BYTES = 128 << 20
};

struct index_reader {
	const unsigned char *data;
	size_t end, at; /* end: of what the sum at the end is over */
	unsigned version;
	uint32_t entries;
	bool required;         /* an extension that a reader of the entries may not ignore */
	unsigned char *starts; /* two bits for each place: does an entry begin there, and has it a whole path? */
	size_t path_bytes;
	char path[PATH_BYTES];
};

static uint32_t number_at(const struct index_reader *r, size_t at)
{
	return (uint32_t)r->data[at] << 24 | (uint32_t)r->data[at + 1] << 16 | (uint32_t)r->data[at + 2] << 8 | r->data[at + 3];
}

static bool is_plain(const char *path)
{
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t bytes = strcspn(at, "/");
		if (!aj_path_part_valid(at, bytes) || (bytes == 4 && strncasecmp(at, ".git", 4) == 0))
			return false;
	}
	return true;
}

/* In version 4 an entry begins with the number of bytes that its path lacks at the end of the previous path. */
static bool read_strip(struct index_reader *r, size_t *ret)
{
	size_t value;
	if (r->at >= r->end)
		return false;
	unsigned char c = r->data[r->at++];
	for (value = c & 127; c & 128; value = value << 7 | (c & 127)) {
		if (r->at >= r->end || value > PATH_BYTES)
			return false;
		c = r->data[r->at++];
		value++;
	}
	*ret = value;
	return true;
}

/* `ret_whole`: the entry takes nothing from the previous path. */
static bool read_path(struct index_reader *r, size_t begin, bool *ret_whole)
{
	size_t strip = r->path_bytes;
	if (r->version == 4 && (!read_strip(r, &strip) || strip > r->path_bytes))
		return false;
	size_t kept = r->path_bytes - strip;
	*ret_whole = kept == 0;
	const unsigned char *zero = memchr(r->data + r->at, '\0', r->end - r->at);
	size_t bytes = zero ? (size_t)(zero - (r->data + r->at)) : r->end;
	if (!zero || kept + bytes >= PATH_BYTES)
		return false;
	memcpy(r->path + kept, r->data + r->at, bytes + 1);
	r->path_bytes = kept + bytes;
	/* Up to version 3 one to eight zeros follow, so that the next one begins at a multiple of eight. */
	r->at = r->version == 4 ? r->at + bytes + 1 : begin + (r->at + bytes - begin + 8) / 8 * 8;
	return r->at <= r->end;
}

/* Git takes the length of a path, and so the place of the next entry, from the flags. Git obeys the flag CE_EXTENDED in version
 * 2, too, which does not have that flag. */
static bool read_entry(struct index_reader *r)
{
	size_t begin = r->at;
	if (r->end - r->at < ENTRY_BYTES)
		return false;
	unsigned flags = number_at(r, begin + ENTRY_BYTES - 4) & 0xffff;
	if (flags & EXTENDED && r->version == 2)
		return false;
	r->at += ENTRY_BYTES + (flags & EXTENDED ? 2 : 0);
	bool whole;
	if (r->at >= r->end || !read_path(r, begin, &whole))
		return false;
	r->starts[begin / 4] |= (unsigned char)((whole ? START | WHOLE : START) << begin % 4 * 2);
	return (flags & LENGTH) == (r->path_bytes < LENGTH ? r->path_bytes : LENGTH) && is_plain(r->path);
}

static unsigned starts_at(const struct index_reader *r, size_t place)
{
	return r->starts[place / 4] >> place % 4 * 2 & (START | WHOLE);
}

/* The table from which git reads entries by several threads: the place of each block, and how many entries it has. Git takes the
 * first path of a block for a whole one. */
static bool blocks_fit(const struct index_reader *r, size_t at, size_t bytes, size_t entries_end)
{
	bool fit = bytes % 8 == 4 && bytes / 8 <= BLOCKS_MAX;
	uint32_t entries = 0;
	size_t place = HEAD_BYTES;
	for (size_t i = 4; fit && i < bytes; i += 8) {
		fit = number_at(r, at + i) == place && place < entries_end && starts_at(r, place) == (START | WHOLE);
		for (uint32_t left = number_at(r, at + i + 4); fit && left; left--, entries++) {
			fit = place < entries_end && starts_at(r, place);
			for (place++; place < entries_end && !starts_at(r, place);)
				place++;
		}
	}
	return fit && entries == r->entries;
}

static bool read_extensions(struct index_reader *r)
{
	size_t entries_end = r->at;
	if (r->end >= END_BYTES && memcmp(r->data + r->end - END_BYTES, "EOIE", 4) == 0 &&
	    number_at(r, r->end - END_BYTES + 8) != entries_end)
		return false;
	while (r->end - r->at >= 8) {
		uint32_t bytes = number_at(r, r->at + 4);
		if (bytes > r->end - r->at - 8 ||
		    (memcmp(r->data + r->at, "IEOT", 4) == 0 && !blocks_fit(r, r->at + 8, bytes, entries_end)))
			return false;
		r->required |= r->data[r->at] < 'A' || r->data[r->at] > 'Z';
		r->at += 8 + bytes;
	}
	return r->at == r->end;
}

/* Is `.git/` or `../` anywhere in the index? The search needs no layout of entries, which object names of SHA-256 would shift. */
static bool has_place(const char *data, size_t bytes)
{
	bool found = false;
	for (const char *at = data, *end = data + bytes; !found && (at = memchr(at, '/', (size_t)(end - at))); at++)
		found = (at - data >= 4 && strncasecmp(at - 4, ".git", 4) == 0) ||
		        (at - data >= 2 && memcmp(at - 2, "..", 2) == 0);
	return found;
}

static bool is_index(const char *data, size_t bytes)
{
	return bytes >= HEAD_BYTES + SUM_BYTES && memcmp(data, "DIRC", 4) == 0;
}

/* False: of a version that is not read. */
static bool begin(struct index_reader *r, const char *data, size_t bytes)
{
	*r = (struct index_reader){ .data = (const unsigned char *)data, .end = bytes - SUM_BYTES, .at = HEAD_BYTES };
	r->starts = calloc(1, bytes / 4 + 1);
	if (!r->starts)
		abort();
	r->version = number_at(r, 4);
	r->entries = number_at(r, 8);
	return r->version >= 2 && r->version <= 4;
}

bool aj_gitindex_plain(const char *data, size_t bytes)
{
	if (!is_index(data, bytes))
		return true; /* git refuses it */
	struct index_reader r;
	bool plain = begin(&r, data, bytes) && !has_place(data, bytes);
	for (uint32_t left = r.entries; plain && left; left--)
		plain = read_entry(&r);
	plain = plain && read_extensions(&r);
	free(r.starts);
	return plain;
}

/* The content, malloced; NULL: it cannot be read. */
static char *read_file(int fd, size_t *ret_bytes)
{
	struct stat st;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > FILE_BYTES)
		return NULL;
	char *data = malloc((size_t)st.st_size + 1);
	if (!data)
		abort();
	*ret_bytes = (size_t)st.st_size;
	if (aj_read_all(fd, data, *ret_bytes) == 0)
		return data;
	free(data);
	return NULL;
}

bool aj_gitindex_file_plain(int fd)
{
	size_t bytes;
	char *data = read_file(fd, &bytes);
	bool plain = data && aj_gitindex_plain(data, bytes);
	free(data);
	return plain;
}

/* The next entry of both: the bytes of mode, and of name and flags, and the path. */
static bool same_entry(struct index_reader *one, struct index_reader *two)
{
	const unsigned char *x = one->data + one->at, *y = two->data + two->at;
	if (!read_entry(one) || !read_entry(two) || memcmp(x + MODE_AT, y + MODE_AT, 4) != 0)
		return false;
	size_t bytes = ENTRY_BYTES - OBJECT_AT + ((x[ENTRY_BYTES - 2] & EXTENDED >> 8) ? 2 : 0);
	return memcmp(x + OBJECT_AT, y + OBJECT_AT, bytes) == 0 && strcmp(one->path, two->path) == 0;
}

bool aj_gitindex_same(int one, int two)
{
	struct index_reader r[2] = { 0 };
	size_t bytes[2];
	char *data[2] = { read_file(one, &bytes[0]), read_file(two, &bytes[1]) };
	bool same = true;
	for (int i = 0; i < 2 && same; i++)
		same = data[i] && is_index(data[i], bytes[i]) && begin(&r[i], data[i], bytes[i]);
	same = same && r[0].entries == r[1].entries;
	for (uint32_t left = r[0].entries; same && left; left--)
		same = same_entry(&r[0], &r[1]);
	for (int i = 0; i < 2; i++) {
		same = same && read_extensions(&r[i]) && !r[i].required;
		free(r[i].starts);
		free(data[i]);
	}
	return same;
}
