/* Git's index, as a jail may have written it: which paths are plain, in each version and through each table of places. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "workspace/git/index.h"

static char made[8192];
static size_t bytes;

static void add(const void *data, size_t n)
{
	memcpy(made + bytes, data, n);
	bytes += n;
}

static void add_number(uint32_t n)
{
	add((unsigned char[]){ (unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n },
	    4);
}

static void begin(unsigned version, unsigned entries)
{
	memset(made, 0, sizeof made);
	bytes = 0;
	add("DIRC", 4);
	add_number(version);
	add_number(entries);
}

/* `strip`: of version 4; -1: another one. `length`: of the whole path, as the flags have it. */
static void add_entry_of(int strip, const char *path, unsigned length)
{
	size_t start = bytes;
	bytes += 60;
	add((unsigned char[]){ (unsigned char)(length >> 8), (unsigned char)length }, 2);
	if (strip >= 0)
		made[bytes++] = (char)strip;
	add(path, strlen(path) + 1);
	while (strip < 0 && (bytes - start) % 8)
		bytes++;
}

static void add_entry(int strip, const char *path)
{
	add_entry_of(strip, path, (unsigned)strlen(path));
}

static bool plain(void)
{
	bytes += 20;
	return aj_gitindex_plain(made, bytes);
}

Test(gitindex, paths)
{
	static const char *const good[] = { "a", "a/b.c", ".gitignore", ".github/x", "a/.gitmodules", "...", "git/hooks" };
	static const char *const bad[] = { ".git/hooks/x", "a/.git/config", ".GIT/x", "a/.git", "../x",
		                           "a/../b",       "/etc/x",        "a//b",   "./a",    "" };
	for (unsigned version = 2; version <= 4; version++) {
		for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
			begin(version, 2);
			add_entry(version == 4 ? 0 : -1, "0");
			add_entry(version == 4 ? 1 : -1, good[i]);
			cr_expect(plain(), "%s", good[i]);
		}
		for (size_t i = 0; bad[i][0]; i++) {
			begin(version, 2);
			add_entry(version == 4 ? 0 : -1, "0");
			add_entry(version == 4 ? 1 : -1, bad[i]);
			cr_expect_not(plain(), "%s", bad[i]);
		}
	}
	begin(4, 2);
	add_entry(0, ".gi");
	add_entry_of(0, "t/hooks/x", 12);
	cr_expect_not(plain(), "put together from two");
}

/* Git would find the next entry within what is read as a path here. */
Test(gitindex, lengths)
{
	static const unsigned lengths[] = { 0, 1, 9, 11, 0xfff, 0x400a };
	static char path[4096];
	for (unsigned version = 2; version <= 4; version++)
		for (size_t i = 0; i <= sizeof lengths / sizeof *lengths; i++) {
			bool right = i == sizeof lengths / sizeof *lengths;
			begin(version, 1);
			add_entry_of(version == 4 ? 0 : -1, "a234567890", right ? 10 : lengths[i]);
			cr_expect_eq(plain(), right, "version %u, length %u", version, right ? 10 : lengths[i]);
		}
	memset(path, 'a', 0xfff); /* the longest that is read */
	begin(2, 1);
	add_entry(-1, path);
	cr_expect(plain());
}

Test(gitindex, what_is_whole)
{
	cr_expect(aj_gitindex_plain("0123456789012345678901234567890123456789\n", 41), "a ref");
	begin(2, 2);
	add_entry(-1, "a");
	cr_expect_not(plain(), "an entry is missing");
	begin(5, 0);
	cr_expect_not(plain(), "a version of later");
	begin(2, 1);
	add_entry(-1, "a");
	add("TREE", 4);
	add_number(3);
	add("xyz", 3);
	cr_expect(plain());
	/* Blocks of entries: where they begin, and how many entries they have. */
	static const struct {
		uint32_t first, second, shift;
	} blocks[] = { { 1, 1, 0 }, { 1, 1, 8 }, { 1, 1, (uint32_t)-8 }, { 1, 2, 0 }, { 2, 1, 0 },
		       { 1, 0, 0 }, { 2, 0, 0 }, { 1, UINT32_MAX, 0 } };
	for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++) {
		begin(2, 2);
		add_entry(-1, "a");
		uint32_t second = (uint32_t)bytes;
		add_entry(-1, "b");
		uint32_t end = (uint32_t)bytes;
		add("IEOT", 4);
		add_number(20);
		add_number(1);
		add_number(12);
		add_number(blocks[i].first);
		add_number(second + blocks[i].shift);
		add_number(blocks[i].second);
		add("EOIE", 4);
		add_number(24);
		add_number(end);
		bytes += 20;
		cr_expect_eq(plain(), i == 0, "blocks %zu", i);
		memcpy(made + bytes - 52 + 8, "\0\0\0\020", 4);
		cr_expect_not(aj_gitindex_plain(made, bytes), "the end is elsewhere");
	}
	for (int kept = 0; kept < 2; kept++) { /* of version 4: git takes the first path of a block for a whole one */
		begin(4, 2);
		add_entry(0, "ab");
		uint32_t second = (uint32_t)bytes;
		add_entry_of(2 - kept, "c", kept ? 2 : 1);
		add("IEOT", 4);
		add_number(20);
		add_number(1);
		add_number(12);
		add_number(1);
		add_number(second);
		add_number(1);
		cr_expect_eq(plain(), !kept);
	}
}

/* --- whether two have the same entries --- */

enum { SUM = 1000 };

static int file_with(unsigned version, size_t change, const char *extension)
{
	int fd = memfd_create("index", MFD_CLOEXEC);
	begin(version, 2);
	add_entry(version == 4 ? 0 : -1, "a");
	add_entry(version == 4 ? 1 : -1, "b");
	if (*extension) {
		add(extension, 4);
		add_number(0);
	}
	made[change == SUM ? bytes + 1 : change] ^= 1;
	cr_assert_eq(write(fd, made, bytes + 20), (ssize_t)bytes + 20);
	lseek(fd, 0, SEEK_SET);
	return fd;
}

Test(gitindex, same_entries)
{
	static const struct {
		unsigned version;
		size_t change; /* of this byte; the sum at the end is not looked at */
		const char *extension;
		bool same;
	} cases[] = {
		{ 2, 0, "", false },       { 2, 11, "", false },         { 2, SUM, "", true },      { 2, 12, "", true },
		{ 2, 12 + 23, "", true },  { 2, 12 + 36, "", true },     { 2, 12 + 24, "", false }, { 2, 12 + 40, "", false },
		{ 2, 12 + 59, "", false }, { 2, 12 + 60, "", false },    { 2, 12 + 62, "", false }, { 3, SUM, "", true },
		{ 4, SUM, "", true },      { 2, 12 + 64 + 4, "", true }, { 2, SUM, "TREE", true },  { 2, SUM, "link", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int one = file_with(2, SUM, ""), two = file_with(cases[i].version, cases[i].change, cases[i].extension);
		cr_expect_eq(aj_gitindex_same(one, two), cases[i].same, "case %zu", i);
		close(one);
		close(two);
	}
	cr_expect_not(aj_gitindex_same(-1, -1));
}
