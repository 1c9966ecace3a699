/* Owned file descriptors, whole reads and writes, and the monotonic clock.
 * It holds no state and prints nothing. */
#include "base/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

void aj_close(int *fd)
{
	if (*fd >= 0) {
		int saved = errno;
		close(*fd);
		errno = saved;
	}
	*fd = -1;
}

int aj_steal(int *fd)
{
	int taken = *fd;
	*fd = -1;
	return taken;
}

int aj_fd_move_high(int *fd)
{
	enum { LOWEST = 10 };
	int high = fcntl(*fd, F_DUPFD_CLOEXEC, LOWEST);
	if (high < 0)
		return -1;
	aj_close(fd);
	*fd = high;
	return 0;
}

enum { LINK_BYTES = 32 };

static const char *name_link(int fd, char link[LINK_BYTES])
{
	snprintf(link, LINK_BYTES, "/proc/self/fd/%d", fd);
	return link;
}

int aj_fd_close_others(unsigned first, const int keep[], size_t count)
{
	for (;;) {
		int next = -1; /* the lowest that stays */
		for (size_t i = 0; i < count; i++)
			if (keep[i] >= (int)first && (next < 0 || keep[i] < next))
				next = keep[i];
		if (next < 0)
			return close_range(first, ~0U, 0);
		if (next > (int)first && close_range(first, (unsigned)next - 1, 0) < 0)
			return -1;
		first = (unsigned)next + 1;
	}
}

bool aj_fd_path(int fd, char *out, size_t out_bytes)
{
	char link[LINK_BYTES];
	ssize_t n = fd < 0 ? -1 : readlink(name_link(fd, link), out, out_bytes);
	bool whole = n > 0 && (size_t)n < out_bytes;
	out[whole ? n : 0] = '\0';
	return whole;
}

int aj_fd_chmod(int fd, mode_t mode)
{
	char link[LINK_BYTES];
	return chmod(name_link(fd, link), mode);
}

int aj_fd_reopen(int fd, int flags)
{
	char link[LINK_BYTES];
	return open(name_link(fd, link), flags | O_CLOEXEC);
}

int aj_read_all(int fd, void *data, size_t bytes)
{
	for (char *at = data; bytes;) {
		ssize_t n = read(fd, at, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (n == 0)
				errno = EPIPE;
			return -1;
		}
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

int aj_write_all(int fd, const void *data, size_t bytes)
{
	for (const char *at = data; bytes;) {
		ssize_t n = write(fd, at, bytes);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) { /* another process made the file nonblocking, but all bytes must be written */
			struct pollfd ready = { .fd = fd, .events = POLLOUT };
			poll(&ready, 1, -1);
			continue;
		}
		if (n < 0)
			return -1;
		at += n;
		bytes -= (size_t)n;
	}
	return 0;
}

ssize_t aj_read_text(const char *path, char *out, size_t out_bytes)
{
	return aj_read_text_at(AT_FDCWD, path, out, out_bytes);
}

ssize_t aj_read_text_at(int dirfd, const char *path, char *out, size_t out_bytes)
{
	cleanup_fd int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t have = 0;
	for (;;) {
		ssize_t n = read(fd, out + have, out_bytes - have);
		if (n < 0)
			return -1;
		have += (size_t)n;
		if (have == out_bytes) {
			errno = EFBIG;
			return -1;
		}
		if (n == 0)
			break;
	}
	out[have] = '\0';
	return (ssize_t)have;
}

int aj_write_text(int dirfd, const char *path, const char *text)
{
	cleanup_fd int fd = openat(dirfd, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	size_t bytes = 0;
	while (text[bytes])
		bytes++;
	ssize_t n = write(fd, text, bytes);
	return n == (ssize_t)bytes ? 0 : -1;
}

void aj_fd_raise_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

int64_t aj_clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return aj_ns_of(now);
}

int64_t aj_now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t aj_us_of_ms(uint64_t ms)
{
	return ms > INT64_MAX / 4000 ? INT64_MAX : (int64_t)ms * 1000;
}

int64_t aj_in_ms(uint64_t ms)
{
	int64_t us = aj_us_of_ms(ms);
	return us == INT64_MAX ? us : aj_now_us() + us;
}
