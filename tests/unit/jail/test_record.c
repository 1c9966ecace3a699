/* Tests of audit records: the fields, hostile bytes as one valid line, and the room that nothing may exceed.
 * Nothing is written anywhere; sealing stands for it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jail/audit/chain.h"
#include "jail/audit/record.h"
#include "jail/audit/split_long_records.h"

static struct aj_arena arena;
static struct aj_plan plan;
static struct aj_request request;
static struct aj_result result;
static char *argv[] = { "sh", "-c", "id", NULL };

static void prepare(void)
{
	plan = (struct aj_plan){ .snippet = true, .policy_name = "snippet", .capture = true };
	request = (struct aj_request){
		.is_snippet = true, .id = "unit", .snippet = { .code = "1+1", .code_bytes = 3 }, .command.argv = argv
	};
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ "seccomp", "allow-list" };
	result = (struct aj_result){ .reason = "finished", .wall_us = 1500, .cpu_us = 1000, .peak_memory_bytes = 4096 };
}

static void done(void)
{
	aj_result_free(&result);
	aj_arena_free(&arena);
}
TestSuite(record, .init = prepare, .fini = done);

static void claim(json_t *claimed)
{
	result.claim = claimed;
	cr_assert_not_null(claimed);
}

static const char *text_of(const json_t *doc, const char *key)
{
	const char *text = json_string_value(json_object_get(doc, key));
	return text ? text : "(none)";
}

static json_int_t number_of(const json_t *doc, const char *key)
{
	const json_t *value = json_object_get(doc, key);
	return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* One line of printable ASCII that reads back as the same object, within the room. */
static void one_line(json_t *doc)
{
	size_t bytes;
	char why[160], *text = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII);
	cr_expect_leq(strlen(text), AJ_RECORD_BYTES);
	cr_assert_not_null(text);
	char *line = aj_chain_seal(text, strlen(text), &aj_chain_start, &bytes);
	free(text);
	cr_expect_leq(bytes, AJ_CHAIN_RECORD_BYTES);
	cr_expect_eq(line[bytes - 1], '\n');
	for (size_t i = 0; i + 1 < bytes; i++)
		cr_assert(line[i] >= 0x20 && line[i] < 0x7f, "byte %d at %zu", line[i], i);
	struct aj_chain_record back;
	cr_assert(aj_chain_read(line, bytes - 1, &back, why, sizeof why), "%s", why);
	const char *key;
	json_t *value;
	json_object_foreach(doc, key, value)
		cr_expect(json_equal(value, json_object_get(back.json, key)), "%s", key);
	json_decref(back.json);
	free(line);
}

static void put_together(json_t *whole, const char *key, json_t *piece)
{
	json_t *there = json_object_get(whole, key), *value;
	const char *inner;
	if (!there)
		json_object_set(whole, key, piece);
	else if (json_is_array(there))
		json_array_extend(there, piece);
	else
		json_object_foreach(piece, inner, value)
			put_together(there, inner, value);
}

/* The record's lines, each within the room and of its id, which hold all that it held. Returns their number. */
static size_t lines_of(const json_t *doc)
{
	json_t *copy = json_deep_copy(doc), *lines = aj_record_lines(copy), *whole = json_object(), *line, *value;
	const char *key;
	size_t i;
	bool cut = false;
	json_array_foreach(lines, i, line) {
		one_line(line);
		cr_expect_str_eq(text_of(line, "event"), i ? "more" : text_of(doc, "event"));
		cr_expect(json_equal(json_object_get(line, "id"), json_object_get(doc, "id")));
		cr_expect(i == 0 ||
		          (number_of(line, "part") == (json_int_t)i && strcmp(text_of(line, "of"), text_of(doc, "event")) == 0));
		cut |= i && json_object_get(line, "truncated");
		json_t *own = json_deep_copy(line);
		for (size_t k = 0; i && k < 7; k++)
			json_object_del(own, (const char *[]){ "v", "event", "id", "of", "time", "part", "truncated" }[k]);
		json_object_foreach(own, key, value)
			put_together(whole, key, value);
		json_decref(own);
	}
	size_t count = json_array_size(lines);
	cr_expect(count == 1 ? !json_object_get(whole, "parts") : number_of(whole, "parts") == (json_int_t)count - 1);
	json_object_del(whole, "parts");
	json_object_foreach((json_t *)(uintptr_t)doc, key, value)
		cr_expect(cut || json_equal(value, json_object_get(whole, key)), "%s", key);
	cr_expect_eq(json_object_size(whole), json_object_size(doc));
	json_decref(whole);
	json_decref(lines);
	json_decref(copy);
	return count;
}

