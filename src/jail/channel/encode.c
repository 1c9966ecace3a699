/* Composes the frames that a supervisor sends to a snippet's runner.
 * Parses no answer: jail/channel/channel.c does. */
#include "jail/channel/encode.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/tree.h"
#include "base/python_name.h"
#include "base/text.h"
#include "policy/clock.h"
#include "policy/plan/pack.h"
#include "policy/seccomp/compile.h"

/* Of a value's repr, for a person or a model to read. */
enum { REPR_BYTES = 64 << 10 };
/* Of inputs, and of tools. */
enum { MOST_VALUES = 1000000 };

void aj_encode_frame(struct aj_buffer *out, uint8_t kind, const void *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, (uint32_t)bytes, kind);
	aj_buffer_add(out, header, sizeof header);
	aj_buffer_add(out, body, bytes);
}

static void begin_frame(struct aj_buffer *out, uint8_t kind)
{
	aj_buffer_begin(out);
	aj_buffer_add(out, &kind, sizeof kind);
}

static void add_preload(struct aj_buffer *out, const struct aj_plan *plan)
{
	begin_frame(out, AJ_FRAME_PRELOAD);
	for (size_t i = 0; i < plan->preload.count; i++) {
		aj_buffer_text(out, plan->preload.items[i]);
		aj_buffer_add(out, "\n", 1);
	}
	aj_buffer_end(out);
}

/* Here and in arm_newborn(): 32 KiB on the stack, not static, as several threads may each have a supervisor. */
void aj_encode_arm(struct aj_buffer *out, const struct aj_plan *plan)
{
	struct sock_filter room[AJ_FILTER_ROOM];
	struct aj_filter filter = aj_filter_above(plan->profile, plan->deny, room);
	aj_encode_frame(out, AJ_FRAME_FILTER, filter.insns, filter.count * sizeof *filter.insns);
	add_preload(out, plan);
}

static void arm_newborn(struct aj_buffer *out, const struct aj_plan *plan, bool reported)
{
	struct sock_filter room[AJ_FILTER_ROOM];
	struct aj_filter filter = aj_filter_build(plan->profile, plan->network, plan->deny, room);
	aj_encode_frame(out, reported ? AJ_FRAME_REPORTED : AJ_FRAME_FILTER, filter.insns, filter.count * sizeof *filter.insns);
	add_preload(out, plan);
}

static void add_number(struct aj_buffer *out, const char *before, uint64_t number)
{
	aj_buffer_text(out, before);
	aj_buffer_number(out, number);
}

/* The members, without braces, that are the same for all snippets of a session. */
static void layer_keys(struct aj_buffer *out, const struct aj_policy *policy)
{
	aj_buffer_text(out, policy->layer ? "\"layer\":true,\"builtins\":\"" : "\"layer\":false,\"builtins\":\"");
	aj_buffer_text(out, aj_builtins_name(policy->builtins));
	/* One string: the guest's parser is slow per string, and module names have no spaces. */
	aj_buffer_text(out, "\",\"imports\":\"");
	for (size_t i = 0; i < policy->imports.count; i++) {
		aj_buffer_text(out, policy->imports.items[i]);
		aj_buffer_add(out, " ", 1);
	}
	aj_buffer_text(out, policy->imports_checked == AJ_CHECKED_AT_RUN ? "\",\"imports_checked\":\"run\"" : "\"");
	struct aj_clock clock;
	char text[40];
	if (aj_clock_parse(policy->clock, &clock) && clock.chosen) {
		snprintf(text, sizeof text, clock.fixed ? "=%" PRId64 : "%+" PRId64, clock.ns);
		aj_buffer_text(out, ",\"clock\":\"");
		aj_buffer_text(out, text);
		aj_buffer_text(out, "\"");
	}
	if (policy->sleep_ms)
		add_number(out, ",\"sleep_ms\":", policy->sleep_ms);
}

