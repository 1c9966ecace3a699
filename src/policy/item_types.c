/* The small languages inside a policy's lists, each with its check and its "allows at least as much" order. They expand nothing:
 * `~` of a policy's host paths is the caller's home before these checks, and any other `~`, `$HOME` and `%h` are refused. */
#include "policy/item_types.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/bind.h"
#include "policy/toolchain_table.h"

/* --- modules --- */

bool aj_import_pattern_valid(const char *text)
{
	bool part_start = true;
	if (strlen(text) > 200)
		return false;
	for (const char *c = text; *c; c++) {
		if (part_start && *c == '*')
			return c != text && c[1] == '\0';
		bool letter = isalpha((unsigned char)*c) || *c == '_';
		if (!letter && (part_start || (!isdigit((unsigned char)*c) && *c != '.')))
			return false;
		part_start = *c == '.';
	}
	return !part_start;
}

bool aj_import_covers(const char *pattern, const char *module)
{
	size_t bytes = strlen(pattern);
	if (strcmp(pattern, "*") == 0)
		return true;
	if (bytes <= 2 || strcmp(pattern + bytes - 2, ".*") != 0)
		return strcmp(pattern, module) == 0;
	/* `a.*` matches a and everything below it, and covers patterns below it */
	return strncmp(pattern, module, bytes - 2) == 0 && (module[bytes - 2] == '\0' || module[bytes - 2] == '.');
}

static const char *check_import(struct aj_arena *arena, const char *text)
{
	(void)arena;
	return strcmp(text, "*") == 0 || aj_import_pattern_valid(text) ? NULL : "not a module name, nor `package.*`, nor `*`";
}

static bool covers_import(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return aj_import_covers(outer, inner);
}

static const char *check_preload(struct aj_arena *arena, const char *text)
{
	const char *colon = strchr(text, ':'), *module = colon ? colon + 1 : text;
	bool named = !colon || (colon > text && !memchr(text, '.', (size_t)(colon - text)) &&
	                        aj_import_pattern_valid(aj_strndup(arena, text, (size_t)(colon - text))));
	return named && aj_import_pattern_valid(module) && !strchr(module, '*') ? NULL : "not MODULE, nor WORD:MODULE";
}

/* --- paths --- */

static const char *no_expansion(const char *text)
{
	if (strchr(text, '$'))
		return "variables are not expanded: write the value itself";
	if (text[0] == '~')
		return "`~` is not expanded: write the whole path";
	return NULL;
}

static const char *check_folder(struct aj_arena *arena, const char *text)
{
	(void)arena;
	const char *wrong = no_expansion(text);
	if (wrong)
		return wrong;
	return aj_jail_path_valid(text) ? NULL : "not an absolute path (no `.`, `..`, `//` or slash at the end)";
}

static bool same_item(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return strcmp(outer, inner) == 0;
}

static bool covers_path(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return aj_path_within(inner, outer);
}

static const char *check_reached(struct aj_arena *arena, const char *text)
{
	return strcmp(text, "/") == 0 ? NULL : check_folder(arena, text);
}

static const char *check_mask(struct aj_arena *arena, const char *text)
{
	struct aj_masked mask;
	const char *wrong = no_expansion(text);
	return wrong ? wrong : aj_mask_parse(arena, text, &mask);
}

/* A mask also hides everything below it; a mask with :if-present does not cover one without. */
static bool covers_mask(struct aj_arena *arena, const char *outer, const char *inner)
{
	struct aj_masked a, b;
	if (aj_mask_parse(arena, outer, &a) || aj_mask_parse(arena, inner, &b) || (a.if_present && !b.if_present))
		return false;
	return covers_path(arena, a.target, b.target);
}

static bool word_of_under(const char *text)
{
	return strcmp(text, AJ_UNDER_DEFAULT) == 0 || strcmp(text, AJ_UNDER_ANYWHERE) == 0;
}

static const char *check_under(struct aj_arena *arena, const char *text)
{
	if (text[0] == '@')
		return word_of_under(text) ? NULL : "neither " AJ_UNDER_DEFAULT " nor " AJ_UNDER_ANYWHERE;
	return strcmp(text, "/") == 0 ? NULL : check_folder(arena, text);
}

/* A folder is more specific than a word, which allows no place that must be named. */
static bool covers_under(struct aj_arena *arena, const char *outer, const char *inner)
{
	if (strcmp(outer, "/") == 0 || strcmp(outer, inner) == 0)
		return true;
	if (outer[0] == '@')
		return strcmp(outer, AJ_UNDER_ANYWHERE) == 0 && strcmp(inner, AJ_UNDER_DEFAULT) == 0;
	return inner[0] == '/' && covers_path(arena, outer, inner);
}

