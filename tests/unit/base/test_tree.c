/* Tests of tree/: removal of trees that a hostile program has made, and copies of files with holes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree/content.h"
#include "base/tree/remove.h"

/* So long that nothing could read it, with two pieces of data that are longer than a chunk. */
static const off_t BYTES = 1LL << 40, FIRST = 1 << 20, SECOND = 1LL << 39;
enum { DATA = 200000 };

static char folder[] = "/tmp/aj-tree-XXXXXX";
static int top;

static void prepare(void)
{
	cr_assert(mkdtemp(folder) && chdir(folder) == 0);
	top = open(".", O_RDONLY | O_DIRECTORY);
	cr_assert(top >= 0);
}

static void tidy(void)
{
	cr_expect(chdir("/") == 0 && close(top) == 0 && rmdir(folder) == 0, "%s", strerror(errno));
}

static void put(int dir, const char *name)
{
	cleanup_fd int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL, 0);
	cr_assert(fd >= 0, "%s", strerror(errno));
}

TestSuite(remove, .init = prepare, .fini = tidy);

Test(remove, kinds)
{
	put(top, "outside");
	cr_assert(mkdir("kept", 0700) == 0 && mkdir("kept/x", 0700) == 0);
	cr_assert(mkdir("t", 0700) == 0 && mkdir("t/d", 0700) == 0 && mkdir("t/d/closed", 0700) == 0 && mkdir("t/d/empty", 0) == 0);
	cr_assert(mkfifo("t/fifo", 0) == 0 && symlink("../kept", "t/link") == 0 && symlink("../../../kept", "t/d/closed/link") == 0);
	cr_assert(link("outside", "t/d/closed/other") == 0);
	put(top, "t/.moved-0");
	put(top, "t/d/closed/\xff\n");
	cr_assert(chmod("t/d/closed", 0) == 0 && chmod("t/d", 01000) == 0 && chmod("t", 0) == 0);
	cr_expect_eq(aj_tree_remove(top, "t"), 0, "%s", strerror(errno));
	cr_expect(access("t", F_OK) < 0 && access("kept/x", F_OK) == 0 && access("outside", F_OK) == 0);
	cr_expect_eq(aj_tree_remove(top, "t"), 0, "it is gone already");
	cr_assert(symlink("kept", "link") == 0);
	cr_expect(aj_tree_remove(top, "link") == 0 && access("kept/x", F_OK) == 0, "the link alone");
	cr_expect(aj_tree_remove(top, "kept") == 0 && aj_tree_remove(top, "outside") == 0);
}

/* Folders deeper than any path or number of descriptors, two of them beside one another, and names that removal itself would choose. */
Test(remove, deep)
{
	enum { LEVELS = 500 };
	cr_assert(mkdir("t", 0700) == 0);
	for (int i = 0; i < 2; i++) {
		cleanup_fd int at = openat(top, "t", O_RDONLY | O_DIRECTORY);
		for (int level = 0; level < LEVELS; level++) {
			char name[40];
			snprintf(name, sizeof name, ".moved-%d", level ? level % 50 : i);
			cr_assert(mkdirat(at, name, 0700) == 0, "%s", strerror(errno));
			int next = openat(at, name, O_RDONLY | O_DIRECTORY);
			fchmod(at, level == 0 ? 0700 : level % 2 ? 0 : 0500);
			close(at);
			at = next;
		}
	}
	cr_expect_eq(aj_tree_remove(top, "t"), 0, "%s", strerror(errno));
	cr_expect(access("t", F_OK) < 0);
}

Test(remove, not_allowed)
{
	cr_assert(mkdir("t", 0700) == 0);
	put(top, "t/f");
	cr_expect(aj_tree_remove(top, "t/f/x") < 0 && errno == ENOTDIR);
	int proc = open("/proc/self", O_RDONLY | O_DIRECTORY);
	cr_expect_lt(aj_tree_remove(proc, "ns"), 0, "a file system that removes nothing");
	close(proc);
	cr_expect_eq(aj_tree_remove(top, "t"), 0);
}

/* --- content --- */

static int make(const char *name)
{
	int fd = openat(top, name, O_RDWR | O_CREAT | O_EXCL, 0600);
	cr_assert(fd >= 0 && unlinkat(top, name, 0) == 0);
	return fd;
}

static int make_sparse(void)
{
	static char data[DATA];
	int fd = make("sparse");
	for (size_t i = 0; i < DATA; i++)
		data[i] = (char)(i * 31 + i / 4096 + 1);
	cr_assert(pwrite(fd, data, DATA, FIRST) == DATA && pwrite(fd, data, DATA, SECOND) == DATA && ftruncate(fd, BYTES) == 0);
	return fd;
}

static off_t size_of(int fd)
{
	struct stat st;
	return fstat(fd, &st) == 0 ? st.st_size : -1;
}

TestSuite(content, .init = prepare, .fini = tidy);

Test(content, holes)
{
	struct stat st;
	cleanup_fd int from = make_sparse(), to = make("to"), empty = make("empty"), none = make("none");
	cr_assert_eq(aj_content_copy(from, to, BYTES, NULL), 0, "%s", strerror(errno));
	cr_expect(fstat(to, &st) == 0 && st.st_size == BYTES && st.st_blocks < 2000, "holes stay holes");
	cr_expect_eq(aj_content_same(from, to, BYTES), 1);
	cr_expect(pwrite(to, "", 1, SECOND + DATA - 1) == 1);
	cr_expect_eq(aj_content_same(from, to, BYTES), 0, "the last byte of data");
	cr_expect(pwrite(to, "x", 1, BYTES - 1) == 1);
	cr_expect(aj_content_copy(empty, none, 0, NULL) == 0 && size_of(none) == 0);
	cr_expect_eq(aj_content_copy(to, empty, FIRST, NULL), 0, "a hole alone");
	cr_expect(fstat(empty, &st) == 0 && st.st_size == FIRST && st.st_blocks == 0);
	cr_expect_eq(aj_content_same(empty, to, FIRST), 1);
}

/* To another file system the kernel copies no range, so this program does. */
Test(content, by_hand)
{
	cleanup_fd int from = make_sparse(), to = memfd_create("to", MFD_CLOEXEC);
	cr_assert_eq(aj_content_copy(from, to, BYTES, NULL), 0, "%s", strerror(errno));
	cr_expect(size_of(to) == BYTES && aj_content_same(from, to, BYTES) == 1);
}

Test(content, bounds)
{
	uint64_t left = 2 * (uint64_t)DATA + (1 << 20);
	cleanup_fd int from = make_sparse(), to = memfd_create("to", MFD_CLOEXEC), shorter = make("short"), some = make("some");
	cr_expect_eq(aj_content_copy(from, to, BYTES, &left), 0);
	uint64_t used = 2 * (uint64_t)DATA + (1 << 20) - left;
	cr_expect(used >= 2 * (uint64_t)DATA && used < 2 * (uint64_t)DATA + (1 << 17), "%llu", (unsigned long long)used);
	cr_assert_eq(ftruncate(to, 0), 0);
	left = DATA + 5;
	cr_expect(aj_content_copy(from, to, BYTES, &left) == 1 && left == 0, "no more than that");
	cr_expect_eq(write(shorter, "abc", 3), 3);
	cr_expect(aj_content_copy(shorter, some, 10, NULL) == 1 && size_of(some) == 10, "it has become shorter");
	cr_expect_eq(aj_content_same(shorter, some, 10), 0);
	cleanup_fd int sealed = open("/proc/self/exe", O_RDONLY);
	cr_expect_eq(aj_content_copy(from, sealed, BYTES, NULL), -1);
}