Test(record, start)
{
	json_t *policy = json_pack("{s:s, s:s, s:[]}", "name", "snippet", "sha256", "abc", "files");
	json_t *doc = aj_record_start(&request, policy), *user = json_object_get(doc, "user");
	one_line(doc);
	cr_expect_eq(number_of(doc, "v"), 1);
	cr_expect_str_eq(text_of(doc, "event"), "start");
	cr_expect_str_eq(text_of(doc, "id"), "unit");
	cr_expect_str_eq(text_of(doc, "command"), "exec");
	cr_expect_eq(number_of(doc, "pid"), getpid());
	cr_expect_eq(number_of(user, "uid"), getuid());
	cr_expect_eq(number_of(user, "gid"), getgid());
	cr_expect_neq(number_of(user, "login"), UINT32_MAX, "unset is not an id");
	cr_expect_eq(json_object_get(doc, "policy"), policy);
	cr_expect_str_eq(text_of(doc, "code_sha256"), "4a1b21d876ae00c8ed5c4d1cde09c61f8a61b50fe370a801b10c339831f370ab");
	cr_expect_null(json_object_get(doc, "argv"));
	cr_expect_null(json_object_get(doc, "status"));
	cr_expect_null(json_object_get(doc, "truncated"));
	cr_expect_eq(text_of(doc, "cwd")[0], '/');
	int year, ms, at = 0;
	cr_expect_eq(sscanf(text_of(doc, "time"), "%4d-%*2d-%*2dT%*2d:%*2d:%*2d.%3dZ%n", &year, &ms, &at), 2);
	cr_expect_eq(at, 24);
	json_decref(doc);
	json_decref(policy);
}

/* Answers of people, and clients of published ports: a record of each kind, and the sums are the result's. */
Test(record, answers_and_published_connections)
{
	struct aj_network_answer answer = { .host = "new.test",
		                            .port = 443,
		                            .answer = "once",
		                            .by = "terminal",
		                            .answered_us = 1700000000123000,
		                            .waited_us = 2500000 };
	const struct aj_network_published client = { .client = "127.0.0.1:50000",
		                                     .port = 8080,
		                                     .guest_port = 3000,
		                                     .bytes_out = 7,
		                                     .bytes_in = 5,
		                                     .began_us = 1700000000123000 };
	struct aj_network_use *use = &result.network;
	use->publishes = true;
	aj_network_add_published(use, &client);
	aj_network_add_answer(use, &answer);
	answer.answer = "deny";
	strcpy(answer.why, "the answer was no");
	aj_network_add_answer(use, &answer);
	size_t at = 0;
	json_t *doc = aj_record_network(&request, use, &at), *list = json_object_get(doc, "answers"),
	       *first = json_array_get(list, 0);
	cr_expect_str_eq(text_of(doc, "event"), "answers");
	cr_assert_eq(json_array_size(list), 2);
	cr_expect_str_eq(text_of(first, "host"), "new.test");
	cr_expect_str_eq(text_of(first, "answer"), "once");
	cr_expect_str_eq(text_of(first, "by"), "terminal");
	cr_expect_str_eq(text_of(first, "time"), "2023-11-14T22:13:20.123Z");
	cr_expect(number_of(first, "waited_ms") == 2500 && !json_object_get(first, "why"));
	cr_expect_str_eq(text_of(json_array_get(list, 1), "why"), "the answer was no");
	one_line(doc);
	json_decref(doc);
	doc = aj_record_network(&request, use, &at);
	first = json_array_get(json_object_get(doc, "published"), 0);
	cr_expect_str_eq(text_of(doc, "event"), "published");
	cr_expect_str_eq(text_of(first, "client"), "127.0.0.1:50000");
	cr_expect(number_of(first, "port") == 8080 && number_of(first, "guest_port") == 3000 &&
	          number_of(first, "bytes_out") == 7 && number_of(first, "bytes_in") == 5);
	json_decref(doc);
	cr_expect_null(aj_record_network(&request, use, &at));
	doc = aj_record_end(&request, NULL, &plan, &result);
	json_t *network = json_object_get(doc, "network");
	cr_expect(number_of(network, "published") == 1 && number_of(network, "published_bytes_in") == 5 &&
	          number_of(network, "connections") == 0);
	json_decref(doc);
	aj_network_free(use);
}

