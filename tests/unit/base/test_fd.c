/* Tests of base/fd: ownership, whole reads and writes, texts that do not fit.
 * It works on pipes and a file of its own in TMPDIR, and leaves neither behind. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

Test(fd, close_keeps_errno_and_forgets_the_number)
{
	int fd = dup(0), number = fd;
	errno = ENOTTY;
	aj_close(&fd);
	cr_expect_eq(errno, ENOTTY);
	cr_expect_eq(fd, -1);
	cr_expect_not(is_open(number));
	errno = ENOTTY;
	aj_close(&fd);
	cr_expect_eq(errno, ENOTTY, "closing -1 must not even try");
	cr_expect_eq(fd, -1);
}

Test(fd, cleanup_closes_unless_stolen)
{
	int number, kept;
	{
		cleanup_fd int fd = dup(0);
		cleanup_fd int given = dup(0);
		number = fd;
		kept = aj_steal(&given);
		cr_expect_eq(given, -1);
	}
	cr_expect_not(is_open(number));
	cr_expect(is_open(kept));
	close(kept);
}

Test(fd, moves_out_of_the_way)
{
	int fd = dup(0), low = fd;
	cr_assert_lt(low, 10);
	cr_expect_eq(aj_fd_move_high(&fd), 0);
	cr_expect_geq(fd, 10);
	cr_expect_eq(fcntl(fd, F_GETFD), FD_CLOEXEC);
	cr_expect_not(is_open(low));
	close(fd);
	cr_expect_eq(aj_fd_move_high(&fd), -1, "a closed one");
	cr_expect_geq(fd, 10, "stays as it was");
}

/* A file with a name of its own, removed at the end of the test. */
static char *text_file(const char *text)
{
	static char path[] = "/tmp/agentjail-unit-XXXXXX";
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
	return path;
}

/* In a child, which has descriptors of its own to lose. */
Test(fd, closes_others)
{
	pid_t child = fork();
	if (child == 0) {
		int keep[] = { 23, -1, 20, 20 };
		for (int fd = 20; fd < 26; fd++)
			dup2(1, fd);
		bool ok = aj_fd_close_others(19, keep, sizeof keep / sizeof *keep) == 0 && is_open(2);
		for (int fd = 20; fd < 26; fd++)
			ok = ok && is_open(fd) == (fd == 20 || fd == 23);
		_exit(!ok || aj_fd_close_others(0, NULL, 0) < 0 || is_open(20) || is_open(1));
	}
	int status;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == 0, "status %x", status);
}

Test(fd, paths_and_other_descriptions)
{
	char *path = text_file("text"), real[300], small[4];
	cleanup_fd int fd = open(path, O_RDWR), again = aj_fd_reopen(fd, O_RDONLY);
	cr_expect(aj_fd_path(fd, real, sizeof real));
	cr_expect_str_eq(strrchr(real, '/'), strrchr(path, '/'));
	cr_expect(!aj_fd_path(fd, small, sizeof small) && small[0] == '\0', "no part of a path");
	cr_expect(!aj_fd_path(-1, real, sizeof real) && real[0] == '\0');
	cr_expect_eq(fcntl(again, F_GETFD), FD_CLOEXEC);
	cr_expect_eq(lseek(again, 2, SEEK_SET), 2);
	cr_expect_eq(lseek(fd, 0, SEEK_CUR), 0, "the offset is not shared");
	cr_expect_eq(write(again, "x", 1), -1);
	cr_expect_eq(aj_fd_reopen(-1, O_RDONLY), -1);
	unlink(path);
}

Test(fd, whole_reads_from_a_slow_writer)
{
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	pid_t writer = fork();
	if (writer == 0) {
		bool ok = true;
		for (int i = 0; i < 200; i++)
			ok = ok && write(fds[1], i % 2 ? "b" : "a", 1) == 1;
		_exit(!ok);
	}
	close(fds[1]);
	char text[201] = "";
	cr_expect_eq(aj_read_all(fds[0], text, 200), 0);
	for (int i = 0; i < 200; i++)
		cr_assert_eq(text[i], i % 2 ? 'b' : 'a');
	errno = 0;
	cr_expect_eq(aj_read_all(fds[0], text, 1), -1);
	cr_expect_eq(errno, EPIPE, "an early end is an error: %d", errno);
	cr_expect_eq(aj_read_all(fds[0], text, 0), 0, "nothing asked, nothing read");
	close(fds[0]);
	waitpid(writer, NULL, 0);
}

Test(fd, read_all_refuses_a_short_stream)
{
	int fds[2];
	char text[8];
	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(write(fds[1], "abc", 3), 3);
	close(fds[1]);
	errno = 0;
	cr_expect_eq(aj_read_all(fds[0], text, 4), -1);
	cr_expect_eq(errno, EPIPE);
	close(fds[0]);
	cr_expect_eq(aj_read_all(fds[0], text, 1), -1);
	cr_expect_eq(errno, EBADF);
}

Test(fd, whole_writes_through_a_small_pipe)
{
	enum { BYTES = 1 << 20 };
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	pid_t reader = fork();
	if (reader == 0) {
		static char chunk[4096];
		size_t have = 0;
		close(fds[1]);
		for (ssize_t n; (n = read(fds[0], chunk, sizeof chunk)) > 0; have += (size_t)n)
			;
		_exit(have != BYTES);
	}
	close(fds[0]);
	char *data = calloc(1, BYTES);
	cr_expect_eq(aj_write_all(fds[1], data, BYTES), 0);
	free(data);
	close(fds[1]);
	int status = -1;
	waitpid(reader, &status, 0);
	cr_expect_eq(status, 0);
}

Test(fd, read_text)
{
	char *path = text_file("twelve bytes"), out[64];
	cr_expect_eq(aj_read_text(path, out, sizeof out), 12);
	cr_expect_str_eq(out, "twelve bytes");
	cr_expect_eq(aj_read_text(path, out, 13), 12, "there is room for the NUL");
	errno = 0;
	cr_expect_eq(aj_read_text(path, out, 12), -1, "there is none");
	cr_expect_eq(errno, EFBIG);
	cr_expect_eq(aj_read_text(path, out, 1), -1);
	unlink(path);
	cr_expect_eq(aj_read_text(path, out, sizeof out), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(aj_read_text("/dev/null", out, sizeof out), 0);
	cr_expect_str_eq(out, "");
}

Test(fd, write_text_makes_no_file)
{
	char *path = text_file("old"), out[64];
	cr_expect_eq(aj_write_text(AT_FDCWD, path, "new"), 0);
	aj_read_text(path, out, sizeof out);
	cr_expect_str_eq(out, "new");
	unlink(path);
	errno = 0;
	cr_expect_eq(aj_write_text(AT_FDCWD, path, "x"), -1);
	cr_expect_eq(errno, ENOENT);
	cr_expect_eq(access(path, F_OK), -1);
	cr_expect_eq(aj_write_text(AT_FDCWD, "/dev/full", "x"), -1);
	cr_expect_eq(errno, ENOSPC);
}

Test(fd, the_clock_does_not_go_back)
{
	int64_t last = aj_now_us();
	cr_assert_gt(last, 0);
	for (int i = 0; i < 1000; i++) {
		int64_t now = aj_now_us();
		cr_assert_geq(now, last);
		last = now;
	}
}
