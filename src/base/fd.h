/* Owned file descriptors, whole reads and writes, and the monotonic clock.
 * Nothing here retries for ever: every call returns a byte count or -1 with errno. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Close on leaving scope: `cleanup_fd int fd = open(...)`; give it away with aj_steal(&fd). */
#define cleanup_fd __attribute__((cleanup(aj_close)))
void aj_close(int *fd); /* keeps errno, sets *fd to -1, accepts -1 */
int aj_steal(int *fd);

/* 0 when all bytes were moved; -1 with errno otherwise (EPIPE when the peer ended early). */
int aj_read_all(int fd, void *data, size_t bytes);
int aj_write_all(int fd, const void *data, size_t bytes);

/* Whole file into the arena-free buffer `out` as a string; -1 with errno (EFBIG when it does not fit). */
ssize_t aj_read_text(const char *path, char *out, size_t out_bytes);
/* Write `text` to an existing file in one write(2), as kernel interfaces want it. */
int aj_write_text(int dirfd, const char *path, const char *text);

/* Raises this process's own limit on open files as far as may be: the kernel holds the descriptors that all processes of the uid have in
 * flight between sockets against the sender's soft limit. For a child of ours that sends some and ends. */
void aj_fd_send_all_the_same(void);

int64_t aj_now_us(void); /* CLOCK_MONOTONIC */
/* As microseconds that can be added to a clock; INT64_MAX, never, when they are more than that. */
int64_t aj_us_of_ms(uint64_t ms);
/* So long from now; INT64_MAX: never. */
int64_t aj_in_ms(uint64_t ms);
