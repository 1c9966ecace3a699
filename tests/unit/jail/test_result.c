/* Tests of the result as JSON: claims and attested facts stay apart, any output becomes valid text.
 * The verdict is given here; how it is found is tested in test_verdict.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "jail/result/claim.h"
#include "jail/result/result.h"
#include "policy/load/load.h"

static struct aj_arena arena;
static struct aj_plan plan;
static struct aj_policy policy;
static struct aj_request request = { .is_snippet = true, .id = "unit" };
static struct aj_result result;

static void prepare(void)
{
	plan = (struct aj_plan){ .snippet = true, .policy_name = "snippet", .capture = true };
	cr_assert(aj_policy_preset(&policy, &arena, "snippet"));
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ "seccomp", "allow-list" };
	result = (struct aj_result){ .reason = "finished", .out.cap_bytes = 8, .err.cap_bytes = 8 };
}

static void done(void)
{
	aj_result_free(&result);
	aj_arena_free(&arena);
}
TestSuite(result, .init = prepare, .fini = done);

static void claim(const char *text)
{
	char why[160];
	result.claim = aj_claim_parse(text, strlen(text), why, sizeof why);
	cr_assert_not_null(result.claim, "%s", why);
}

static const char *text_of(json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "(none)";
}

Test(result, fields)
{
	claim("{\"status\":\"ok\",\"value\":[4],\"repr\":\"[4]\",\"imports\":[\"math\"]}");
	result.wall_us = 1500;
	result.cpu_us = 1000;
	result.peak_memory_bytes = 4096;
	strcpy(result.code_sha256, "abc");
	aj_output_buffer_add(&result.out, "hi\n", 3);
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_str_eq(text_of(doc, "id"), "unit");
	cr_expect_str_eq(text_of(doc, "status"), "ok");
	cr_expect_str_eq(text_of(doc, "repr"), "[4]");
	cr_expect_str_eq(text_of(doc, "stdout"), "hi\n");
	cr_expect_str_eq(text_of(doc, "stderr"), "");
	cr_expect_str_eq(text_of(doc, "code_sha256"), "abc");
	cr_expect_eq(json_integer_value(json_object_get(doc, "wall_ms")), 2, "rounded up: a run takes time");
	cr_expect_eq(json_integer_value(json_object_get(doc, "cpu_ms")), 1);
	cr_expect_eq(json_integer_value(json_object_get(doc, "exit_code")), 0);
	cr_expect(json_is_null(json_object_get(doc, "signal")));
	cr_expect_str_eq(text_of(json_object_get(doc, "enforced"), "seccomp"), "allow-list");
	cr_expect_eq(json_array_size(json_object_get(doc, "limits_hit")), 0);
	cr_expect_str_eq(text_of(json_object_get(doc, "policy"), "name"), "snippet");
	cr_expect_eq(strlen(text_of(json_object_get(doc, "policy"), "sha256")), 64);
	cr_expect_eq(json_array_size(json_object_get(json_object_get(doc, "policy"), "files")), 1);
	json_decref(doc);
}

static json_t *with_common(struct aj_common *common)
{
	struct aj_members members = { 0 };
	aj_result_members(&members, &result, &plan, &policy, &request, common);
	json_t *doc = aj_members_tree(&members);
	aj_buffer_free(&members.text);
	return doc;
}

/* What results share is the same as what each would have of its own. */
Test(result, in_common)
{
	struct aj_common common = { 0 };
	static const struct aj_socket_limits in_reach = { .by = "in reach", .without_listener = "somebody" };
	plan.without_listener = "nobody";
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ AJ_UNIX_SOCKETS, "mediated" };
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ AJ_PYTHON_LAYER, "on" };
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ "filesystem", "mounts" };
	for (unsigned turn = 0; turn < 64; turn++) {
		unsigned which = turn % 32 ^ turn / 32; /* each change alone, and all together */
		result.violations.seen = which & 1;
		result.sockets = which & 2 ? &in_reach : NULL;
		result.layer = which & 4 ? "off" : NULL;
		strcpy(result.bound, which & 8 ? "/usr" : "");
		request.snippet.seed.given = which & 16;
		request.snippet.seed.value = turn;
		json_t *own = aj_result_json(&result, &plan, &policy, &request);
		json_t *shared = with_common(&common);
		cr_expect(json_equal(own, shared), "turn %u", turn);
		json_decref(own);
		json_decref(shared);
	}
	request.snippet.seed.given = false;
	aj_common_free(&common);
	cr_expect_null(common.enforced.data);
}

