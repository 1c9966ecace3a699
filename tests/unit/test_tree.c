/* Tests of tree/: removal of trees that a hostile program has made. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "tree/remove.h"

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
