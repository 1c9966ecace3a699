/* Tests of a result's text: its exact bytes, what a brief result leaves out, and what is added after the fact.
 * Which members a result has is tested in test_result.c. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/json/tree.h"
#include "jail/result/claim.h"
#include "jail/result/result.h"
#include "jail/result/result_members.h"

static void expect_text(struct aj_members *m, const char *text)
{
	aj_members_end(m);
	cr_expect_eq(m->text.bytes, strlen(text));
	cr_expect(m->text.bytes == strlen(text) && memcmp(m->text.data, text, m->text.bytes) == 0, "%.*s", (int)m->text.bytes,
	          m->text.data);
	aj_buffer_free(&m->text);
}

Test(members, in_order)
{
	struct aj_members m = { 0 };
	aj_buffer_string(aj_member(&m, "id"), "a\"\0b", 4);
	aj_member_json(&m, "value", json_pack("[n, f]", -0.0));
	json_t *tree = aj_members_tree(&m);
	cr_expect_eq(json_object_size(tree), 2);
	json_decref(tree);
	aj_buffer_text(aj_member(&m, "warm"), "false");
	expect_text(&m, "{\"id\":\"a\\\"\\u0000b\",\"value\":[null,-0.0],\"warm\":false}");
	m = (struct aj_members){ 0 };
	expect_text(&m, "{}");
}

Test(members, brief)
{
	static const struct {
		const char *name, *value;
		bool kept;
	} rows[] = {
		{ "value", "null", false },
		{ "value", "false", false },
		{ "value", "\"\"", false },
		{ "value", "[]", false },
		{ "value", "{}", false },
		{ "value", "0", true },
		{ "value", "[[]]", true },
		{ "value", "\"null\"", true },
		{ "violations_seen", "true", false },
		{ "violations_seen", "false", true },
		{ "audit", "{\"recorded\":true}", false },
		{ "audit", "{\"recorded\":false,\"error\":\":true\"}", true },
		{ "truncated", "{\"stdout\":false,\"total_bytes\":0}", false },
		{ "truncated", "{\"stdout\":true,\"total_bytes\":9}", true },
		{ "usage", "{\"peak_memory\":\"x\"}", false }, /* the same in each result */
		{ "warm", "true", true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char wanted[200];
		struct aj_members m = { .brief = true };
		aj_buffer_text(aj_member(&m, "id"), "1");
		aj_buffer_text(aj_member(&m, rows[i].name), rows[i].value);
		aj_buffer_text(aj_member(&m, "session"), "2");
		snprintf(wanted, sizeof wanted, rows[i].kept ? "{\"id\":1,\"%s\":%s,\"session\":2}" : "{\"id\":1,\"session\":2}",
		         rows[i].name, rows[i].value);
		expect_text(&m, wanted);
	}
}

/* Files are read after the rest is written; a list that the caller asked for is there although it is empty. */
Test(members, files)
{
	json_t *files = json_array(), *skipped = json_pack("[s]", "big");
	for (int brief = 0; brief < 2; brief++) {
		struct aj_members m = { .brief = brief };
		aj_buffer_text(aj_member(&m, "truncated"), "{\"stdout\":true}");
		aj_buffer_text(aj_member(&m, "exit_code"), "0");
		aj_members_add_files(&m, files, skipped);
		aj_buffer_text(aj_member(&m, "note"), "\"\"");
		expect_text(&m, brief ? "{\"truncated\":{\"stdout\":true,\"files\":true},\"exit_code\":0,\"files\":[],\"files_skipped\":[\"big\"]}"
		                      : "{\"truncated\":{\"stdout\":true,\"files\":true},\"exit_code\":0,\"files\":[],\"files_skipped\":[\"big\"],\"note\":\"\"}");
		m = (struct aj_members){ .brief = brief };
		aj_buffer_text(aj_member(&m, "id"), "1");
		aj_members_add_files(&m, NULL, skipped);
		expect_text(&m, "{\"id\":1,\"files_skipped\":[\"big\"]}");
		m = (struct aj_members){ .brief = brief };
		aj_buffer_text(aj_member(&m, "truncated"), "{\"stdout\":true}");
		aj_members_add_files(&m, NULL, NULL);
		expect_text(&m, "{\"truncated\":{\"stdout\":true}}");
	}
	json_decref(files);
	json_decref(skipped);
}

/* A claim's values come out as they went in, in one form each; and what is no claim is none. */
Test(members, values_of_a_claim)
{
	static const struct {
		const char *value, *written; /* NULL: it is refused */
	} rows[] = {
		{ "-0.0", "-0.0" },
		{ "-0", "0" },
		{ "1e22", "1e22" },
		{ "1E2", "100.0" },
		{ "1e400", NULL },
		{ "9223372036854775807", "9223372036854775807" },
		{ "9223372036854775808", NULL },
		{ "\"\\u0000\\u001f\\u007f\\/\"", "\"\\u0000\\u001f\x7f/\"" },
		{ "\"\\ud83d\\ude00\\u00e9\"", "\"\xf0\x9f\x98\x80\xc3\xa9\"" },
		{ "{\"a\" : [ 1 , {} ]}", "{\"a\":[1,{}]}" },
		{ "{\"a\":1,\"a\":2}", NULL },
		{ "{\"a\":{\"b\":1,\"\\u0062\":2}}", NULL },
		{ "{\"\\u0000\":1}", NULL },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200], why[160];
		snprintf(text, sizeof text, "{\"status\":\"ok\",\"value\":%s}", rows[i].value);
		json_t *claim = aj_claim_parse(text, strlen(text), why, sizeof why);
		cr_expect_eq(claim == NULL, rows[i].written == NULL, "%s", text);
		if (!claim || !rows[i].written)
			continue;
		struct aj_members m = { 0 };
		aj_buffer_json(aj_member(&m, "value"), json_object_get(claim, "value"));
		snprintf(text, sizeof text, "{\"value\":%s}", rows[i].written);
		expect_text(&m, text);
		json_decref(claim);
	}
}

/* The order of a claim's members is not the result's, and does not decide whether it is a claim. */
Test(members, in_any_order)
{
	static const char first[] = "{\"imports\":[\"a\"],\"status\":\"error\",\"error\":{\"message\":\"m\",\"type\":\"T\"},\"value\":1}";
	char why[160] = "";
	json_t *claim = aj_claim_parse(first, strlen(first), why, sizeof why);
	cr_expect_not_null(claim, "%s", why);
	json_decref(claim);
}
