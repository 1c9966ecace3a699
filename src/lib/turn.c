/* Runs one turn of the loop with the tools that it calls for, and ends sessions that no tool uses any more.
 * It frees no session from within a tool of it. */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/api_inner.h"

void aj_lib_session_free(agentjail_session *s)
{
	LIST_REMOVE(s, listed);
	aj_lib_tools_free(&s->tools);
	json_decref(s->files);
	aj_arena_free(&s->arena);
	agentjail_result_free(s->result);
	free(s);
}

int aj_lib_turn(agentjail *h, int64_t until_us, struct aj_error *err)
{
	aj_loop_charge_from_now(h->loop); /* the host program worked in between, also as a tool */
	if (aj_loop_turn(h->loop, until_us) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "loop", errno, "wait for events");
	/* A tool may have closed its own session. */
	for (agentjail_session *s; (s = aj_lib_tools_run(h));)
		if (!s->inner && !s->entered)
			aj_lib_session_free(s);
	return 0;
}

void aj_lib_wake(const agentjail *h)
{
	static const uint64_t one = 1;
	int saved = errno;
	if (write(h->wake_fd, &one, sizeof one) < 0)
		errno = saved; /* the eventfd is full: an earlier write wakes the loop */
	errno = saved;
}

void aj_lib_await(agentjail_session *s, bool (*waits)(const agentjail_session *s), struct aj_error *err)
{
	agentjail *h = s->handle;
	agentjail_session *before = h->awaited;
	s->entered++;
	h->entered++;
	h->awaited = s;
	while (waits(s) && aj_lib_turn(h, INT64_MAX, err) == 0)
		;
	h->awaited = before;
	h->entered--;
	s->entered--;
	if (!h->entered && h->unseen)
		aj_lib_wake(h);
}
