/* Tests of the claim parser: whatever a guest sends, it is the expected shape or it is refused.
 * It does not care whether a claim is true: that is the verdict's business. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "jail/result/claim.h"
#include "jail/result/fields.h"

/* clang-format off: lists of short texts, several on a line */

static bool accepts(const char *text, size_t bytes, char *why, size_t why_bytes)
{
	memset(why, 0, why_bytes);
	/* As jail/channel/channel.c does, while the text arrives. */
	struct aj_scan scan = { .max_values = AJ_CLAIM_VALUES };
	aj_scan_feed(&scan, text, bytes);
	if (aj_scan_end(&scan)) {
		snprintf(why, why_bytes, "%s", scan.wrong);
		return false;
	}
	json_t *claim = aj_claim_parse(text, bytes, why, why_bytes);
	bool yes = claim != NULL;
	json_decref(claim);
	return yes;
}

static void check(const char *const *texts, bool want)
{
	char why[160];
	for (size_t i = 0; texts[i]; i++) {
		bool got = accepts(texts[i], strlen(texts[i]), why, sizeof why);
		cr_expect_eq(got, want, "%s: %s", texts[i], got ? "accepted" : why);
		cr_expect(got || why[0], "%s: refused without a reason", texts[i]);
	}
}

Test(claim, what_a_runner_may_say)
{
	static const char *const good[] = {
		"{\"status\":\"ok\"}",
		" { \"status\" : \"error\" } \n",
		"{\"status\":\"rejected\",\"error\":{\"type\":\"PolicyError\",\"message\":\"m\",\"line\":1}}",
		"{\"status\":\"ok\",\"value\":null,\"repr\":null,\"type\":null,\"error\":null,\"errors\":[],\"final_answer\":null,"
		"\"is_final\":false,\"imports\":[],\"truncated\":{\"value\":true,\"repr\":false}}",
		"{\"status\":\"ok\",\"value\":{\"__type__\":\"tuple\",\"data\":[1,2.5,\"x\"]},\"repr\":\"(1,)\",\"type\":\"tuple\"}",
		"{\"status\":\"ok\",\"imports\":[\"math\",\"re\"],\"is_final\":true,\"final_answer\":[[]],\"errors\":[{\"type\":\"E\",\"message\":\"\"}]}",
		"{\"status\":\"ok\",\"imports_refused\":[{\"module\":\"os\",\"line\":2},{\"line\":null,\"module\":\"\"}]}",
		"{\"status\":\"ok\",\"results\":[]}",
		"{\"status\":\"ok\",\"results\":[{\"text/plain\":\"1\",\"image/png\":\"iVBORw==\",\"image/svg+xml\":\"<svg/>\","
		"\"application/json\":[{\"a\":\"\\u0000\"}],\"application/vnd.x+json\":5}]}",
		"{\"status\":\"ok\",\"value\":9223372036854775807}",
		"{\"status\":\"ok\",\"warnings\":[{\"type\":\"RuntimeWarning\",\"message\":\"m\"}]}",
		"{\"status\":\"ok\",\"value\":-9223372036854775808}",
		"{\"status\":\"ok\",\"value\":\"\\ud83d\\udc0d\"}",
		NULL,
	};
	check(good, true);
}

Test(claim, one_verdict)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"error\":{\"type\":\"OSError\",\"message\":\"m\"}}",
		NULL,
	};
	check(bad, false);
}

Test(claim, not_json_or_not_an_object)
{
	static const char *const bad[] = {
		"",
		" ",
		"null",
		"true",
		"1",
		"\"ok\"",
		"[]",
		"[{\"status\":\"ok\"}]",
		"{",
		"{\"status\":\"ok\"",
		"{\"status\":\"ok\",}",
		"{'status':'ok'}",
		"{status:\"ok\"}",
		"{\"status\":\"ok\"}x",
		"{\"status\":\"ok\"}{\"status\":\"ok\"}",
		"\xef\xbb\xbf{\"status\":\"ok\"}",
		"/**/{\"status\":\"ok\"}",
		"\x80\x04\x95",
		NULL,
	};
	check(bad, false);
}

Test(claim, status)
{
	static const char *const bad[] = {
		"{}",
		"{\"value\":1}",
		"{\"status\":null}",
		"{\"status\":1}",
		"{\"status\":\"\"}",
		"{\"status\":\"OK\"}",
		"{\"status\":\"ok \"}",
		"{\"status\":[\"ok\"]}",
		/* what only the supervisor can know */
		"{\"status\":\"timeout\"}",
		"{\"status\":\"oom\"}",
		"{\"status\":\"limit\"}",
		"{\"status\":\"signal\"}",
		"{\"status\":\"setup_error\"}",
		"{\"status\":\"protocol_error\"}",
		NULL,
	};
	check(bad, false);
}

