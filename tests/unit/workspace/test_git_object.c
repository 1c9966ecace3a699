/* Loose objects of git, as a jail may have written them: which have the name that their content gives them. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include "base/fd.h"
#include "base/sha1.h"
#include "workspace/git/object.h"

/* As `git hash-object` names them. */
#define HELLO "ce/013625030ba8dba906f756967f9e9ca394464a"
#define EMPTY "e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5391"
#define EMPTY_SHA256 "47/3a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"

enum { ROOM = 1 << 20 };
static unsigned char packed[ROOM + 1024];

static int file_of(const void *data, size_t bytes)
{
	int fd = memfd_create("object", MFD_CLOEXEC);
	cr_assert(fd >= 0 && write(fd, data, bytes) == (ssize_t)bytes && lseek(fd, 0, SEEK_SET) == 0);
	return fd;
}

static size_t pack(const void *raw, size_t bytes)
{
	uLongf n = sizeof packed;
	cr_assert(compress(packed, &n, raw, bytes) == Z_OK);
	return n;
}

/* Of an object whose bytes, before compression, are `raw`. */
static bool fits(const void *raw, size_t bytes, const char *name)
{
	uint64_t budget = ROOM;
	cleanup_fd int fd = file_of(packed, pack(raw, bytes));
	return aj_gitobject_fits(fd, name, &budget);
}

Test(gitobject, has_the_name_of_its_content)
{
	cr_expect(fits("blob 6\0hello\n", 13, HELLO));
	cr_expect(fits("blob 0\0", 7, EMPTY));
	cr_expect(fits("blob 0\0", 7, EMPTY_SHA256));
	cr_expect(!fits("blob 6\0hello\n", 13, EMPTY));
	cr_expect(!fits("blob 6\0HELLO\n", 13, HELLO));
	cr_expect(!fits("blob 0\0", 7, HELLO));
	cr_expect(!fits("blob 0\0", 7, "e6/9de29bb2d1d6434b8b29ae775ad8c2e48c5390"));
	cr_expect(!fits("blob 0\0", 7, "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"), "without a folder");
	cr_expect(!fits("blob 0\0", 7, ""));
}

Test(gitobject, has_a_head_that_git_writes)
{
	static const struct {
		const char *raw;
		size_t bytes;
	} none[] = { { "", 0 },
		     { "blob 0", 6 },
		     { "blob \0", 6 },
		     { "blob 00\0", 8 },
		     { "blob 5\0hello\n", 13 },
		     { "blob 7\0hello\n", 13 },
		     { "blob -1\0", 8 },
		     { "blob 0 \0", 8 },
		     { "blub 0\0", 7 },
		     { "blob 99999999999999999999999\0", 29 },
		     { "blob                                        0\0", 47 } };
	for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
		char name[64], hex[AJ_SHA1_HEX];
		struct aj_sha1 sum;
		aj_sha1_begin(&sum);
		aj_sha1_add(&sum, none[i].raw, none[i].bytes);
		aj_sha1_end(&sum, hex);
		snprintf(name, sizeof name, "%.2s/%s", hex, hex + 2);
		cr_expect(!fits(none[i].raw, none[i].bytes, name), "%zu", i);
	}
}

Test(gitobject, is_a_whole_file)
{
	size_t n = pack("blob 6\0hello\n", 13);
	for (size_t bytes = 0; bytes <= n + 1; bytes++) {
		uint64_t budget = ROOM;
		cleanup_fd int fd = file_of(packed, bytes);
		cr_expect(aj_gitobject_fits(fd, HELLO, &budget) == (bytes == n), "%zu bytes", bytes);
	}
	for (size_t i = 0; i < n; i++) {
		uint64_t budget = ROOM;
		packed[i] ^= 0x10;
		cleanup_fd int fd = file_of(packed, n);
		cr_expect(!aj_gitobject_fits(fd, EMPTY, &budget), "%zu", i);
		packed[i] ^= 0x10;
	}
}

Test(gitobject, inflates_no_more_than_it_may)
{
	static char raw[ROOM];
	char hex[AJ_SHA1_HEX], name[64];
	int head = snprintf(raw, sizeof raw, "blob %d", ROOM - 13) + 1;
	cr_assert(head == 13);
	struct aj_sha1 sum;
	aj_sha1_begin(&sum);
	aj_sha1_add(&sum, raw, sizeof raw);
	aj_sha1_end(&sum, hex);
	snprintf(name, sizeof name, "%.2s/%s", hex, hex + 2);
	cleanup_fd int fd = file_of(packed, pack(raw, sizeof raw));
	uint64_t budget = ROOM - 13;
	cr_expect(aj_gitobject_fits(fd, name, &budget));
	cr_expect(budget == 0);
	cr_assert(lseek(fd, 0, SEEK_SET) == 0);
	budget = ROOM - 14;
	cr_expect(!aj_gitobject_fits(fd, name, &budget));
	cr_expect(budget == ROOM - 14);
}
