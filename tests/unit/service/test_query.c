/* Tests of protocol/query: requests that are taken, and those that are refused, each with its code and the word that names what is wrong.
 * No jail and no socket: what a request does is tested where it is done. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "service/protocol/query.h"

static struct aj_query query;
static struct aj_fault fault;

static int read_text(const char *text, size_t bytes)
{
	aj_query_free(&query);
	fault = (struct aj_fault){ 0 };
	static struct aj_scan scan;
	scan = (struct aj_scan){ .max_values = 1000000 };
	aj_scan_feed(&scan, text, bytes);
	return aj_query_read(text, bytes, &scan, &query, &fault);
}

static void done(void)
{
	aj_query_free(&query);
}
TestSuite(protocol, .fini = done);

static const char *const good[] = {
	"{\"op\":\"ping\",\"id\":1}",
	" {\"op\" : \"ping\", \"id\": \"x\"}\n",
	"{\"op\":\"ping\",\"id\":-9223372036854775808}",
	"{\"op\":\"exec\",\"id\":1,\"code\":\"\"}",
	"{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"policy\":\"p\",\"tenant\":\"t\",\"workspace\":\"/w\",\"tools\":[],\"filename\":\"f\","
	"\"inputs\":{},\"timeout_ms\":1,\"stream\":true,\"run_id\":\"r\"}",
	"{\"op\":\"open\",\"id\":1,\"tenant\":\"\xc3\xa9\"}",
	"{\"op\":\"run\",\"id\":1,\"session\":\"s1\",\"code\":\"1\",\"timeout_ms\":604800000}",
	"{\"op\":\"set\",\"id\":1,\"session\":\"s1\",\"variables\":{\"a\":null}}",
	"{\"op\":\"get\",\"id\":1,\"session\":\"s1\",\"name\":\"x\",\"handles\":true,\"timeout_ms\":5}",
	"{\"op\":\"vars\",\"id\":1,\"session\":\"s1\",\"run_id\":\"r\"}",
	"{\"op\":\"run\",\"id\":1,\"session\":\"s1\",\"code\":\"1\",\"value_of\":\"statement\",\"handles\":false,\"for_model\":true}",
	"{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"value_of\":\"expression\",\"brief\":true}",
	"{\"op\":\"open\",\"id\":1,\"brief\":true,\"clock\":\"+1h\",\"sleep_max\":\"1s\"}",
	"{\"op\":\"run\",\"id\":1,\"session\":\"s1\",\"code\":\"1\",\"seed\":4294967295}",
	"{\"op\":\"open\",\"id\":1,\"seed\":0}",
	"{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"stdin\":\"\"}",
	"{\"op\":\"run\",\"id\":1,\"session\":\"s1\",\"code\":\"1\",\"stdin\":\"1\\n2\"}",
	"{\"op\":\"tools\",\"id\":1,\"session\":\"s1\",\"tools\":[{}]}",
	"{\"op\":\"tool_result\",\"request\":1,\"call\":0,\"value\":null}",
	"{\"op\":\"tool_result\",\"id\":2,\"request\":\"a\",\"call\":9007199254740991,\"error\":{\"type\":\"\",\"message\":\"\"}}",
	"{\"op\":\"interrupt\",\"id\":1,\"session\":\"s1\"}",
	"{\"op\":\"close\",\"id\":1,\"request\":5}",
	"{\"op\":\"stats\",\"id\":1}",
	"{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a\":\"\\u0000\",\"_b1\":{\"class\":[\"1\\u0000\"]},\"\xc3\xa9\":1}}",
	"{\"op\":\"tool_result\",\"request\":1,\"call\":1,\"value\":{\"a\":\"b\\u0000c\"}}",
};

Test(protocol, good)
{
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect_eq(read_text(good[i], strlen(good[i])), 0, "%s: %s", good[i], fault.message);
}

#define X128 \
	"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const struct {
	const char *text, *word;
	enum aj_fault_code code;
	bool id; /* can it be told whose request it is? */
} bad[] = {
	{ "", "not a JSON object", AJ_CODE_BAD_REQUEST, false },
	{ "x", "not a JSON object", AJ_CODE_BAD_REQUEST, false },
	{ "[]", "another type", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"stdin\":1}", "`stdin` is not a string", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"stdin\":\"a\\u0000\"}", "`stdin` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"open\",\"id\":1,\"stdin\":\"\"}", "`open` takes no `stdin`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"seed\":-1}", "`seed` is too small", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"seed\":4294967296}", "`seed` is too large", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"1\",\"seed\":1.5}", "`seed` is not an integer", AJ_CODE_BAD_REQUEST, true },
	{ "{}", "no `op`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"id\":1}", "no `op`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":null,\"id\":1}", "`op` is not a string", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exe\",\"id\":1}", "`exe`", AJ_CODE_UNKNOWN_OP, true },
	{ "{\"op\":\"ping\"}", "lacks `id`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":[]}", "`id`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":\"\"}", "`id`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":\"" X128 "x\"}", "`id`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":1,\"id\":1}", "duplicate", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":1}{", "there is text after the end of the value", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"ping\",\"id\":1,\"nonsense\":1}", "`nonsense`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"ping\",\"id\":1,\"session\":\"s\"}", "`session`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1}", "lacks `code`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":null}", "`code` is not a string", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"a\\u0000\"}", "`code` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"code\":\"a\\u0000\",\"id\":\"x\"}", "`code` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"ping\\u0000\",\"id\":1}", "`op` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"ping\",\"id\":\"a\\u0000\"}", "`id`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"ping\",\"id\":1,\"\\u0000\":1}", "a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"open\",\"id\":1,\"tools\":[{\"name\":\"a\\u0000b\"}]}", "`tools` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"tool_result\",\"id\":1,\"request\":1,\"call\":1,\"error\":{\"type\":\"a\\u0000\",\"message\":\"\"}}",
	  "`error` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	/* the text before the fault names the request */
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\xc0\xaf\"}", "not UTF-8", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":\"i\\u0064\",\"code\":\"\\ud800\"}", "a surrogate without", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"code\":\"\xc0\xaf\",\"id\":1}", "not UTF-8", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"id\":\"\xc0\xaf\"}", "not UTF-8", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"id\":12", "too early", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"id\":1,\"id\":2,\"code\":\"\xff\"}", "not UTF-8", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"id\":[1],\"code\":\"\xff\"}", "not UTF-8", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"exec\",\"x\":{\"id\":1},\"code\":\"\xff\"}", "not UTF-8", AJ_CODE_BAD_REQUEST, false },
	{ "[{\"op\":\"exec\",\"id\":1}", "too early", AJ_CODE_BAD_REQUEST, false },
	/* names of variables */
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a\":1,\"class\":1}}",
	  "`inputs`: the name `class` is a keyword of Python", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"set\",\"id\":1,\"session\":\"s\",\"variables\":{\"1a\":1}}",
	  "`variables`: the name `1a` must not start with a digit", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"_\\u005fname__\":1}}", "`__name__` must not start with two",
	  AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a b\":1}}", "`a b` is not a variable name", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"\":1}}", "`` is empty", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a\\u0000\":1}}", "`a` holds a NUL", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"workspace\":\"w\"}", "absolute", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"policy\":\"\"}", "`policy` is empty", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"policy\":\"" X128 "x\"}", "`policy` is too long", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"tenant\":\"\"}", "`tenant` is empty", AJ_CODE_BAD_REQUEST, true }, /* it is in no share of tenants */
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"tenant\":\"\\u007f\"}", "control", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"timeout_ms\":0}", "too small", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"timeout_ms\":604800001}", "too large", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"timeout_ms\":1e3}", "not an integer", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"timeout_ms\":18446744073709551616}", "integer", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"stream\":\"true\"}", "true or false", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":null}", "not an object", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"tools\",\"id\":1,\"session\":\"s\",\"tools\":[{\"b\":1,\"b\":1}]}", "duplicate", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{},\"inputs\":{}}", "duplicate", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{},\"inputs\":1}", "duplicate", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":[]}", "is not an object", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{},\"variables\":{}}", "takes no `variables`", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a\":1,}}", "at byte 46", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"open\",\"id\":1,\"tools\":{}}", "not an array", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"tool_result\",\"request\":1,\"call\":1}", "none of these", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"tool_result\",\"request\":1,\"call\":-1,\"value\":1}", "too small", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"tool_result\",\"request\":1,\"call\":1,\"error\":\"x\"}", "`error`", AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"tool_result\",\"request\":1,\"call\":1,\"error\":{\"type\":1,\"message\":\"\"}}", "`error`",
	  AJ_CODE_BAD_REQUEST, false },
	{ "{\"op\":\"close\",\"id\":1}", "none of these", AJ_CODE_BAD_REQUEST, true },
	{ "{\"op\":\"close\",\"id\":1,\"session\":\"s\",\"request\":1}", "too many of these", AJ_CODE_BAD_REQUEST, true },
};

