/* Tests of fork/copy_tree: hostile trees, copied into an empty folder, and files opened anew.
 * It works in a folder of its own, and takes no privilege; what only a hostile process could make in a jail is made plainly here. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "jail/fork/copy_tree.h"

static char folder[64];
static int from, to;

static void prepare(void)
{
	snprintf(folder, sizeof folder, "%s/aj-copy-XXXXXX", "/tmp");
	cr_assert(mkdtemp(folder) && chdir(folder) == 0);
	cr_assert(mkdir("from", 0755) == 0 && mkdir("to", 0755) == 0);
	from = open("from", O_RDONLY | O_DIRECTORY);
	to = open("to", O_RDONLY | O_DIRECTORY);
	cr_assert(from >= 0 && to >= 0);
}

static void tidy(void)
{
	char command[200];
	snprintf(command, sizeof command, "chmod -R u+rwx %s && rm -rf %s", folder, folder);
	cr_expect_eq(system(command), 0);
}

static void put(const char *name, const char *text, mode_t mode)
{
	int fd = openat(from, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
	cr_assert(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text) && fchmod(fd, mode) == 0);
	close(fd);
}

static void holds(const char *name, const char *want)
{
	char text[64] = "";
	int fd = openat(to, name, O_RDONLY | O_NOFOLLOW);
	cr_expect(fd >= 0, "%s: %s", name, strerror(errno));
	cr_expect(read(fd, text, sizeof text - 1) >= 0);
	cr_expect_str_eq(text, want, "%s", name);
	close(fd);
}

Test(copy, kinds, .init = prepare, .fini = tidy)
{
	struct stat a, b;
	char text[64] = "";
	put("plain", "text", 0640);
	put("tool", "x", 0755);
	put("\xff\xfe\n\t*", "odd", 0600);
	cr_assert(symlinkat("/etc/passwd", from, "out") == 0 && symlinkat("nowhere", from, "dangling") == 0);
	cr_assert(symlinkat("loop", from, "loop") == 0 && mkfifoat(from, "fifo", 0600) == 0);
	cr_assert(linkat(from, "plain", from, "other", 0) == 0 && mkdirat(from, "d", 0750) == 0 && symlinkat("/", from, "d/root") == 0);
	cr_assert(futimens(from, NULL) == 0 && utimensat(from, "plain", (struct timespec[]){ { 5, 0 }, { 6, 7 } }, 0) == 0);
	const char *wrong = aj_copy_tree(from, to);
	cr_expect_null(wrong, "%s: %s", wrong, strerror(errno));
	holds("plain", "text");
	holds("other", "text");
	holds("\xff\xfe\n\t*", "odd");
	cr_expect(readlinkat(to, "out", text, sizeof text) == 11 && strncmp(text, "/etc/passwd", 11) == 0, "a link stays one");
	cr_expect(fstatat(to, "loop", &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(b.st_mode));
	cr_expect(fstatat(to, "d/root", &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(b.st_mode));
	cr_expect(fstatat(to, "fifo", &b, AT_SYMLINK_NOFOLLOW) == 0 && S_ISFIFO(b.st_mode));
	cr_expect(fstatat(to, "tool", &b, 0) == 0 && (b.st_mode & 07777) == 0755);
	cr_expect(fstatat(to, "d", &b, 0) == 0 && (b.st_mode & 07777) == 0750);
	cr_expect(fstatat(from, "plain", &a, 0) == 0 && fstatat(to, "plain", &b, 0) == 0);
	cr_expect(a.st_mtim.tv_sec == 6 && b.st_mtim.tv_sec == 6 && b.st_mtim.tv_nsec == a.st_mtim.tv_nsec);
	cr_expect(a.st_ino != b.st_ino && b.st_nlink == 1, "each name has a file of its own");
}

Test(copy, holes_stay_holes, .init = prepare, .fini = tidy)
{
	struct stat st;
	char byte = 0;
	put("sparse", "", 0600);
	int fd = openat(from, "sparse", O_RDWR);
	cr_assert(ftruncate(fd, 1L << 40) == 0 || ftruncate(fd, 1L << 30) == 0);
	cr_assert(pwrite(fd, "x", 1, 1 << 20) == 1);
	off_t end = lseek(fd, 0, SEEK_END);
	close(fd);
	cr_expect_null(aj_copy_tree(from, to));
	cr_expect(fstatat(to, "sparse", &st, 0) == 0 && st.st_size == end && st.st_blocks < 1024);
	fd = openat(to, "sparse", O_RDONLY);
	cr_expect(pread(fd, &byte, 1, 1 << 20) == 1 && byte == 'x');
	close(fd);
}

Test(copy, too_deep, .init = prepare, .fini = tidy)
{
	int at = dup(from);
	for (int i = 0; i < AJ_COPY_DEPTH; i++) {
		cr_assert(mkdirat(at, "d", 0700) == 0);
		int next = openat(at, "d", O_RDONLY | O_DIRECTORY);
		close(at);
		at = next;
	}
	cr_expect_null(aj_copy_tree(from, to));
	cr_assert(mkdirat(at, "d", 0700) == 0);
	close(at);
	cr_assert(mkdir("again", 0700) == 0);
	int again = open("again", O_RDONLY | O_DIRECTORY);
	lseek(from, 0, SEEK_SET);
	cr_expect_not_null(aj_copy_tree(from, again));
	cr_expect_eq(errno, ELOOP);
	close(again);
}

Test(copy, no_room, .init = prepare, .fini = tidy)
{
	put("taken", "x", 0600);
	close(openat(to, "taken", O_CREAT | O_WRONLY, 0600));
	cr_expect_str_eq(aj_copy_tree(from, to), "make a file", "what is there is not written to");
}

Test(copy, opened_anew, .init = prepare, .fini = tidy)
{
	struct stat st;
	char path[128];
	put("f", "text", 0600);
	cr_assert(aj_copy_tree(from, to) == NULL && fstatat(from, "f", &st, 0) == 0);
	snprintf(path, sizeof path, "%s/to/f", folder);
	int fd = aj_copy_open(path, O_RDWR, &st, 1);
	cr_expect(fd >= 0 && (fcntl(fd, F_GETFL) & (O_ACCMODE | O_NONBLOCK)) == O_RDWR);
	close(fd);
	cr_expect_eq(aj_copy_open(path, O_RDONLY, &st, 0), -1, "it is not the same file");
	snprintf(path, sizeof path, "%s/from/f", folder);
	cr_expect_eq(aj_copy_open(path, O_RDWR, &st, 1), -1, "it is no copy");
	cr_expect_eq(aj_copy_open(path, O_RDWR, &st, 0), -1, "what is shared is only read");
	fd = aj_copy_open(path, O_RDONLY, &st, 0);
	cr_expect(fd >= 0);
	close(fd);
	cr_assert(symlinkat("f", to, "link") == 0);
	snprintf(path, sizeof path, "%s/to/link", folder);
	cr_expect_eq(aj_copy_open(path, O_RDONLY, &st, 1), -1, "a link");
}

Test(copy, without_a_name, .init = prepare, .fini = tidy)
{
	char number[16], text[8] = "";
	put("f", "text", 0600);
	int fd = openat(from, "f", O_RDWR), fds = open("/proc/self/fd", O_RDONLY | O_DIRECTORY);
	cr_assert(unlinkat(from, "f", 0) == 0);
	snprintf(number, sizeof number, "%d", fd);
	int copy = aj_copy_unnamed(fds, number, folder, O_APPEND);
	cr_assert(copy >= 0, "%s", strerror(errno));
	cr_expect(pwrite(fd, "TEXT", 4, 0) == 4 && pread(copy, text, 4, 0) == 4);
	cr_expect_str_eq(text, "text");
	cr_expect(fcntl(copy, F_GETFL) & O_APPEND);
	close(copy);
	cr_expect(ftruncate(fd, 0) == 0 && pwrite(fd, "end", 3, 1 << 20) == 3);
	copy = aj_copy_unnamed(fds, number, folder, O_APPEND);
	cr_expect(pread(copy, text, 4, 1 << 20) == 3 && strncmp(text, "end", 3) == 0, "behind a hole, though all is written to the end");
	close(copy);
	close(fds);
	close(fd);
}
