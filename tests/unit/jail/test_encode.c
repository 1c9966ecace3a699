/* Tests of channel/encode: what is sent to a runner, and that no code is in what is sent before it is armed.
 * It reads the bytes back with base/frame; no runner is started. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "jail/channel/encode.h"
#include "policy/load/load.h"
#include "policy/seccomp/compile.h"

static struct aj_arena arena;
static struct aj_buffer buffer;
static const char *body; /* of the last frame: a copy, NUL-terminated */
static size_t body_bytes;

static void done(void)
{
	free((char *)body);
	free(buffer.data);
	aj_arena_free(&arena);
}
TestSuite(wire, .fini = done);

static void next_frame(uint8_t kind)
{
	struct aj_frame_reader reader = { .cap_bytes = 1 << 20 };
	const char *frame;
	long used = aj_frame_feed(&reader, buffer.data + buffer.sent, buffer.bytes - buffer.sent, &frame);
	cr_assert(used > 0 && frame, "no whole frame");
	cr_assert_eq(*frame, kind, "`%c`", *frame);
	free((char *)body);
	body_bytes = reader.want - 1;
	body = memcpy(calloc(1, reader.want), frame + 1, body_bytes);
	buffer.sent += (size_t)used;
}

Test(wire, arming)
{
	struct aj_plan plan = { .snippet = true, .profile = AJ_PROFILE_SNIPPET };
	*AJ_PUSH(&arena, &plan.preload) = "math";
	*AJ_PUSH(&arena, &plan.preload) = "json";
	aj_encode_arm(&buffer, &plan);
	const struct aj_filter *filter = aj_filter_stage(AJ_STAGE_ABOVE);
	next_frame(AJ_FRAME_FILTER);
	cr_expect_eq(body_bytes, filter->count * sizeof *filter->insns);
	cr_expect(memcmp(body, filter->insns, body_bytes) == 0);
	next_frame(AJ_FRAME_PRELOAD);
	cr_expect_str_eq(body, "math\njson\n");
	cr_expect_eq(buffer.sent, buffer.bytes, "and nothing else");
}

/* Joined: still one frame. */
Test(wire, denied_groups)
{
	static struct sock_filter room[AJ_FILTER_ROOM];
	struct aj_plan plan = { .snippet = true, .profile = AJ_PROFILE_COMMAND, .deny = AJ_DENY_FORK | AJ_DENY_THREADS };
	struct aj_filter want = aj_filter_above(plan.profile, plan.deny, room);
	aj_encode_arm(&buffer, &plan);
	next_frame(AJ_FRAME_FILTER);
	cr_assert_eq(body_bytes, want.count * sizeof *want.insns);
	cr_expect(memcmp(body, want.insns, body_bytes) == 0);
	next_frame(AJ_FRAME_PRELOAD);
	cr_expect_eq(buffer.sent, buffer.bytes);
}

Test(wire, nothing_to_preload)
{
	struct aj_plan plan = { .snippet = true, .profile = AJ_PROFILE_SNIPPET };
	aj_encode_arm(&buffer, &plan);
	next_frame(AJ_FRAME_FILTER);
	next_frame(AJ_FRAME_PRELOAD);
	cr_expect_eq(body_bytes, 0);
	cr_expect_eq(buffer.sent, buffer.bytes);
}

/* The head of a request, as guest/layer/runtime/request.py reads it. */
struct head {
	uint32_t flags;
	uint64_t soft_ms;
	uint32_t name_bytes, code_bytes;
} __attribute__((packed));

/* The frame's request begins at `from`: checks its head, name and code. NULL: no object follows. */
static json_t *read_request(size_t from, uint32_t flags, uint64_t soft_ms, const char *name, const char *code)
{
	struct head head;
	json_error_t why = { 0 };
	const char *at = body + from + sizeof head;
	cr_assert_geq(body_bytes, from + sizeof head);
	memcpy(&head, body + from, sizeof head); /* this machine is little-endian */
	cr_expect_eq(head.flags, flags);
	cr_expect_eq(head.soft_ms, soft_ms);
	cr_assert_eq(head.name_bytes, strlen(name));
	cr_assert_eq(head.code_bytes, strlen(code));
	cr_expect_eq(strncmp(at, name, head.name_bytes), 0);
	cr_expect_eq(strncmp(at + head.name_bytes, code, head.code_bytes), 0);
	at += head.name_bytes + head.code_bytes;
	json_t *doc = at == body + body_bytes ? NULL : json_loadb(at, (size_t)(body + body_bytes - at), JSON_REJECT_DUPLICATES, &why);
	cr_expect_str_eq(why.text, "");
	return doc;
}

