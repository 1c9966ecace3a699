/* Which names and paths the patterns of filesystem.protect mean. */
#include <criterion/criterion.h>
#include <string.h>

#include "policy/protected_places.h"

Test(protect, parts)
{
	static const struct {
		const char *pattern, *name;
		bool matches;
	} rows[] = {
		{ "a", "a", true },
		{ "a", "ab", false },
		{ "a", "", false },
		{ "*", "a", true },
		{ "*", ".a", false }, /* as in a shell */
		{ ".*", ".a", true },
		{ "agentjail*.toml", "agentjail.toml", true },
		{ "agentjail*.toml", "agentjail-policy.toml", true },
		{ "agentjail*.toml", "agentjail.tom", false },
		{ "agentjail*.toml", "agentjail.toml2", false },
		{ "aa*aa", "aaa", false }, /* one letter is not both */
		{ "aa*aa", "aaaa", true },
		{ "a?", "ab", false },
		{ "[a]", "a", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_protect_part_matches(rows[i].pattern, strlen(rows[i].pattern), rows[i].name), rows[i].matches,
		             "%s %s", rows[i].pattern, rows[i].name);
}

Test(protect, paths)
{
	static const struct {
		const char *pattern, *path;
		bool covers;
	} rows[] = {
		{ ".git/hooks/", ".git/hooks", true },
		{ ".git/hooks/", ".git/hooks/post-commit", true },
		{ ".git/hooks/", ".git/hooks2", false },
		{ ".git/hooks/", ".git", false },
		{ ".git/modules/*/config", ".git/modules/a/config", true },
		{ ".git/modules/*/config", ".git/modules/a/b/config", false },
		{ ".git/modules/*/config", ".git/modules/a", false },
		{ "agentjail*.toml", "src/agentjail.toml", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_protect_covers_path(rows[i].pattern, rows[i].path), rows[i].covers, "%s %s", rows[i].pattern,
		             rows[i].path);
}

Test(protect, files_that_are_handed_over)
{
	static const char *const items[] = { AJ_PROTECT_DEFAULT, "own/*.cfg" };
	static const struct {
		const char *path;
		bool refused;
	} rows[] = {
		{ "a.csv", false },
		{ "git/config", false },
		{ ".git", true }, /* a file that names a folder */
		{ ".git/config", true },
		{ "sub/.git/objects/x", true },
		{ ".GIT/config", true },
		{ "bare/HEAD", true },
		{ "head", true },
		{ "header.csv", false },
		{ ".envrc", true },
		{ "a/b/c/.envrc", true },
		{ ".envrc.txt", false },
		{ "sub/.vscode/tasks.json", true },
		{ "agentjail-policy.toml", true },
		{ ".github/workflows/ci.yml", false },
		{ ".github/hooks/x", true },
		{ "own/x.cfg", true },
		{ "sub/own/x.cfg", true },
		{ "own/x.cfg2", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(aj_protect_refuses(items, 2, rows[i].path), rows[i].refused, "%s", rows[i].path);
		cr_expect_not(aj_protect_refuses(NULL, 0, rows[i].path), "%s", rows[i].path);
	}
	cr_expect_not(aj_protect_refuses(items + 1, 1, ".git/config"));
}

Test(protect, the_default_is_spelled_out)
{
	static const char *const items[] = { "first", AJ_PROTECT_DEFAULT, "last" };
	const char *place, *before = NULL;
	size_t count = 0;
	bool config = false;
	for (size_t at = 0; (place = aj_protect_next(items, 3, &at)); count++) {
		cr_expect(count > 0 || strcmp(place, "first") == 0);
		cr_expect_str_neq(place, AJ_PROTECT_DEFAULT);
		config |= strcmp(place, ".git/config") == 0;
		before = place;
	}
	cr_expect(config && count > 20);
	cr_expect_str_eq(before, "last");
	size_t at = 0;
	cr_expect_null(aj_protect_next(NULL, 0, &at));
}
