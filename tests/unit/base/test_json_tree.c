/* Tests of json/tree: of every text that json/scan takes it makes what jansson makes of it, or refuses it where jansson does. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/scan.h"
#include "base/json/tree.h"
#include "mutate.h"

static const char *const texts[] = {
	"{}",
	"[]",
	" [ ] ",
	"null",
	"true",
	"[false]",
	"0",
	"-0",
	"12",
	"9223372036854775807",
	"-9223372036854775808",
	"9223372036854775808",
	"-9223372036854775809",
	"99999999999999999999999",
	"-12.5e+3",
	"1e5",
	"1E-5",
	"0.5",
	"1e999",
	"0.30000000000000004",
	"\"\"",
	"\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u0041\\u00e9\\u20ac\\ud83d\\ude00\"",
	"\"a\\u0000b\"",
	"{\"a\\u0000b\":1}",
	"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"",
	"\"eight.plain.and more\xc3\xa9\\n, and after it\"",
	"{\"a\":1,\"b\":[1,{\"c\":null}]}",
	"{\"a\":{\"a\":{\"a\":[]}}}",
	"{\"a\":1,\"a\":2}",
	"{\"a\":1,\"\\u0061\":2}",
	"{\"\\u0061\" : {\"\\n\" : \"\\n\"} , \"b\" : \"\" }",
	"[[[]],[{}],\"x\",-1 , 2\n,3.5]",
};
enum { TEXTS = sizeof texts / sizeof *texts };

static bool scanned(const char *text, size_t bytes)
{
	struct aj_scan s = { .max_values = SIZE_MAX };
	aj_scan_feed(&s, text, bytes);
	return !aj_scan_end(&s);
}

/* In memory that ends where the text does, so that a sanitizer sees a step too far. */
static json_t *read(const char *text, size_t bytes, const char **ret_why)
{
	char *copy = malloc(bytes ? bytes : 1);
	memcpy(copy, text, bytes);
	json_t *tree = aj_json_read(copy, bytes, ret_why);
	free(copy);
	cr_expect_eq(tree == NULL, *ret_why != NULL);
	return tree;
}

static void agrees(const char *text, size_t bytes)
{
	const char *why;
	json_t *tree = read(text, bytes, &why);
	json_t *theirs = json_loadb(text, bytes, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
	cr_assert_eq(tree != NULL, theirs != NULL, "`%.*s`: %s", (int)bytes, text, why);
	cr_assert(!tree || json_equal(tree, theirs), "`%.*s`", (int)bytes, text);
	json_decref(tree);
	json_decref(theirs);
}

Test(tree, agrees_with_the_parser)
{
	for (size_t i = 0; i < TEXTS; i++) {
		cr_assert(scanned(texts[i], strlen(texts[i])), "%s", texts[i]);
		agrees(texts[i], strlen(texts[i]));
	}
}

/* Changed texts: those that are JSON give the same tree; of the others it reads no byte too many. */
Test(tree, agrees_with_the_parser_on_changed_texts)
{
	unsigned taken = 0;
	srand(13);
	for (int round = 0; round < 200000; round++) {
		char text[120];
		const char *why;
		size_t bytes = mutate(text, texts[(size_t)rand() % TEXTS]);
		if (scanned(text, bytes)) {
			agrees(text, bytes);
			taken++;
		} else {
			json_decref(read(text, bytes, &why));
		}
	}
	cr_expect_gt(taken, 10000u);
}

Test(tree, is_as_deep_as_the_scanner_lets_it)
{
	char text[2 * AJ_SCAN_DEPTH + 2];
	const char *why;
	memset(text, '[', AJ_SCAN_DEPTH);
	text[AJ_SCAN_DEPTH] = '1';
	memset(text + AJ_SCAN_DEPTH + 1, ']', AJ_SCAN_DEPTH);
	agrees(text, 2 * AJ_SCAN_DEPTH + 1);
	memset(text, '[', sizeof text);
	cr_expect_null(read(text, sizeof text, &why));
	cr_expect_str_eq(why, "the text is nested too deep");
}

static const char *too_long(const char *name)
{
	return strlen(name) > 3 ? "is too long" : NULL;
}

Test(tree, bad_name)
{
	static const struct {
		const char *text, *why, *name; /* why NULL: no name is bad */
	} rows[] = {
		{ "{}", NULL, "" },
		{ "[\"long name\"]", NULL, "" },
		{ " { \"a\" : 1 , \"b\":[{\"long name\":{}}, \"long text\"], \"\":{\"long name\":[]} } ", NULL, "" },
		{ "{\"a\":\"}\\\"\",\"long\":1}", "is too long", "long" },
		{ "{\"a\":[[]],\"l\\u006fng\":1,\"longer\":2}", "is too long", "long" },
		{ "{\"a\":-1.5e3,\"b\":true,\"c\":null,\"d\":{\"e\":\"\\\\\"},\"long\":1}", "is too long", "long" },
		{ "{\"\xc3\xa9\xc3\xa9\":1}", "is too long", "\xc3\xa9\xc3\xa9" },
		{ "{\"a\\u0000b\":1}", "holds a NUL", "a" },
		{ "{\"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\":1}", "is too long",
		  "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char name[AJ_BAD_NAME] = "";
		const char *why = aj_json_bad_name(rows[i].text, strlen(rows[i].text), too_long, name);
		cr_expect_eq(why == NULL, rows[i].why == NULL, "%s: %s", rows[i].text, why);
		if (why)
			cr_expect_str_eq(why, rows[i].why);
		if (why)
			cr_expect_str_eq(name, rows[i].name);
	}
}

/* Of a changed text it reads no byte too many, and comes to an end; of one that is JSON it finds each name. */
Test(tree, bad_name_of_changed_texts)
{
	srand(17);
	for (int round = 0; round < 100000; round++) {
		char text[120], name[AJ_BAD_NAME];
		const char *why;
		size_t bytes = mutate(text, texts[(size_t)rand() % TEXTS]);
		char *copy = malloc(bytes ? bytes : 1);
		memcpy(copy, text, bytes);
		bool bad = aj_json_bad_name(copy, bytes, too_long, name) != NULL, want = false;
		json_t *tree = scanned(text, bytes) ? aj_json_read(copy, bytes, &why) : NULL, *value;
		const char *key;
		json_object_foreach(tree, key, value)
			want |= too_long(key) != NULL;
		cr_assert(!tree || bad == want, "`%.*s`", (int)bytes, text);
		json_decref(tree);
		free(copy);
	}
}

Test(tree, has_nul)
{
	static const struct {
		const char *text;
		bool has;
	} rows[] = {
		{ "\"\\u0000\"", true },
		{ "\"a\\u0000b\"", true },
		{ "[1,[\"\",{\"a\":[\"b\\u0000\"]}]]", true },
		{ "\"\\\\u0000\"", false },
		{ "{\"a\":[1.5,null,true,\"\"]}", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *why;
		json_t *tree = read(rows[i].text, strlen(rows[i].text), &why);
		cr_expect_eq(aj_json_has_nul(tree), rows[i].has, "%s", rows[i].text);
		json_decref(tree);
	}
}
