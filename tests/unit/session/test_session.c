/* Tests of session/session without a jail: its clocks, and the state that it keeps.
 * Tests of a session with a jail are in e2e/, escape/ and fault/. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/fd.h"
#include "blocks.h"
#include "session/session.h"

static struct aj_manager manager;
static struct aj_tenant_pool room;
static const struct aj_session_events events;

static void start(void)
{
	manager = (struct aj_manager){ .loop = aj_loop_new() };
	room = (struct aj_tenant_pool){ .manager = &manager, .sessions = 100 };
}

static void done(void)
{
	aj_loop_free(manager.loop);
}
TestSuite(session, .init = start, .fini = done);

static struct aj_session *make(void)
{
	room.sessions++;
	return aj_session_new(&room, &events, NULL);
}

Test(session, a_lifetime_beyond_every_clock_is_none)
{
	static const uint64_t long_ms[] = { UINT64_MAX, UINT64_MAX / 2, INT64_MAX / 1000, INT64_MAX / 2000 };
	for (size_t i = 0; i < sizeof long_ms / sizeof *long_ms; i++) {
		manager.config.lifetime_ms = long_ms[i];
		struct aj_session *s = make();
		cr_expect_gt(aj_loop_next_us(manager.loop), aj_now_us() + INT32_MAX, "%lu ms", (unsigned long)long_ms[i]);
		aj_session_close(s);
	}
}

static void declare(struct aj_session *s)
{
	struct aj_error err = { 0 };
	json_t *list = json_loads("[{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{\"enum\":[1,2,3]}}}}]",
	                          0, NULL);
	cr_assert_eq(aj_session_tools(s, list, &err), 0, "%s", err.cause);
	json_decref(list);
}

Test(session, a_tool_that_is_declared_anew_takes_the_place_of_the_old_one)
{
	count_blocks();
	struct aj_session *s = make();
	declare(s);
	long once = blocks;
	cr_expect_gt(once, 0);
	for (int i = 0; i < 10; i++)
		declare(s);
	cr_expect_eq(blocks, once, "%ld blocks of JSON, then %ld", once, blocks);
	aj_session_close(s);
	cr_expect_eq(blocks, 0);
}

Test(session, declaring_tools_is_use)
{
	struct aj_jail jail = { 0 };
	manager.config.idle_ms = 60000;
	struct aj_session *s = make();
	declare(s);
	cr_expect_eq(s->idle.place, 0, "there is no jail yet that could be idle");
	s->jail = &jail;
	aj_loop_set(manager.loop, &s->idle, 1);
	declare(s);
	cr_expect_gt(s->idle.at_us, 1);
	s->state = AJ_SESSION_RUNNING;
	aj_loop_unset(manager.loop, &s->idle);
	declare(s);
	cr_expect_eq(s->idle.place, 0, "one that runs something is not idle");
	s->jail = NULL;
	s->state = AJ_SESSION_ENDED;
	aj_session_close(s);
}

static unsigned ends;

static void on_ended(struct aj_session *s, void *arg, const char *why)
{
	(void)arg;
	cr_expect_str_eq(why, "the session reached its lifetime");
	cr_expect(!aj_session_may_return(s));
	cr_expect_eq(aj_session_state(s), AJ_SESSION_ENDED);
	ends++;
	aj_session_close(s);
}

/* Its jail has ended before, and nothing else would end it. */
Test(session, a_lifetime_ends_one_that_has_no_jail)
{
	static const struct aj_session_events told = { .ended = on_ended };
	manager.config.lifetime_ms = 1;
	room.sessions++;
	aj_session_new(&room, &told, NULL);
	while (aj_loop_next_us(manager.loop) != INT64_MAX)
		cr_assert_eq(aj_loop_turn(manager.loop, INT64_MAX), 0);
	cr_expect_eq(ends, 1u);
}
