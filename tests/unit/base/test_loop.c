/* Tests of loop/loop: what is called back, in which order, and what is not once it was taken out.
 * Pipes and short timers; nothing here depends on how long something takes. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop/loop.h"

static struct aj_loop *loop;
static char log_text[64];
static size_t logged;

static void start(void)
{
	loop = aj_loop_new();
	cr_assert_not_null(loop);
}

static void done(void)
{
	aj_loop_free(loop);
}
TestSuite(loop, .init = start, .fini = done);

static void note(char c)
{
	log_text[logged++] = c;
	log_text[logged] = '\0';
}

static void on_timer(struct aj_timer *timer)
{
	note(*(const char *)timer->arg);
}

/* Set in every order, they go off in the order of their times. */
Test(loop, timers_in_order)
{
	enum { COUNT = 8 };
	static const char names[] = "abcdefgh";
	struct aj_timer timers[COUNT] = { 0 };
	int64_t now_us = aj_now_us();
	for (size_t step = 1; step < COUNT; step += 2) {
		logged = 0;
		for (size_t i = 0; i < COUNT; i++) {
			size_t k = i * step % COUNT;
			timers[k].fn = on_timer;
			timers[k].arg = (void *)&names[k];
			aj_loop_set(loop, &timers[k], now_us - 1000 + (int64_t)k);
		}
		cr_assert_eq(aj_loop_next_us(loop), now_us - 1000);
		cr_assert_eq(aj_loop_turn(loop, 0), 0);
		cr_expect_str_eq(log_text, names, "step %zu", step);
		cr_expect_eq(aj_loop_next_us(loop), INT64_MAX);
	}
}

Test(loop, a_timer_is_moved_and_unset)
{
	struct aj_timer a = { .fn = on_timer, .arg = "a" }, b = { .fn = on_timer, .arg = "b" }, c = { .fn = on_timer, .arg = "c" };
	int64_t now_us = aj_now_us();
	aj_loop_set(loop, &a, now_us - 30);
	aj_loop_set(loop, &b, now_us - 20);
	aj_loop_set(loop, &c, now_us - 10);
	aj_loop_set(loop, &a, now_us - 5);
	aj_loop_unset(loop, &b);
	aj_loop_unset(loop, &b);
	aj_loop_turn(loop, 0);
	cr_expect_str_eq(log_text, "ca");
}

static struct aj_io one, two;

static void on_read(struct aj_io *io, uint32_t events)
{
	char byte;
	cr_expect(events & EPOLLIN);
	cr_expect_eq(read(io->fd, &byte, 1), 1);
	note(byte);
}

/* Both are ready; whoever comes first takes the other one out. */
static void on_first(struct aj_io *io, uint32_t events)
{
	(void)events;
	note(io == &one ? '1' : '2');
	aj_loop_unwatch(loop, io == &one ? &two : &one);
}

Test(loop, reads_what_is_there)
{
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	one = (struct aj_io){ .fn = on_read, .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, fds[0], EPOLLIN), 0);
	aj_loop_turn(loop, 0);
	cr_expect_eq(logged, 0, "nothing is there");
	cr_assert_eq(write(fds[1], "xy", 2), 2);
	aj_loop_turn(loop, INT64_MAX);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "xy");
	cr_assert_eq(write(fds[1], "z", 1), 1);
	aj_loop_unwatch(loop, &one);
	aj_loop_turn(loop, 0);
	cr_expect_str_eq(log_text, "xy", "it is not watched any more");
	cr_expect_eq(one.fd, -1);
}

Test(loop, taken_out_while_it_was_ready)
{
	int a[2], b[2];
	cr_assert(pipe(a) == 0 && pipe(b) == 0);
	one = two = (struct aj_io){ .fn = on_first, .fd = -1 };
	cr_assert(aj_loop_watch(loop, &one, a[0], EPOLLIN) == 0 && aj_loop_watch(loop, &two, b[0], EPOLLIN) == 0);
	cr_assert(write(a[1], "x", 1) == 1 && write(b[1], "x", 1) == 1);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_eq(logged, 1, "`%s`", log_text);
}