/* Attested fields must not even be sent. */
Test(claim, unknown_keys)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"exit_code\":0}",
		"{\"status\":\"ok\",\"stdout\":\"\"}",
		"{\"status\":\"ok\",\"enforced\":{}}",
		"{\"status\":\"ok\",\"wall_ms\":1}",
		"{\"status\":\"ok\",\"policy\":{}}",
		"{\"status\":\"ok\",\"id\":\"x\"}",
		"{\"status\":\"ok\",\"signal\":9}",
		"{\"status\":\"ok\",\"reason\":\"\"}",
		"{\"status\":\"ok\",\"violations\":[]}",
		"{\"status\":\"ok\",\"Value\":1}",
		"{\"status\":\"ok\",\"\":1}",
		"{\"status\":\"ok\",\"value \":1}",
		"{\"status\":\"ok\",\"__proto__\":{}}",
		NULL,
	};
	check(bad, false);
}

Test(claim, wrong_types)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"repr\":1}",
		"{\"status\":\"ok\",\"repr\":[]}",
		"{\"status\":\"ok\",\"type\":{}}",
		"{\"status\":\"ok\",\"error\":\"text\"}",
		"{\"status\":\"ok\",\"error\":[]}",
		"{\"status\":\"ok\",\"errors\":{}}",
		"{\"status\":\"ok\",\"errors\":null}",
		"{\"status\":\"ok\",\"is_final\":1}",
		"{\"status\":\"ok\",\"is_final\":null}",
		"{\"status\":\"ok\",\"imports\":\"os\"}",
		"{\"status\":\"ok\",\"imports\":[1]}",
		"{\"status\":\"ok\",\"imports\":[null]}",
		"{\"status\":\"ok\",\"imports\":[\"a\",[\"b\"]]}",
		"{\"status\":\"ok\",\"imports\":null}",
		"{\"status\":\"ok\",\"imports_refused\":{}}",
		"{\"status\":\"ok\",\"imports_refused\":[\"os\"]}",
		"{\"status\":\"ok\",\"imports_refused\":[{\"module\":\"os\"}]}",
		"{\"status\":\"ok\",\"imports_refused\":[{\"module\":1,\"line\":1}]}",
		"{\"status\":\"ok\",\"imports_refused\":[{\"module\":\"os\",\"line\":1.5}]}",
		"{\"status\":\"ok\",\"imports_refused\":[{\"module\":\"os\",\"line\":1,\"x\":1}]}",
		"{\"status\":\"ok\",\"truncated\":true}",
		"{\"status\":\"ok\",\"results\":{}}",
		"{\"status\":\"ok\",\"results\":null}",
		"{\"status\":\"ok\",\"results\":[5]}",
		"{\"status\":\"ok\",\"results\":[{}]}",
		"{\"status\":\"ok\",\"results\":[{\"text/plain\":5}]}",
		"{\"status\":\"ok\",\"results\":[{\"text/plain\":null}]}",
		"{\"status\":\"ok\",\"results\":[{\"text/plain\":\"a\\u0000b\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"plain\":\"a\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"text/a b\":\"a\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"image/png\":\"iVBORw=\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"image/png\":\"iV=ORw==\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"image/png\":\"<png>===\"}]}",
		"{\"status\":\"ok\",\"results\":[{\"image/png\":[\"iVBORw==\"]}]}",
		NULL,
	};
	check(bad, false);
}

