/* Tests of toml/toml: kinds, order, positions, what is refused and how soon.
 * It reads no file and does not repeat the TOML project's own cases: tests/policy/toml-suite.sh runs those. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/toml/source.h"

static struct aj_arena arena;

static bool parses(struct aj_toml *root, const char *text, size_t bytes, struct aj_toml_error *err)
{
	memset(root, 0, sizeof *root);
	memset(err, 0, sizeof *err);
	return aj_toml_parse(root, &arena, text, bytes, err) == 0;
}

/* The tree of a text that must be fine. */
static struct aj_toml tree(const char *text)
{
	struct aj_toml root;
	struct aj_toml_error err;
	cr_assert(parses(&root, text, strlen(text), &err), "`%.60s`: %d:%d: %s", text, err.line, err.column, err.message);
	cr_assert(root.kind == AJ_TOML_TABLE && !root.key && root.line == 1 && root.column == 1);
	return root;
}

/* The tree as one line: key@line:column of the key/of the value=what it is. */
static void write_node(FILE *out, const struct aj_toml *node, bool places)
{
	if (node->key)
		fprintf(out, "%s", node->key);
	if (places)
		fprintf(out, "@%d:%d/%d:%d", node->line, node->column, node->value_line, node->value_column);
	if (node->key)
		fprintf(out, "=");
	switch (node->kind) {
	case AJ_TOML_STRING:
		fprintf(out, "'%s'", node->text);
		break;
	case AJ_TOML_INTEGER:
		fprintf(out, "%lld", (long long)node->integer);
		break;
	case AJ_TOML_BOOL:
		fprintf(out, "%s", node->boolean ? "true" : "false");
		break;
	case AJ_TOML_FLOAT:
		fprintf(out, "float");
		break;
	case AJ_TOML_DATE:
		fprintf(out, "date");
		break;
	case AJ_TOML_ARRAY:
	case AJ_TOML_TABLE:
		fprintf(out, "%c", node->kind == AJ_TOML_ARRAY ? '[' : '{');
		for (size_t i = 0; i < node->count; i++) {
			fprintf(out, "%s", i ? " " : "");
			write_node(out, &node->children[i], places);
		}
		fprintf(out, "%c", node->kind == AJ_TOML_ARRAY ? ']' : '}');
		break;
	}
}

static void check_tree(const char *text, const char *want, bool places)
{
	struct aj_toml root = tree(text);
	char *got;
	size_t bytes;
	FILE *out = open_memstream(&got, &bytes);
	for (size_t i = 0; i < root.count; i++) {
		fprintf(out, "%s", i ? " " : "");
		write_node(out, &root.children[i], places);
	}
	fclose(out);
	cr_expect_str_eq(got, want, "`%s`: %s", text, got);
	free(got);
}