/* Adds an item of a list: `before` is what begins the list, later the separator. So a list without items is left out. */
static void add_item(struct aj_buffer *out, const char **before, const char *text)
{
	aj_buffer_text(out, *before);
	aj_buffer_string(out, text, strlen(text));
	*before = ",";
}

static void policy_keys(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy)
{
	static const char *const own[] = { AJ_INPUT, AJ_OUTPUT, "/tmp" };
	layer_keys(out, policy);
	aj_buffer_text(out, ",\"env\":[");
	const char *before = "";
	for (size_t i = 0; i < plan->late_env.count; i++)
		add_item(out, &before, plan->late_env.items[i]);
	before = "],\"files\":[";
	for (size_t i = 0; plan->files && i < sizeof own / sizeof *own; i++)
		add_item(out, &before, own[i]);
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (aj_mount_is_named(&plan->mounts.items[i]))
			add_item(out, &before, plan->mounts.items[i].target);
	before = "],\"folders\":[";
	if (plan->workspace_at)
		add_item(out, &before, plan->workspace_at);
	for (size_t i = 0; i < policy->reached.count; i++)
		add_item(out, &before, policy->reached.items[i]);
	add_number(out, "],\"limits\":{\"source_bytes\":", policy->source_bytes);
	add_number(out, ",\"repr_bytes\":", REPR_BYTES);
	add_number(out, ",\"value_bytes\":", policy->result_bytes / 4);
	add_number(out, ",\"memory_bytes\":", policy->memory_bytes);
	aj_buffer_text(out, "}");
}

void aj_encode_policy(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy)
{
	begin_frame(out, AJ_FRAME_POLICY);
	aj_buffer_text(out, "{");
	policy_keys(out, plan, policy);
	aj_buffer_text(out, "}");
	aj_buffer_end(out);
}

void aj_encode_layer(struct aj_buffer *out, const struct aj_policy *policy)
{
	begin_frame(out, AJ_FRAME_LAYER);
	aj_buffer_text(out, "{");
	layer_keys(out, policy);
	aj_buffer_text(out, "}");
	aj_buffer_end(out);
}

void aj_encode_zygote(struct aj_buffer *out, const struct aj_plan *plan, const struct aj_policy *policy, bool reported)
{
	size_t bytes;
	char *packed = aj_plan_pack(plan, &bytes);
	if (!packed)
		abort();
	aj_encode_frame(out, AJ_FRAME_PLAN, packed, bytes);
	free(packed);
	aj_encode_policy(out, plan, policy);
	arm_newborn(out, plan, reported);
}

static void add_little_endian(struct aj_buffer *out, uint64_t number, size_t bytes)
{
	char text[sizeof number];
	for (size_t i = 0; i < bytes; i++)
		text[i] = (char)(number >> 8 * i);
	aj_buffer_add(out, text, bytes);
}

static bool is_on(const struct aj_snippet *s, const struct aj_snippet_row *row)
{
	const void *member = (const char *)s + row->at;
	return row->kind == AJ_MEMBER_CHOICE ? *(const unsigned *)member != 0 : *(const bool *)member;
}

/* A request, as guest/layer/runtime/request.py and guest/plain_request.c read it: a head, and an object of the rarer keys. */
static void add_head(struct aj_buffer *out, const struct aj_snippet *s)
{
	size_t name_bytes = strlen(s->filename), code_bytes = s->code ? s->code_bytes : 0;
	int flags = s->code ? AJ_HAS_CODE : 0;
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++)
		if (row->frame > 0 && is_on(s, row))
			flags |= row->frame;
	add_little_endian(out, (unsigned)flags, 4);
	add_little_endian(out, s->timeout_ms, 8);
	add_little_endian(out, name_bytes, 4);
	add_little_endian(out, code_bytes, 4);
	aj_buffer_add(out, s->filename, name_bytes);
	aj_buffer_add(out, s->code ? s->code : "", code_bytes);
}