Test(protocol, bad)
{
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		cr_expect_eq(read_text(bad[i].text, strlen(bad[i].text)), -1, "%s", bad[i].text);
		cr_expect_eq(fault.code, bad[i].code, "%s: %s", bad[i].text, aj_fault_name(fault.code));
		cr_expect(strstr(fault.message, bad[i].word), "%s: no `%s` in `%s`", bad[i].text, bad[i].word, fault.message);
		cr_expect_eq(query.member[AJ_M_ID] != NULL, bad[i].id, "%s: its id", bad[i].text);
	}
}

Test(protocol, members)
{
	const char *text = "{\"op\":\"exec\",\"id\":7,\"code\":\"c\",\"timeout_ms\":9}";
	cr_assert_eq(read_text(text, strlen(text)), 0);
	cr_expect_eq(query.op, AJ_OP_EXEC);
	cr_expect_str_eq(aj_query_text(&query, AJ_M_CODE), "c");
	cr_expect_eq(aj_query_count(&query, AJ_M_TIMEOUT_MS), 9);
	cr_expect_null(aj_query_text(&query, AJ_M_POLICY));
	cr_expect_eq(aj_query_count(&query, AJ_M_CALL), 0);
}

/* An unknown member is named with those that there are. */
Test(protocol, advice)
{
	const char *text = "{\"op\":\"close\",\"id\":7,\"name\":\"s1\"}";
	cr_assert_eq(read_text(text, strlen(text)), -1);
	cr_expect_str_eq(fault.fix, "it takes: id, session, request");
}