static struct aj_network_trouble trouble(const char *host, uint16_t port, const char *why)
{
	struct aj_network_trouble one = { .port = port, .count = 2 };
	strcpy(one.host, host);
	strcpy(one.why, why);
	return one;
}

/* Equal refusals are one row with a count; what exceeds the list is in the sum. */
Test(result, network_by_allow_list)
{
	struct aj_network_use *use = &result.network;
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_null(json_object_get(doc, "network"), "other networks have no such field");
	json_decref(doc);
	use->relayed = true;
	for (int i = 0; i < 2; i++) {
		struct aj_network_trouble evil = trouble("evil.test", 443, "not on the list"),
					  name = trouble("evil.test", 0, "TLS asks for another name"),
					  down = trouble("down.test", 443, "no host answered");
		evil.unlisted = true;
		snprintf(evil.instead, sizeof evil.instead, "Ask for it.");
		aj_network_add_trouble(&use->refused, &evil);
		aj_network_add_trouble(&use->refused, &name);
		aj_network_add_trouble(&use->failed, &down);
		aj_network_add_connection(use,
		                          &(struct aj_network_connection){ .host = "a.test", .bytes_out = 3, .bytes_in = 4 });
	}
	doc = aj_result_json(&result, &plan, &policy, &request);
	json_t *network = json_object_get(doc, "network"), *list = json_object_get(doc, "violations"),
	       *first = json_array_get(list, 0);
	cr_assert_eq(json_array_size(list), 2);
	cr_expect_str_eq(text_of(first, "host"), "evil.test");
	cr_expect_eq(json_integer_value(json_object_get(first, "port")), 443);
	cr_expect_eq(json_integer_value(json_object_get(first, "count")), 4);
	cr_expect_str_eq(text_of(first, "instead"), "Ask for it.");
	cr_expect(json_is_null(json_object_get(json_array_get(list, 1), "port")),
	          "a question for the name's address has no port");
	cr_expect_eq(json_integer_value(json_object_get(network, "connections")), 2);
	cr_expect_eq(json_integer_value(json_object_get(network, "bytes_in")), 8);
	cr_expect_eq(json_integer_value(json_object_get(network, "refused")), 8);
	cr_expect_eq(json_array_size(json_object_get(network, "failed")), 1);
	json_decref(doc);
	for (int i = 0; i < 100; i++) {
		char host[24];
		snprintf(host, sizeof host, "h%d.test", i);
		struct aj_network_trouble one = trouble(host, 1, "no");
		aj_network_add_trouble(&use->refused, &one);
	}
	for (int i = 0; i < AJ_NETWORK_CONNECTIONS_MAX + 10; i++)
		aj_network_add_connection(use, &(struct aj_network_connection){ .bytes_out = 1 });
	cr_expect_eq(use->refused.count, AJ_NETWORK_TROUBLES_MAX);
	cr_expect_eq(use->refused.total, 208);
	cr_expect_eq(use->connection_count, AJ_NETWORK_CONNECTIONS_MAX);
	cr_expect_eq(use->total, AJ_NETWORK_CONNECTIONS_MAX + 12);
	cr_expect_eq(use->bytes_out, AJ_NETWORK_CONNECTIONS_MAX + 16);
}

/* A brief result has what differs from run to run, and each member that tells of more than a plain success. */
Test(result, brief)
{
	claim("{\"status\":\"ok\",\"value\":0,\"repr\":\"0\",\"str\":\"\",\"type\":\"int\",\"error\":null,\"errors\":[],"
	      "\"final_answer\":null,\"is_final\":false,\"imports\":[],\"truncated\":{}}");
	plan.capture = true;
	result.violations.seen = true;
	result.recorded = AJ_RECORDED;
	json_t *whole = aj_result_json(&result, &plan, &policy, &request);
	request.snippet.brief = true;
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	static const char *const kept[] = { "id",   "status",    "reason",  "value",  "repr",
		                            "type", "exit_code", "wall_ms", "cpu_ms", "peak_memory_bytes" };
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		cr_expect(json_equal(json_object_get(doc, kept[i]), json_object_get(whole, kept[i])), "%s", kept[i]);
	cr_expect_eq(json_object_size(doc), sizeof kept / sizeof *kept, "%zu members", json_object_size(doc));
	json_decref(doc);
	result.violations.seen = false;
	result.recorded = AJ_MISSED;
	aj_output_buffer_add(&result.err, "more than eight", 15);
	doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect(json_is_false(json_object_get(doc, "violations_seen")));
	cr_expect_not_null(json_object_get(doc, "audit"), "what is missing in the trail");
	cr_expect_not_null(json_object_get(json_object_get(doc, "truncated"), "total_bytes"), "what was cut");
	json_decref(doc);
	json_decref(whole);
}

