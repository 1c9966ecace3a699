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
