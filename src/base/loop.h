/* One event loop: descriptors by epoll, timers by a heap, no threads. Callbacks may add and remove anything, themselves included.
 * It owns neither descriptors nor the structs, which live in what they belong to. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/quota.h"

struct aj_loop;

/* Wants to hear of one descriptor. `events`, as given to the callback, are epoll's. */
struct aj_io {
	void (*fn)(struct aj_io *io, uint32_t events);
	void *arg;
	int fd; /* -1: not watched */
	uint32_t events;
	uint32_t place; /* the loop's */
	/* Who pays for the callback; NULL: nobody does, and it is never held back. Set before it is watched, and not changed while it is. */
	struct aj_quota *quota;
	struct aj_io *next_resting; /* the loop's */
	bool resting;
};

/* Goes off once. */
struct aj_timer {
	void (*fn)(struct aj_timer *timer);
	void *arg;
	int64_t at_us; /* aj_now_us() */
	size_t place;  /* in the heap, from 1; 0: not set */
};

/* NULL with errno. */
struct aj_loop *aj_loop_new(void);
void aj_loop_free(struct aj_loop *loop);

/* Watch `fd` for EPOLLIN and the like, or change what it is watched for. -1 with errno. */
int aj_loop_watch(struct aj_loop *loop, struct aj_io *io, int fd, uint32_t events);
/* No callback comes after this, not even for what was ready already. Before the fd is closed. */
void aj_loop_unwatch(struct aj_loop *loop, struct aj_io *io);

/* A quota is about to be freed; its descriptors are not watched any more. */
void aj_loop_forget(struct aj_loop *loop, struct aj_quota *quota);

/* (Re)set a timer. Aborts when out of memory. */
void aj_loop_set(struct aj_loop *loop, struct aj_timer *timer, int64_t at_us);
void aj_loop_unset(struct aj_loop *loop, struct aj_timer *timer);

/* Wait for something, at most until `until_us` (INT64_MAX: for ever), and call back. -1 with errno. */
int aj_loop_turn(struct aj_loop *loop, int64_t until_us);
/* A descriptor that is readable when a turn would find something to do but timers; for a loop of somebody else's. */
int aj_loop_fd(const struct aj_loop *loop);
/* When the next timer is due; INT64_MAX without one. */
int64_t aj_loop_next_us(const struct aj_loop *loop);