static const char *check_in_home(struct aj_arena *arena, const char *text)
{
	const char *wrong = no_expansion(text);
	if (text[0] == '~')
		return "every path is relative to the home: omit `~/`";
	if (wrong)
		return wrong;
	return text[0] != '/' && aj_jail_path_valid(aj_printf(arena, "/%s", text)) && !strpbrk(text, "*?")
	         ? NULL
	         : "not a path relative to the home (no `.`, `..`, `//`, star or slash at the end)";
}

static const char *check_toolchain(struct aj_arena *arena, const char *text)
{
	(void)arena;
	return aj_toolchain_word_valid(text) ? NULL : "not the name of a toolchain, nor auto, nor none";
}

static bool covers_toolchain(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return strcmp(outer, inner) == 0 || strcmp(outer, AJ_TOOLCHAINS_AUTO) == 0 || strcmp(inner, AJ_TOOLCHAINS_NONE) == 0;
}

static const char *check_bind(struct aj_arena *arena, const char *text)
{
	struct aj_bind bind;
	const char *wrong = no_expansion(text);
	if (!wrong)
		wrong = aj_bind_parse(arena, text, &bind);
	if (wrong)
		return wrong;
	return aj_jail_path_valid(bind.source) ? NULL
	                                       : "with a host path that is not absolute (no `.`, `..`, `//` or slash at the end)";
}

static bool covers_bind(struct aj_arena *arena, const char *outer, const char *inner)
{
	struct aj_bind a, b;
	if (aj_bind_parse(arena, outer, &a) || aj_bind_parse(arena, inner, &b))
		return false;
	return strcmp(a.source, b.source) == 0 && strcmp(a.target, b.target) == 0 && a.writable >= b.writable;
}

static const char *check_destination(struct aj_arena *arena, const char *text)
{
	if (strcmp(text, "none") == 0 || strcmp(text, "syslog") == 0 || strcmp(text, "journal") == 0)
		return NULL;
	if (strncmp(text, "file:", 5) == 0)
		return check_folder(arena, text + 5);
	return "not one of none, file:/path, syslog, journal";
}

/* --- variables --- */

static const char *check_variable_name(const char *text, const char *end)
{
	for (const char *c = text; c < end; c++)
		if (!(isalpha((unsigned char)*c) || *c == '_' || (c > text && isdigit((unsigned char)*c))))
			return "a name other than letters, digits and underscores";
	if (strncmp(text, "LD_", 3) == 0 || strncmp(text, "PYTHON", 6) == 0)
		return "LD_* and PYTHON* change which code is loaded, before any wall stands";
	return NULL;
}

static const char *check_variable(struct aj_arena *arena, const char *text)
{
	(void)arena;
	return *text ? check_variable_name(text, text + strlen(text)) : "empty";
}

static const char *check_env(struct aj_arena *arena, const char *text)
{
	(void)arena;
	const char *eq = strchr(text, '=');
	if (!eq || eq == text)
		return "not NAME=VALUE (process.pass_env names variables that are passed on)";
	const char *wrong = check_variable_name(text, eq);
	if (wrong)
		return wrong;
	/* A lone dollar sign may be part of a password; before a name, a brace or a parenthesis it was meant for a shell. */
	for (const char *c = eq; (c = strchr(c, '$')); c++)
		if (isalpha((unsigned char)c[1]) || (c[1] && strchr("_{(", c[1])))
			return "variables are not expanded: write the value itself";
	if (eq[1] == '~')
		return "`~` is not expanded: write the whole path";
	return NULL;
}

/* --- names --- */

bool aj_policy_name_valid(const char *text)
{
	size_t bytes = strlen(text);
	if (bytes == 0 || bytes > 64 || !isalnum((unsigned char)text[0]))
		return false;
	for (const char *c = text; *c; c++)
		if (!isalnum((unsigned char)*c) && *c != '-' && *c != '_')
			return false;
	return true;
}

static const char *check_name(struct aj_arena *arena, const char *text)
{
	(void)arena;
	return aj_policy_name_valid(text) ? NULL : "not a name (letters, digits, - and _; a path is never a name)";
}

static const char *check_rootfs(struct aj_arena *arena, const char *text)
{
	return check_name(arena, text);
}

static const char *check_python_env(struct aj_arena *arena, const char *text)
{
	return *text ? check_name(arena, text) : NULL;
}

