/* Git's index, as a jail may have written it: which paths are plain, in each version and through each table of places. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "git/index.h"

static char made[4096];
static size_t bytes;

static void add(const void *data, size_t n)
{
	memcpy(made + bytes, data, n);
	bytes += n;
}

static void add_number(uint32_t n)
{
	add((unsigned char[]){ (unsigned char)(n >> 24), (unsigned char)(n >> 16), (unsigned char)(n >> 8), (unsigned char)n }, 4);
}

static void begin(unsigned version, unsigned entries)
{
	memset(made, 0, sizeof made);
	bytes = 0;
	add("DIRC", 4);
	add_number(version);
	add_number(entries);
}

/* `strip`: of version 4; -1: another one. */
static void add_entry(int strip, const char *path)
{
	size_t start = bytes;
	bytes += 62;
	if (strip >= 0)
		made[bytes++] = (char)strip;
	add(path, strlen(path) + 1);
	while (strip < 0 && (bytes - start) % 8)
		bytes++;
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
	add_entry(0, "t/hooks/x");
	cr_expect_not(plain(), "put together from two");
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
	for (int shift = 0; shift < 2; shift++) { /* places of entries */
		begin(2, 2);
		add_entry(-1, "a");
		uint32_t second = (uint32_t)bytes;
		add_entry(-1, "b");
		uint32_t end = (uint32_t)bytes;
		add("IEOT", 4);
		add_number(20);
		add_number(1);
		add_number(12);
		add_number(1);
		add_number(second + (uint32_t)shift * 8);
		add_number(1);
		add("EOIE", 4);
		add_number(24);
		add_number(end);
		bytes += 20;
		cr_expect_eq(plain(), !shift);
		memcpy(made + bytes - 52 + 8, "\0\0\0\020", 4);
		cr_expect_not(aj_gitindex_plain(made, bytes), "the end is elsewhere");
	}
}
