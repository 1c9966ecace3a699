/* Handles: an event loop and a session manager with one policy, run by the thread that opened them.
 * Uses no signal, and refuses calls from other threads and processes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "lib/api_inner.h"

const char *agentjail_version(void)
{
	return AJ_VERSION;
}

static void on_wake(struct aj_io *io, uint32_t events)
{
	agentjail *h = io->arg;
	uint64_t count;
	(void)events;
	if (read(io->fd, &count, sizeof count) < 0)
		return;
	agentjail_session *s;
	LIST_FOREACH(s, &h->sessions, listed)
		if (__atomic_exchange_n(&s->interrupt, 0, __ATOMIC_SEQ_CST))
			aj_lib_session_interrupted(s);
}

/* Called from the middle of other work: the callback must not close or enter the handle. */
static void on_log(void *arg, const char *line)
{
	agentjail *h = arg;
	bool before = h->in_callback;
	struct aj_loop_clocks begin = aj_loop_host_begins();
	h->in_callback = true;
	h->log(h->log_arg, line);
	h->in_callback = before;
	aj_loop_host_ends(h->loop, begin);
}

/* Frees a handle without sessions. */
static void free_handle(agentjail *h)
{
	aj_lib_tools_free(&h->tools);
	if (h->manager)
		aj_manager_free(h->manager);
	if (h->loop)
		aj_loop_unwatch(h->loop, &h->wake);
	aj_close(&h->wake_fd);
	aj_loop_free(h->loop);
	aj_arena_free(&h->arena);
	free(h);
}

agentjail *aj_lib_open(const struct aj_manager_config *config, const struct aj_ask *ask, const char *tenant,
                       const char *workspace, struct aj_error *err)
{
	agentjail *h = calloc(1, sizeof *h);
	struct aj_manager_config ours = *config;
	if (!h)
		abort();
	h->log = config->log;
	h->log_arg = config->log_arg;
	ours.log = config->log ? on_log : NULL;
	ours.log_arg = h;
	h->thread = gettid();
	h->ask = *ask;
	h->tenant = tenant;
	h->workspace = workspace;
	h->wake = (struct aj_io){ .fn = on_wake, .arg = h, .fd = -1 };
	h->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	h->loop = aj_loop_new();
	if (h->wake_fd < 0 || !h->loop || aj_loop_watch(h->loop, &h->wake, h->wake_fd, EPOLLIN) < 0)
		aj_fail(err, AJ_EXIT_SETUP, "loop", errno, "make an event loop");
	else if ((h->manager = aj_manager_new(h->loop, &ours, err)) && aj_manager_add_policy(h->manager, &h->ask, NULL, err) == 0)
		return h;
	free_handle(h);
	return NULL;
}

void agentjail_close(agentjail *h)
{
	struct aj_error err = { 0 };
	/* Called from a tool: the calls below it on the stack still need the handle. */
	if (!h || aj_lib_enter(h, &err) < 0 || h->entered)
		return;
	while (!LIST_EMPTY(&h->sessions))
		agentjail_session_close(LIST_FIRST(&h->sessions));
	free_handle(h);
}

int agentjail_turn(agentjail *h, int wait_ms, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (aj_lib_enter(h, &err) < 0 || aj_lib_turn(h, wait_ms < 0 ? INT64_MAX : aj_in_ms((uint64_t)wait_ms), &err) < 0)
		return aj_lib_refuse(&err, ret_err);
	if (!h->entered)
		h->unseen = false; /* the caller looks at its sessions now */
	return 0;
}

int agentjail_fd(const agentjail *h)
{
	return aj_loop_fd(h->loop);
}

int agentjail_due_ms(const agentjail *h)
{
	int64_t next_us = aj_loop_next_us(h->loop), left_us = next_us == INT64_MAX ? 0 : next_us - aj_now_us();
	return next_us == INT64_MAX ? -1 : left_us <= 0 ? 0 : left_us / 1000 < 1 << 30 ? (int)((left_us + 999) / 1000) : 1 << 30;
}

char *agentjail_stats(agentjail *h, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (aj_lib_enter(h, &err) < 0) {
		aj_lib_refuse(&err, ret_err);
		return NULL;
	}
	json_t *doc = aj_manager_stats(h->manager);
	char *text = json_dumps(doc, JSON_COMPACT);
	json_decref(doc);
	return text;
}