/* The members of an error are those of the table, which the supervisor's own fields are not. */
Test(claim, errors)
{
	static const char *const members[] = { "error", "errors", "warnings" };
	static const struct {
		const char *error;
		bool fits;
	} table[] = {
		{ "{\"type\":\"E\",\"message\":\"m\"}", true },
		{ "{\"type\":\"E\",\"message\":\"m\",\"line\":1,\"column\":2,\"end_line\":3,\"end_column\":null,\"source\":\"x\","
		  "\"traceback\":\"\",\"rule\":\"PY-IMPORT\",\"hint\":\"h\",\"allowed\":[\"re\",\"a.*\"],\"exit_code\":-1}",
		  true },
		{ "{\"type\":\"E\",\"message\":\"m\",\"line\":null,\"column\":null}", true },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{\"file\":\"f\",\"line\":1,\"column\":null,\"function\":\"g\",\"source\":\"\"}],\"frames_omitted\":2}",
		  true },
		{ "{\"type\":\"E\",\"message\":\"m\",\"chain\":[{\"type\":\"E\",\"message\":\"m\",\"line\":1,\"column\":1,\"source\":\"\",\"relation\":\"cause\"}]}",
		  true },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{}]}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":{}}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{\"file\":1,\"line\":1,\"column\":null,\"function\":\"g\",\"source\":\"\"}]}",
		  false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{\"file\":\"f\",\"line\":null,\"column\":null,\"function\":\"g\",\"source\":\"\"}]}",
		  false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames\":[{\"file\":\"f\",\"line\":1,\"column\":null,\"function\":\"g\",\"source\":\"\",\"code\":1}]}",
		  false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"frames_omitted\":\"2\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"chain\":[{\"type\":\"E\",\"message\":\"m\",\"line\":1,\"column\":1,\"source\":\"\",\"relation\":\"reason\"}]}",
		  false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"chain\":[{\"type\":\"E\",\"message\":\"m\",\"line\":1,\"column\":1,\"source\":\"\",\"relation\":\"cause\",\"chain\":[]}]}",
		  false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"chain\":[null]}", false },
		{ "{}", false },
		{ "{\"type\":\"E\"}", false },
		{ "{\"message\":\"m\"}", false },
		{ "{\"type\":null,\"message\":\"m\"}", false },
		{ "{\"type\":\"E\",\"message\":5}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"line\":\"1\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"line\":1.5}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"line\":2147483648}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"column\":[1]}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"source\":null}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"hint\":{}}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"allowed\":\"re\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"allowed\":[1]}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"exit_code\":true}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"exit_code\":null}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"step\":\"mounts\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"fix\":\"\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"Type\":\"\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"\":\"\"}", false },
		{ "{\"type\":\"E\",\"message\":\"m\",\"error\":{}}", false },
		{ "[]", false },
		{ "\"E\"", false },
	};
	char text[600], why[160];
	for (size_t m = 0; m < sizeof members / sizeof *members; m++)
		for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
			const char *open = m ? "[" : "", *close = m ? "]" : "";
			int n = sprintf(text, "{\"status\":\"error\",\"%s\":%s%s%s}", members[m], open, table[i].error, close);
			cr_expect_eq(accepts(text, (size_t)n, why, sizeof why), table[i].fits, "%s: %s", text, why);
		}
}

Test(claim, what_was_cut)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"truncated\":null}",
		"{\"status\":\"ok\",\"truncated\":{\"value\":1}}",
		"{\"status\":\"ok\",\"truncated\":{\"stdout\":true}}",
		"{\"status\":\"ok\",\"truncated\":{\"files\":true}}",
		"{\"status\":\"ok\",\"truncated\":{\"total_bytes\":1}}",
		"{\"status\":\"ok\",\"limits_claimed\":[\"memory\"]}",
		"{\"status\":\"ok\",\"for_model\":\"\"}",
		NULL,
	};
	check(bad, false);
}

/* Each text and list as long as its row says, and one longer. */
Test(claim, sizes)
{
	char why[160], *text = malloc(1 << 20);
	size_t tried = 0;
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		const char *name = strncmp(f->path, "error.", 6) == 0 ? f->path + 6 : f->path;
		if (!f->most || strchr(name, '[') || strchr(name, '.'))
			continue;
		bool array = f->types & AJ_FIELD_ARRAY, in_error = name != f->path,
		     objects = strcmp(name, "errors") == 0 || strcmp(name, "warnings") == 0;
		const char *item = strcmp(name, "frames") == 0
		                     ? "{\"file\":\"f\",\"line\":1,\"column\":null,\"function\":\"g\",\"source\":\"\"}"
		                 : strcmp(name, "chain") == 0
		                     ? "{\"type\":\"E\",\"message\":\"m\",\"line\":1,\"column\":1,\"source\":\"\",\"relation\":\"cause\"}"
		                 : objects                              ? "{\"type\":\"E\",\"message\":\"\"}"
		                 : strcmp(name, "imports_refused") == 0 ? "{\"module\":\"\",\"line\":1}"
		                                                        : "\"a\"";
		for (unsigned extra = 0; extra < 2; extra++) {
			size_t n = (size_t)sprintf(text, "{\"status\":\"error\",%s", in_error ? "\"error\":{" : "");
			if (in_error && strcmp(name, "type") != 0)
				n += (size_t)sprintf(text + n, "\"type\":\"E\",");
			if (in_error && strcmp(name, "message") != 0)
				n += (size_t)sprintf(text + n, "\"message\":\"m\",");
			n += (size_t)sprintf(text + n, "\"%s\":%s", name, array ? "[" : "\"");
			for (unsigned i = 0; i < f->most + extra; i++)
				n += (size_t)sprintf(text + n, "%s%s", array && i ? "," : "", array ? item : "x");
			n += (size_t)sprintf(text + n, "%s%s}", array ? "]" : "\"", in_error ? "}" : "");
			cr_expect_eq(accepts(text, n, why, sizeof why), !extra, "%s, %u too many: %s", f->path, extra, why);
		}
		tried++;
	}
	cr_expect_geq(tried, 13u);
	free(text);
}

