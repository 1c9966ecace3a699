/* Tests of shell/history: what comes back, what is cut, and whose file it must be.
 * How lines are typed is not asked. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/shell/line_history.h"

static char folder[] = "/tmp/aj-history.XXXXXX", path[64];
static struct aj_arena arena;

static void begin(void)
{
	cr_assert(mkdtemp(folder) != NULL);
	snprintf(path, sizeof path, "%s/agentjail/history", folder);
	setenv("XDG_STATE_HOME", folder, 1);
}

static void end(void)
{
	aj_arena_free(&arena);
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
	rmdir(folder);
}

TestSuite(history, .init = begin, .fini = end);

static size_t count(char **lines)
{
	size_t n = 0;
	while (lines[n])
		n++;
	return n;
}

Test(history, comes_back)
{
	int fd = aj_history_open();
	cr_assert_geq(fd, 0);
	cr_expect_eq(count(aj_history_read(fd, &arena)), 0);
	aj_history_add(fd, "x = 1");
	aj_history_add(fd, "");
	aj_history_add(fd, "  y");
	close(fd);
	fd = aj_history_open();
	char **lines = aj_history_read(fd, &arena);
	cr_assert_eq(count(lines), 2);
	cr_expect_str_eq(lines[0], "x = 1");
	cr_expect_str_eq(lines[1], "  y");
	close(fd);
}

Test(history, is_cut)
{
	char line[1024];
	struct stat st;
	int fd = aj_history_open();
	memset(line, 'x', sizeof line);
	line[sizeof line - 1] = '\0';
	for (int i = 0; i < 1500; i++) {
		int n = snprintf(line, sizeof line, "%06d", i);
		line[n] = ' ';
		aj_history_add(fd, line);
	}
	char **lines = aj_history_read(fd, &arena);
	cr_assert_eq(count(lines), AJ_HISTORY_LINES);
	cr_expect(strncmp(lines[0], "000500", 6) == 0, "%.8s", lines[0]);
	cr_expect(strncmp(lines[AJ_HISTORY_LINES - 1], "001499", 6) == 0, "%.8s", lines[AJ_HISTORY_LINES - 1]);
	cr_assert(fstat(fd, &st) == 0);
	cr_expect_eq(st.st_size, AJ_HISTORY_LINES * (off_t)sizeof line);
	aj_history_add(fd, "last");
	lines = aj_history_read(fd, &arena);
	cr_expect_str_eq(lines[count(lines) - 1], "last");
	close(fd);
}

Test(history, garbage_is_no_history)
{
	int fd = aj_history_open();
	cr_assert_eq(write(fd, "\0\0\0", 3), 3);
	cr_expect_eq(count(aj_history_read(fd, &arena)), 0);
	close(fd);
}

Test(history, is_ours_alone)
{
	struct stat st;
	int fd = aj_history_open();
	cr_assert(fstat(fd, &st) == 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	fchmod(fd, 0644);
	close(fd);
	fd = aj_history_open();
	cr_assert(fstat(fd, &st) == 0);
	cr_expect_eq(st.st_mode & 07777, 0600, "what others could read they cannot any more");
	close(fd);
	unlink(path);
	cr_assert(symlink("/etc/hostname", path) == 0);
	cr_expect_lt(aj_history_open(), 0, "a symlink");
	unlink(path);
	cr_assert(mkfifo(path, 0600) == 0);
	cr_expect_lt(aj_history_open(), 0, "a fifo");
	unlink(path);
	setenv("XDG_STATE_HOME", "relative", 1);
	unsetenv("HOME");
	cr_expect_lt(aj_history_open(), 0, "nowhere");
}
