/* Tests of policy/bind: a bind's text taken apart, and what a path in the jail may look like.
 * They look at no file; what --bind and --file make of it is in test_options.c. */
#include <criterion/criterion.h>

#include "policy/bind.h"

static struct aj_arena arena;

static void done(void)
{
	aj_arena_free(&arena);
}
TestSuite(bind, .fini = done);

Test(bind, texts)
{
	static const struct {
		const char *text, *source, *target; /* NULL: refused */
		bool writable;
	} rows[] = {
		{ "/a", "/a", "/a", false },
		{ "/a:ro", "/a", "/a", false },
		{ "/a:rw", "/a", "/a", true },
		{ "/a:/b", "/a", "/b", false },
		{ "/a:/b:ro", "/a", "/b", false },
		{ "/a:/b:rw", "/a", "/b", true },
		{ "a:/b", "a", "/b", false }, /* whether it may be relative is the caller's to say */
		{ "/a b:/c d", "/a b", "/c d", false },
		{ "/a/../b:/c", "/a/../b", "/c", false },
		{ "/a:/.b/..c/d..", "/a", "/.b/..c/d..", false },
		{ "", NULL, NULL, false },
		{ ":", NULL, NULL, false },
		{ ":/b", NULL, NULL, false },
		{ ":rw", NULL, NULL, false },
		{ "/a:", NULL, NULL, false },
		{ "/a:/b:", NULL, NULL, false },
		{ "/a:/b:RW", NULL, NULL, false },
		{ "/a:/b:rw:ro", NULL, NULL, false },
		{ "/a:rw:/b", NULL, NULL, false },
		{ "/a:rwx", NULL, NULL, false },
		{ "/a:/", NULL, NULL, false },
		{ "/a:/b/..", NULL, NULL, false },
		{ "/", NULL, NULL, false },
		{ "a", NULL, NULL, false },
		{ "/a/", NULL, NULL, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_bind bind = { .source = "untouched" };
		const char *wrong = aj_bind_parse(&arena, rows[i].text, &bind);
		cr_expect_eq(wrong == NULL, rows[i].source != NULL, "`%s`: %s", rows[i].text, wrong ? wrong : "accepted");
		if (wrong) {
			cr_expect_str_eq(bind.source, "untouched", "`%s`", rows[i].text);
			continue;
		}
		cr_expect_str_eq(bind.source, rows[i].source);
		cr_expect_str_eq(bind.target, rows[i].target);
		cr_expect_eq(bind.writable, rows[i].writable, "`%s`", rows[i].text);
	}
}

Test(bind, paths_of_the_jail)
{
	static const char *const good[] = { "/a", "/a/b", "/.a", "/..a", "/a..", "/...", "/a b", "/\xc3\xa9" };
	static const char *const bad[] = { "",      "/",  "a",   "./a",  "//",    "//a",  "/a/",
		                           "/a//b", "/.", "/..", "/./a", "/../a", "/a/.", "/a/../b" };
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		cr_expect(aj_jail_path_valid(good[i]), "%s", good[i]);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		cr_expect_not(aj_jail_path_valid(bad[i]), "%s", bad[i]);
}
