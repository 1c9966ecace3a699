/* Tests of session/calls: how much of the host's memory the calls of a jail take while nobody has answered them.
 * Shapes and schemas of calls are test_tools.c's. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "blocks.h"
#include "jail/channel/channel.h"
#include "session/calls.h"

static struct aj_loop *loop;
static struct aj_calls calls;
static unsigned told, refused;
static char answer[300];

static void on_call(void *arg, const struct aj_tool_call *call)
{
	(void)arg;
	cr_expect_eq(json_array_size(json_object_get(call->args, "x")), 3);
	cr_expect_str_eq(call->tool->name, "t");
	told++;
}

static void on_answer(void *arg, const char *text, size_t bytes)
{
	(void)arg;
	refused += memmem(text, bytes, "\"error\"", 7) != NULL;
	snprintf(answer, sizeof answer, "%.*s", (int)bytes, text);
}

static void start(void)
{
	struct aj_error err = { 0 };
	count_blocks();
	json_t *list = json_loads("[{\"name\":\"t\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{}}}}]", 0, NULL);
	loop = aj_loop_new();
	aj_calls_init(&calls, loop, on_call, on_answer, NULL);
	cr_assert_eq(aj_calls_declare(&calls, list, &err), 0, "%s", err.cause);
	json_decref(list);
}

static void done(void)
{
	aj_calls_free(&calls);
	aj_loop_free(loop);
}
TestSuite(calls, .init = start, .fini = done);

static unsigned take(const char *body, const char **ret_why)
{
	struct aj_scan scan = { .max_values = AJ_TOOL_CALL_VALUES };
	aj_scan_feed(&scan, body, strlen(body));
	return aj_calls_take(&calls, body, strlen(body), &scan, ret_why);
}

/* With a list of three, one of them a text of so many bytes. */
static void call(unsigned number, size_t bytes)
{
	char *text = malloc(bytes + 100);
	int n = sprintf(text, "{\"call\":%u,\"tool\":\"t\",\"args\":{\"x\":[1,2,\"", number);
	memset(text + n, 'a', bytes);
	strcpy(text + n + bytes, "\"]}}");
	const char *why = NULL;
	cr_expect_eq(take(text, &why), 0u, "%s", why);
	free(text);
}

/* Arguments of valid form that JSON has no value for: no tool got the call, and the run ends by it. */
Test(calls, arguments_that_cannot_be_read_are_refused)
{
	static const char *const bodies[] = { "{\"call\":1,\"tool\":\"t\",\"args\":{\"x\":\"\\ud800\"}}",
		                              "{\"call\":2,\"tool\":\"t\",\"args\":{\"x\":1e999}}" };
	size_t broken = 0;
	for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
		const char *why = NULL;
		unsigned r = take(bodies[i], &why);
		broken += r == AJ_CHANNEL_BROKEN;
		for (size_t j = 0; r == AJ_CHANNEL_BROKEN && j < calls.log.count; j++)
			cr_expect_eq(calls.log.calls[j].outcome, AJ_CALL_TURNED_DOWN, "%s: %d", bodies[i], (int)calls.log.calls[j].outcome);
	}
	cr_expect_gt(broken, 0, "none of them is refused for its arguments");
	cr_expect_gt(calls.log.count, 0);
	cr_expect_eq(told, 0);
}

Test(calls, arguments_are_handed_on_and_not_kept)
{
	long before = blocks;
	for (unsigned i = 0; i < AJ_CALLS_MAX; i++)
		call(i, 10);
	cr_expect_eq(told, AJ_CALLS_MAX);
	cr_expect_eq(blocks, before, "%ld blocks of JSON, then %ld", before, blocks);
	call(AJ_CALLS_MAX, 10);
	cr_expect(refused == 1 && strstr(answer, "too many calls"), "%s", answer);
	struct aj_error err = { 0 };
	cr_expect_eq(aj_calls_error(&calls, 5, "Error", "no", &err), 0, "they wait all the same: %s", err.cause);
}

