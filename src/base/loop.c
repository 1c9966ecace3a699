/* The event loop: epoll and a binary heap.
 * It calls back timers first, then of what the kernel names as ready whoever used least of the thread, and never for what was taken out meanwhile.
 * Busy parties together get a small part of each turn, so that nobody else waits for more than that; one that uses too much is held back, see
 * base/quota.h. */
#include "base/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

enum { BATCH = 64, NS_OF_US = 1000 };

/* What the kernel gives back with an event is a place here and how often it was given out: a descriptor that was closed before it
 * was taken out goes on being told of as long as another process has a copy, and then its place is not what it was. */
struct place {
	struct aj_io *io; /* NULL: free */
	uint32_t round;
	uint32_t next_free; /* plus one */
};

struct aj_loop {
	int epoll_fd;
	struct place *places;
	uint32_t places_count, places_free; /* the latter plus one */
	struct aj_timer **heap;             /* from 1 */
	size_t count, room;
	struct epoll_event batch[BATCH]; /* what is being worked through */
	int batch_count;
	int64_t busy_ns; /* of this turn: what was spent on those that are busy */
	struct aj_quotas quotas;
	struct aj_quota *charged; /* of the callback that runs; NULL: nobody's, or its owner has gone */
	int64_t processor_ns;     /* when it was last asked for: what came since is on the account of whoever is next */
	int64_t asked_us;         /* and that by the clock on the wall */
	bool stale;               /* unless that is so: then it is asked for first */
	struct aj_timer refill;   /* while somebody is throttled */
};

static void on_refill(struct aj_timer *timer);

struct aj_loop *aj_loop_new(void)
{
	struct aj_loop *loop = calloc(1, sizeof *loop);
	if (loop && (loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC)) < 0) {
		free(loop);
		return NULL;
	}
	if (loop) {
		loop->refill = (struct aj_timer){ .fn = on_refill, .arg = loop };
		loop->stale = true;
	}
	return loop;
}

void aj_loop_free(struct aj_loop *loop)
{
	if (!loop)
		return;
	close(loop->epoll_fd);
	free(loop->places);
	free(loop->heap);
	free(loop);
}

static uint64_t ticket(const struct aj_loop *loop, uint32_t at)
{
	return (uint64_t)loop->places[at].round << 32 | at;
}

static uint32_t take_place(struct aj_loop *loop, struct aj_io *io)
{
	if (!loop->places_free) {
		uint32_t count = loop->places_count ? loop->places_count * 2 : 64;
		loop->places = realloc(loop->places, count * sizeof *loop->places);
		if (!loop->places)
			abort();
		for (uint32_t i = loop->places_count; i < count; i++) {
			loop->places[i] = (struct place){ .next_free = loop->places_free };
			loop->places_free = i + 1;
		}
		loop->places_count = count;
	}
	uint32_t at = loop->places_free - 1;
	loop->places_free = loop->places[at].next_free;
	loop->places[at].io = io;
	return at;
}

static void give_place_back(struct aj_loop *loop, uint32_t at)
{
	loop->places[at].io = NULL;
	loop->places[at].round++;
	loop->places[at].next_free = loop->places_free;
	loop->places_free = at + 1;
}

int aj_loop_watch(struct aj_loop *loop, struct aj_io *io, int fd, uint32_t events)
{
	if (io->fd == fd && io->events == events)
		return 0;
	if (io->resting) {
		io->events = events;
		return 0;
	}
	bool fresh = io->fd < 0;
	if (fresh)
		io->place = take_place(loop, io);
	struct epoll_event event = { .events = events, .data.u64 = ticket(loop, io->place) };
	if (epoll_ctl(loop->epoll_fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) {
		if (fresh)
			give_place_back(loop, io->place);
		return -1;
	}
	io->fd = fd;
	io->events = events;
	return 0;
}

/* --- who is throttled rests --- */

static void rest_no_more(struct aj_io *io)
{
	struct aj_io **at = &io->quota->resting;
	while (*at != io)
		at = &(*at)->next_resting;
	*at = io->next_resting;
	io->resting = false;
}

/* It is ready, and its turn does not come yet: taken out of epoll, which would tell of it without end. */
static void rest(struct aj_loop *loop, struct aj_io *io)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->next_resting = io->quota->resting;
	io->quota->resting = io;
	io->resting = true;
}