/* Begins a member of the object that begins at offset `object`: the first one opens it. */
static void add_key(struct aj_buffer *out, size_t object, const char *key)
{
	aj_buffer_text(out, out->bytes == object ? "{\"" : ",\"");
	aj_buffer_text(out, key);
	aj_buffer_text(out, "\":");
}

/* The caller's JSON is passed on as it is, and checked first: it may come from an untrusted source. */
static const char *check_json(const char *text, char first)
{
	struct aj_scan scan = { .max_values = MOST_VALUES };
	aj_scan_feed(&scan, text, strlen(text));
	return aj_scan_end(&scan) ? scan.wrong : text[strspn(text, " \t\r\n")] != first ? "it is of another type" : NULL;
}

/* Returns NULL, or what is wrong with JSON of the caller's. */
static const char *add_member(struct aj_buffer *out, size_t object, const struct aj_snippet *s, const struct aj_snippet_row *row)
{
	const char *const *text = (const char *const *)(const void *)((const char *)s + row->at), *wrong = NULL;
	const struct aj_number *number = (const struct aj_number *)(const void *)text;
	if (row->kind == AJ_MEMBER_COUNT ? !number->given : !*text)
		return NULL;
	if (row->kind == AJ_MEMBER_ARRAY || (row->kind == AJ_MEMBER_OBJECT && !s->inputs_checked))
		wrong = check_json(*text, row->kind == AJ_MEMBER_ARRAY ? '[' : '{');
	if (wrong)
		return wrong;
	add_key(out, object, row->key);
	if (row->kind == AJ_MEMBER_COUNT)
		aj_buffer_number(out, number->value);
	else if (row->kind == AJ_MEMBER_TEXT || row->kind == AJ_MEMBER_NAME)
		aj_buffer_string(out, *text, strlen(*text));
	else
		aj_buffer_text(out, *text);
	return NULL;
}

static int check_text(const char *text, size_t bytes, const char *step, const char *what, struct aj_error *err)
{
	if (aj_utf8_valid_prefix(text, bytes) == bytes)
		return 0;
	return aj_fail(err, AJ_EXIT_USAGE, step, 0, "%s is not valid UTF-8", what);
}

int aj_encode_request(struct aj_buffer *out, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                      const struct aj_request *request, struct aj_error *err)
{
	const char *wrong = NULL;
	char name[AJ_BAD_NAME];
	struct aj_snippet s = request->snippet;
	size_t stdin_bytes = s.stdin_text ? strlen(s.stdin_text) : 0;
	if (stdin_bytes > AJ_STDIN_BYTES)
		return aj_fail(err, AJ_EXIT_USAGE, "stdin", 0, "the standard input is larger than %d MiB", AJ_STDIN_BYTES >> 20);
	if ((s.code && check_text(s.code, s.code_bytes, "input", "the snippet", err) < 0) ||
	    check_text(s.stdin_text, stdin_bytes, "stdin", "the standard input", err) < 0)
		return -1;
	begin_frame(out, nonce ? AJ_FRAME_SNIPPET : AJ_FRAME_REQUEST);
	aj_buffer_add(out, nonce ? nonce : "", nonce ? AJ_NONCE_BYTES : 0);
	s.last = !request->lasting;
	add_head(out, &s);
	size_t object = out->bytes;
	if (!nonce) {
		aj_buffer_text(out, "{");
		policy_keys(out, plan, policy);
	}
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text && !wrong; row++)
		wrong = row->frame == AJ_AS_KEY ? add_member(out, object, &s, row) : NULL;
	if (wrong) {
		aj_buffer_cancel(out);
		return aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the variables are not a JSON object of at most %d values: %s",
		               MOST_VALUES, wrong);
	}
	if (s.inputs_json && !s.inputs_checked &&
	    (wrong = aj_json_bad_name(s.inputs_json, strlen(s.inputs_json), aj_python_name_bad, name))) {
		aj_buffer_cancel(out);
		return aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the name `%s` %s", name, wrong);
	}
	aj_buffer_text(out, out->bytes == object ? "" : "}");
	aj_buffer_end(out);
	return 0;
}
