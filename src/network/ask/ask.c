/* The open questions: their number, rate and deadlines, and the names that were denied before. Answers go back to the relay by a
 * callback.
 * It shows nothing and reads nothing itself: by_command.c, by_descriptor.c and by_terminal.c do. */
#include "network/ask/ask.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/text.h"

enum {
	AT_ONCE = 8, /* questions in a row, and one more every so often */
	EVERY_S = 5,
	DENIED_S = 60,
};

static const char nobody[] = "this name and port are not on the jail's list, and this run has nobody to ask";

/* Refuse a question without asking it. */
static void refuse(aj_answered_fn *fn, void *arg, const char *name, uint16_t port, uint32_t relay_id, const char *why)
{
	struct aj_ask_answer a = { .name = name, .port = port, .said = { .id = relay_id, .verdict = AJ_EGRESS_DENY } };
	snprintf(a.said.why, sizeof a.said.why, "%s", why);
	fn(arg, &a);
}

static const char *by_whom(const struct aj_asker *a)
{
	return a->way == &aj_ask_by_command ? "command" : a->way == &aj_ask_by_descriptor ? "fd" : "terminal";
}

static bool was_denied(const struct aj_asker *a, const char *name, uint16_t port, int64_t now_us)
{
	for (size_t i = 0; i < sizeof a->denied / sizeof *a->denied; i++)
		if (a->denied[i].port == port && a->denied[i].until_us > now_us && strcmp(a->denied[i].name, name) == 0)
			return true;
	return false;
}

static void remember(struct aj_asker *a, const struct aj_asked *q)
{
	unsigned i = a->next_denied++ % (sizeof a->denied / sizeof *a->denied);
	strcpy(a->denied[i].name, q->name);
	a->denied[i].port = q->port;
	a->denied[i].until_us = aj_now_us() + DENIED_S * INT64_C(1000000);
}

void aj_asked_end(struct aj_asked *q, enum aj_egress_verdict verdict, const char *why)
{
	struct aj_asker *a = q->asker;
	struct aj_error err = { 0 };
	char unsaved[sizeof err.cause + 80];
	a->way->drop(q);
	aj_loop_unset(a->loop, &q->deadline);
	q->asker = NULL;
	if (verdict == AJ_EGRESS_DENY)
		remember(a, q);
	else if (verdict == AJ_EGRESS_RUN && a->save && aj_ask_save_add(a->save, q->name, q->port, &err) < 0)
		snprintf(unsaved, sizeof unsaved, "it was allowed for this run, and could not be saved: %s", err.cause);
	struct aj_ask_answer said = { .name = q->name,
		                      .port = q->port,
		                      .by = by_whom(a),
		                      .waited_us = aj_now_us() - q->asked_us,
		                      .said = { q->relay_id, verdict, "" } };
	if (verdict == AJ_EGRESS_DENY || err.exit_code) /* cut where it is longer */
		aj_ascii(said.said.why, sizeof said.said.why, verdict == AJ_EGRESS_DENY ? why : unsaved);
	q->fn(q->arg, &said);
}

static void on_deadline(struct aj_timer *timer)
{
	aj_asked_end(timer->arg, AJ_EGRESS_DENY,
	             "this name and port are not on the jail's list, and nobody has answered whether to allow them");
}

void aj_asker_ask(struct aj_asker *a, uint32_t relay_id, const char *name, uint16_t port, aj_answered_fn *fn, void *arg)
{
	int64_t now_us = aj_now_us();
	struct aj_asked *q = NULL;
	const char *why = NULL;
	for (size_t i = 0; a && i < AJ_ASK_OPEN_MAX; i++) {
		struct aj_asked *one = &a->open[i];
		if (!one->asker)
			q = q ? q : one;
		else if (one->port == port && strcmp(one->name, name) == 0)
			why = "it is asked for already"; /* the relay asks once */
	}
	if (!a)
		why = nobody;
	else if (!aj_ask_name_valid(name) || !port)
		why = "this name is not on the jail's list, and no name that can be shown";
	else if (!why && was_denied(a, name, port, now_us))
		why = "this name and port are not on the jail's list, and the answer was no";
	else if (!why && (!q || !aj_rate_take(&a->rate, 1.0 / EVERY_S, AT_ONCE, now_us)))
		why = "this name and port are not on the jail's list, and too many questions were asked";
	if (why) {
		refuse(fn, arg, name, port, relay_id, why);
		return;
	}
	*q = (struct aj_asked){ .asker = a,
		                .id = ++a->last_id,
		                .relay_id = relay_id,
		                .port = port,
		                .asked_us = now_us,
		                .fn = fn,
		                .arg = arg,
		                .pidfd = -1,
		                .out = { .fd = -1 } };
	strcpy(q->name, name);
	q->deadline = (struct aj_timer){ .fn = on_deadline, .arg = q };
	aj_loop_set(a->loop, &q->deadline, aj_in_ms(a->timeout_ms));
	if (!a->way->put(q))
		aj_asked_end(q, AJ_EGRESS_DENY, a->way->nobody);
}

int aj_asker_open(struct aj_asker **ret, struct aj_loop *loop, const struct aj_plan *plan, const struct aj_policy *policy,
                  const struct aj_request *request, bool shown, struct aj_error *err)
{
	const struct aj_ask_whom *whom = &request->ask;
	*ret = NULL;
	if (plan->network != AJ_NET_ALLOW || !policy->ask || (!whom->command && !whom->fd && !whom->terminal))
		return 0;
	if (whom->terminal && shown && aj_ask_check_output(plan, err) < 0)
		return -1;
	struct aj_asker *a = calloc(1, sizeof *a);
	if (!a)
		return aj_fail(err, AJ_EXIT_SETUP, "ask", ENOMEM, "prepare questions");
	a->loop = loop;
	a->whom = *whom;
	a->timeout_ms = policy->ask_ms;
	a->io.fd = -1;
	a->way = whom->command ? &aj_ask_by_command : whom->fd ? &aj_ask_by_descriptor : &aj_ask_by_terminal;
	/* Closed with the asker; the descriptor of --network-ask-fd stays the caller's. */
	if (whom->terminal && (a->whom.fd = open("/dev/tty", O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC)) < 0) {
		aj_fail(err, AJ_EXIT_USAGE, "ask", errno, "open the terminal at which --network-ask asks");
		aj_advise(err, "start agentjail at a terminal, or use --network-ask-command or --network-ask-fd");
		free(a);
		return -1;
	}
	if (whom->terminal && aj_fd_move_high(&a->whom.fd) < 0) {
		aj_close(&a->whom.fd);
		free(a);
		return aj_fail(err, AJ_EXIT_SETUP, "ask", errno, "keep the terminal open");
	}
	if (whom->save && !(a->save = aj_ask_save_open(whom, plan, err))) {
		a->way->close(a);
		free(a);
		return -1;
	}
	*ret = a;
	return 0;
}

void aj_asker_on_pause(struct aj_asker *a, aj_pause_fn *pause, void *arg)
{
	if (!a)
		return;
	a->pause = pause;
	a->pause_arg = arg;
}

void aj_asker_close(struct aj_asker *a)
{
	if (!a)
		return;
	a->ended = true;
	for (size_t i = 0; i < AJ_ASK_OPEN_MAX; i++)
		if (a->open[i].asker) {
			a->way->drop(&a->open[i]);
			aj_loop_unset(a->loop, &a->open[i].deadline);
		}
	a->way->close(a);
	aj_ask_save_close(a->save);
	free(a);
}