/* A list of bundles, and a bundle, have as many members as the runner ever writes. */
Test(claim, many_bundles)
{
	char text[8000], why[160];
	static const int counts[][3] = { { 100, 1, true }, { 101, 1, false }, { 1, 20, true }, { 1, 21, false } };
	for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
		size_t n = (size_t)sprintf(text, "{\"status\":\"ok\",\"results\":[");
		for (int bundle = 0; bundle < counts[i][0]; bundle++) {
			n += (size_t)sprintf(text + n, bundle ? ",{" : "{");
			for (int entry = 0; entry < counts[i][1]; entry++)
				n += (size_t)sprintf(text + n, "%s\"text/%d\":\"\"", entry ? "," : "", entry);
			n += (size_t)sprintf(text + n, "}");
		}
		n += (size_t)sprintf(text + n, "]}");
		cr_expect_eq(accepts(text, n, why, sizeof why), counts[i][2], "%d bundles of %d", counts[i][0], counts[i][1]);
	}
}

Test(claim, duplicates)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"status\":\"error\"}",
		"{\"status\":\"ok\",\"status\":\"ok\"}",
		"{\"status\":\"ok\",\"value\":{\"a\":1,\"a\":2}}",
		"{\"status\":\"ok\",\"\\u0073tatus\":\"error\"}",
		NULL,
	};
	check(bad, false);
}

Test(claim, numbers_and_text_that_json_has_not)
{
	static const char *const bad[] = {
		"{\"status\":\"ok\",\"value\":NaN}",
		"{\"status\":\"ok\",\"value\":Infinity}",
		"{\"status\":\"ok\",\"value\":-Infinity}",
		"{\"status\":\"ok\",\"value\":1e999}",
		"{\"status\":\"ok\",\"value\":9223372036854775808}",
		"{\"status\":\"ok\",\"value\":01}",
		"{\"status\":\"ok\",\"value\":.5}",
		"{\"status\":\"ok\",\"value\":0x1}",
		"{\"status\":\"ok\",\"repr\":\"\\ud800\"}",
		"{\"status\":\"ok\",\"repr\":\"\xff\"}",
		"{\"status\":\"ok\",\"repr\":\"\xed\xa0\x80\"}",
		"{\"status\":\"ok\",\"repr\":\"a\nb\"}",
		"{\"status\":\"ok\",\"repr\":\"\\x41\"}",
		"{\"status\":\"ok\",\"value\":undefined}",
		NULL,
	};
	check(bad, false);
	char why[100];
	static const char nul[] = "{\"status\":\"ok\",\"repr\":\"a\0b\"}", key[] = "{\"status\":\"ok\",\"value\\u0000\":1}";
	cr_expect_not(accepts(nul, sizeof nul - 1, why, sizeof why));
	cr_expect_not(accepts(key, sizeof key - 1, why, sizeof why));
}

