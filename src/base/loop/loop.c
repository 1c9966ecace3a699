/* The event loop: epoll and a heap of timers.
 * It calls back ready descriptors in the order of their quotas' use, least first, then timers; it never calls back a descriptor
 * that was removed meanwhile.
 * Busy parties together get a small part of each turn, which bounds the wait of all others; a party that uses too much is
 * throttled, see base/loop/quota.h. */
#include "base/loop/loop.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"

enum { BATCH = 64, NS_OF_US = 1000 };

/* An event's data is a slot here and the slot's generation. epoll keeps reporting a closed descriptor that was not removed first
 * while another process holds a duplicate; the generation no longer matches then. */
struct slot {
	struct aj_io *io; /* NULL: free */
	uint32_t generation;
	uint32_t next_free; /* index plus one; 0: none */
};

struct aj_loop {
	int epoll_fd;
	struct slot *slots;
	uint32_t slots_count, slots_free; /* slots_free: index plus one; 0: none */
	struct aj_timers timers;
	struct epoll_event batch[BATCH]; /* the events of this turn */
	int batch_count;
	int64_t busy_ns; /* processor time of busy parties in this turn */
	struct aj_quotas quotas;
	struct aj_quota *charged;   /* quota of the running callback; NULL: none, or freed meanwhile */
	struct aj_loop_clocks read; /* at the last reading, from which the next callback is charged */
	bool stale;                 /* the last reading is too old to charge from: read the clocks first */
	struct aj_timer refill;     /* set while a party is throttled */
	int64_t host_us;            /* when the host program's first function of this turn began; INT64_MAX: none did */
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
	free(loop->slots);
	free(loop->timers.heap);
	free(loop);
}

static uint64_t ticket(const struct aj_loop *loop, uint32_t at)
{
	return (uint64_t)loop->slots[at].generation << 32 | at;
}

static uint32_t take_slot(struct aj_loop *loop, struct aj_io *io)
{
	if (!loop->slots_free) {
		uint32_t count = loop->slots_count ? loop->slots_count * 2 : 64;
		loop->slots = realloc(loop->slots, count * sizeof *loop->slots);
		if (!loop->slots)
			abort();
		for (uint32_t i = loop->slots_count; i < count; i++) {
			loop->slots[i] = (struct slot){ .next_free = loop->slots_free };
			loop->slots_free = i + 1;
		}
		loop->slots_count = count;
	}
	uint32_t at = loop->slots_free - 1;
	loop->slots_free = loop->slots[at].next_free;
	loop->slots[at].io = io;
	return at;
}

static void release_slot(struct aj_loop *loop, uint32_t at)
{
	loop->slots[at].io = NULL;
	loop->slots[at].generation++;
	loop->slots[at].next_free = loop->slots_free;
	loop->slots_free = at + 1;
}

int aj_loop_watch(struct aj_loop *loop, struct aj_io *io, int fd, uint32_t events)
{
	if (io->fd == fd && io->events == events)
		return 0;
	if (io->fd != fd)
		aj_loop_unwatch(loop, io);
	if (io->paused) {
		io->events = events;
		return 0;
	}
	bool fresh = io->fd < 0;
	if (fresh)
		io->slot = take_slot(loop, io);
	struct epoll_event event = { .events = events, .data.u64 = ticket(loop, io->slot) };
	if (epoll_ctl(loop->epoll_fd, fresh ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, fd, &event) < 0) {
		if (fresh)
			release_slot(loop, io->slot);
		return -1;
	}
	io->fd = fd;
	io->events = events;
	return 0;
}

/* --- descriptors of throttled parties are paused --- */

static void unlink_paused(struct aj_io *io)
{
	struct aj_io **at = &io->quota->paused;
	while (*at != io)
		at = &(*at)->next_paused;
	*at = io->next_paused;
	io->paused = false;
}

/* Remove a ready descriptor from epoll, which would report it in every turn. */
static void pause_io(struct aj_loop *loop, struct aj_io *io)
{
	epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	io->next_paused = io->quota->paused;
	io->quota->paused = io;
	io->paused = true;
}

/* False: no memory; the next refill tries again. */
static bool resume_io(struct aj_loop *loop, struct aj_quota *q)
{
	for (struct aj_io *io; (io = q->paused);) {
		struct epoll_event event = { .events = io->events, .data.u64 = ticket(loop, io->slot) };
		if (epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, io->fd, &event) < 0)
			return false;
		unlink_paused(io);
	}
	return true;
}

static void on_refill(struct aj_timer *timer)
{
	struct aj_loop *loop = timer->arg;
	aj_quota_refill(&loop->quotas, aj_now_us());
	for (struct aj_quota *q = loop->quotas.first; q; q = q->next)
		if (q->throttled && aj_quota_due(q) && resume_io(loop, q))
			aj_quota_resume(&loop->quotas, q);
	if (loop->quotas.throttled)
		aj_loop_set(loop, timer, aj_now_us() + AJ_QUOTA_PERIOD_US);
}

/* Processor time is that of this thread: time in which the thread did not run is charged to no party. */
static struct aj_loop_clocks clocks_now(void)
{
	return (struct aj_loop_clocks){ .processor_ns = aj_clock_ns(CLOCK_THREAD_CPUTIME_ID), .us = aj_now_us() };
}

