/* The protected places of a workspace, whose files host programs later run or obey: the table behind `@default`, and the syntax
 * of an item.
 * It reads no file: patterns are compared with patterns and names; `**`, `?` and `[` have no meaning. */
#include "policy/protected_places.h"

#include <string.h>
#include <strings.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/item_types.h"

/* A slash at the end: a folder, which is held even if it does not exist yet.
 *
 * Deliberately not here: HEAD, index, objects, refs and logs, without which git cannot work; .git/worktrees/x/gitdir, which git
 * itself writes once a day from within that worktree; .gitattributes and .gitmodules, which name programs that only a config
 * defines; files that run when a user builds, tests or installs (docs/reference/policies.md), and prose that agents maintain. */
/* clang-format off */
static const char *const defaults[] = {
	".git/config", ".git/config.worktree", ".git/commondir", ".git/hooks/", ".git/info/", ".git/modules/*/config",
	".git/modules/*/config.worktree", ".git/modules/*/commondir", ".git/modules/*/hooks/", ".git/modules/*/*/config",
	".git/modules/*/*/config.worktree", ".git/modules/*/*/commondir", ".git/modules/*/*/hooks/",
	".git/modules/*/modules/*/config", ".git/modules/*/modules/*/config.worktree", ".git/modules/*/modules/*/commondir",
	".git/modules/*/modules/*/hooks/", ".git/worktrees/*/config.worktree", ".git/worktrees/*/commondir", ".envrc", ".vscode/",
	".idea/", ".claude/", ".codex/", ".cursor/", ".mcp.json", ".husky/", "agentjail*.toml", ".hg/hgrc", ".hg/sharedpath",
	".hg/hgrc-not-shared", ".zed", ".helix", ".gemini", ".devcontainer",
	/* agents and editors: servers, hooks and rules that they load from the folder */
	".aider.conf.yml", ".amp", ".amazonq", ".augment", ".clinerules", ".codebuddy", ".continue", ".continuerc.json",
	".crush.json", "crush.json", ".cursorrules", ".factory", ".github/copilot", ".github/hooks", ".grok", "gptme.toml",
	".junie", ".kilo", "kilo.json*", ".kilocode", ".kiro", ".opencode", ".openhands", ".pi", "opencode.json*", ".qoder",
	".qwen", ".roo", ".trae", ".vibe", ".windsurf", ".windsurfrules", ".devcontainer.json", "*.code-workspace",
	"*.sublime-project", ".theia", ".vim/coc-settings.json", ".ycm_extra_conf.py", ".dir-locals*.el", ".exrc", ".vimrc",
	".nvimrc", ".nvim.lua", ".lvimrc", ".agents", ".agent", ".neoconf.json", ".fleet", ".lapce", ".nova", ".vs",
	/* language servers and builders that an editor starts as such a file says */
	".bsp", "buildServer.json", ".sourcekit-lsp", "omnisharp.json", ".externalToolBuilders", ".project", ".factorypath",
	".yarn/sdks", "hie.yaml", ".merlin", ".lsp", ".luarc.json*", ".ruby-lsp", ".elixir_ls", ".phpactor.*",
	/* shells, version managers and package managers: read at the next `cd` or at their next command */
	".mise", ".mise*.toml", "mise*.toml", "mise/config*.toml", ".config/mise*", ".tool-versions", ".npmrc", ".yarnrc",
	".yarnrc.yml", ".yarn/releases", ".yarn/plugins", ".pnpmfile.*js", "pnpm-workspace.yaml", "bunfig.toml", ".bundle/config",
	".bundle/plugin", ".autoenv*", ".shadowenv.d", ".prototools", "rust-toolchain", "rust-toolchain.toml", "global.json",
	"nuget.config", "NuGet.config", "NuGet.Config", ".mvn/jvm.config", ".mvn/maven.config", ".mvn/extensions.xml", ".jvmopts",
	".sbtopts", "tools/bazel", ".bazeliskrc",
	/* interpreters and debuggers: read when they start in the folder */
	".gdbinit", ".lldbinit", ".pdbrc", ".Rprofile", ".Renviron", ".RData", ".octaverc", ".ocamlinit", ".iex.exs",
	".psysh.php", ".perldb", ".rdbgrc", ".byebugrc", ".jdbrc", ".irbrc", ".pryrc", ".ghci", ".valgrindrc", "ansible.cfg",
	/* files that an installed hook runs at the next commit, and version control other than git */
	".pre-commit-config.y*ml", "prek.toml", ".huskyrc*", "hk.pkl", "captainhook.json", "lefthook*", ".lefthook*",
	".config/lefthook*", ".githooks", "grumphp.y*", ".rusty-hook.toml", ".overcommit.yml", ".gitlint", ".trunk",
	".lintstagedrc*", "lint-staged.config.*", ".commitlintrc*", "commitlint.config.*", ".jj/repo/config.toml",
	".jj/workspace-config.toml", ".sl/config", ".pijul/config", "_darcs/prefs/defaults", ".git/lazygit.yml", ".lazygit.yml",
};
/* clang-format on */
enum { DEFAULTS = sizeof defaults / sizeof *defaults };