Test(loop, what_is_watched_for_changes)
{
	int fds[2];
	cr_assert_eq(pipe(fds), 0);
	one = (struct aj_io){ .fn = on_first, .fd = -1 };
	two = (struct aj_io){ .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, fds[1], EPOLLIN), 0);
	aj_loop_turn(loop, 0);
	cr_expect_eq(logged, 0);
	cr_assert_eq(aj_loop_watch(loop, &one, fds[1], EPOLLIN | EPOLLOUT), 0);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "1");
}

/* The same io continues with another descriptor; the old one is not watched any more, although it is open. */
Test(loop, the_watched_descriptor_changes)
{
	int a[2], b[2];
	cr_assert(pipe(a) == 0 && pipe(b) == 0);
	one = (struct aj_io){ .fn = on_read, .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, a[0], EPOLLIN), 0);
	cr_assert_eq(aj_loop_watch(loop, &one, b[0], EPOLLIN), 0);
	cr_assert(write(a[1], "a", 1) == 1 && write(b[1], "b", 1) == 1);
	aj_loop_turn(loop, INT64_MAX);
	aj_loop_turn(loop, 0);
	cr_expect_str_eq(log_text, "b");
}

static struct aj_timer later;

static void on_ready_set_timer(struct aj_io *io, uint32_t events)
{
	(void)events;
	note('1');
	aj_loop_unwatch(loop, io);
	aj_loop_unset(loop, &later);
	aj_loop_set(loop, io->arg, aj_now_us());
}

/* Events of descriptors count before a deadline that has passed, and a timer that they set to now goes off in the same turn. */
Test(loop, descriptors_come_before_timers)
{
	int fds[2];
	struct aj_timer now = { .fn = on_timer, .arg = "n" };
	cr_assert_eq(pipe(fds), 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	later = (struct aj_timer){ .fn = on_timer, .arg = "d" };
	aj_loop_set(loop, &later, 1);
	one = (struct aj_io){ .fn = on_ready_set_timer, .arg = &now, .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, fds[0], EPOLLIN), 0);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "1n");
}

/* Events that come while the host program has the thread count before a deadline that passes meanwhile. */
static void on_ready_host(struct aj_io *io, uint32_t events)
{
	(void)events;
	struct aj_loop_clocks host = aj_loop_host_begins();
	note('1');
	aj_loop_unwatch(loop, io);
	cr_assert_eq(write(*(int *)io->arg, "x", 1), 1);
	aj_loop_set(loop, &later, aj_now_us() + 1000);
	while (aj_now_us() <= later.at_us)
		;
	aj_loop_host_ends(loop, host);
}

static void on_ready_note(struct aj_io *io, uint32_t events)
{
	(void)events;
	note('2');
	aj_loop_unwatch(loop, io);
}

Test(loop, a_deadline_that_passes_while_the_host_program_works_waits_for_the_events_of_that_time)
{
	int fds[2], others[2];
	struct aj_io other = { .fn = on_ready_note, .fd = -1 };
	struct aj_timer overdue = { .fn = on_timer, .arg = "o" };
	cr_assert(pipe(fds) == 0 && pipe(others) == 0);
	cr_assert_eq(write(fds[1], "x", 1), 1);
	one = (struct aj_io){ .fn = on_ready_host, .arg = &others[1], .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, fds[0], EPOLLIN), 0);
	cr_assert_eq(aj_loop_watch(loop, &other, others[0], EPOLLIN), 0);
	later = (struct aj_timer){ .fn = on_timer, .arg = "d" };
	aj_loop_set(loop, &overdue, 1);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "1o");
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "1o2d");
}

/* Ready last, and called back first. */
Test(loop, an_urgent_one_comes_first)
{
	int a[2], b[2];
	cr_assert(pipe(a) == 0 && pipe(b) == 0);
	one = two = (struct aj_io){ .fn = on_read, .fd = -1 };
	two.urgent = true;
	cr_assert(aj_loop_watch(loop, &one, a[0], EPOLLIN) == 0 && aj_loop_watch(loop, &two, b[0], EPOLLIN) == 0);
	cr_assert(write(a[1], "1", 1) == 1 && write(b[1], "2", 1) == 1);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "21");
}

Test(loop, a_closed_descriptor_is_an_error)
{
	one = (struct aj_io){ .fn = on_first, .fd = -1 };
	cr_expect_eq(aj_loop_watch(loop, &one, 12345, EPOLLIN), -1);
	cr_expect_eq(one.fd, -1);
}