/* As many connections in a line as it has room for, within the room whatever the names are; refused hosts are denials, as many as fit. */
Test(record, connections_and_refused_hosts)
{
	struct aj_network_trouble refused = { .port = 443, .count = 1, .why = "not on this jail's list" };
	struct aj_network_connection made = {
		.address = "203.0.113.7", .port = 443, .began_us = 1700000000123000, .lasted_us = 5000, .bytes_in = 9
	};
	memset(refused.host, '"', sizeof refused.host - 1);
	memset(made.host, '\\', sizeof made.host - 1);
	result.network.relayed = true;
	for (int i = 0; i < 250; i++) {
		refused.host[0] = (char)('a' + i % 26);
		aj_network_add_trouble(&result.network.refused, &refused);
		aj_network_add_connection(&result.network, &made);
	}
	size_t at = 0, lines = 0, seen = 0;
	for (json_t *doc; (doc = aj_record_network(&request, &result.network, &at)); json_decref(doc)) {
		json_t *list = json_object_get(doc, "connections"), *first = json_array_get(list, 0);
		cr_expect_str_eq(text_of(doc, "event"), "connections");
		cr_expect_str_eq(text_of(first, "time"), "2023-11-14T22:13:20.123Z");
		cr_expect(number_of(first, "lasted_ms") == 5 && number_of(first, "bytes_in") == 9 &&
		          number_of(first, "port") == 443);
		seen += json_array_size(list);
		lines++;
		one_line(doc);
	}
	cr_expect(lines > 10 && seen == 250, "%zu lines, %zu connections", lines, seen);
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *list = json_object_get(doc, "denials");
	cr_expect(json_array_size(list) > 5);
	cr_expect_str_eq(text_of(json_array_get(list, 0), "by"), "relay");
	cr_expect(json_is_true(json_object_get(doc, "truncated")));
	cr_expect_eq(number_of(json_object_get(doc, "network"), "connections"), 250);
	cr_expect_eq(lines_of(doc), 3);
	json_decref(doc);
}

Test(record, command)
{
	request.is_snippet = plan.snippet = plan.capture = false;
	request.snippet.code = NULL;
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *list = json_object_get(doc, "argv");
	one_line(doc);
	cr_expect_str_eq(text_of(doc, "command"), "run");
	cr_expect_eq(json_array_size(list), 3);
	cr_expect_str_eq(json_string_value(json_array_get(list, 2)), "id");
	cr_expect_null(json_object_get(doc, "code_sha256"));
	cr_expect_null(json_object_get(doc, "claimed"), "a command claims nothing");
	cr_expect(json_is_null(json_object_get(doc, "policy")));
	cr_expect(json_is_null(json_object_get(json_object_get(doc, "usage"), "output_bytes")), "it went past us");
	json_decref(doc);
}