/* `@default` leaves these to git in a workspace, where git has to work. Files that a jail hands over need no git. */
static const char *const handed_over[] = {
	".git", "HEAD", /* without which git takes no folder for a bare repository */
};

/* The next component of a path, or 0 bytes at its end. */
static size_t next_component(const char **at)
{
	*at += strspn(*at, "/");
	return strcspn(*at, "/");
}

/* `*at` is the item, and the place in the list of defaults: counting up to it again takes a second for some thousand paths. */
const char *aj_protect_next(const char *const *items, size_t count, size_t *at)
{
	enum { STEP = 4096 };
	_Static_assert((int)DEFAULTS < (int)STEP, "a place in the list fits");
	size_t k = *at / STEP, i = *at % STEP;
	if (k >= count)
		return NULL;
	bool list = strcmp(items[k], AJ_PROTECT_DEFAULT) == 0;
	*at = list && i + 1 < DEFAULTS ? *at + 1 : (k + 1) * STEP;
	return list ? defaults[i] : items[k];
}

/* strncmp() or strncasecmp() */
typedef int compare_fn(const char *, const char *, size_t);

static bool part_matches(const char *pattern, size_t pattern_bytes, const char *name, size_t bytes, compare_fn *compare)
{
	const char *star = memchr(pattern, '*', pattern_bytes);
	if (!star)
		return bytes == pattern_bytes && compare(pattern, name, bytes) == 0;
	size_t before = (size_t)(star - pattern), after = pattern_bytes - before - 1;
	/* As in a shell, a star does not match a leading dot. */
	if (before == 0 && name[0] == '.')
		return false;
	if (bytes < before + after || compare(name, pattern, before) != 0)
		return false;
	return compare(name + bytes - after, star + 1, after) == 0;
}

bool aj_protect_part_matches(const char *pattern, size_t pattern_bytes, const char *name)
{
	return part_matches(pattern, pattern_bytes, name, strlen(name), strncmp);
}

static bool covers_path(const char *pattern, const char *path, compare_fn *compare)
{
	for (;;) {
		size_t a = next_component(&pattern), b = next_component(&path);
		if (a == 0)
			return true;
		if (b == 0 || !part_matches(pattern, a, path, b, compare))
			return false;
		pattern += a;
		path += b;
	}
}

bool aj_protect_covers_path(const char *pattern, const char *path)
{
	return covers_path(pattern, path, strncmp);
}

/* After the next slash; NULL: there is none. */
static const char *next_part(const char *path)
{
	const char *slash = strchr(path, '/');
	return slash ? slash + 1 : NULL;
}

size_t aj_protect_obeyed(const char *const *items, size_t count, const char *path)
{
	const char *pattern;
	for (const char *at = path; at; at = next_part(at))
		for (size_t i = 0; (pattern = aj_protect_next(items, count, &i));) {
			/* The first character rejects most patterns at once. */
			if ((*pattern != '*' && strncasecmp(pattern, at, 1) != 0) || !covers_path(pattern, at, strncasecmp))
				continue;
			const char *end = at;
			for (size_t bytes; (bytes = next_component(&pattern)) > 0; pattern += bytes) {
				size_t part = next_component(&end);
				end += part;
			}
			return (size_t)(end - path);
		}
	return 0;
}