/* The receiver of arguments may have to keep them. */
Test(calls, arguments_of_all_that_wait_are_bounded)
{
	struct aj_error err = { 0 };
	enum { EACH = 6 << 20, FIT = AJ_CALLS_BYTES / EACH };
	for (unsigned i = 0; i < FIT; i++)
		call(i, EACH);
	cr_expect_eq(told, FIT);
	cr_expect_eq(refused, 0);
	call(FIT, EACH);
	cr_expect_eq(told, FIT);
	cr_expect(refused == 1 && strstr(answer, "ToolFailure") && strstr(answer, "too large"), "%s", answer);
	call(FIT + 1, 10);
	cr_expect_eq(told, FIT + 1, "a small one fits");
	json_t *value = json_true();
	cr_expect_eq(aj_calls_value(&calls, 3, value, &err), 0, "%s", err.cause);
	call(FIT + 2, EACH);
	cr_expect_eq(told, FIT + 2, "in place of one that was answered");
	aj_calls_drop(&calls);
	for (unsigned i = 0; i < FIT; i++)
		call(i, EACH);
	cr_expect_eq(told, 2 * FIT + 2, "a run later");
}

Test(calls, so_many_that_do_not_fit_end_the_run)
{
	const char *why = NULL;
	for (unsigned i = 0; i < AJ_CALLS_REFUSED; i++)
		cr_assert_eq(take("{\"call\":1,\"tool\":\"none\",\"args\":{}}", &why), 0u, "call %u: %s", i, why);
	cr_expect_eq(refused, AJ_CALLS_REFUSED, "each of them was answered");
	cr_expect_eq(take("{\"call\":1,\"tool\":\"none\",\"args\":{}}", &why), (unsigned)AJ_CHANNEL_REFUSED);
	cr_expect_str_eq(why, "no tool has this name");
	aj_calls_drop(&calls);
	cr_expect_eq(take("{\"call\":1,\"tool\":\"none\",\"args\":{}}", &why), 0u, "the next run has as many");
	cr_expect_eq(told, 0);
}

Test(calls, large_ones_end_it_earlier)
{
	enum { BYTES = 480000 };
	static char text[BYTES + 100];
	const char *why = NULL;
	unsigned count = 0;
	int n = sprintf(text, "{\"call\":1,\"tool\":\"none\",\"args\":{\"x\":\"");
	memset(text + n, 'a', BYTES);
	strcpy(text + n + BYTES, "\"}}");
	while (count < 100 && take(text, &why) == 0)
		count++;
	cr_expect_lt(count, 40);
}

/* Honest code that calls many tools at a time is told so, and continues. */
Test(calls, too_many_at_a_time_are_no_misfits)
{
	for (unsigned i = 0; i < AJ_CALLS_MAX + 1000; i++)
		call(i, 10);
	cr_expect_eq(told, AJ_CALLS_MAX);
	cr_expect_eq(refused, 1000);
}

static json_t *report(void)
{
	struct aj_members members = { 0 };
	aj_calls_drop(&calls);
	aj_call_log_report(&calls.log, &members);
	json_t *result = aj_members_tree(&members);
	aj_buffer_free(&members.text);
	return result;
}

static void expect_row(const json_t *result, size_t i, const char *tool, json_int_t args_bytes, const char *outcome)
{
	const json_t *row = json_array_get(json_object_get(result, "tool_calls"), i);
	const char *name = json_string_value(json_object_get(row, "tool"));
	cr_assert_eq(json_object_size(row), 4, "%zu", i);
	cr_expect_str_eq(name ? name : "", tool, "%zu", i);
	cr_expect_eq(json_integer_value(json_object_get(row, "args_bytes")), args_bytes, "%zu", i);
	cr_expect(json_is_integer(json_object_get(row, "wall_ms")), "%zu", i);
	cr_expect_str_eq(json_string_value(json_object_get(row, "outcome")), outcome, "%zu", i);
}

