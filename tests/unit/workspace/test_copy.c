/* Tests of view/copy: the limits of a workspace's copy, its links and its list. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/tree/remove.h"
#include "workspace/staging/copy.h"

static char folder[] = "/tmp/aj-workspace-XXXXXX";
static struct aj_copy_job job;
static struct aj_copied_tree copied;
static struct aj_error err;
static struct aj_arena arena;

static void put(const char *name, const char *text)
{
	cleanup_fd int fd = openat(job.from, name, O_WRONLY | O_CREAT | O_EXCL, 0640);
	cr_assert(fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0);
}

static void prepare(void)
{
	cr_assert(mkdtemp(folder) && chdir(folder) == 0 && mkdir("from", 0750) == 0 && mkdir("to", 0700) == 0);
	job = (struct aj_copy_job){ .from = open("from", O_RDONLY | O_DIRECTORY),
		                    .to = open("to", O_RDONLY | O_DIRECTORY),
		                    .list = open("list", O_RDWR | O_CREAT, 0600) };
	put("a", "four");
	cr_assert(mkdirat(job.from, "d", 0700) == 0 && linkat(job.from, "a", job.from, "d/b", 0) == 0);
	put("d/c", "three");
	cr_assert(symlinkat("/etc/passwd", job.from, "out") == 0 && mkfifoat(job.from, "fifo", 0600) == 0);
}

static void tidy(void)
{
	cleanup_fd int tmp = open("/tmp", O_RDONLY | O_DIRECTORY);
	cr_expect_eq(aj_tree_remove(tmp, strrchr(folder, '/') + 1), 0);
	aj_arena_free(&arena);
}

TestSuite(copy, .init = prepare, .fini = tidy);

Test(copy, whole)
{
	struct stat a, b;
	char list[1000] = "";
	cr_assert_eq(aj_copy_workspace(&job, &arena, &copied, &err), 0, "%s", err.cause);
	cr_expect(copied.files == 5 && copied.skipped_count == 1, "%d %d", (int)copied.files, (int)copied.skipped_count);
	cr_expect(fstatat(job.to, "a", &a, 0) == 0 && fstatat(job.to, "d/b", &b, 0) == 0 && a.st_ino == b.st_ino && a.st_size == 4);
	cr_expect(fstatat(job.to, "out", &a, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(a.st_mode));
	cr_expect(fstat(job.to, &a) == 0 && (a.st_mode & 0777) == 0750);
	cr_expect(pread(job.list, list, sizeof list - 1, 0) > 0 && strstr(list, " d/c\n") && !strstr(list, "fifo"), "%s", list);
}

Test(copy, limits)
{
	job.bytes_max = 9;
	cr_expect_eq(aj_copy_workspace(&job, &arena, &copied, &err), 0, "as many as there are: %s", err.cause);
	err = (struct aj_error){ 0 };
	job.to = (mkdir("second", 0700), open("second", O_RDONLY | O_DIRECTORY));
	job.bytes_max = 8;
	cr_expect(aj_copy_workspace(&job, &arena, &copied, &err) < 0 && strstr(err.cause, "its files are too large"), "%s", err.cause);
	err = (struct aj_error){ 0 };
	job.to = (mkdir("third", 0700), open("third", O_RDONLY | O_DIRECTORY));
	job.bytes_max = 0;
	job.files_max = 3;
	cr_expect(aj_copy_workspace(&job, &arena, &copied, &err) < 0 && strstr(err.cause, "it has too many files"), "%s", err.cause);
}