/* The code's own values keep a NUL; what is read as a C string holds none, at any depth. */
Test(claim, nul)
{
	static const char *const good[] = {
		"{\"status\":\"ok\",\"value\":\"a\\u0000b\"}",
		"{\"status\":\"ok\",\"final_answer\":[{\"a\":\"\\u0000\"}]}",
		NULL,
	};
	static const char *const bad[] = {
		"{\"status\":\"ok\\u0000\"}",
		"{\"status\":\"ok\",\"repr\":\"a\\u0000b\"}",
		"{\"status\":\"ok\",\"type\":\"\\u0000\"}",
		"{\"status\":\"ok\",\"imports\":[\"math\",\"o\\u0000s\"]}",
		"{\"status\":\"error\",\"error\":{\"message\":\"a\\u0000b\"}}",
		"{\"status\":\"error\",\"errors\":[{\"message\":[\"a\\u0000b\"]}]}",
		"{\"status\":\"ok\",\"truncated\":{\"value\":\"\\u0000\"}}",
		"{\"status\":\"ok\",\"value\":{\"a\\u0000b\":1}}",
		NULL,
	};
	check(good, true);
	check(bad, false);
	const char *text = good[0];
	char reason[100];
	json_t *claim = aj_claim_parse(text, strlen(text), reason, sizeof reason), *value = json_object_get(claim, "value");
	cr_expect_eq(json_string_length(value), 3u);
	cr_expect_eq(memcmp(json_string_value(value), "a\0b", 4), 0);
	json_decref(claim);
}

/* The bytes that count are those of the frame, not those up to a NUL or beyond the end. */
Test(claim, length)
{
	static const char text[] = "{\"status\":\"ok\"}{\"status\":\"error\"}";
	char why[100];
	cr_expect(accepts(text, 15, why, sizeof why));
	cr_expect_not(accepts(text, 14, why, sizeof why));
	cr_expect_not(accepts(text, 16, why, sizeof why));
	cr_expect_not(accepts("{\"status\":\"ok\"}\0", 16, why, sizeof why));
}

static char *nested(size_t depth)
{
	char *text = malloc(2 * depth + 64), *at = text;
	at += sprintf(at, "{\"status\":\"ok\",\"value\":");
	memset(at, '[', depth);
	memset(at + depth, ']', depth);
	strcpy(at + 2 * depth, "}");
	return text;
}

Test(claim, deep)
{
	char why[160];
	static const size_t refused[] = { 200, 3000, 100000, 2000000 };
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
		char *text = nested(refused[i]);
		cr_expect_not(accepts(text, strlen(text), why, sizeof why), "depth %zu", refused[i]);
		free(text);
	}
	char *text = nested(190);
	json_t *claim = aj_claim_parse(text, strlen(text), why, sizeof why);
	cr_assert_not_null(claim, "%s", why);
	char *again = json_dumps(claim, JSON_COMPACT);
	cr_expect_str_eq(again, text, "what was accepted can be printed");
	free(again);
	free(text);
	json_decref(claim);
}

/* Small texts that would be large trees, and brackets in strings, which are none. */
Test(claim, trees)
{
	enum { ITEMS = 1000000 };
	char why[160], *text = malloc(4 * ITEMS + 64);
	int at = sprintf(text, "{\"status\":\"ok\",\"value\":[");
	for (int i = 0; i < ITEMS; i++)
		memcpy(text + at + 3 * i, "{},", 3);
	strcpy(text + at + 3 * ITEMS - 1, "]}");
	cr_expect_not(accepts(text, strlen(text), why, sizeof why), "a million objects");
	at = sprintf(text, "{\"status\":\"ok\",\"repr\":\"\\\"");
	memset(text + at, '{', ITEMS);
	strcpy(text + at + ITEMS, "\\\\\"}");
	cr_expect(accepts(text, strlen(text), why, sizeof why), "%s", why);
	free(text);
}

Test(claim, huge)
{
	enum { BYTES = 4 << 20 };
	char why[160], *text = malloc(BYTES + 64);
	int at = sprintf(text, "{\"status\":\"ok\",\"repr\":\"");
	memset(text + at, 'x', BYTES);
	strcpy(text + at + BYTES, "\"}");
	cr_expect(accepts(text, strlen(text), why, sizeof why), "%s", why);
	/* one key that is as long: the reason must not be */
	at = sprintf(text, "{\"status\":\"ok\",\"");
	memset(text + at, 'k', BYTES);
	strcpy(text + at + BYTES, "\":1}");
	cr_expect_not(accepts(text, strlen(text), why, sizeof why));
	cr_expect_lt(strlen(why), 120);
	free(text);
}

Test(claim, reasons_fit_their_buffer)
{
	char why[8];
	cr_expect_not(accepts("[]", 2, why, sizeof why));
	cr_expect_eq(strlen(why), sizeof why - 1);
}

Test(claim, status_text)
{
	char why[100];
	json_t *claim = aj_claim_parse("{\"status\":\"rejected\"}", 21, why, sizeof why);
	cr_expect_str_eq(aj_claim_status(claim), "rejected");
	json_decref(claim);
}