static char big[4 << 20];

Test(protocol, depth)
{
	for (int levels = 150; levels <= 250; levels += 100) {
		size_t at = (size_t)sprintf(big, "{\"op\":\"exec\",\"id\":1,\"code\":\"\",\"inputs\":{\"a\":");
		memset(big + at, '[', (size_t)levels);
		memset(big + at + levels, ']', (size_t)levels);
		strcpy(big + at + 2 * levels, "}}");
		cr_expect_eq(read_text(big, strlen(big)), levels < 200 ? 0 : -1, "%d levels: %s", levels, fault.message);
	}
	memset(big, '[', sizeof big);
	cr_expect_eq(read_text(big, sizeof big), -1);
	cr_expect(strstr(fault.message, "deep"), "%s", fault.message);
}

/* Brackets and quotes within strings are no levels. */
Test(protocol, strings_are_no_levels)
{
	size_t at = (size_t)sprintf(big, "{\"op\":\"exec\",\"id\":1,\"code\":\"\\\"");
	memset(big + at, '[', 100000);
	strcpy(big + at + 100000, "\\\\\"}");
	cr_expect_eq(read_text(big, strlen(big)), 0, "%s", fault.message);
}

/* The tables, as the documentation prints them. */
Test(protocol, tables)
{
	for (int code = 0; code < AJ_CODES; code++)
		cr_expect(aj_fault_name((enum aj_fault_code)code) && *aj_fault_help((enum aj_fault_code)code), "code %d", code);
	for (int m = 0; m < AJ_MEMBERS; m++) {
		bool used = m == AJ_M_OP;
		cr_expect(aj_member_name((enum aj_member)m) && *aj_member_help((enum aj_member)m) && aj_member_type((enum aj_member)m),
		          "member %d", m);
		for (int op = 0; op < AJ_OPS; op++)
			used |= aj_op_holds((enum aj_op)op, (enum aj_member)m) != NULL;
		cr_expect(used, "nobody takes `%s`", aj_member_name((enum aj_member)m));
	}
	for (int op = 0; op < AJ_OPS; op++)
		cr_expect(aj_op_name((enum aj_op)op) && *aj_op_help((enum aj_op)op), "op %d", op);
}

static int read_all(const char *text)
{
	return read_text(text, strlen(text));
}

