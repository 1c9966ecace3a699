/* The heap of timers: each timer knows its index, so that it is moved and removed without a search.
 * Timers of the same time are in no particular order. */
#include "base/loop/timers.h"

#include <stdlib.h>

static void heap_put(struct aj_timers *timers, size_t place, struct aj_timer *timer)
{
	timers->heap[place] = timer;
	timer->place = place;
}

/* Restore the heap's order for `timer`, from `place`. */
static void heap_sift(struct aj_timers *timers, struct aj_timer *timer, size_t place)
{
	for (; place > 1 && timers->heap[place / 2]->at_us > timer->at_us; place /= 2)
		heap_put(timers, place, timers->heap[place / 2]);
	for (;;) {
		size_t child = place * 2;
		if (child < timers->count && timers->heap[child + 1]->at_us < timers->heap[child]->at_us)
			child++;
		if (child > timers->count || timers->heap[child]->at_us >= timer->at_us)
			break;
		heap_put(timers, place, timers->heap[child]);
		place = child;
	}
	heap_put(timers, place, timer);
}

void aj_timers_set(struct aj_timers *timers, struct aj_timer *timer, int64_t at_us)
{
	timer->at_us = at_us;
	if (!timer->place) {
		if (timers->count + 2 > timers->room) {
			timers->room = timers->room ? timers->room * 2 : 64;
			timers->heap = realloc(timers->heap, timers->room * sizeof *timers->heap);
			if (!timers->heap)
				abort();
		}
		timer->place = ++timers->count;
		timers->heap[timer->place] = timer;
	}
	heap_sift(timers, timer, timer->place);
}

void aj_timers_unset(struct aj_timers *timers, struct aj_timer *timer)
{
	size_t place = timer->place;
	if (!place)
		return;
	timer->place = 0;
	struct aj_timer *last = timers->heap[timers->count--];
	if (last != timer)
		heap_sift(timers, last, place);
}