/* A claim may say what it likes of status and truncation; the supervisor's word stands in the result. */
Test(result, claims_change_no_attested_field)
{
	/* As if the parser had let it pass. */
	result.claim = json_loads("{\"status\":\"ok\",\"truncated\":{\"stdout\":true,\"total_bytes\":7},\"value\":1}", 0, NULL);
	result.status = AJ_STATUS_TIMEOUT;
	result.limits_hit[result.limits_hit_count++] = "wall_clock";
	result.exit_code = -1;
	result.signal = 9;
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_str_eq(text_of(doc, "status"), "timeout");
	cr_expect(json_is_false(json_object_get(json_object_get(doc, "truncated"), "stdout")));
	cr_expect_eq(json_integer_value(json_object_get(json_object_get(doc, "truncated"), "total_bytes")), 0);
	cr_expect(json_is_null(json_object_get(doc, "exit_code")));
	cr_expect_eq(json_integer_value(json_object_get(doc, "signal")), 9);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(doc, "limits_hit"), 0)), "wall_clock");
	json_decref(doc);
}

/* Of the marks that a claim may set, true ones are passed on, and no other value. */
Test(result, truncated_claims)
{
	claim("{\"status\":\"ok\",\"truncated\":{\"value\":true,\"final_answer\":false}}");
	json_t *doc = aj_result_json(&result, &plan, &policy, &request), *truncated = json_object_get(doc, "truncated");
	cr_expect(json_is_true(json_object_get(truncated, "value")));
	cr_expect_eq(json_object_size(truncated), 4, "stdout, stderr, total_bytes, value");
	json_decref(doc);
}