Test(record, end)
{
	claim(json_pack("{s:s, s:[s,s], s:[]}", "status", "ok", "imports", "math", "re", "errors"));
	result.limits_hit[result.limits_hit_count++] = "wall_clock";
	result.status = AJ_STATUS_TIMEOUT;
	result.exit_code = -1;
	result.signal = 9;
	result.out.total_bytes = 3;
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *usage = json_object_get(doc, "usage");
	one_line(doc);
	cr_expect_str_eq(text_of(doc, "event"), "end");
	cr_expect_str_eq(text_of(doc, "status"), "timeout");
	cr_expect_str_eq(text_of(doc, "reason"), "finished");
	cr_expect(json_is_null(json_object_get(doc, "exit_code")));
	cr_expect_eq(number_of(doc, "signal"), 9);
	cr_expect_eq(number_of(usage, "wall_ms"), 2);
	cr_expect_eq(number_of(usage, "cpu_ms"), 1);
	cr_expect_eq(number_of(usage, "peak_memory_bytes"), 4096);
	cr_expect_eq(number_of(usage, "output_bytes"), 3);
	cr_expect_str_eq(json_string_value(json_array_get(json_object_get(doc, "limits_hit"), 0)), "wall_clock");
	cr_expect_str_eq(text_of(json_object_get(doc, "enforced"), "seccomp"), "allow-list");
	cr_expect_null(json_object_get(doc, "imports"), "claims stay apart");
	cr_expect_eq(json_array_size(json_object_get(json_object_get(doc, "claimed"), "imports")), 2);
	cr_expect_eq(json_array_size(json_object_get(doc, "denials")), 0);
	json_decref(doc);
	result.status = AJ_STATUS_SETUP_ERROR;
	doc = aj_record_end(&request, NULL, &plan, &result);
	cr_expect_eq(json_object_size(json_object_get(doc, "enforced")), 0, "nothing ran");
	json_decref(doc);
}

Test(record, denials)
{
	claim(json_pack("{s:s, s:[{s:s, s:s, s:i, s:s}, {s:s, s:b}, s, {s:[]}]}", "status", "rejected", "errors", "rule",
	                "PY-IMPORT", "message", "Import of os", "line", 7, "by", "kernel", "rule", "PY-X", "message", 1, "text",
	                "rule"));
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *list = json_object_get(doc, "denials"),
	       *first = json_array_get(list, 0);
	one_line(doc);
	cr_expect_eq(json_array_size(list), 2, "what has no rule is none");
	cr_expect_str_eq(text_of(first, "by"), "layer", "whatever is claimed");
	cr_expect_str_eq(text_of(first, "rule"), "PY-IMPORT");
	cr_expect_str_eq(text_of(first, "message"), "Import of os");
	cr_expect_eq(number_of(first, "line"), 7);
	json_decref(doc);
	json_decref(result.claim);
	claim(json_pack("{s:s, s:{s:s}}", "status", "error", "error", "rule", "PY-PRIVATE"));
	doc = aj_record_end(&request, NULL, &plan, &result);
	cr_expect_str_eq(text_of(json_array_get(json_object_get(doc, "denials"), 0), "rule"), "PY-PRIVATE");
	json_decref(doc);
	json_decref(result.claim);
	claim(json_pack("{s:s, s:{s:s, s:i}, s:[{s:s, s:i}, {s:s, s:n}]}", "status", "error", "error", "rule", "PY-IMPORT",
	                "line", 9, "imports_refused", "module", "os", "line", 9, "module", "sys", "line"));
	doc = aj_record_end(&request, NULL, &plan, &result);
	list = json_object_get(doc, "denials");
	cr_expect_eq(json_array_size(list), 2, "the error is one of them");
	cr_expect_str_eq(text_of(json_array_get(list, 0), "message"), "Import of os is not allowed");
	cr_expect_eq(number_of(json_array_get(list, 0), "line"), 9);
	cr_expect_str_eq(text_of(json_array_get(list, 1), "message"), "Import of sys is not allowed");
	json_decref(doc);
	static const struct aj_syscall row = { .name = "ptrace", .errnum = 1, .why = "other processes' memory", .instead = "-" };
	result.violations = (struct aj_violations){ .seen = true, .count = 1, .items = { { .row = &row, .count = 3 } } };
	doc = aj_record_end(&request, NULL, &plan, &result);
	first = json_array_get(json_object_get(doc, "denials"), 0);
	cr_expect_str_eq(text_of(first, "by"), "kernel", "what is attested comes first");
	cr_expect_str_eq(text_of(first, "rule"), "ptrace");
	cr_expect_str_eq(text_of(first, "message"), "other processes' memory");
	cr_expect_eq(number_of(first, "count"), 3);
	cr_expect_str_eq(text_of(json_array_get(json_object_get(doc, "denials"), 1), "by"), "layer");
	json_decref(doc);
}

