/* Tests of json/scan: it takes what jansson takes and refuses what jansson refuses, whatever pieces the text comes in. */
#include <criterion/criterion.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "mutate.h"

enum { MANY = 1000 };

static const char *scan(struct aj_scan *s, const char *text, size_t bytes, size_t piece)
{
	*s = (struct aj_scan){ .max_values = MANY };
	for (size_t at = 0; at < bytes && !s->wrong; at += piece)
		aj_scan_feed(s, text + at, bytes - at < piece ? bytes - at : piece);
	return aj_scan_end(s);
}

static const char *const texts[] = {
	"{}",
	"[]",
	" [ ] ",
	"null",
	"true",
	"false",
	"0",
	"-0",
	"12",
	"-12.5e+3",
	"1e5",
	"1E-5",
	"0.5",
	"\"\"",
	"\"a\\n\\u00e9\\ud83d\\ude00\"",
	"{\"a\":1,\"b\":[1,{\"c\":null}]}",
	"[1,2,3]",
	"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
	"[[[]]]",
	"{\"a\":{}}\n",
	"[\"\\/\\\"\\\\\"]",
	"\"\\u0000\"",
	/* and none of these */
	"",
	" ",
	"{",
	"}",
	"[",
	"]",
	"[1",
	"[1,",
	"[1,]",
	"[,1]",
	"{\"a\"}",
	"{\"a\":}",
	"{\"a\":1,}",
	"{a:1}",
	"{1:1}",
	"{\"a\" 1}",
	"[1 2]",
	"[}",
	"{]",
	"tru",
	"truE",
	"nul",
	"nulls",
	"01",
	"-",
	"-a",
	"1.",
	"1.e5",
	".5",
	"1e",
	"1e+",
	"+1",
	"0x1",
	"1 1",
	"\"",
	"\"a",
	"\"\\",
	"\"\\x\"",
	"\"\\u12\"",
	"\"\\u123g\"",
	"\"\\ud800\"",
	"\"\\ud800a\"",
	"\"\\ud800\\n\"",
	"\"\\ud800\\u0041\"",
	"\"\\udc00\"",
	"\"\\ud800\\u0000\"",
	"\"\n\"",
	"\"\x01\"",
	"\"\xff\"",
	"\"\xc0\x80\"",
	"\"\xed\xa0\x80\"",
	"\"\xf4\x90\x80\x80\"",
	"\"\xe2\x82\"",
	"\"\xc3",
	"\xc3\xa9",
	"{}{}",
	"{} x",
	"NaN",
	"Infinity",
	"[1]]",
	"{\"a\":1}}",
	"'a'",
	"[\"a\":1]",
	"{\"a\",1}",
	"/**/1",
};

Test(scan, agrees_with_the_parser)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		size_t bytes = strlen(texts[i]);
		json_t *tree = json_loadb(texts[i], bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		for (size_t piece = 1; piece <= bytes + 1; piece++) {
			struct aj_scan s;
			const char *wrong = scan(&s, texts[i], bytes, piece);
			cr_expect_eq(!wrong, tree != NULL, "`%s` in pieces of %zu: %s", texts[i], piece, wrong ? wrong : "taken");
		}
		json_decref(tree);
	}
}

