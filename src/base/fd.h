/* Owned file descriptors, complete reads and writes, and clocks.
 * Nothing here retries forever: every call returns a byte count or -1 with errno. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* Close on leaving scope: `cleanup_fd int fd = open(...)`; pass ownership on with aj_steal(&fd). */
#define cleanup_fd __attribute__((cleanup(aj_close)))
void aj_close(int *fd); /* keeps errno, sets *fd to -1, accepts -1 */
int aj_steal(int *fd);

/* Give it a number that no plan uses for a descriptor of the jail: 10 or more, close-on-exec. -1 with errno: unchanged. */
int aj_fd_move_high(int *fd);

/* Close the descriptors from `first` on, but those of `keep` (-1: none). -1 with errno. */
int aj_fd_close_others(unsigned first, const int keep[], size_t count);

/* The file of `fd` as the kernel names it: a path, or a name of the kernel's. False, and "": unknown, or longer than `out`. */
bool aj_fd_path(int fd, char *out, size_t out_bytes);
/* Change the mode of the file; `fd` may be O_PATH, which fchmod(2) refuses. -1 with errno. */
int aj_fd_chmod(int fd, mode_t mode);
/* A new open file description, close-on-exec, of the same file: the status flags of `fd` are shared with others. -1 with
 * errno. */
int aj_fd_reopen(int fd, int flags);

/* 0 when all bytes were transferred; -1 with errno otherwise (EPIPE when the peer ended early). */
int aj_read_all(int fd, void *data, size_t bytes);
int aj_write_all(int fd, const void *data, size_t bytes);

/* Whole file into the arena-free buffer `out` as a string; -1 with errno (EFBIG when it does not fit). */
ssize_t aj_read_text(const char *path, char *out, size_t out_bytes);
ssize_t aj_read_text_at(int dirfd, const char *path, char *out, size_t out_bytes);
/* Write `text` to an existing file in one write(2), as kernel interfaces require. */
int aj_write_text(int dirfd, const char *path, const char *text);

/* Raises RLIMIT_NOFILE of this process to its maximum: the kernel compares the descriptors in flight of all processes of the uid
 * with the sender's soft limit. For a child process that sends some and ends. */
void aj_fd_raise_limit(void);

int64_t aj_now_us(void); /* CLOCK_MONOTONIC */
/* The nanoseconds of a time. */
static inline int64_t aj_ns_of(struct timespec t)
{
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}
/* The time of any clock, in nanoseconds. */
int64_t aj_clock_ns(clockid_t clock);
/* Milliseconds as microseconds that can be added to a clock; on overflow INT64_MAX, which means never. */
int64_t aj_us_of_ms(uint64_t ms);
/* The time `ms` from now; INT64_MAX: never. */
int64_t aj_in_ms(uint64_t ms);