/* False: there is no memory for it now; tried again with the next refill. */
static bool wake(struct aj_loop *loop, struct aj_quota *q)
{
	for (struct aj_io *io; (io = q->resting);) {
		struct epoll_event event = { .events = io->events, .data.u64 = ticket(loop, io->place) };
		if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, io->fd, &event) < 0)
			return false;
		rest_no_more(io);
	}
	return true;
}

static void on_refill(struct aj_timer *timer)
{
	struct aj_loop *loop = timer->arg;
	aj_quota_refill(&loop->quotas, aj_now_us());
	for (struct aj_quota *q = loop->quotas.first; q; q = q->next)
		if (q->throttled && aj_quota_due(q) && wake(loop, q))
			aj_quota_resume(&loop->quotas, q);
	if (loop->quotas.throttled)
		aj_loop_set(loop, timer, aj_now_us() + AJ_QUOTA_PERIOD_US);
}

/* Of this thread: time in which it was not let run is nobody's fault here. */
static int64_t processor_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}

static void ask_clocks(struct aj_loop *loop)
{
	loop->processor_ns = processor_ns();
	loop->asked_us = aj_now_us();
}

/* Nothing in a callback sleeps: where the clock went on and the thread's did not, it waited for a processor. */
static void charge(struct aj_loop *loop)
{
	int64_t before_ns = loop->processor_ns, before_us = loop->asked_us;
	ask_clocks(loop);
	int64_t used_ns = loop->processor_ns - before_ns, waited_us = loop->asked_us - before_us - used_ns / NS_OF_US;
	if (waited_us > 0)
		aj_quota_waited(&loop->quotas, waited_us);
	if (loop->charged && aj_quota_busy(loop->charged))
		loop->busy_ns += used_ns;
	if (loop->charged && aj_quota_charge(&loop->quotas, loop->charged, used_ns, loop->asked_us) && !loop->refill.place)
		aj_loop_set(loop, &loop->refill, loop->asked_us + AJ_QUOTA_PERIOD_US);
	loop->charged = NULL;
}

void aj_loop_forget(struct aj_loop *loop, struct aj_quota *quota)
{
	if (loop->charged == quota)
		loop->charged = NULL;
	aj_quota_leave(&loop->quotas, quota);
}

void aj_loop_unwatch(struct aj_loop *loop, struct aj_io *io)
{
	if (io->fd < 0)
		return;
	if (io->resting)
		rest_no_more(io);
	else
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->fd = -1;
	io->events = 0;
	give_place_back(loop, io->place);
}

static struct aj_io *whose(const struct aj_loop *loop, uint64_t number)
{
	uint32_t at = (uint32_t)number;
	return ticket(loop, at) == number ? loop->places[at].io : NULL;
}

static void put(struct aj_loop *loop, size_t place, struct aj_timer *timer)
{
	loop->heap[place] = timer;
	timer->place = place;
}

/* Move it to where it belongs, from `place`. */
static void settle(struct aj_loop *loop, struct aj_timer *timer, size_t place)
{
	for (; place > 1 && loop->heap[place / 2]->at_us > timer->at_us; place /= 2)
		put(loop, place, loop->heap[place / 2]);
	for (;;) {
		size_t child = place * 2;
		if (child < loop->count && loop->heap[child + 1]->at_us < loop->heap[child]->at_us)
			child++;
		if (child > loop->count || loop->heap[child]->at_us >= timer->at_us)
			break;
		put(loop, place, loop->heap[child]);
		place = child;
	}
	put(loop, place, timer);
}