static const char *check_hash_seed(struct aj_arena *arena, const char *text)
{
	uint64_t seed;
	(void)arena;
	return strcmp(text, "random") == 0 || (aj_parse_count(text, &seed) && seed <= UINT32_MAX)
	         ? NULL
	         : "neither \"random\" nor a number from 0 to 4294967295";
}

static const char *check_key(struct aj_arena *arena, const char *text)
{
	(void)arena;
	return *text ? NULL : "empty"; /* the caller, which knows the keys, checks that the key exists */
}

bool aj_ids_parse(const char *text, unsigned *ret_first, unsigned *ret_last)
{
	enum { LEAST = 65536 }; /* the ids below are users and nobody (65534) */
	uint64_t first, last;
	char low[16];
	size_t bytes = strcspn(text, "-");
	if (text[bytes] != '-' || bytes >= sizeof low)
		return false;
	memcpy(low, text, bytes);
	low[bytes] = '\0';
	if (!aj_parse_count(low, &first) || !aj_parse_count(text + bytes + 1, &last) || first < LEAST || last > UINT32_MAX - 1 ||
	    first > last)
		return false;
	*ret_first = (unsigned)first;
	*ret_last = (unsigned)last;
	return true;
}

static const char *check_ids(struct aj_arena *arena, const char *text)
{
	unsigned first, last;
	(void)arena;
	return !*text || aj_ids_parse(text, &first, &last) ? NULL : "not FIRST-LAST with ids from 65536 to 4294967294";
}

static const char *check_text(struct aj_arena *arena, const char *text)
{
	(void)arena;
	if (strlen(text) > 200)
		return "longer than 200 bytes";
	return aj_has_control(text) ? "with a control character" : NULL;
}

#define NAME_PATTERN "^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$"

const struct aj_item_kind aj_item_import = { "a module pattern", check_import, covers_import,
	                                     "^(\\*|[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*(\\.\\*)?)$" };
const struct aj_item_kind aj_item_preload = { "a module to load", check_preload, same_item,
	                                      "^([A-Za-z_][A-Za-z0-9_]*:)?[A-Za-z_][A-Za-z0-9_]*(\\.[A-Za-z_][A-Za-z0-9_]*)*$" };
const struct aj_item_kind aj_item_bind = { "a bind", check_bind, covers_bind, "^[^:$]+(:/[^:$]*)?(:r[ow])?$" };
const struct aj_item_kind aj_item_mask = { "a path in the jail or the workspace", check_mask, covers_mask, "^[^$~][^$]*$" };
const struct aj_item_kind aj_item_env = { "a variable", check_env, same_item, "^[A-Za-z_][A-Za-z0-9_]*=" };
const struct aj_item_kind aj_item_variable = { "a variable's name", check_variable, same_item, "^[A-Za-z_][A-Za-z0-9_]*$" };
const struct aj_item_kind aj_item_name = { "a policy's name", check_name, same_item, NAME_PATTERN };
const struct aj_item_kind aj_item_key = { "a key or section", check_key, same_item, "^([a-z_]+(\\.[a-z_]+)?|\\*)$" };
const struct aj_item_kind aj_item_text = { "text", check_text, same_item, "^.{0,200}$" };
const struct aj_item_kind aj_item_folder = { "a folder", check_folder, same_item, "^/[^$]+$" };
const struct aj_item_kind aj_item_reached = { "a folder of the jail", check_reached, covers_path, "^/[^$]*$" };
const struct aj_item_kind aj_item_socket = { "a socket's path on the host", check_folder, same_item, "^[^$]+$" };
const struct aj_item_kind aj_item_under = { "a folder", check_under, covers_under, "^([^$@][^$]*|@default|@anywhere)$" };
const struct aj_item_kind aj_item_in_home = { "a path in the home", check_in_home, covers_path, "^[^/$~*?][^$*?]*$" };
const struct aj_item_kind aj_item_toolchain = { "a toolchain", check_toolchain, covers_toolchain, "^[a-z]+$" };
const struct aj_item_kind aj_item_ids = { "a range of ids", check_ids, same_item, "^([0-9]+-[0-9]+)?$" };
const struct aj_item_kind aj_item_destination = { "a destination", check_destination, same_item,
	                                          "^(none|syslog|journal|file:/[^$]+)$" };
const struct aj_item_kind aj_item_hash_seed = { "a seed", check_hash_seed, same_item, "^(random|[0-9]{1,10})$" };
const struct aj_item_kind aj_item_python_env = { "an environment's name", check_python_env, same_item,
	                                         "^([A-Za-z0-9][A-Za-z0-9_-]{0,63})?$" };
const struct aj_item_kind aj_item_rootfs = { "a tree's name", check_rootfs, same_item, NAME_PATTERN };