Test(result, bytes_of_the_output)
{
	static const struct {
		const char *written, *text, *base64; /* under a cap of 8 bytes; base64: "(none)" */
	} rows[] = {
		{ "", "", "(none)" },
		{ "caf\xc3\xa9", "caf\xc3\xa9", "(none)" },
		{ "a\xff", "a\xef\xbf\xbd", "Yf8=" },
		{ "caf\xc3", "caf\xef\xbf\xbd", "Y2Fmww==" },
		/* characters that the omission cuts */
		{ "abc\xc3\xa9__\xc3\xa9xyz", "abc\xef\xbf\xbd\n[... 4 bytes omitted ...]\n\xef\xbf\xbdxyz", "(none)" },
		/* beyond these, head and tail are the ones of the text */
		{ "a\xff"
		  "bcdefghijkl",
		  "a\xef\xbf\xbd"
		  "bc\n[... 5 bytes omitted ...]\nijkl",
		  "Yf9iYwpbLi4uIDUgYnl0ZXMgb21pdHRlZCAuLi5dCmlqa2w=" },
		{ "abcdefghijk\xff", "abcd\n[... 4 bytes omitted ...]\nijk\xef\xbf\xbd",
		  "YWJjZApbLi4uIDQgYnl0ZXMgb21pdHRlZCAuLi5dCmlqa/8=" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		aj_output_buffer_free(&result.out);
		result.out.cap_bytes = 8;
		aj_output_buffer_add(&result.out, rows[i].written, strlen(rows[i].written));
		json_t *doc = aj_result_json(&result, &plan, &policy, &request);
		cr_expect_str_eq(text_of(doc, "stdout"), rows[i].text, "row %zu", i);
		cr_expect_str_eq(text_of(doc, "stdout_base64"), rows[i].base64, "row %zu", i);
		cr_expect_null(json_object_get(doc, "stderr_base64"));
		json_decref(doc);
	}
	aj_output_buffer_add(&result.err, "\0\xfe", 2);
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_str_eq(text_of(doc, "stderr_base64"), "AP4=");
	json_decref(doc);
}

/* A figure that the kernel did not give is absent: 0 would be an answer. */
Test(result, usage)
{
	json_t *doc = aj_result_json(&result, &plan, &policy, &request), *usage = json_object_get(doc, "usage");
	cr_expect_eq(json_object_size(usage), 1);
	cr_expect_str_eq(text_of(usage, "peak_memory"), "largest process (ru_maxrss)");
	json_decref(doc);
	result.leaf = (struct aj_leaf_usage){ .peak_bytes = 1,
		                              .knows_throttling = true,
		                              .throttled_us = 1500,
		                              .knows_io = true,
		                              .io_read_bytes = 7,
		                              .io_written_bytes = 0 };
	doc = aj_result_json(&result, &plan, &policy, &request);
	usage = json_object_get(doc, "usage");
	cr_expect_eq(json_object_size(usage), 4);
	cr_expect_str_eq(text_of(usage, "peak_memory"), "cgroup v2 memory.peak");
	cr_expect_eq(json_integer_value(json_object_get(usage, "throttled_ms")), 2);
	cr_expect_eq(json_integer_value(json_object_get(usage, "io_read_bytes")), 7);
	cr_expect(json_is_integer(json_object_get(usage, "io_written_bytes")));
	json_decref(doc);
}

Test(result, oom_and_several_limits)
{
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_null(json_object_get(doc, "oom"));
	json_decref(doc);
	result.status = AJ_STATUS_OOM;
	result.peak_memory_bytes = 99;
	result.leaf.oom_kills = 3;
	result.limits_hit[result.limits_hit_count++] = "memory";
	result.limits_hit[result.limits_hit_count++] = "pids";
	plan.memory_bytes = 100;
	doc = aj_result_json(&result, &plan, &policy, &request);
	json_t *oom = json_object_get(doc, "oom"), *limits = json_object_get(doc, "limits_hit");
	cr_expect_eq(json_integer_value(json_object_get(oom, "limit_bytes")), 100);
	cr_expect_eq(json_integer_value(json_object_get(oom, "peak_bytes")), 99);
	cr_expect_eq(json_integer_value(json_object_get(oom, "kills")), 3);
	cr_assert_eq(json_array_size(limits), 2);
	cr_expect_str_eq(json_string_value(json_array_get(limits, 1)), "pids");
	json_decref(doc);
}

Test(result, nothing_is_enforced_when_nothing_ran)
{
	result.status = AJ_STATUS_SETUP_ERROR;
	aj_fail(&result.setup, AJ_EXIT_SETUP, "mounts", 0, "no /proc");
	aj_advise(&result.setup, "use --proc none");
	json_t *doc = aj_result_json(&result, &plan, &policy, &request), *error = json_object_get(doc, "error");
	cr_expect_eq(json_object_size(json_object_get(doc, "enforced")), 0);
	cr_expect_str_eq(text_of(error, "type"), "SetupError");
	cr_expect_str_eq(text_of(error, "step"), "mounts");
	cr_expect_str_eq(text_of(error, "fix"), "use --proc none");
	cr_expect(json_is_null(json_object_get(doc, "exit_code")), "there was no exit");
	json_decref(doc);
}

/* A wall that init reports as not built is named; a wall that the plan does not know is not. */
Test(result, folders_without_an_overlay)
{
	static const char tree[] = "read-only host /usr";
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ "filesystem", tree };
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_BIND, .target = "/a", .flags = AJ_RO | AJ_OVERLAY };
	*AJ_PUSH(&arena,
	         &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_BIND, .target = "/b\xff", .flags = AJ_RO | AJ_OVERLAY };
	*AJ_PUSH(&arena, &plan.mounts) = (struct aj_mount){ .kind = AJ_MOUNT_BIND, .target = "/c", .flags = AJ_RO };
	char room[AJ_WALL_TEXT];
	struct aj_enforced wall = plan.enforced.items[1];
	aj_result_note_no_overlay(&result, &plan, "/c", EINVAL);
	aj_result_note_no_overlay(&result, &plan, "/none", EINVAL);
	cr_expect_str_eq(aj_result_wall(&result, &plan, &wall, room), tree);
	aj_result_note_no_overlay(&result, &plan, "/a", EBUSY);
	aj_result_note_no_overlay(&result, &plan, "/b\xff", EINVAL);
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	const char *text = text_of(json_object_get(doc, "enforced"), "filesystem");
	cr_expect(strstr(text, tree) == text && strstr(text, "at or below /a (another mount lies there), /b"), "%s", text);
	cr_expect_str_eq(text_of(json_object_get(doc, "enforced"), "seccomp"), "allow-list");
	json_decref(doc);
	for (int i = 0; i < 100; i++)
		aj_result_note_no_overlay(&result, &plan, "/a", EBUSY);
	cr_expect(strstr(aj_result_wall(&result, &plan, &wall, room), "than can be listed"), "%s", room);
}