void aj_loop_set(struct aj_loop *loop, struct aj_timer *timer, int64_t at_us)
{
	timer->at_us = at_us;
	if (!timer->place) {
		if (loop->count + 2 > loop->room) {
			loop->room = loop->room ? loop->room * 2 : 64;
			loop->heap = realloc(loop->heap, loop->room * sizeof *loop->heap);
			if (!loop->heap)
				abort();
		}
		timer->place = ++loop->count;
		loop->heap[timer->place] = timer;
	}
	settle(loop, timer, timer->place);
}

void aj_loop_unset(struct aj_loop *loop, struct aj_timer *timer)
{
	size_t place = timer->place;
	if (!place)
		return;
	timer->place = 0;
	struct aj_timer *last = loop->heap[loop->count--];
	if (last != timer)
		settle(loop, last, place);
}

int64_t aj_loop_next_us(const struct aj_loop *loop)
{
	return loop->count ? loop->heap[1]->at_us : INT64_MAX;
}

int aj_loop_fd(const struct aj_loop *loop)
{
	return loop->epoll_fd;
}

static void fire_timers(struct aj_loop *loop)
{
	int64_t now_us = aj_now_us();
	while (loop->count && loop->heap[1]->at_us <= now_us) {
		struct aj_timer *timer = loop->heap[1];
		loop->stale = true;
		aj_loop_unset(loop, timer);
		timer->fn(timer);
	}
}

static void call(struct aj_loop *loop, struct aj_io *io, uint32_t events)
{
	if (!io->quota) {
		loop->stale = true;
		io->fn(io, events);
	} else if (io->quota->throttled) {
		rest(loop, io);
	} else {
		if (loop->stale)
			ask_clocks(loop);
		loop->stale = false;
		loop->charged = io->quota;
		io->fn(io, events);
		charge(loop);
	}
}

static int64_t used_ns(const struct aj_loop *loop, const struct epoll_event *event)
{
	const struct aj_io *io = whose(loop, event->data.u64);
	return io && io->quota ? io->quota->used_ns : 0;
}

/* Whoever used least comes first, in the kernel's order where that is the same. */
static void put_in_order(struct aj_loop *loop)
{
	for (int i = 1; i < loop->batch_count; i++) {
		struct epoll_event event = loop->batch[i];
		int64_t used = used_ns(loop, &event);
		int at = i;
		for (; at > 0 && used_ns(loop, &loop->batch[at - 1]) > used; at--)
			loop->batch[at] = loop->batch[at - 1];
		loop->batch[at] = event;
	}
}

/* Those that are busy have had their part of this turn: the kernel is asked first who came meanwhile, and names them again. */
static bool waits(const struct aj_loop *loop, const struct aj_io *io)
{
	return loop->busy_ns > AJ_QUOTA_TURN_US * NS_OF_US && io->quota && !io->quota->throttled && aj_quota_busy(io->quota);
}

int aj_loop_turn(struct aj_loop *loop, int64_t until_us)
{
	int64_t next_us = aj_loop_next_us(loop) < until_us ? aj_loop_next_us(loop) : until_us;
	int64_t left_us = next_us == INT64_MAX ? -1 : next_us - aj_now_us();
	int wait_ms = next_us == INT64_MAX     ? -1
	            : left_us <= 0             ? 0
	            : left_us / 1000 < 1 << 30 ? (int)((left_us + 999) / 1000)
	                                       : 1 << 30;
	int count = epoll_wait(loop->epoll_fd, loop->batch, BATCH, wait_ms);
	if (count < 0 && errno != EINTR)
		return -1;
	loop->batch_count = count < 0 ? 0 : count;
	loop->busy_ns = 0;
	fire_timers(loop);
	put_in_order(loop);
	for (int i = 0; i < loop->batch_count; i++) {
		struct aj_io *io = whose(loop, loop->batch[i].data.u64);
		if (io && !waits(loop, io))
			call(loop, io, loop->batch[i].events);
	}
	loop->batch_count = 0;
	return 0;
}
