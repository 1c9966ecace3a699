/* One-shot timers in a binary heap, the earliest first. It reads no clock and calls no timer: base/loop/loop does. */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* Embedded in the caller's objects; the heap does not own it. */
struct aj_timer {
	void (*fn)(struct aj_timer *timer);
	void *arg;
	int64_t at_us; /* aj_now_us() */
	size_t place;  /* index in the heap, from 1; 0: not set */
};

/* Zeroed: empty. */
struct aj_timers {
	struct aj_timer **heap; /* indexed from 1; free() it at the end */
	size_t count, room;
};

/* (Re)set a timer. Aborts when out of memory. */
void aj_timers_set(struct aj_timers *timers, struct aj_timer *timer, int64_t at_us);
void aj_timers_unset(struct aj_timers *timers, struct aj_timer *timer);
/* The earliest timer; NULL: none is set. */
static inline struct aj_timer *aj_timers_first(const struct aj_timers *timers)
{
	return timers->count ? timers->heap[1] : NULL;
}