Test(record, hostile_bytes)
{
	char bytes[256];
	for (size_t i = 0; i < sizeof bytes; i++)
		bytes[i] = (char)(255 - i);
	char *hostile[] = {
		bytes, "\033[2J", "\xc3\xa4\xf0\x9f\x92\xa9\xed\xa0\x80\x7f", "\"}\n{\"v\":1,\"hash\":\"\\", "", NULL
	};
	request.is_snippet = plan.snippet = false;
	request.command.argv = hostile;
	request.id = bytes;
	memcpy(result.reason, bytes, sizeof bytes);
	*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ "network", bytes };
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *list = json_object_get(doc, "argv");
	lines_of(doc);
	cr_expect_str_eq(json_string_value(json_array_get(list, 1)), "\033[2J");
	cr_expect_str_eq(json_string_value(json_array_get(list, 2)), "\xc3\xa4\xf0\x9f\x92\xa9\\xed\\xa0\\x80\\x7f");
	cr_expect_str_eq(json_string_value(json_array_get(list, 3)), hostile[3]);
	cr_expect_eq(json_array_size(list), 5);
	cr_expect_null(json_object_get(doc, "truncated"));
	json_decref(doc);
	/* NUL only comes in claims. */
	request.is_snippet = plan.snippet = true;
	claim(json_object());
	json_object_set_new(result.claim, "imports", json_pack("[o]", json_stringn("a\0b", 3)));
	doc = aj_record_end(&request, NULL, &plan, &result);
	lines_of(doc);
	cr_expect_eq(json_string_length(json_array_get(json_object_get(json_object_get(doc, "claimed"), "imports"), 0)), 3);
	json_decref(doc);
}

/* Every \xNN of a record is one byte: a text of this form does not look like the byte that it names. */
Test(record, bytes_and_escaped_texts_differ)
{
	static char *const rows[][2] = { { "\xff", "\\xff" },  { "\\xff", "\\x5cxff" },     { "\\x5cxff", "\\x5cx5cxff" },
		                         { "\\XFF", "\\XFF" }, { "\\\\xFf", "\\\\x5cxFf" }, { "\\xg0", "\\xg0" },
		                         { "\\xf", "\\xf" },   { "C:\\x", "C:\\x" } };
	enum { COUNT = sizeof rows / sizeof *rows };
	char *given[COUNT + 1] = { NULL };
	for (size_t i = 0; i < COUNT; i++)
		given[i] = rows[i][0];
	request.is_snippet = plan.snippet = false;
	request.command.argv = given;
	json_t *doc = aj_record_end(&request, NULL, &plan, &result), *list = json_object_get(doc, "argv");
	for (size_t i = 0; i < COUNT; i++)
		cr_expect_str_eq(json_string_value(json_array_get(list, i)), rows[i][1], "row %zu", i);
	lines_of(doc);
	json_decref(doc);
}

