/* Takes a jail's tool calls, checks them, and sends the owner's answers back, each within its timeout.
 * Runs no tool, and passes only declared calls with valid arguments to the owner. */
#include "session/calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json/json.h"
#include "jail/channel/channel.h"

/* Refused calls cost only supervisor time, so a run has a budget: AJ_CALLS_REFUSED invalid calls, fewer if they are large, more
 * if they only exceed the number allowed at a time, as honest code does too. */
enum { COST_OF_MISFIT = 16, COST_OF_CROWD = 1, BYTES_OF_COST = 4 << 10, MOST_COST = AJ_CALLS_REFUSED * COST_OF_MISFIT };

void aj_calls_init(struct aj_calls *c, struct aj_loop *loop, void (*on_call)(void *, const struct aj_tool_call *),
                   void (*send)(void *, const char *, size_t), void *arg)
{
	*c = (struct aj_calls){ .loop = loop, .on_call = on_call, .send = send, .arg = arg };
}

int aj_calls_declare(struct aj_calls *c, const json_t *list, struct aj_error *err)
{
	return aj_tools_declare(&c->tools, list, err);
}

char *aj_calls_tools(const struct aj_calls *c)
{
	json_t *list = aj_tools_json(&c->tools);
	char *text = json_dumps(list, JSON_COMPACT);
	json_decref(list);
	return text;
}

static void forget_call(struct aj_waiting_call *w, enum aj_call_outcome outcome)
{
	aj_call_log_end(&w->calls->log, w->logged, outcome);
	aj_loop_unset(w->calls->loop, &w->timer);
	aj_tool_call_free(&w->call);
	w->calls->bytes -= w->bytes;
	w->call = (struct aj_tool_call){ 0 };
	if (--w->calls->count == 0 && w->calls->on_waits)
		w->calls->on_waits(w->calls->arg, false);
}

/* Steals `body`. */
static void reply(struct aj_calls *c, uint64_t number, const char *key, json_t *body)
{
	struct aj_buffer out = { 0 };
	aj_buffer_text(&out, "{\"call\":");
	aj_buffer_number(&out, number);
	aj_buffer_text(&out, ",\"");
	aj_buffer_text(&out, key);
	aj_buffer_text(&out, "\":");
	aj_buffer_json(&out, body);
	aj_buffer_text(&out, "}");
	c->send(c->arg, out.data, out.bytes);
	aj_buffer_free(&out);
	json_decref(body);
}

static void reply_error(struct aj_calls *c, uint64_t number, const char *type, const char *message)
{
	reply(c, number, "error", aj_tools_error_json(type, message, strlen(message)));
}

static void on_timeout(struct aj_timer *timer)
{
	struct aj_waiting_call *w = timer->arg;
	struct aj_calls *c = w->calls;
	char message[200];
	uint64_t number = w->call.number;
	snprintf(message, sizeof message, "no answer within %lu ms", (unsigned long)w->call.tool->timeout_ms);
	forget_call(w, AJ_CALL_TIMEOUT);
	reply_error(c, number, AJ_TOOL_TIMEOUT, message);
}

static struct aj_waiting_call *find_call(struct aj_calls *c, uint64_t number)
{
	for (size_t i = 0; i < AJ_CALLS_MAX; i++)
		if (c->waiting[i].call.tool && c->waiting[i].call.number == number)
			return &c->waiting[i];
	return NULL;
}

static unsigned broken_call(const char **ret_why, const char *why)
{
	*ret_why = why;
	return AJ_CHANNEL_BROKEN;
}

static unsigned refuse_call(struct aj_calls *c, uint64_t number, size_t logged, const char *type, const char *message,
                            size_t cost, size_t bytes, const char **ret_why)
{
	aj_call_log_end(&c->log, logged, AJ_CALL_TURNED_DOWN);
	c->refused += cost + bytes / BYTES_OF_COST;
	if (c->refused > MOST_COST) {
		snprintf(c->why, sizeof c->why, "%s", message);
		*ret_why = c->why;
		return AJ_CHANNEL_REFUSED;
	}
	reply_error(c, number, type, message);
	return 0;
}

/* A free slot, or NULL with the reason. */
static struct aj_waiting_call *find_slot(struct aj_calls *c, size_t bytes, const char **ret_why)
{
	struct aj_waiting_call *slot = c->waiting;
	while (slot < c->waiting + AJ_CALLS_MAX && slot->call.tool)
		slot++;
	*ret_why = slot == c->waiting + AJ_CALLS_MAX ? "too many calls at a time"
	         : bytes > AJ_CALLS_BYTES - c->bytes ? "the arguments of all calls under way are too large"
	                                             : NULL;
	return *ret_why ? NULL : slot;
}

/* The arguments are the last member, unless the code inside wrote the call itself; of too many values only the first were
 * read. */
