/* Joins a live jail to an event loop: watches its descriptors and deadlines, steps its run, and notifies the owner.
 * Never blocks, but in aj_worker_destroy(), for a jail that it has killed. */
#include "pool/worker.h"

#include <errno.h>
#include <stddef.h>
#include <sys/epoll.h>

#include "base/fd.h"
#include "jail/interrupt.h"

/* Update the watched descriptors and the timer, where they changed. */
void aj_worker_watch(struct aj_worker *w)
{
	struct pollfd fds[AJ_RUN_FDS];
	aj_run_poll(&w->run, fds);
	for (int i = 0; i < AJ_RUN_FDS; i++) {
		uint32_t events = fds[i].events & POLLOUT ? EPOLLIN | EPOLLOUT : EPOLLIN;
		if (fds[i].fd < 0)
			aj_loop_unwatch(w->loop, &w->io[i]);
		else if (aj_loop_watch(w->loop, &w->io[i], fds[i].fd, events) < 0)
			aj_run_fail(&w->run, "the jail cannot be waited for");
	}
	int64_t due_us = aj_run_deadline_us(&w->run);
	if (due_us == INT64_MAX)
		aj_loop_unset(w->loop, &w->timer);
	else if (!w->timer.place || w->timer.at_us != due_us)
		aj_loop_set(w->loop, &w->timer, due_us);
}

static void notify(struct aj_worker *w, unsigned found)
{
	if (found)
		w->on_event(w, found);
}

static void on_closing(struct aj_run *run, enum aj_run_fd which)
{
	struct aj_worker *w = (struct aj_worker *)((char *)run - offsetof(struct aj_worker, run));
	aj_loop_unwatch(w->loop, &w->io[which]);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_worker *w = io->arg;
	struct pollfd fds[AJ_RUN_FDS] = { 0 };
	int which = (int)(io - w->io);
	fds[which].revents = (short)((events & EPOLLIN ? POLLIN : 0) | (events & EPOLLOUT ? POLLOUT : 0) |
	                             (events & ~(EPOLLIN | EPOLLOUT) ? POLLHUP : 0));
	/* Init's end closes all of them. */
	if (which == AJ_RUN_INIT)
		for (int i = 0; i < AJ_RUN_FDS; i++)
			aj_loop_unwatch(w->loop, &w->io[i]);
	unsigned found = aj_run_step(&w->run, fds);
	aj_worker_watch(w);
	notify(w, found);
}

static void on_timer(struct aj_timer *timer)
{
	struct aj_worker *w = timer->arg;
	aj_run_due(&w->run);
	aj_worker_watch(w);
}

int aj_worker_start(struct aj_worker *w, struct aj_loop *loop, int filters, struct aj_error *err)
{
	w->loop = loop;
	w->run.lasting = true;
	w->run.closing = on_closing;
	w->timer = (struct aj_timer){ .fn = on_timer, .arg = w };
	for (int i = 0; i < AJ_RUN_FDS; i++)
		w->io[i] = (struct aj_io){ .fn = on_io, .arg = w, .fd = -1, .quota = i == AJ_RUN_INIT ? NULL : &w->quota };
	aj_run_open(&w->run, filters);
	aj_worker_watch(w);
	if (!w->run.result.setup.exit_code)
		return 0;
	*err = w->run.result.setup;
	aj_worker_destroy(w);
	return -1;
}

int aj_worker_run(struct aj_worker *w, const struct aj_request *request, uint64_t timeout_ms, struct aj_error *err)
{
	if (aj_run_begin(&w->run, request, timeout_ms, aj_now_us(), err) < 0)
		return -1;
	if (w->run.channel.armed)
		aj_channel_write(&w->run.channel);
	aj_worker_watch(w);
	return 0;
}

void aj_worker_tool(struct aj_worker *w, const char *text, size_t bytes)
{
	if (w->run.gone)
		return;
	aj_channel_tool(&w->run.channel, text, bytes);
	if (aj_channel_writing(&w->run.channel) && w->run.jail.control_fd >= 0 && !w->run.channel.reading)
		aj_channel_write(&w->run.channel);
	aj_worker_watch(w);
}

void aj_worker_interrupt(struct aj_worker *w)
{
	aj_interrupt_send(&w->run);
}

void aj_worker_end(struct aj_worker *w)
{
	if (w->run.gone)
		return;
	aj_run_end(&w->run);
	aj_worker_watch(w);
}

void aj_worker_destroy(struct aj_worker *w)
{
	for (int i = 0; i < AJ_RUN_FDS; i++)
		aj_loop_unwatch(w->loop, &w->io[i]);
	aj_loop_unset(w->loop, &w->timer);
	aj_loop_forget(w->loop, &w->quota);
	if (!w->run.gone) {
		struct pollfd fds[AJ_RUN_FDS] = { 0 };
		aj_jail_kill(&w->run.jail);
		fds[AJ_RUN_INIT].revents = POLLIN;
		aj_run_step(&w->run, fds);
	}
	aj_run_free(&w->run);
}