Test(toml, values_and_order)
{
	static const struct {
		const char *text, *want;
	} rows[] = {
		{ "", "" },
		{ "\n", "" },
		{ "# only a comment", "" },
		{ "\xef\xbb\xbf", "" },
		{ "\xef\xbb\xbf"
		  "a = 1",
		  "a=1" },
		{ "a = 1\r\nb = 2\r\n", "a=1 b=2" },
		{ "z = 1\ny = 2\na = 3\n", "z=1 y=2 a=3" },
		{ "z = 1\n[t]\nz = 1\nb = 2\n[a]\n", "z=1 t={z=1 b=2} a={}" },
		{ "s = \"a\\tb\\u00e9\\\"\"", "s='a\tb\xc3\xa9\"'" },
		{ "s = 'C:\\x'", "s='C:\\x'" },
		{ "s = \"\"\"\n one\n two\"\"\"", "s=' one\n two'" },
		{ "s = \"\"\"one \\\n   two\"\"\"", "s='one two'" },
		{ "s = \"\"\"one \\\n   \xc2\xb5\"\"\"", "s='one \xc2\xb5'" },
		{ "s = \"\"\"\"quoted\"\"\"\"\"", "s='\"quoted\"\"'" },
		{ "s = '''it's\n.'''", "s='it's\n.'" },
		{ "s = \"\"", "s=''" },
		{ "s = ''", "s=''" },
		{ "i = [0, -0, +17, -17, 1_000, 0xff, 0o17, 0b11]", "i=[0 0 17 -17 1000 255 15 3]" },
		{ "i = 9223372036854775807", "i=9223372036854775807" },
		{ "i = -9223372036854775808", "i=-9223372036854775808" },
		{ "b = [true, false]", "b=[true false]" },
		{ "f = [1.0, 1e9, -2.5E-3, inf, -inf, nan]", "f=[float float float float float float]" },
		{ "d = [1979-05-27T07:32:00Z, 1979-05-27 07:32:00.5+01:00, 1979-05-27, 07:32:00]", "d=[date date date date]" },
		{ "a = []", "a=[]" },
		{ "a = [1, 'two', [3], {four = 4},]", "a=[1 'two' [3] {four=4}]" },
		{ "a = [\n  1, # one\n  2,\n]\n", "a=[1 2]" },
		{ "t = {}", "t={}" },
		{ "t = {y = 1, x = {w = 2}}", "t={y=1 x={w=2}}" },
		{ "a.b.c = 1\na.b.d = 2\na.e = 3", "a={b={c=1 d=2} e=3}" },
		{ "a . \"b.c\" . 'd' = 1", "a={b.c={d=1}}" },
		{ "\"\" = 1\n'a b' = 2\n1 = 3\n-_ = 4", "=1 a b=2 1=3 -_=4" },
		{ "[a.b]\nc = 1\n[a]\nd = 2", "a={b={c=1} d=2}" },
		{ "[[a]]\nb = 1\n[[a]]\n[a.c]\nd = 2", "a=[{b=1} {c={d=2}}]" },
		{ "[ a . b ]", "a={b={}}" },
		{ "a = \"# . [ { ' , =\" # \" '", "a='# . [ { ' , ='" },
		{ "a = 1.5\nb = [1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5, 9.5]",
		  "a=float b=[float float float float float float float float float float float float float float float float float float]" },
		{ "a = '................................'", "a='................................'" },
		{ "a = 1 # ................................", "a=1" },
		{ "a = [\n'''\n...............................\n''', \"................\\\"................\"]",
		  "a=['...............................\n' '................\"................']" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		check_tree(rows[i].text, rows[i].want, false);
	aj_arena_free(&arena);
}

Test(toml, places)
{
	check_tree("a = 1\n  bc   =   2", "a@1:1/1:5=1 bc@2:3/2:12=2", true);
	check_tree("\xef\xbb\xbf"
	           "a = 1",
	           "a@1:1/1:5=1", true);
	check_tree("a = 1\r\nb = 2", "a@1:1/1:5=1 b@2:1/2:5=2", true);
	check_tree("a = '\xc3\xa9\xe2\x82\xac'\n\"\xc3\xa9\" = { b = 1 }",
	           "a@1:1/1:5='\xc3\xa9\xe2\x82\xac' \xc3\xa9@2:1/2:7={b@2:9/2:13=1}", true);
	check_tree("a = [1,\n  'x', [2]]",
	           "a@1:1/1:5=[@1:6/1:6"
	           "1 @2:3/2:3'x' @2:8/2:8[@2:9/2:9"
	           "2]]",
	           true);
	check_tree("[t]\nk = 1\n[u.v]", "t@1:2/1:1={k@2:1/2:5=1} u@3:2/3:1={v@3:4/3:1={}}", true);
	check_tree("a.b = 1", "a@1:1/1:1={b@1:3/1:7=1}", true);
	/* An array of tables is where its first header is, its tables each where theirs is. */
	check_tree("[[t]]\n[[t]]\nk = 1", "t@1:3/1:1=[@1:1/1:1{} @2:1/2:1{k@3:1/3:5=1}]", true);
	aj_arena_free(&arena);
}

Test(toml, text_with_nul)
{
	struct aj_toml root = tree("a = \"b\\u0000c\"");
	cr_assert(root.count == 1 && root.children[0].kind == AJ_TOML_STRING);
	cr_expect(root.children[0].text_bytes == 3 && memcmp(root.children[0].text, "b\0c", 4) == 0);
	aj_arena_free(&arena);
}

struct refusal {
	const char *text;
	int line, column;
	const char *part; /* of the message */
};

static void refused(const char *text, size_t bytes, int line, int column, const char *part)
{
	struct aj_toml root;
	struct aj_toml_error err;
	struct timespec before, after;
	clock_gettime(CLOCK_MONOTONIC, &before);
	bool ok = parses(&root, text, bytes, &err);
	clock_gettime(CLOCK_MONOTONIC, &after);
	int ms = (int)((after.tv_sec - before.tv_sec) * 1000 + (after.tv_nsec - before.tv_nsec) / 1000000);
	cr_expect(!ok, "`%.60s`: accepted", text);
	cr_expect(ok || (err.line == line && err.column == column), "`%.60s`: at %d:%d: %s", text, err.line, err.column, err.message);
	cr_expect(ok || strstr(err.message, part), "`%.60s`: %s", text, err.message);
	cr_expect(!root.children && !root.count);
	cr_expect(ms < 2000, "`%.60s`: %d ms", text, ms);
}

Test(toml, refusals)
{
	static const struct refusal rows[] = {
		{ "a", 1, 2, "too early" },
		{ "a =", 1, 4, "too early" },
		{ "a = \n", 1, 5, "expected value, saw the end of the line" },
		{ "a\nb = 1", 1, 2, "expected '=', saw the end of the line" },
		{ "a = b", 1, 5, "text needs quotes" },
		{ "= 1", 1, 1, "saw '='" },
		{ "a = 1 b = 2", 1, 7, "saw 'b' (in a key-value pair)" },
		{ "a = 1\na = 2", 2, 5, "cannot redefine existing integer 'a' (" },
		{ "a = 1\n\n[a]", 3, 1, "cannot redefine existing integer 'a' as table" },
		{ "[a]\n[a]", 2, 1, "cannot redefine existing table 'a'" },
		{ "a = {}\n[a]", 2, 1, "cannot redefine existing table 'a'" },
		{ "a = {}\n[a.b]", 2, 6, "into existing inline table" },
		{ "a = {b = 1}\na.c = 2", 2, 1, "cannot redefine existing table" },
		{ "[a]\nb.c = 1\n[a.b]", 3, 1, "cannot redefine existing table 'a.b'" },
		{ "a = []\n[[a]]", 2, 1, "cannot redefine existing array 'a'" },
		{ "[[a]]\n[a]", 2, 1, "cannot redefine existing array 'a'" },
		{ "a = {b = 1, b = 2}", 1, 17, "cannot redefine existing integer 'b'" },
		{ "a = \"b", 1, 7, "too early" },
		{ "a = \"b\nc\"", 1, 7, "where a string should go on" },
		{ "a = 'b\n", 1, 7, "where a string should go on" },
		{ "a = \"\"\"b\n", 1, 10, "too early" },
		{ "a = '''b''", 1, 11, "too early" },
		{ "a = \"\\q\"", 1, 7, "unknown escape sequence '\\q'" },
		{ "a = \"\\ud800\"", 1, 12, "surrogate" },
		{ "a = \"\\U00110000\"", 1, 16, "U+10FFFF" },
		{ "a = \"\x01\"", 1, 6, "control character" },
		{ "a = [1", 1, 7, "too early" },
		{ "a = [1 2]", 1, 8, "(in an array)" },
		{ "a = [,]", 1, 6, "saw comma" },
		{ "a = {b = 1", 1, 11, "too early" },
		{ "a = {b = 1,}", 1, 12, "dangling comma" },
		{ "a = {\nb = 1}", 1, 6, "expected key or closing '}', saw the end of the line (in an inline table)" },
		{ "[a", 1, 3, "too early" },
		{ "[", 1, 2, "too early" },
		{ "[\n", 1, 2, "saw the end of the line" },
		{ "[]", 1, 2, "blank bare keys" },
		{ "[!]", 1, 2, "saw '!'" },
		{ "[.]", 1, 2, "saw '.'" },
		{ "[a..b]", 1, 4, "saw '.'" },
		{ "[[a]", 1, 5, "too early" },
		{ "[ [a]]", 1, 3, "contiguous" },
		{ "\"\"\"a\"\"\" = 1", 1, 1, "multi-line strings" },
		{ "a = 01", 1, 7, "leading zeroes" },
		{ "a = 9223372036854775808", 1, 24, "9223372036854775808" },
		{ "a = -9223372036854775809", 1, 25, "9223372036854775809" },
		{ "a = 99999999999999999999999999", 1, 31, "64 bits" },
		{ "a = 0xfffffffffffffffff", 1, 24, "64 bits" },
		{ "a = 0xffffffffffffffff", 1, 23, "0xffffffffffffffff" },
		{ "a = 1__0", 1, 7, "underscores" },
		{ "a = 1.", 1, 7, "" },
		{ "a = .5", 1, 5, "" },
		{ "a = 1979-13-01", 1, 12, "month" },
		{ "a = 1979-02-30", 1, 15, "day" },
		{ "a = 1979-05-27T!0:00:00", 1, 16, "hour" },
		{ "a = 25:00:00", 1, 7, "hour" },
		{ "a = True", 1, 5, "expected 'true'" },
		{ "\xc2\xb5 = 1", 1, 1, "saw '\xc2\xb5'" },
		{ "a = \xc2\xb5", 1, 5, "text needs quotes" },
		{ "a\xc2\xa0= 1", 1, 2, "saw '\\u00A0'" },
		{ "\r", 1, 2, "" },
		{ "a = 1\rb = 2", 1, 7, "saw 'b'" },
		{ "\xef\xbb\xbf\xef\xbb\xbf", 1, 1, "" },
		{ "a = '\xff'", 1, 6, "not UTF-8: byte 0xff" },
		{ "\xef\xbb\xbf# \xc3\xa9\n# \xc3\xa9 \xed\xa0\x80", 2, 5, "not UTF-8: byte 0xed" },
		{ "a = '\xc3", 1, 6, "not UTF-8: byte 0xc3" },
		{ "\"a\\u0000b\" = 1", 1, 1, "U+0000" },
		{ "[x]\ny = [{ 'ok' = 1, \"\\u0000\" = 2 }]", 2, 18, "U+0000" },
		{ "'\xc2\x9b' = 1\n'\xc2\x9b' = 2", 2, 7, "'\\xc2\\x9b'" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		refused(rows[i].text, strlen(rows[i].text), rows[i].line, rows[i].column, rows[i].part);
	refused("a = 1\nb = \"\0\"", 13, 2, 6, "a NUL byte");
	refused("\0", 1, 1, 1, "a NUL byte");
	aj_arena_free(&arena);
}

/* `head`, `unit` so often that it just fits, `tail`. */
static char *fill(const char *head, const char *unit, size_t times, const char *tail)
{
	size_t bytes = strlen(head) + times * strlen(unit) + strlen(tail);
	char *text = malloc(bytes + 1), *at = stpcpy(text, head);
	cr_assert(text);
	for (size_t i = 0; i < times; i++)
		at = stpcpy(at, unit);
	stpcpy(at, tail);
	return text;
}

/* Each would send a naive parser, its destructors or our copying some hundred thousand calls deep. */
Test(toml, depth)
{
	static const struct {
		size_t units; /* or fewer, if those do not fit */
		const char *head, *unit, *tail, *part;
		int column;
	} rows[] = {
		{ AJ_TOML_MAX_BYTES, "", "a.", "a = 1", "more than 16 parts", 32 },
		{ AJ_TOML_MAX_BYTES, "", "'a' . ", "a = 1", "more than 16 parts", 95 },
		{ AJ_TOML_MAX_BYTES, "", "\"\\\".\".", "a = 1", "more than 16 parts", 96 },
		{ AJ_TOML_MAX_BYTES, "[", "a.", "a]", "more than 16 parts", 33 },
		{ AJ_TOML_MAX_BYTES, "[[", "a.", "a]]", "more than 16 parts", 34 },
		{ AJ_TOML_MAX_BYTES, "b = {", "a.", "a = 1}", "more than 16 parts", 37 },
		{ AJ_TOML_MAX_BYTES, "b = ", "[", "", "nested deeper", 37 },
		{ 4000, "b = [", "{a.a.a.a = [", "1", "nested deeper", 197 },
		{ 16000, "b = ", "{a=", "", "nested deeper", 101 },
		{ 2000, "b = ", "{a.a.a.a.a.a.a.a=", "", "nested deeper", 549 },
		{ AJ_TOML_MAX_BYTES, "b = ", "{a=", "", "more than 16384 keys", 49156 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t fits = (AJ_TOML_MAX_BYTES - 20) / strlen(rows[i].unit);
		char *text = fill(rows[i].head, rows[i].unit, rows[i].units < fits ? rows[i].units : fits, rows[i].tail);
		refused(text, strlen(text), 1, rows[i].column, rows[i].part);
		free(text);
	}

	/* Within toml++'s bounds and beyond ours: 16 parts to a key, values in values. */
	char *text = fill("b = ", "{a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a=", 20, "1");
	char *closed = fill(text, "}", 20, "");
	refused(closed, strlen(closed), 1, 71, "nested deeper than 32 levels");
	free(closed);
	free(text);
	check_tree("a.a.a.a.a.a.a.a.a.a.a.a.a.a.a.a = 1", "a={a={a={a={a={a={a={a={a={a={a={a={a={a={a={a=1}}}}}}}}}}}}}}}", false);
	aj_arena_free(&arena);
}

Test(toml, size)
{
	char *text = fill("#", "x", AJ_TOML_MAX_BYTES - 1, "");
	cr_expect(tree(text).count == 0);
	free(text);
	text = fill("#", "x", AJ_TOML_MAX_BYTES, "");
	refused(text, strlen(text), 1, 1, "larger than 262144 bytes");
	free(text);

	/* A large text that fits comes whole. */
	text = fill("a = [", "[],", (AJ_TOML_MAX_BYTES - 10) / 3, "]");
	struct aj_toml root = tree(text);
	cr_expect(root.count == 1 && root.children[0].count == (AJ_TOML_MAX_BYTES - 10) / 3);
	free(text);
	text = fill("", "[[a]]\n", AJ_TOML_MAX_ALL_PARTS, "");
	root = tree(text);
	cr_expect(root.count == 1 && root.children[0].count == AJ_TOML_MAX_ALL_PARTS);
	free(text);
	aj_arena_free(&arena);
}

/* As many parts of keys as there may be, and one more. */
Test(toml, all_parts)
{
	static const struct {
		const char *head, *unit, *tail;
		int in_head, in_unit; /* parts */
		size_t at;            /* of the unit that is too much */
	} rows[] = {
		{ "", "[[a]]\n", "", 0, 1, 0 },
		{ "", "[[a.'=.']]\n", "", 0, 2, 0 },
		{ "\n", "  [[ a . b\t. c.d ]]# [a.b]=.\n", "", 0, 4, 2 },
		{ "a.b = 0\n", "[[c]]\nx.y = [1.5, [2.5],\n[3.5]]\n", "", 2, 3, 10 },
		{ "a = '''\n[a.b.c]=\n'''\n", "[[b.c]]\r\nd = [\n[[{e=0.5}]]]\n", "", 1, 4, 19 },
		{ "a = [", "{a=1},", "]", 1, 1, 2 },
		{ "a = [1.5", ", { a . b . c = '=' }", "]", 1, 3, 14 },
		{ "a.b.c.d = [", "{a.\"b\".c.d={}},", "]", 4, 4, 10 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t fits = (size_t)(AJ_TOML_MAX_ALL_PARTS - rows[i].in_head) / (size_t)rows[i].in_unit;
		char *text = fill(rows[i].head, rows[i].unit, fits, rows[i].tail);
		tree(text);
		free(text);

		text = fill(rows[i].head, rows[i].unit, fits + 1, rows[i].tail);
		int line = 1, column = 1;
		for (size_t at = strlen(rows[i].head) + fits * strlen(rows[i].unit) + rows[i].at, n = 0; n < at; n++) {
			line += text[n] == '\n';
			column = text[n] == '\n' ? 1 : column + 1;
		}
		refused(text, strlen(text), line, column, "more than 16384 keys");
		free(text);
	}

	/* The worst for toml++: many tables, then keys that go through the last of them. */
	char *text = malloc(AJ_TOML_MAX_BYTES), *at = text;
	cr_assert(text);
	for (int i = 0; i < 1024; i++)
		at += sprintf(at, "k%d.a.a.a.a.a.a.a.a.a.a.a.a.a.a.k%d = 1\n", i < 512 ? i : 511, i);
	cr_expect(tree(text).count == 512);
	sprintf(at, "k = 1\n");
	refused(text, strlen(text), 1025, 3, "more than 16384 keys");
	free(text);
	aj_arena_free(&arena);
}

/* Text that only looks like keys is not counted. */
Test(toml, no_parts)
{
	static const char *const rows[][3] = {
		{ "a = [", "1.5,", "]" },            /* dots of numbers */
		{ "a = [\n", "[1.5],\n", "]" },      /* lines that begin as headers do */
		{ "a = [1, # [\n[", "[\n],", "]]" }, /* brackets in a comment */
		{ "a = '''\n", "[a.b]=\n", "'''" },
		{ "", "#[.]=\n", "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char *text = fill(rows[i][0], rows[i][1], 2 * AJ_TOML_MAX_ALL_PARTS, rows[i][2]);
		tree(text);
		free(text);
	}
	aj_arena_free(&arena);
}

/* A text that breaks off anywhere is either whole up to there or refused: never a crash, never a message without a place. */
Test(toml, every_prefix)
{
	static const char text[] = "\xef\xbb\xbf# \xc3\xa9\r\na.\"b\\u00e9\" = \"\"\"x\\\n  y\"\"\"\n[t.'u']\n"
				   "k = [1, -0x1f, 1.5e3, inf, true,\n {m = '''\n''', n = 1979-05-27T07:32:00.25-01:30}]\n[[v]]\nw = 'z'";
	for (size_t n = 0; n < sizeof text; n++) {
		struct aj_toml root;
		struct aj_toml_error err;
		char *copy = malloc(n ? n : 1); /* its own block, so that a sanitizer sees one byte too many */
		memcpy(copy, text, n);
		if (!parses(&root, copy, n, &err))
			cr_expect(err.line > 0 && err.column > 0 && err.message[0], "%zu", n);
		free(copy);
	}
	aj_arena_free(&arena);
}

Test(toml, long_message)
{
	char *text = fill("'", "\xe2\x82\xac\xc2\x9b", 1000, "' = 1\n");
	char *twice = fill(text, text, 1, "");
	struct aj_toml root;
	struct aj_toml_error err;
	cr_expect(!parses(&root, twice, strlen(twice), &err));
	cr_expect(err.line == 2 && strstr(err.message, "cannot redefine") && strstr(err.message, "..."), "%s", err.message);
	cr_expect(strlen(err.message) < sizeof err.message - 1);
	free(twice);
	free(text);
	aj_arena_free(&arena);
}

static void expect_same(const struct aj_toml *packed, const struct aj_toml *parsed, const char *name)
{
	cr_assert(packed->kind == parsed->kind && packed->line == parsed->line && packed->column == parsed->column &&
	              packed->integer == parsed->integer && packed->boolean == parsed->boolean && packed->count == parsed->count,
	          "%s:%d:%d", name, parsed->line, parsed->column);
	cr_assert(!packed->key == !parsed->key && (!packed->key || strcmp(packed->key, parsed->key) == 0), "%s:%d", name, parsed->line);
	cr_assert(packed->text_bytes == parsed->text_bytes && !packed->text == !parsed->text &&
	              (!packed->text || memcmp(packed->text, parsed->text, parsed->text_bytes + 1) == 0),
	          "%s:%d", name, parsed->line);
	for (size_t i = 0; i < parsed->count; i++)
		expect_same(&packed->children[i], &parsed->children[i], name);
}

Test(toml, what_is_compiled_in_is_what_the_text_parses_to)
{
	size_t nodes = 0;
	for (const struct aj_builtin *b = aj_builtins; b->name; b++, nodes++) {
		struct aj_source source;
		struct aj_toml root = tree(b->text);
		cr_assert_eq(aj_source_builtin(&source, b->name, &arena), 0);
		expect_same(&source.root, &root, b->name);
	}
	cr_expect_gt(nodes, 5);
	aj_arena_free(&arena);
}

Test(toml, kind_names)
{
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_STRING), "a string");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_INTEGER), "an integer");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_FLOAT), "a float");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_BOOL), "a boolean");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_DATE), "a date or time");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_ARRAY), "an array");
	cr_expect_str_eq(aj_toml_kind_name(AJ_TOML_TABLE), "a table");
}
