/* Reads the credentials for the upstream proxy from the site's file or command, once for each jail. Errors never contain them. */
#include "network/egress/credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop/loop.h"
#include "base/pidfd.h"
#include "base/text.h"
#include "network/helper/host_command.h"

enum { WAIT_US = 10 * 1000000, EXIT_MS = 1000, LINE_BYTES = AJ_CREDENTIALS_MAX + 2 };

static const char key[] = "network.upstream_proxy_credentials";

/* Up to a newline, the end, or the deadline. The length, or -1 with errno. */
static ssize_t read_line(int fd, char line[LINE_BYTES], int64_t until_us)
{
	size_t used = 0;
	while (used < LINE_BYTES && !memchr(line, '\n', used)) {
		int64_t left_us = until_us - aj_now_us();
		struct pollfd ready = { .fd = fd, .events = POLLIN };
		if (left_us <= 0) {
			errno = ETIMEDOUT;
			return -1;
		}
		int r = poll(&ready, 1, (int)(left_us / 1000) + 1);
		if (r == 0)
			continue;
		ssize_t n = r < 0 ? -1 : read(fd, line + used, LINE_BYTES - used);
		if (n == 0)
			break;
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return -1;
		used += n > 0 ? (size_t)n : 0;
	}
	return (ssize_t)used;
}

static int from_file(const char *path, char line[LINE_BYTES], ssize_t *ret, struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)) {
		aj_fail(err, AJ_EXIT_SETUP, "proxy", 0, "`%s`, which %s names, is not a regular file", path, key);
		return -1;
	}
	if (fd < 0 || (*ret = read_line(fd, line, aj_now_us() + WAIT_US)) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "proxy", errno, "read `%s`, which %s names", path, key);
		aj_advise(err, "let the user who runs agentjail read that file, or name a command");
		return -1;
	}
	return 0;
}

static int from_command(const char *command, char line[LINE_BYTES], ssize_t *ret, struct aj_error *err)
{
	int ends[2], status = 0;
	if (pipe2(ends, O_CLOEXEC) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "proxy", errno, "make a pipe");
	cleanup_fd int from = ends[0];
	pid_t pid = aj_host_command_start(&(struct aj_host_command){
	    .text = command, .in = -1, .out = ends[1], .of_system = true });
	close(ends[1]);
	*ret = pid < 0 ? -1 : read_line(from, line, aj_now_us() + WAIT_US);
	int error = errno;
	cleanup_fd int child = pid < 0 ? -1 : aj_pidfd_open(pid);
	if (*ret == 0 && child >= 0) /* for the error: why it printed nothing */
		poll(&(struct pollfd){ .fd = child, .events = POLLIN }, 1, EXIT_MS);
	if (pid > 0)
		kill(-pid, SIGKILL);
	if (pid > 0)
		waitpid(pid, &status, 0);
	if (*ret < 0)
		aj_fail(err, AJ_EXIT_SETUP, "proxy", error, "read a line from the command of %s", key);
	else if (status && *ret == 0)
		aj_fail(err, AJ_EXIT_SETUP, "proxy", 0, "the command of %s failed (%s %d) and printed nothing", key,
		        WIFEXITED(status) ? "exit code" : "signal", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	return err->exit_code ? -1 : 0;
}

int aj_credentials_read(const char *from, char ret[AJ_CREDENTIALS_TEXT], struct aj_error *err)
{
	static const char file[] = "file:", command[] = "command:", basic[] = "Basic ";
	char line[LINE_BYTES] = "";
	ssize_t bytes = 0;
	ret[0] = '\0';
	if (!from || !*from)
		return 0;
	const bool is_file = strncmp(from, file, sizeof file - 1) == 0;
	if ((is_file ? from_file(from + sizeof file - 1, line, &bytes, err)
	             : from_command(from + sizeof command - 1, line, &bytes, err)) < 0)
		return -1;
	const char *end = memchr(line, '\n', (size_t)bytes);
	size_t length = end ? (size_t)(end - line) : (size_t)bytes;
	if (length && line[length - 1] == '\r')
		length--;
	bool good = length <= AJ_CREDENTIALS_MAX && memchr(line, ':', length);
	for (size_t i = 0; i < length; i++)
		good = good && !aj_is_control(line[i]);
	if (good) {
		memcpy(ret, basic, sizeof basic - 1);
		aj_base64(ret + sizeof basic - 1, line, length);
		ret[sizeof basic - 1 + AJ_BASE64_BYTES(length)] = '\0';
	} else {
		aj_fail(err, AJ_EXIT_SETUP, "proxy", 0, "the first line from %s is not USER:PASSWORD of at most %d bytes", key,
		        AJ_CREDENTIALS_MAX);
		aj_advise(err, "put user, colon and password on the first line, without a blank before or after");
	}
	explicit_bzero(line, sizeof line);
	return good ? 0 : -1;
}