static size_t log_call(struct aj_calls *c, const char *body, size_t bytes, const struct aj_scan *scan)
{
	const struct aj_span *args = aj_scan_member(scan, body, "args");
	return aj_call_log_begin(&c->log, aj_tools_called(&c->tools, body, scan), args->bytes ? args->bytes : bytes - args->at);
}

/* The cheapest checks come first: arguments are checked only once the tool is known and a slot is free. */
unsigned aj_calls_take(void *arg, const char *body, size_t bytes, struct aj_scan *scan, const char **ret_why)
{
	struct aj_calls *c = arg;
	struct aj_tool_call call;
	const char *type, *full;
	char why[AJ_TOOL_WHY_BYTES] = "";
	enum aj_call kind = aj_tools_check_call(&c->tools, body, scan, &call, &type, why, sizeof why);
	uint64_t number = call.number;
	if (kind == AJ_CALL_MISSHAPEN)
		return broken_call(ret_why, "a call of an unknown tool");
	c->last = number > c->last ? number : c->last;
	if (find_call(c, number)) {
		aj_tool_call_free(&call);
		return broken_call(ret_why, "two tool calls with the same number");
	}
	size_t logged = log_call(c, body, bytes, scan);
	if (kind == AJ_CALL_REFUSED)
		return refuse_call(c, number, logged, type, why, COST_OF_MISFIT, bytes, ret_why);
	struct aj_waiting_call *slot = find_slot(c, bytes, &full);
	if (!slot) {
		aj_tool_call_free(&call);
		return refuse_call(c, number, logged, AJ_TOOL_FAILED, full, COST_OF_CROWD, bytes, ret_why);
	}
	kind = aj_tool_check_args(&call, body, scan, &type, why, sizeof why);
	if (kind != AJ_CALL_OK) {
		aj_tool_call_free(&call);
		if (kind == AJ_CALL_REFUSED)
			return refuse_call(c, number, logged, type, why, COST_OF_MISFIT, bytes, ret_why);
		aj_call_log_end(&c->log, logged, AJ_CALL_TURNED_DOWN);
		return broken_call(ret_why, "a call of an unknown tool");
	}
	slot->calls = c;
	slot->call = (struct aj_tool_call){ .number = number, .tool = call.tool };
	slot->bytes = bytes;
	slot->logged = logged;
	c->bytes += bytes;
	if (c->count++ == 0 && c->on_waits)
		c->on_waits(c->arg, true);
	slot->timer = (struct aj_timer){ .fn = on_timeout, .arg = slot };
	aj_loop_set(c->loop, &slot->timer, aj_in_ms(call.tool->timeout_ms));
	c->on_call(c->arg, &call);
	json_decref(call.args);
	return 0;
}

static int unknown_call(const struct aj_calls *c, struct aj_error *err, uint64_t number)
{
	if (number && number <= c->last)
		return aj_fail_because(err, AJ_REASON_CLOSED, AJ_EXIT_USAGE, "tool", 0,
		                       "call %lu is not waiting: it was answered, it timed out, or its run has ended",
		                       (unsigned long)number);
	return aj_fail(err, AJ_EXIT_USAGE, "tool", 0, "no call %lu is waiting for an answer", (unsigned long)number);
}

int aj_calls_value(struct aj_calls *c, uint64_t number, const json_t *value, struct aj_error *err)
{
	struct aj_waiting_call *w = find_call(c, number);
	char why[AJ_TOOL_WHY_BYTES];
	if (!w)
		return unknown_call(c, err, number);
	if (!aj_tool_check_result(w->call.tool, value, why, sizeof why))
		return aj_fail(err, AJ_EXIT_USAGE, "tool", 0, "the value of `%s` does not fit: %s", w->call.tool->name, why);
	forget_call(w, AJ_CALL_VALUE);
	reply(c, number, "value", json_incref((json_t *)value));
	return 0;
}

int aj_calls_error(struct aj_calls *c, uint64_t number, const char *type, const char *message, struct aj_error *err)
{
	struct aj_waiting_call *w = find_call(c, number);
	if (!w)
		return unknown_call(c, err, number);
	forget_call(w, AJ_CALL_ERROR);
	reply_error(c, number, type, message);
	return 0;
}

const char *aj_calls_awaited(const struct aj_calls *c)
{
	for (size_t i = 0; i < AJ_CALLS_MAX; i++)
		if (c->waiting[i].call.tool)
			return c->waiting[i].call.tool->name;
	return NULL;
}

void aj_calls_drop(struct aj_calls *c)
{
	for (size_t i = 0; i < AJ_CALLS_MAX; i++)
		if (c->waiting[i].call.tool)
			forget_call(&c->waiting[i], AJ_CALL_UNANSWERED);
	c->refused = 0;
}

void aj_calls_free(struct aj_calls *c)
{
	aj_calls_drop(c);
	aj_call_log_free(&c->log);
	aj_tools_free(&c->tools);
}
