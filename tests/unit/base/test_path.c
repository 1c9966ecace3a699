/* Tests of base/path: a path is below a folder by whole components, never by a common prefix. */
#include <criterion/criterion.h>

#include "base/path.h"

Test(path, within_and_below)
{
	static const struct {
		const char *path, *folder, *rest; /* NULL: elsewhere */
		bool below;
	} rows[] = {
		{ "/usr", "/usr", "", false },
		{ "/usr/lib", "/usr", "/lib", true },
		{ "/usr/lib/x", "/usr/lib", "/x", true },
		{ "/usrlocal", "/usr", NULL, false },
		{ "/us", "/usr", NULL, false },
		{ "/", "/usr", NULL, false },
		{ "/lib/usr", "/usr", NULL, false },
		{ "/USR/lib", "/usr", NULL, false },
		/* The root folder ends in a slash, unlike all others. */
		{ "/", "/", "/", false },
		{ "/usr", "/", "/usr", true },
		{ "/usr/lib", "/", "/usr/lib", true },
		/* Places in a workspace are relative. */
		{ ".git", ".git", "", false },
		{ ".git/hooks", ".git", "/hooks", true },
		{ ".github", ".git", NULL, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *rest = aj_path_rest(rows[i].path, rows[i].folder);
		cr_expect(rest && rows[i].rest ? strcmp(rest, rows[i].rest) == 0 : rest == rows[i].rest, "rest of %s in %s: %s",
		          rows[i].path, rows[i].folder, rest ? rest : "none");
		cr_expect_eq(aj_path_within(rows[i].path, rows[i].folder), rows[i].rest != NULL, "%s within %s", rows[i].path,
		             rows[i].folder);
		cr_expect_eq(aj_path_below(rows[i].path, rows[i].folder), rows[i].below, "%s below %s", rows[i].path, rows[i].folder);
	}
}

Test(path, parts)
{
	static const struct {
		const char *part;
		bool valid;
	} rows[] = { { "", false }, { ".", false }, { "..", false }, { "...", true },
		     { "a", true }, { ".a", true }, { "..a", true }, { "a.", true } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_path_part_valid(rows[i].part, strlen(rows[i].part)), rows[i].valid, "`%s`", rows[i].part);
	cr_expect(aj_path_part_valid("a/..", 1) && !aj_path_part_valid("../a", 2) && !aj_path_part_valid("./a", 1));
	cr_expect(aj_path_is_dots(".") && aj_path_is_dots("..") && !aj_path_is_dots(".git"));
}

Test(path, folders_and_simple_paths)
{
	static const struct {
		const char *path, *folder, *simple; /* simple NULL: for absolute paths only */
	} rows[] = {
		{ "/a/b", "/a", "/a/b" },     { "/a", "/", "/a" },        { "a", ".", NULL },
		{ "a/b", "a", NULL },         { "/", "/", "/" },          { "/a/./b", "/a/.", "/a/b" },
		{ "/a/../b", "/a/..", "/b" }, { "/a//b", "/a/", "/a/b" }, { "/a/b/../..", "/a/b/..", "/" },
		{ "/../a", "/..", "/a" },     { "/a/", "/a", "/a" },
	};
	struct aj_arena arena = { 0 };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_str_eq(aj_path_folder(rows[i].path, &arena), rows[i].folder);
		if (rows[i].simple)
			cr_expect_str_eq(aj_path_simplify(rows[i].path, &arena), rows[i].simple);
	}
	aj_arena_free(&arena);
}
