/* Watches a zygote, hands on newborn jails, and ends a zygote that takes too long.
 * Starts no zygote by itself, and does not decide how many jails there should be. */
#include "pool/zygote_watch.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/fd.h"

/* A zygote imports what the policy allows, and then makes a jail in milliseconds. Slower than this, it is stuck. */
enum { READY_MS = 60000, BIRTH_US = 10000000 };

/* Restart the deadline after each event, while an event is expected. */
static void set_deadline(struct aj_zygote_watch *b)
{
	if (b->zygote.ready && !b->zygote.waiting_count)
		aj_loop_unset(b->loop, &b->deadline);
	else
		aj_loop_set(b->loop, &b->deadline, aj_now_us() + (b->zygote.ready ? BIRTH_US : (int64_t)b->ready_ms * 1000));
}

static void end_dead_zygote(struct aj_zygote_watch *b, const struct aj_error *why)
{
	struct aj_error err = *why;
	aj_zygote_watch_end(b);
	b->on_event(b->arg, AJ_ZYGOTE_DEAD, NULL, &err);
}

/* 0, or -1 with errno. */
static int watch_control(struct aj_zygote_watch *b)
{
	return aj_loop_watch(b->loop, &b->control, b->zygote.jail.control_fd, aj_zygote_writing(&b->zygote) ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void on_zygote(struct aj_io *io, uint32_t events)
{
	struct aj_zygote_watch *b = io->arg;
	enum aj_zygote_found found = AJ_ZYGOTE_READY;
	(void)events;
	/* The zygote may close this one: epoll keeps reporting a closed descriptor while another process holds a duplicate. */
	aj_loop_unwatch(b->loop, &b->report);
	while (b->there && found != AJ_ZYGOTE_NOTHING) {
		struct aj_error err = { 0 };
		struct aj_jail jail;
		found = aj_zygote_read(&b->zygote, &jail, &err);
		if (found == AJ_ZYGOTE_DEAD) {
			end_dead_zygote(b, &b->zygote.err);
			break;
		}
		if (found == AJ_ZYGOTE_BORN || found == AJ_ZYGOTE_FAILED)
			b->on_event(b->arg, found, &jail, &err);
		if (b->there && found != AJ_ZYGOTE_NOTHING)
			set_deadline(b);
	}
	/* Errors of watching are ignored: without the report a failure lacks its cause only, and the deadline covers the rest. */
	if (b->there && b->zygote.jail.report_fd >= 0)
		aj_loop_watch(b->loop, &b->report, b->zygote.jail.report_fd, EPOLLIN);
	if (b->there && b->control.events & EPOLLOUT)
		watch_control(b);
	b->on_event(b->arg, AJ_ZYGOTE_NOTHING, NULL, NULL);
}

static void on_deadline(struct aj_timer *timer)
{
	struct aj_zygote_watch *b = timer->arg;
	aj_zygote_give_up(&b->zygote);
	end_dead_zygote(b, &b->zygote.err);
	b->on_event(b->arg, AJ_ZYGOTE_NOTHING, NULL, NULL);
}

int aj_zygote_watch_start(struct aj_zygote_watch *b, const struct aj_plan *plan, const struct aj_policy *policy, struct aj_error *err)
{
	b->deadline = (struct aj_timer){ .fn = on_deadline, .arg = b };
	b->control = b->report = b->end = (struct aj_io){ .fn = on_zygote, .arg = b, .fd = -1 };
	if (aj_zygote_start(&b->zygote, plan, policy, err) < 0)
		return -1;
	b->there = true;
	b->ready_ms = b->ready_ms ? b->ready_ms : READY_MS;
	set_deadline(b);
	if (watch_control(b) < 0 || aj_loop_watch(b->loop, &b->report, b->zygote.jail.report_fd, EPOLLIN) < 0 ||
	    aj_loop_watch(b->loop, &b->end, b->zygote.jail.init_pidfd, EPOLLIN) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "zygote", errno, "watch it");
		aj_zygote_watch_end(b);
		return -1;
	}
	return 0;
}

bool aj_zygote_watch_open(const struct aj_zygote_watch *b)
{
	return b->there && b->zygote.ready && b->zygote.waiting_count < AJ_BIRTHS_MAX;
}

int aj_zygote_watch_order(struct aj_zygote_watch *b, struct aj_error *err)
{
	if (aj_zygote_order(&b->zygote, err) < 0)
		return -1;
	if (!b->deadline.place)
		set_deadline(b);
	return 0;
}

unsigned aj_zygote_watch_due(const struct aj_zygote_watch *b)
{
	return b->there ? (unsigned)b->zygote.waiting_count : 0;
}

void aj_zygote_watch_end(struct aj_zygote_watch *b)
{
	if (!b->there)
		return;
	aj_loop_unset(b->loop, &b->deadline);
	aj_loop_unwatch(b->loop, &b->control);
	aj_loop_unwatch(b->loop, &b->report);
	aj_loop_unwatch(b->loop, &b->end);
	aj_zygote_end(&b->zygote);
	b->there = false;
}