static int compose(const char *code, const char *inputs, struct aj_error *err)
{
	struct aj_policy policy;
	struct aj_plan plan = { .snippet = true };
	struct aj_request request = {
		.is_snippet = true,
		.id = "x",
		.snippet = { .code = code, .code_bytes = strlen(code), .filename = "f.py", .inputs_json = inputs },
	};
	aj_policy_preset(&policy, &arena, "snippet");
	*AJ_PUSH(&arena, &plan.late_env) = "A=1";
	return aj_encode_request(&buffer, NULL, &plan, &policy, &request, err);
}

Test(wire, request)
{
	struct aj_error err = { 0 };
	cr_assert_eq(compose("print('\xc3\xa9\"\\')\n", "{\"a\":[1,null]}", &err), 0, "%s", err.cause);
	next_frame(AJ_FRAME_REQUEST);
	cr_expect_eq(buffer.sent, buffer.bytes);
	json_t *doc = read_request(0, 1 | 2, 0, "f.py", "print('\xc3\xa9\"\\')\n"); /* code, and no snippet after it */
	cr_assert_not_null(doc);
	cr_expect_str_eq(json_string_value(json_object_get(doc, "builtins")), "standard");
	cr_expect(json_is_true(json_object_get(doc, "layer")));
	cr_expect_eq(json_array_size(json_object_get(json_object_get(doc, "inputs"), "a")), 2);
	const char *imports = json_string_value(json_object_get(doc, "imports"));
	cr_assert_not_null(imports);
	cr_expect(strstr(imports, "collections.abc ") && strstr(imports, " math "), "%s", imports);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(doc, "env"), 0)), "A=1");
	json_decref(doc);
}

/* In place of code, and what is asked for besides. */
Test(wire, variables)
{
	struct aj_policy policy;
	struct aj_plan plan = { .snippet = true };
	struct aj_request request = { .is_snippet = true,
		                      .lasting = true,
		                      .id = "x",
		                      .snippet = { .filename = "f.py",
		                                   .get = "a\"b",
		                                   .vars = true,
		                                   .handles = true,
		                                   .value_of_statement = true,
		                                   .timeout_ms = 5000,
		                                   .stdin_text = "1\n\"\xc3\xa9",
		                                   .seed.given = true } };
	struct aj_error err = { 0 };
	aj_policy_preset(&policy, &arena, "snippet");
	cr_assert_eq(aj_encode_request(&buffer, "12345678", &plan, &policy, &request, &err), 0, "%s", err.cause);
	next_frame(AJ_FRAME_SNIPPET);
	json_t *doc = read_request(AJ_NONCE_BYTES, 16 | 32 | 128, 5000, "f.py", ""); /* of a statement, handles, vars */
	json_t *want = json_pack("{s:s, s:s, s:i}", "get", "a\"b", "stdin", "1\n\"\xc3\xa9", "seed", 0);
	cr_expect(json_equal(doc, want), "%.*s", (int)body_bytes, body);
	json_decref(doc);
	json_decref(want);
}

/* As large as may be, and too large; and no text. */
Test(wire, standard_input)
{
	struct aj_policy policy;
	struct aj_plan plan = { .snippet = true };
	char *text = malloc(AJ_STDIN_BYTES + 2);
	cr_assert(text);
	memset(text, 'a', AJ_STDIN_BYTES + 1);
	text[AJ_STDIN_BYTES] = '\0';
	struct aj_request request = {
		.is_snippet = true, .lasting = true, .id = "x", .snippet = { .filename = "f.py", .code = "", .stdin_text = text }
	};
	struct aj_error err = { 0 };
	aj_policy_preset(&policy, &arena, "snippet");
	cr_expect_eq(aj_encode_request(&buffer, "12345678", &plan, &policy, &request, &err), 0, "%s", err.cause);
	text[AJ_STDIN_BYTES] = 'a';
	text[AJ_STDIN_BYTES + 1] = '\0';
	cr_expect_eq(aj_encode_request(&buffer, "12345678", &plan, &policy, &request, &err), -1);
	cr_expect(strstr(err.cause, "the standard input is larger than 16 MiB"), "%s", err.cause);
	err = (struct aj_error){ 0 };
	request.snippet.stdin_text = "a\xff";
	cr_expect_eq(aj_encode_request(&buffer, "12345678", &plan, &policy, &request, &err), -1);
	cr_expect(strstr(err.cause, "the standard input is not valid UTF-8"), "%s", err.cause);
	free(text);
}