/* Whole texts with bytes changed and left out. */
Test(scan, agrees_with_the_parser_on_broken_texts)
{
	srand(7);
	for (int round = 0; round < 200000; round++) {
		char text[100];
		size_t bytes = mutate(text, texts[(size_t)rand() % (sizeof texts / sizeof *texts)]);
		/* A number's size and a NUL in a name are no faults of syntax: json/tree refuses them. */
		json_error_t why;
		json_t *tree = json_loadb(text, bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
		bool later = !tree && (json_error_code(&why) == json_error_numeric_overflow ||
		                       json_error_code(&why) == json_error_null_byte_in_key);
		struct aj_scan s;
		const char *wrong = scan(&s, text, bytes, (size_t)rand() % 7 + 1);
		cr_assert(later || !wrong == (tree != NULL), "`%.*s`: %s, %s", (int)bytes, text, wrong ? wrong : "taken",
		          tree ? "" : why.text);
		json_decref(tree);
	}
}

Test(scan, counts_and_caps)
{
	struct aj_scan s;
	static char text[2 * MANY + 10] = "[";
	cr_expect_null(scan(&s, "{\"a\":[1,2],\"b\":{}}", 18, 5));
	cr_expect_eq(s.values, 5u);
	for (size_t i = 0; i < MANY - 1; i++)
		strcat(text, i ? ",1" : "1");
	strcat(text, "]");
	cr_expect_null(scan(&s, text, strlen(text), 100));
	strcpy(text + strlen(text) - 1, ",1]");
	cr_expect_str_eq(scan(&s, text, strlen(text), 100), "the text has too many values");
	memset(text, '[', sizeof text);
	memset(text + AJ_SCAN_DEPTH, ']', AJ_SCAN_DEPTH);
	cr_expect_null(scan(&s, text, 2 * AJ_SCAN_DEPTH, 7));
	text[AJ_SCAN_DEPTH] = '[';
	cr_expect_str_eq(scan(&s, text, 2 * AJ_SCAN_DEPTH, 7), "the text is nested too deep");
}

static void member_is(const struct aj_scan *s, const char *text, const char *name, const char *value, size_t values)
{
	const struct aj_span *m = aj_scan_member(s, text, name);
	cr_assert(m, "no `%s`", name);
	cr_expect(m->bytes == strlen(value) && memcmp(text + m->at, value, m->bytes) == 0, "`%s` is `%.*s`", name, (int)m->bytes,
	          text + m->at);
	cr_expect_eq(m->values, values, "`%s` has %zu values", name, m->values);
}

Test(scan, keeps_the_places_of_members)
{
	static const char text[] = " {\"op\" : \"run\",\"n\":12 , \"in\": {\"op\":[1,{\"a\":2}]}, \"e\":[],\"x\":1,\"x\":true,\"\\u006f\":0}";
	struct aj_scan s;
	for (size_t piece = 1; piece < sizeof text; piece++) {
		cr_assert_null(scan(&s, text, sizeof text - 1, piece));
		cr_expect_eq(s.members_count, 7u);
		member_is(&s, text, "op", "\"run\"", 1);
		member_is(&s, text, "n", "12", 1);
		member_is(&s, text, "in", "{\"op\":[1,{\"a\":2}]}", 5);
		member_is(&s, text, "e", "[]", 1);
		member_is(&s, text, "x", "true", 1);
		cr_expect_null(aj_scan_member(&s, text, "a"));
	}
	cr_expect_null(scan(&s, "[{\"a\":1}]", 9, 9));
	cr_expect_eq(s.members_count, 0u);
}

Test(scan, members_beyond_what_is_kept_change_none)
{
	char text[AJ_SCAN_MEMBERS * 20] = "{\"m0\":0";
	for (int i = 1; i < AJ_SCAN_MEMBERS + 5; i++)
		sprintf(text + strlen(text), ",\"m%d\":%d", i, i);
	strcat(text, "}");
	struct aj_scan s;
	cr_assert_null(scan(&s, text, strlen(text), 9));
	char name[16], value[16];
	for (int i = 0; i < AJ_SCAN_MEMBERS; i++) {
		sprintf(name, "m%d", i), sprintf(value, "%d", i);
		member_is(&s, text, name, value, 1);
	}
	cr_expect_eq(s.members_count, (size_t)AJ_SCAN_MEMBERS);
}

/* The bytes that end plain text, at every place, with bytes of every kind around them. */
Test(scan, plain_text_ends_where_it_must)
{
	char text[40];
	srand(11);
	for (int round = 0; round < 200000; round++) {
		size_t bytes = (size_t)rand() % sizeof text, want = 0;
		memset(text, rand() % 2 ? ' ' : 0x7f, sizeof text);
		for (int n = rand() % 4; n > 0; n--)
			text[(size_t)rand() % sizeof text] = (char)(rand() % 2 ? rand() : "\"\\\x1f\x80#[!]"[rand() % 8]);
		while (want < bytes && (unsigned char)text[want] >= 0x20 && (unsigned char)text[want] < 0x80 &&
		       text[want] != '"' && text[want] != '\\')
			want++;
		cr_assert_eq(aj_scan_plain(text, bytes), want);
	}
}

/* However much follows. */
Test(scan, nothing_is_read_after_too_many_values)
{
	static char text[100 * MANY] = "{\"a\":true,\"b\":[";
	struct aj_scan s = { .max_values = MANY };
	size_t begin = strlen(text);
	memset(text + begin, ' ', sizeof text - begin);
	for (size_t at = begin; at + 1 < sizeof text; at += 2)
		memcpy(text + at, "1,", 2);
	for (size_t at = 0; at < sizeof text; at += 1000)
		aj_scan_feed(&s, text + at, sizeof text - at < 1000 ? sizeof text - at : 1000);
	cr_expect_str_eq(aj_scan_end(&s), "the text has too many values");
	cr_expect(aj_scan_too_many(&s));
	cr_expect_leq(s.at, begin + 2 * MANY);
	cr_expect_eq(s.members_count, 2u);
	member_is(&s, text, "a", "true", 1);
	cr_expect_eq(text[aj_scan_member(&s, text, "b")->at], '[');
	cr_expect_null(scan(&s, "[1]", 3, 3));
	cr_expect_not(aj_scan_too_many(&s));
}