Test(result, truncated_output)
{
	aj_output_buffer_add(&result.out, "0123456789", 10);
	aj_output_buffer_add(&result.err, "01234567", 8);
	json_t *doc = aj_result_json(&result, &plan, &policy, &request), *truncated = json_object_get(doc, "truncated");
	cr_expect_str_eq(text_of(doc, "stdout"), "0123\n[... 2 bytes omitted ...]\n6789");
	cr_expect_str_eq(text_of(doc, "stderr"), "01234567");
	cr_expect(json_is_true(json_object_get(truncated, "stdout")) && json_is_false(json_object_get(truncated, "stderr")));
	cr_expect_eq(json_integer_value(json_object_get(truncated, "total_bytes")), 18);
	json_decref(doc);
}

/* Every byte sequence becomes a JSON string that is valid UTF-8. */
Test(result, output_that_is_not_text)
{
	static const struct {
		const char *bytes;
		size_t count;
		const char *want;
	} rows[] = {
		{ "\xff", 1, "\xef\xbf\xbd" },
		{ "a\xff\xfe"
		  "b",
		  4,
		  "a\xef\xbf\xbd\xef\xbf\xbd"
		  "b" },
		{ "\xc3\xa9\xc3", 3, "\xc3\xa9\xef\xbf\xbd" },
		{ "\xed\xa0\x80", 3, "\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd" },
		{ "\x1b[31m", 5, "\x1b[31m" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		aj_output_buffer_add(&result.out, rows[i].bytes, rows[i].count);
		json_t *doc = aj_result_json(&result, &plan, &policy, &request);
		cr_expect_str_eq(text_of(doc, "stdout"), rows[i].want, "row %zu", i);
		char *text = json_dumps(doc, JSON_COMPACT);
		cr_expect_not_null(text, "row %zu cannot be printed", i);
		free(text);
		json_decref(doc);
		aj_output_buffer_free(&result.out);
		result.out.cap_bytes = 8;
	}
	for (int byte = 0; byte < 256; byte++) {
		const char c = (char)byte;
		aj_output_buffer_add(&result.out, &c, 1);
		json_t *doc = aj_result_json(&result, &plan, &policy, &request);
		char *text = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII);
		cr_expect_not_null(text, "byte %d", byte);
		free(text);
		json_decref(doc);
		aj_output_buffer_free(&result.out);
		result.out.cap_bytes = 8;
	}
}

Test(result, without_capture_there_is_no_output_field)
{
	plan.capture = plan.snippet = false;
	json_t *doc = aj_result_json(&result, &plan, &policy, &request);
	cr_expect_null(json_object_get(doc, "stdout"));
	cr_expect_null(json_object_get(doc, "code_sha256"));
	json_decref(doc);
}

Test(result, names_and_codes)
{
	static const struct {
		enum aj_status status;
		const char *name;
		int code;
	} rows[] = {
		{ AJ_STATUS_OK, "ok", 0 },
		{ AJ_STATUS_ERROR, "error", 1 },
		{ AJ_STATUS_REJECTED, "rejected", 126 },
		{ AJ_STATUS_TIMEOUT, "timeout", 124 },
		{ AJ_STATUS_OOM, "oom", 137 },
		{ AJ_STATUS_LIMIT, "limit", 122 },
		{ AJ_STATUS_SIGNAL, "signal", 128 },
		{ AJ_STATUS_PROTOCOL_ERROR, "protocol_error", 123 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		result.status = rows[i].status;
		cr_expect_str_eq(aj_status_name(rows[i].status), rows[i].name);
		cr_expect_eq(aj_status_exit_code(&result, &plan), rows[i].code, "%s", rows[i].name);
	}
}