/* More snippets may follow: the nonce first, and no policy, which has come before. */
Test(wire, nonce)
{
	struct aj_policy policy;
	struct aj_plan plan = { .snippet = true };
	struct aj_request request = {
		.is_snippet = true, .lasting = true, .id = "x", .snippet = { .code = "1", .code_bytes = 1, .filename = "f.py" }
	};
	struct aj_error err = { 0 };
	aj_policy_preset(&policy, &arena, "snippet");
	cr_assert_eq(aj_encode_request(&buffer, "12345678", &plan, &policy, &request, &err), 0, "%s", err.cause);
	next_frame(AJ_FRAME_SNIPPET);
	cr_assert_gt(body_bytes, AJ_NONCE_BYTES);
	cr_expect_eq(memcmp(body, "12345678", AJ_NONCE_BYTES), 0);
	cr_expect_null(read_request(AJ_NONCE_BYTES, 1, 0, "f.py", "1"), "all else is as the reader has it");
}

Test(wire, policy)
{
	struct aj_policy policy;
	struct aj_plan plan = { .snippet = true };
	aj_policy_preset(&policy, &arena, "snippet");
	*AJ_PUSH(&arena, &plan.late_env) = "A=\"1\"";
	*AJ_PUSH(&arena, &plan.late_env) = "B=";
	aj_encode_policy(&buffer, &plan, &policy);
	next_frame(AJ_FRAME_POLICY);
	json_t *doc = json_loadb(body, body_bytes, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(doc, "%s", body);
	cr_expect(json_is_true(json_object_get(doc, "layer")));
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(doc, "env"), 0)), "A=\"1\"");
	cr_expect_eq(json_array_size(json_object_get(doc, "env")), 2);
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(doc, "limits"), "source_bytes")), (json_int_t)policy.source_bytes);
	cr_expect_eq(json_object_size(doc), 5);
	json_decref(doc);
	cr_expect_eq(buffer.sent, buffer.bytes, "and nothing else");
	aj_encode_layer(&buffer, &policy);
	next_frame(AJ_FRAME_LAYER);
	doc = json_loadb(body, body_bytes, JSON_REJECT_DUPLICATES, NULL);
	cr_assert_not_null(doc, "%s", body);
	cr_expect_eq(json_object_size(doc), 3, "the layer's keys and no other");
	cr_expect_str_eq(json_string_value(json_object_get(doc, "builtins")), "standard");
	json_decref(doc);
	policy.imports_checked = AJ_CHECKED_AT_RUN;
	aj_encode_policy(&buffer, &plan, &policy);
	next_frame(AJ_FRAME_POLICY);
	doc = json_loadb(body, body_bytes, JSON_REJECT_DUPLICATES, NULL);
	cr_expect_str_eq(json_string_value(json_object_get(doc, "imports_checked")), "run");
	json_decref(doc);
}

Test(wire, bad_inputs_and_code)
{
	static const struct {
		const char *code, *inputs;
	} rows[] = { { "1", "{" },
		     { "1", "[1]" },
		     { "1", "" },
		     { "1", "{} {}" },
		     { "\xff", NULL },
		     { "1", "{\"a\":\"\xff\"}" },
		     { "1", "{\"class\":1}" },
		     { "1", "{\"a\":{},\"1a\":1}" },
		     { "1", "{\"a\\u0000\":1}" } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_error err = { 0 };
		cr_expect_eq(compose(rows[i].code, rows[i].inputs, &err), -1, "row %zu", i);
		cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
		cr_expect_eq(buffer.bytes, 0, "row %zu left half a frame", i);
	}
}

Test(wire, values_of_variables_are_passed_on)
{
	struct aj_error err = { 0 };
	cr_assert_eq(compose("1", "{\"a\":\"b\\u0000c\"}", &err), 0, "%s", err.cause);
	next_frame(AJ_FRAME_REQUEST);
	cr_expect(strstr(body + sizeof(struct head) + strlen("f.py1"), "\"inputs\":{\"a\":\"b\\u0000c\"}"));
}