/* Callbacks do not sleep: where wall time passed without processor time, the thread waited for a processor. */
static void charge_callback(struct aj_loop *loop)
{
	const struct aj_loop_clocks before = loop->read;
	loop->read = clocks_now();
	int64_t used_ns = loop->read.processor_ns - before.processor_ns;
	int64_t waited_us = loop->read.us - before.us - used_ns / NS_OF_US;
	if (waited_us > 0)
		aj_quota_waited(&loop->quotas, waited_us);
	if (loop->charged && aj_quota_busy(loop->charged))
		loop->busy_ns += used_ns;
	if (loop->charged && aj_quota_charge(&loop->quotas, loop->charged, used_ns, loop->read.us) && !loop->refill.place)
		aj_loop_set(loop, &loop->refill, loop->read.us + AJ_QUOTA_PERIOD_US);
	loop->charged = NULL;
}

void aj_loop_forget(struct aj_loop *loop, struct aj_quota *quota)
{
	if (loop->charged == quota)
		loop->charged = NULL;
	aj_quota_leave(&loop->quotas, quota);
}

static void forget_io(struct aj_loop *loop, struct aj_io *io)
{
	io->fd = -1;
	io->events = 0;
	release_slot(loop, io->slot);
}

void aj_loop_unwatch(struct aj_loop *loop, struct aj_io *io)
{
	if (io->fd < 0)
		return;
	if (io->paused)
		unlink_paused(io);
	else
		epoll_ctl(loop->epoll_fd, EPOLL_CTL_DEL, io->fd, NULL);
	forget_io(loop, io);
}

/* epoll forgets a descriptor whose last duplicate is closed. */
void aj_loop_close(struct aj_loop *loop, struct aj_io *io)
{
	if (io->fd < 0)
		return;
	if (io->paused)
		unlink_paused(io);
	close(io->fd);
	forget_io(loop, io);
}

static struct aj_io *io_of_ticket(const struct aj_loop *loop, uint64_t number)
{
	uint32_t at = (uint32_t)number;
	return ticket(loop, at) == number ? loop->slots[at].io : NULL;
}

void aj_loop_set(struct aj_loop *loop, struct aj_timer *timer, int64_t at_us)
{
	aj_timers_set(&loop->timers, timer, at_us);
}

void aj_loop_unset(struct aj_loop *loop, struct aj_timer *timer)
{
	aj_timers_unset(&loop->timers, timer);
}

int64_t aj_loop_next_us(const struct aj_loop *loop)
{
	const struct aj_timer *first = aj_timers_first(&loop->timers);
	return first ? first->at_us : INT64_MAX;
}

int aj_loop_fd(const struct aj_loop *loop)
{
	return loop->epoll_fd;
}

static void fire_timers(struct aj_loop *loop)
{
	int64_t now_us = aj_now_us(), due_us = now_us < loop->host_us ? now_us : loop->host_us;
	struct aj_timer *timer;
	while ((timer = aj_timers_first(&loop->timers)) && timer->at_us <= due_us) {
		loop->stale = true;
		aj_loop_unset(loop, timer);
		timer->fn(timer);
	}
}

static void call_back(struct aj_loop *loop, struct aj_io *io, uint32_t events)
{
	if (!io->quota) {
		loop->stale = true;
		io->fn(io, events);
	} else if (io->quota->throttled) {
		pause_io(loop, io);
	} else {
		if (loop->stale)
			aj_loop_charge_from_now(loop);
		loop->charged = io->quota;
		io->fn(io, events);
		charge_callback(loop);
	}
}

static int64_t used_ns(const struct aj_loop *loop, const struct epoll_event *event)
{
	const struct aj_io *io = io_of_ticket(loop, event->data.u64);
	return io && io->urgent ? -1 : io && io->quota ? io->quota->used_ns : 0;
}

/* Sort by use, least first; equal ones keep the kernel's order. */
static void sort_batch(struct aj_loop *loop)
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

/* Busy parties have used their part of this turn: epoll is asked for new events first, and reports these again. */
static bool must_wait(const struct aj_loop *loop, const struct aj_io *io)
{
	bool turn_used = loop->busy_ns > (int64_t)AJ_QUOTA_TURN_US * NS_OF_US;
	return turn_used && io->quota && !io->quota->throttled && aj_quota_busy(io->quota);
}

void aj_loop_charge_from_now(struct aj_loop *loop)
{
	loop->read = clocks_now();
	loop->stale = false;
}

struct aj_loop_clocks aj_loop_host_begins(void)
{
	return clocks_now();
}

/* The last reading is that from which the callback under way is charged. */
void aj_loop_host_ends(struct aj_loop *loop, struct aj_loop_clocks begin)
{
	const struct aj_loop_clocks now = clocks_now();
	loop->read.processor_ns += now.processor_ns - begin.processor_ns;
	loop->read.us += now.us - begin.us;
	loop->host_us = begin.us < loop->host_us ? begin.us : loop->host_us;
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
	loop->host_us = INT64_MAX;
	sort_batch(loop);
	for (int i = 0; i < loop->batch_count; i++) {
		struct aj_io *io = io_of_ticket(loop, loop->batch[i].data.u64);
		if (io && !must_wait(loop, io))
			call_back(loop, io, loop->batch[i].events);
	}
	loop->batch_count = 0;
	fire_timers(loop);
	return 0;
}