/* Closed before it was taken out, while somebody else had a copy: the kernel continues telling of it, and nobody is called. */
Test(loop, what_was_closed_too_early_calls_nobody)
{
	int a[2], b[2];
	cr_assert(pipe(a) == 0 && pipe(b) == 0);
	struct aj_io *gone = malloc(sizeof *gone);
	*gone = (struct aj_io){ .fn = on_first, .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, gone, a[0], EPOLLIN), 0);
	int copy = dup(a[0]);
	close(a[0]);
	aj_loop_unwatch(loop, gone);
	memset(gone, 0x5a, sizeof *gone);
	free(gone);
	cr_assert_eq(write(a[1], "x", 1), 1);
	aj_loop_turn(loop, 0);
	cr_expect_eq(logged, 0);
	/* Its place is another's by now. */
	one = (struct aj_io){ .fn = on_first, .fd = -1 };
	two = (struct aj_io){ .fd = -1 };
	cr_assert_eq(aj_loop_watch(loop, &one, b[0], EPOLLIN), 0);
	aj_loop_turn(loop, 0);
	cr_expect_eq(logged, 0);
	cr_assert_eq(write(b[1], "x", 1), 1);
	aj_loop_turn(loop, INT64_MAX);
	cr_expect_str_eq(log_text, "1");
	close(copy);
}

/* --- quotas --- */

struct party {
	struct aj_io io;
	struct aj_quota quota;
	int ends[2];
	unsigned calls;
	bool greedy, leaves, for_host;
};

static void work_for_us(int64_t us)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
	do
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/* It reads nothing, so it is ready for ever; a greedy one uses the thread up. */
static void on_party(struct aj_io *io, uint32_t events)
{
	struct party *p = io->arg;
	(void)events;
	p->calls++;
	struct aj_loop_clocks host = aj_loop_host_begins();
	work_for_us(p->greedy ? 2L * AJ_QUOTA_AHEAD_US : 0);
	if (p->for_host)
		aj_loop_host_ends(loop, host);
	if (p->leaves) {
		aj_loop_unwatch(loop, &p->io);
		aj_loop_forget(loop, &p->quota);
		memset(&p->quota, 0xff, sizeof p->quota);
	}
}

static void come(struct party *p)
{
	cr_assert_eq(pipe(p->ends), 0);
	cr_assert_eq(write(p->ends[1], "x", 1), 1);
	p->io = (struct aj_io){ .fn = on_party, .arg = p, .fd = -1, .quota = &p->quota };
	cr_assert_eq(aj_loop_watch(loop, &p->io, p->ends[0], EPOLLIN), 0);
}

static void go(struct party *p)
{
	aj_loop_unwatch(loop, &p->io);
	aj_loop_forget(loop, &p->quota);
	close(p->ends[0]);
	close(p->ends[1]);
}

static void turn(void)
{
	cr_assert_eq(aj_loop_turn(loop, INT64_MAX), 0);
}

Test(loop, whoever_uses_it_up_rests_while_others_go_on)
{
	struct party greedy = { .greedy = true }, other = { 0 };
	come(&greedy);
	come(&other);
	while (!greedy.quota.throttled)
		turn();
	unsigned before = greedy.calls, others = other.calls;
	while (greedy.quota.throttled) {
		cr_assert_eq(greedy.calls, before);
		turn();
	}
	cr_expect_gt(other.calls, others);
	while (greedy.calls == before)
		turn();
	go(&greedy);
	go(&other);
	while (aj_loop_next_us(loop) != INT64_MAX) /* no party is throttled any more: the timer ends by itself */
		turn();
}

/* With one party alone nothing would be throttled for a second. */
Test(loop, work_of_the_host_program_is_charged_to_no_party)
{
	struct party first = { 0 }, other = { 0 };
	int rounds = 0;
	come(&first);
	come(&other);
	while (!first.quota.throttled && !other.quota.throttled) { /* control */
		cr_assert_lt(rounds++, 1000);
		work_for_us(2L * AJ_QUOTA_AHEAD_US);
		turn();
	}
	while (first.quota.throttled || other.quota.throttled)
		turn();
	int64_t most_ns = first.quota.used_ns + other.quota.used_ns + AJ_QUOTA_AHEAD_US * 1000L;
	for (int i = 0; i < rounds + 10; i++) {
		work_for_us(2L * AJ_QUOTA_AHEAD_US);
		aj_loop_charge_from_now(loop);
		turn();
		cr_assert_lt(first.quota.used_ns + other.quota.used_ns, most_ns);
	}
	go(&first);
	go(&other);
}

