/* One event loop: descriptors by epoll, timers by a heap, no threads. Callbacks may add and remove descriptors and timers, their
 * own included.
 * The loop owns neither descriptors nor the structs, which are embedded in the caller's objects. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop/quota.h"
#include "base/loop/timers.h"

struct aj_loop;

/* A watched descriptor. The callback's `events` are epoll's. */
struct aj_io {
	void (*fn)(struct aj_io *io, uint32_t events);
	void *arg;
	int fd; /* -1: not watched */
	uint32_t events;
	uint32_t slot; /* index in the loop's slots */
	/* The quota that is charged for the callback; NULL: none, and the callback is never delayed. Set it before
	 * aj_loop_watch(), and keep it while the descriptor is watched. */
	struct aj_quota *quota;
	struct aj_io *next_paused; /* in the list of the quota */
	bool paused;
	bool urgent; /* in a turn it is called back before all other descriptors */
};

/* NULL with errno. */
struct aj_loop *aj_loop_new(void);
void aj_loop_free(struct aj_loop *loop);

/* Watch `fd` for EPOLLIN and the like, or change the descriptor or the events that are watched. -1 with errno. */
int aj_loop_watch(struct aj_loop *loop, struct aj_io *io, int fd, uint32_t events);
/* Stop watching: no callback follows, not even for an event that is pending. Call it before closing the fd. */
void aj_loop_unwatch(struct aj_loop *loop, struct aj_io *io);
/* Stop watching a descriptor and close it, by one system call: it must have no duplicate, in this process or another. */
void aj_loop_close(struct aj_loop *loop, struct aj_io *io);

/* Call before freeing a quota; its descriptors must be unwatched already. */
void aj_loop_forget(struct aj_loop *loop, struct aj_quota *quota);

/* (Re)set a timer. Aborts when out of memory. */
void aj_loop_set(struct aj_loop *loop, struct aj_timer *timer, int64_t at_us);
void aj_loop_unset(struct aj_loop *loop, struct aj_timer *timer);

/* Wait for events, at most until `until_us` (INT64_MAX: for ever), and run the callbacks: of descriptors first, then of timers,
 * so that an event counts before a deadline that passed with it, and a timer that a descriptor's callback sets to now goes off in
 * the same turn. -1 with errno. */
int aj_loop_turn(struct aj_loop *loop, int64_t until_us);
/* Call it before a turn where the thread did other work since the last turn: that work is charged to no party then. Without this
 * call the first party of a turn is charged for everything since the last callback. */
void aj_loop_charge_from_now(struct aj_loop *loop);
/* Around work that a callback does for the host program, such as a function of that program: the callback is not charged for it,
 * and a deadline that passed meanwhile waits for the next turn, which has the events that came meanwhile. Gives and takes the
 * clocks at its begin. */
struct aj_loop_clocks {
	int64_t processor_ns, us;
};
struct aj_loop_clocks aj_loop_host_begins(void);
void aj_loop_host_ends(struct aj_loop *loop, struct aj_loop_clocks begin);
/* A descriptor that is readable when a turn would find an event; timers do not count. For embedding in a foreign event loop. */
int aj_loop_fd(const struct aj_loop *loop);
/* Time of the next timer; INT64_MAX without one. */
int64_t aj_loop_next_us(const struct aj_loop *loop);
