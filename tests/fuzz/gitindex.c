/* Fuzzes the reader of git's index: bytes are such a file, as a jail may have written it.
 * It runs no git. Beyond not crashing, of an index that is called plain git reads plain paths alone: in one thread, and in several by its table of blocks. */
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "must.h"
#include "workspace/git/index.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

enum { HEAD = 12, ENTRY = 62, SUM = 20, LENGTH = 0xfff, EXTENDED = 0x4000, NAME = 8192 };

struct git {
	const unsigned char *data;
	size_t end, at;
	unsigned version;
	char name[NAME]; /* of the last entry */
	size_t length;
};

static uint32_t number(const unsigned char *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void judge(const char *name)
{
	/* An empty one is that of the shared index. */
	for (const char *at = name; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t n = strcspn(at, "/");
		must_of(n && !(n <= 2 && strncmp(at, "..", n) == 0), "a path stays in the working tree", name);
		must_of(!(n == 4 && strncasecmp(at, ".git", 4) == 0), "a path is in no repository's folder", name);
	}
}

/* create_from_disk() of git's read-cache.c. `first`: of a block, so that no path is before it. */
static void read_entry(struct git *g, bool first)
{
	must(g->at + ENTRY < g->end, "an entry is whole");
	const unsigned char *begin = g->data + g->at, *name = begin + ENTRY;
	unsigned flags = number(begin + ENTRY - 4) & 0xffff;
	size_t kept = 0, length = flags & LENGTH;
	name += flags & EXTENDED ? 2 : 0;
	if (g->version == 4) {
		unsigned char c = *name++;
		size_t strip = c & 127;
		for (; c & 128; strip = strip << 7 | (c & 127)) {
			strip++;
			c = *name++;
		}
		must(first || strip <= g->length, "a path begins with a part of the one before");
		kept = first ? 0 : g->length - strip;
	}
	must(name < g->data + g->end, "a path lies in the index");
	size_t rest = strnlen((const char *)name, (size_t)(g->data + g->end - name));
	if (length == LENGTH)
		length = kept + rest;
	must(length >= kept && length - kept == rest && length < NAME, "a path is as long as its entry says");
	memcpy(g->name + kept, name, rest + 1);
	g->length = length;
	g->at = g->version == 4 ? (size_t)(name + rest + 1 - g->data) : g->at + (((size_t)(name - begin) + length + 8) & ~(size_t)7);
	must(g->at <= g->end, "an entry ends in the index");
	judge(g->name);
}

static void read_blocks(struct git *g, size_t at, size_t bytes, uint32_t entries)
{
	uint64_t all = 0;
	for (size_t i = 4; i + 8 <= bytes; i += 8) {
		uint32_t count = number(g->data + at + i + 4);
		g->at = number(g->data + at + i);
		for (uint32_t k = 0; k < count; k++)
			read_entry(g, k == 0);
		all += count;
	}
	must(all == entries, "the blocks have as many entries as there is room for");
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	static struct git g;
	if (!aj_gitindex_plain((const char *)data, bytes) || bytes < HEAD + SUM || memcmp(data, "DIRC", 4) != 0)
		return 0;
	g = (struct git){ .data = data, .end = bytes - SUM, .at = HEAD, .version = number(data + 4) };
	uint32_t entries = number(data + 8);
	for (uint32_t i = 0; i < entries; i++)
		read_entry(&g, i == 0);
	/* Whether git uses the table depends on its configuration and on the extension at the end, whose sum a fuzzer does not find. */
	for (size_t at = g.at; at + 8 <= g.end; at += 8 + (size_t)number(data + at + 4))
		if (memcmp(data + at, "IEOT", 4) == 0)
			read_blocks(&g, at + 8, number(data + at + 4), entries);
	return 0;
}