/* Everything as large as can be, in bytes that take the most room each. */
Test(record, nothing_exceeds_the_line)
{
	static const char *const fill[] = { "x", "\001", "\xf0\x9f\x92\xa9", "\xff", "\"", "\\x00", "" };
	for (size_t f = 0; f < sizeof fill / sizeof *fill; f++) {
		enum { BYTES = 1 << 20 };
		size_t n = strlen(fill[f]);
		char *wide = calloc(1, BYTES + 1), *many[8000] = { "sh" };
		for (size_t i = 0; n && i + n <= BYTES; i += n)
			memcpy(wide + i, fill[f], n);
		for (size_t i = 1; i + 1 < sizeof many / sizeof *many; i++)
			many[i] = i < 3 ? wide : "";
		request.id = wide;
		request.command.argv = many;
		snprintf(result.reason, sizeof result.reason, "%s", wide);
		plan.enforced.count = 0;
		for (size_t i = 0; i < 100; i++)
			*AJ_PUSH(&arena, &plan.enforced) = (struct aj_enforced){ aj_printf(&arena, "wall%zu", i), wide };
		json_t *list = json_array(), *imports = json_array(), *text = n ? json_stringn(wide, BYTES / 2 / n * n) : NULL;
		if (!text)
			text = json_string("?");
		for (size_t i = 0; i < 2000; i++) {
			json_array_append_new(list, json_pack("{s:O, s:O, s:I}", "rule", text, "message", text, "line",
			                                      (json_int_t)INT64_MIN));
			json_array_append(imports, text);
		}
		claim(json_pack("{s:o, s:o}", "errors", list, "imports", imports));
		json_t *policy = json_pack("{s:O, s:O, s:[O,O]}", "name", text, "sha256", text, "files", text, text);
		for (int snippet = 0; snippet < 2; snippet++) {
			request.is_snippet = plan.snippet = snippet;
			json_t *doc = aj_record_end(&request, policy, &plan, &result);
			size_t lines = lines_of(doc);
			cr_expect(json_is_true(json_object_get(doc, "truncated")) && lines < 9, "`%s`: %zu lines", fill[f],
			          lines);
			cr_expect_eq(json_object_get(doc, "argv_sha256") != NULL, !snippet);
			json_decref(doc);
		}
		json_decref(policy);
		json_decref(text);
		json_decref(result.claim);
		result.claim = NULL;
		free(wide);
	}
}

/* A log that cuts lines, and a caller who chooses long arguments: the fixed fields come before them, and nothing is cut. */
Test(record, fixed_fields_first)
{
	char wide[9000], *long_argv[] = { "sh", wide, "last", NULL };
	memset(wide, 'x', sizeof wide - 1);
	wide[sizeof wide - 1] = '\0';
	request.is_snippet = plan.snippet = false;
	request.command.argv = long_argv;
	result.status = AJ_STATUS_TIMEOUT;
	json_t *policy = json_pack("{s:s, s:s, s:[], s:[]}", "name", "command", "sha256", "abc", "files", "options");
	for (int i = 0; i < 200; i++)
		json_array_append_new(json_object_get(policy, "options"),
		                      json_sprintf("--bind=/srv/a/folder/with/a/long/name/%d:/opt/%d", i, i));
	json_t *doc = aj_record_end(&request, policy, &plan, &result), *argv_of = json_object_get(doc, "argv");
	char *text = json_dumps(doc, JSON_COMPACT | JSON_ENSURE_ASCII);
	static const char *const before[] = { "\"id\"", "\"status\":\"timeout\"", "\"limits_hit\"", "\"uid\"" };
	for (size_t i = 0; i < sizeof before / sizeof *before; i++)
		cr_expect(strstr(text, before[i]) && strstr(text, before[i]) - text < 500, "%s", before[i]);
	free(text);
	cr_expect_eq(number_of(doc, "argv_count"), 3);
	cr_expect(json_array_size(argv_of) == 2 && json_object_get(doc, "argv_sha256") &&
	          json_is_true(json_object_get(doc, "truncated")));
	cr_expect_eq(lines_of(doc), 3);
	cr_expect_eq(json_array_size(json_object_get(policy, "options")), 200, "the caller's");
	json_decref(doc);
	json_decref(policy);
}