Test(calls, the_log_has_each_with_its_outcome)
{
	struct aj_error err = { 0 };
	const char *why = NULL;
	json_t *value = json_true(), *result = report();
	cr_expect_eq(json_object_size(result), 0, "without a call nothing is told");
	json_decref(result);
	json_t *list = json_loads("[{\"name\":\"n\",\"parameters\":{\"type\":\"object\",\"properties\":{\"x\":{\"type\":\"integer\"}}}}]",
	                          0, NULL);
	cr_assert_eq(aj_calls_declare(&calls, list, &err), 0, "%s", err.cause);
	json_decref(list);
	enum { THREE = sizeof "{\"x\":[1,2,\"\"]}" - 1 };
	call(1, 0);
	call(2, 10);
	cr_expect_eq(take("{\"call\":3,\"tool\":\"none\",\"args\":{}}", &why), 0u);
	cr_expect_eq(take("{\"args\":{\"x\":\"one\"},\"call\":4,\"tool\":\"n\"}", &why), 0u);
	call(5, 1);
	cr_expect_eq(aj_calls_error(&calls, 2, "Error", "no", &err), 0);
	cr_expect_eq(aj_calls_value(&calls, 1, value, &err), 0);
	result = report();
	cr_assert_eq(json_array_size(json_object_get(result, "tool_calls")), 5);
	expect_row(result, 0, "t", THREE, "ok");
	expect_row(result, 1, "t", THREE + 10, "error");
	expect_row(result, 2, "", 2, "refused");
	expect_row(result, 3, "n", 11, "refused");
	expect_row(result, 4, "t", THREE + 1, "unanswered");
	cr_expect_eq(json_object_size(result), 1);
	json_decref(result);
	result = report();
	cr_expect_eq(json_object_size(result), 0, "a run later");
	json_decref(result);
}

Test(calls, the_log_is_bounded)
{
	struct aj_error err = { 0 };
	json_t *value = json_true();
	for (unsigned i = 1; i <= AJ_CALLS_LOGGED + 7; i++) {
		call(i, i);
		cr_assert_eq(aj_calls_value(&calls, i, value, &err), 0, "%s", err.cause);
	}
	json_t *result = report();
	cr_expect_eq(json_array_size(json_object_get(result, "tool_calls")), AJ_CALLS_LOGGED);
	cr_expect_eq(json_integer_value(json_object_get(result, "tool_calls_more")), 7);
	json_decref(result);
}

static void until_run_ends(const char *text, unsigned most)
{
	const char *why = NULL;
	for (unsigned i = 0; i < most && take(text, &why) == 0; i++)
		;
}

Test(calls, the_log_of_refused_calls_is_bounded)
{
	until_run_ends("{\"call\":1,\"tool\":\"none\",\"args\":{}}", 2 * AJ_CALLS_REFUSED);
	json_t *result = report();
	cr_expect_eq(json_array_size(json_object_get(result, "tool_calls")), AJ_CALLS_LOGGED);
	cr_expect_eq(json_integer_value(json_object_get(result, "tool_calls_more")), AJ_CALLS_REFUSED + 1 - AJ_CALLS_LOGGED);
	json_decref(result);
}

/* How many blocks of JSON it takes to answer a call with so many values. */
static long blocks_for(const char *tool, size_t values)
{
	static char text[50000];
	const char *why = NULL;
	int n = sprintf(text, "{\"call\":999,\"tool\":\"%s\",\"args\":{\"x\":[1", tool);
	for (size_t i = 0; i < values; i++, n += 2)
		memcpy(text + n, ",1", 2);
	strcpy(text + n, "]}}");
	made = 0;
	cr_expect_eq(take(text, &why), 0u, "%s: %s", tool, why);
	return made;
}

/* Where there is no tool, no room, or too much, what such a call says is not looked at: it costs the reading of its text, and an answer. */
Test(calls, a_call_that_cannot_be_done_makes_no_tree)
{
	enum { ANSWER = 50 };
	cr_expect_lt(blocks_for("none", 20000), ANSWER);
	cr_expect(strstr(answer, "UnknownTool"), "%s", answer);
	cr_expect_lt(blocks_for("t", 20000), ANSWER);
	cr_expect(strstr(answer, "ArgumentError") && strstr(answer, "too many values, of at most 10000"), "%s", answer);
	for (unsigned i = 0; i < AJ_CALLS_MAX; i++)
		call(i, 10);
	cr_expect_lt(blocks_for("t", 9000), ANSWER);
	cr_expect(strstr(answer, "too many calls"), "%s", answer);
	cr_expect_eq(refused, 3, "each was answered");
}