/* As an output callback of the host program does. */
Test(loop, work_that_a_callback_does_for_the_host_program_is_charged_to_no_party)
{
	struct party busy = { .greedy = true }, other = { 0 };
	come(&busy);
	come(&other);
	while (!busy.quota.throttled) /* control */
		turn();
	while (busy.quota.throttled)
		turn();
	unsigned calls = busy.calls;
	int64_t most_ns = busy.quota.used_ns + AJ_QUOTA_AHEAD_US * 1000L;
	busy.for_host = true;
	while (busy.calls < 2 * calls + 10) {
		turn();
		cr_assert(!busy.quota.throttled);
		cr_assert_lt(busy.quota.used_ns, most_ns);
	}
	go(&busy);
	go(&other);
}

Test(loop, whoever_rests_may_change_and_go)
{
	struct party greedy = { .greedy = true }, other = { 0 };
	come(&greedy);
	come(&other);
	while (!greedy.io.paused)
		turn();
	cr_expect_eq(aj_loop_watch(loop, &greedy.io, greedy.ends[0], EPOLLOUT), 0, "it is not ready for this, and stays");
	unsigned before = greedy.calls;
	while (greedy.io.paused)
		turn();
	for (int i = 0; i < 10; i++)
		turn();
	cr_expect_eq(greedy.calls, before);
	cr_expect_eq(aj_loop_watch(loop, &greedy.io, greedy.ends[0], EPOLLIN), 0);
	while (!greedy.io.paused)
		turn();
	go(&greedy);
	for (int i = 0; i < 10; i++)
		turn();
	go(&other);
}

Test(loop, whoever_goes_in_his_own_turn_is_not_charged)
{
	struct party greedy = { .greedy = true, .leaves = true }, other = { 0 };
	come(&other);
	come(&greedy);
	while (!greedy.calls)
		turn();
	cr_expect_eq(greedy.calls, 1u);
	turn();
	close(greedy.ends[0]);
	close(greedy.ends[1]);
	go(&other);
}

static char order_of[8];

static void on_ordered(struct aj_io *io, uint32_t events)
{
	(void)events;
	strncat(order_of, io->arg, 1);
}

/* Not in the order in which they became ready. */
Test(loop, whoever_used_least_comes_first)
{
	static const int used_us[] = { 3000, 200, 3500, 0 };
	static const char *const names[] = { "c", "b", "d", "a" };
	struct party parties[4] = { 0 };
	for (size_t i = 0; i < 4; i++) {
		come(&parties[i]);
		parties[i].io.fn = on_ordered;
		parties[i].io.arg = (void *)names[i];
		parties[i].quota.used_ns = used_us[i] * 1000;
	}
	turn();
	cr_expect_str_eq(order_of, "abcd");
	for (size_t i = 0; i < 4; i++)
		go(&parties[i]);
}

/* Three that are ready for ever and together use more than busy ones may of a turn, and one that becomes ready meanwhile. */
Test(loop, busy_parties_wait_for_whoever_came_meanwhile)
{
	struct party busy[3] = { 0 }, other = { 0 };
	for (size_t i = 0; i < 3; i++) {
		come(&busy[i]);
		busy[i].quota.used_ns = (AJ_QUOTA_BUSY_US + (int)i) * 1000;
		busy[i].greedy = true;
	}
	turn();
	cr_expect(busy[0].calls == 1 && !busy[1].calls && !busy[2].calls, "one used the turn up");
	come(&other);
	turn();
	cr_expect(other.calls == 1 && busy[1].calls == 1 && !busy[2].calls, "the others are named again");
	turn();
	cr_expect(other.calls == 2 && busy[2].calls == 1);
	go(&other);
	for (size_t i = 0; i < 3; i++)
		go(&busy[i]);
}