/* A jail gets the text that came, and no tree was made of it. */
Test(protocol, what_is_only_passed_on_stays_text)
{
	static const char *const inputs = "{ \"a\" : [1e400, 123456789012345678901234567890], \"b\":{\"c\":1,\"c\":2} }";
	char text[400];
	sprintf(text, "{\"op\":\"exec\",\"inputs\":%s,\"id\":1,\"code\":\"x\"}", inputs);
	cr_assert_eq(read_all(text), 0, "%s", fault.message);
	cr_expect_str_eq(query.passed_on, inputs);
	cr_expect_eq(json_object_size(query.member[AJ_M_INPUTS]), 0u);
	cr_expect_str_eq(aj_query_text(&query, AJ_M_CODE), "x");
	cr_assert_eq(read_all("{\"op\":\"set\",\"id\":1,\"session\":\"s\",\"variables\":{\"a\":1}}"), 0, "%s", fault.message);
	cr_expect_str_eq(query.passed_on, "{\"a\":1}");
	cr_assert_eq(read_all("{\"op\":\"exec\",\"id\":1,\"code\":\"x\"}"), 0, "%s", fault.message);
	cr_expect_null(query.passed_on);
}

Test(protocol, values_are_counted)
{
	enum { COUNT = AJ_REQUEST_VALUES + 1000 };
	char *text = malloc(2 * COUNT + 200), *at;
	const struct {
		const char *before, *after;
		bool taken;
	} rows[] = { { "{\"op\":\"exec\",\"id\":1,\"code\":\"x\",\"inputs\":{\"a\":[", "]}}", true },
		     { "{\"op\":\"tool_result\",\"request\":1,\"call\":1,\"value\":[", "]}", false } };
	for (size_t i = 0; i < 2; i++) {
		at = stpcpy(text, rows[i].before);
		for (int n = 0; n < COUNT; n++)
			at = stpcpy(at, n ? ",1" : "1");
		strcpy(at, rows[i].after);
		cr_expect_eq(read_all(text) == 0, rows[i].taken, "%s", fault.message);
		if (!rows[i].taken)
			cr_expect(strstr(fault.message, "100000 values"), "%s", fault.message);
	}
	free(text);
}

/* Each reason has its code, whatever words the error has. */
Test(protocol, codes_of_reasons)
{
	static const struct {
		enum aj_reason reason;
		enum aj_fault_code code;
	} rows[] = {
		{ AJ_REASON_NONE, AJ_CODE_SETUP_ERROR },    { AJ_REASON_INPUT, AJ_CODE_BAD_REQUEST },
		{ AJ_REASON_SETUP, AJ_CODE_SETUP_ERROR },   { AJ_REASON_BUSY, AJ_CODE_BUSY },
		{ AJ_REASON_CLOSED, AJ_CODE_CLOSED },       { AJ_REASON_FILE, AJ_CODE_NO_SUCH_FILE },
		{ AJ_REASON_POLICY, AJ_CODE_SETUP_ERROR },  { AJ_REASON_CGROUP, AJ_CODE_SETUP_ERROR },
		{ AJ_REASON_DENIED, AJ_CODE_DENIED },       { AJ_REASON_CODE, AJ_CODE_BAD_REQUEST },
		{ AJ_REASON_PROCESS, AJ_CODE_SETUP_ERROR }, { AJ_REASON_NAMESPACE, AJ_CODE_SETUP_ERROR },
		{ AJ_REASON_PROC, AJ_CODE_SETUP_ERROR },    { AJ_REASON_MOUNT, AJ_CODE_SETUP_ERROR },
		{ AJ_REASON_SOURCE, AJ_CODE_SETUP_ERROR },  { AJ_REASON_OVERLAY, AJ_CODE_SETUP_ERROR },
	};
	cr_assert_eq(sizeof rows / sizeof *rows, AJ_REASONS);
	for (size_t i = 0; i < AJ_REASONS; i++) {
		struct aj_error err = { 0 };
		aj_fail_because(&err, rows[i].reason, i % 2 ? AJ_EXIT_USAGE : AJ_EXIT_SETUP, "busy", EPERM, "session policy");
		aj_advise(&err, "do this");
		cr_expect_eq(rows[i].reason, i);
		cr_expect_eq(aj_fault_from(&fault, &err), -1);
		cr_expect_eq(fault.code, rows[i].code, "reason %zu: %s", i, aj_fault_name(fault.code));
		cr_expect(strstr(fault.message, "busy: session policy: "), "%s", fault.message);
		cr_expect(strcmp(fault.fix, "do this") == 0 && fault.retry_ms == 0);
		cr_expect_eq(fault.source.exit_code != 0, i == AJ_REASON_CODE, "a result in place of an error");
	}
}