bool aj_protect_begins(const char *const *items, size_t count, const char *name)
{
	const char *pattern;
	for (size_t i = 0; (pattern = aj_protect_next(items, count, &i));)
		if (part_matches(pattern, strcspn(pattern, "/"), name, strlen(name), strncasecmp))
			return true;
	return false;
}

/* Has the pattern a component left where the path ends? */
static bool goes_below(const char *pattern, const char *path)
{
	for (;;) {
		size_t a = next_component(&pattern), b = next_component(&path);
		if (a == 0 || b == 0)
			return a > 0;
		if (!part_matches(pattern, a, path, b, strncasecmp))
			return false;
		pattern += a;
		path += b;
	}
}

bool aj_protect_above(const char *const *items, size_t count, const char *path)
{
	const char *pattern;
	for (const char *at = path; at; at = next_part(at))
		for (size_t i = 0; (pattern = aj_protect_next(items, count, &i));)
			if (goes_below(pattern, at))
				return true;
	return false;
}

static bool covers_handed_over(const char *const *items, size_t count, const char *path)
{
	const char *pattern;
	for (size_t at = 0; (pattern = aj_protect_next(items, count, &at));)
		if (covers_path(pattern, path, strncasecmp))
			return true;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; strcmp(items[i], AJ_PROTECT_DEFAULT) == 0 && k < sizeof handed_over / sizeof *handed_over; k++)
			if (covers_path(handed_over[k], path, strncasecmp))
				return true;
	return false;
}

bool aj_protect_refuses(const char *const *items, size_t count, const char *path)
{
	for (const char *at = path; at; at = next_part(at))
		if (covers_handed_over(items, count, at))
			return true;
	return false;
}

static const char *check_place(struct aj_arena *arena, const char *text)
{
	(void)arena;
	if (strcmp(text, AJ_PROTECT_DEFAULT) == 0)
		return NULL;
	if (text[0] == '@')
		return "no known list: `@default` is the only one";
	if (text[0] == '/')
		return "an absolute path: places are relative to the workspace";
	if (text[0] == '~' || strchr(text, '$'))
		return "`~` and variables are not expanded: write the path below the workspace";
	if (!*text || strlen(text) > 200)
		return "empty, or longer than 200 bytes";
	if (aj_has_control(text))
		return "with a control character";
	for (const char *at = text; *at;) {
		size_t bytes = strcspn(at, "/");
		if (!aj_path_part_valid(at, bytes))
			return "with `.`, `..` or `//` in it";
		const char *star = memchr(at, '*', bytes);
		if (star && memchr(star + 1, '*', bytes - (size_t)(star + 1 - at)))
			return "with two stars between slashes: one star matches any part of a name";
		at += bytes + (at[bytes] == '/');
	}
	return NULL;
}

/* Is `inner`, component by component, `outer` or below it? Stars only cover identical spellings. */
static bool same_or_below(const char *outer, const char *inner)
{
	size_t bytes = strlen(outer);
	bool folder = bytes && outer[bytes - 1] == '/';
	size_t bare = bytes - folder;
	if (strncmp(outer, inner, bare) != 0)
		return false;
	const char *rest = inner + bare;
	/* A place that is held even if missing is not covered by one that is held only if present. */
	return *rest == '\0' || (rest[0] == '/' && (rest[1] != '\0' || folder));
}

static bool covers_place(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	if (strcmp(inner, AJ_PROTECT_DEFAULT) == 0)
		return strcmp(outer, AJ_PROTECT_DEFAULT) == 0;
	if (strcmp(outer, AJ_PROTECT_DEFAULT) != 0)
		return same_or_below(outer, inner);
	for (size_t i = 0; i < DEFAULTS; i++)
		if (same_or_below(defaults[i], inner))
			return true;
	return false;
}

const struct aj_item_kind aj_item_place = { "a place in the workspace", check_place, covers_place, "^(@default|[^/@~$][^$]*)$" };
