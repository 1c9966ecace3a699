/* Finds the caller's toolchains by the entries of PATH, and determines which of their folders the jail is shown: those of the
 * table, nothing else. It opens no file of theirs, runs none, and never shows a home or a folder above one. */
#include "workspace/home/toolchains.h"

#include <fnmatch.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "policy/bind.h"
#include "policy/host/home.h"
#include "policy/toolchain_table.h"
#include "workspace/home/tokens.h"

struct toolchain_search {
	struct aj_request *request;
	const struct aj_policy *policy;
	struct aj_arena *arena;
	const char *homes[2];          /* as $HOME has it, and without symlinks */
	AJ_LIST(const char *) path;    /* the jail's */
	AJ_LIST(struct aj_bind) shown; /* the request's `tools`, and those that lie within these */
};

static bool is_folder(const char *path)
{
	struct stat st;
	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static void add_to_path(struct toolchain_search *s, const char *entry)
{
	for (size_t i = 0; i < s->path.count; i++)
		if (strcmp(s->path.items[i], entry) == 0)
			return;
	*AJ_PUSH(s->arena, &s->path) = entry;
}

/* The table's path for one spelling of the home. NULL: the variable is not set, or the result is not a plain path. */
static const char *expand(struct toolchain_search *s, const char *path, const char *home)
{
	if (path[0] == '~') {
		path = home ? aj_printf(s->arena, "%s%s", home, path + 1) : NULL;
	} else if (path[0] == '$') {
		size_t bytes = strcspn(path, "/");
		const char *value = getenv(aj_strndup(s->arena, path + 1, bytes - 1));
		path = value && value[0] == '/' ? aj_printf(s->arena, "%s%s", aj_path_simplify(value, s->arena), path + bytes)
		                                : NULL;
	}
	return path && aj_jail_path_valid(path) ? path : NULL;
}

/* The folder's path without symlinks, if a jail may be shown that folder. */
static const char *source_of(struct toolchain_search *s, const char *folder)
{
	/* Folders below these are shown to every jail as they are, or are the jail's own. */
	static const char *const own[] = { "/usr",  "/etc", "/proc", "/dev", "/sys",  "/run",
		                           "/boot", "/bin", "/sbin", "/lib", "/lib64" };
	char real[PATH_MAX];
	if (!realpath(folder, real) || !is_folder(real) || strcmp(real, "/") == 0)
		return NULL;
	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (aj_path_within(folder, own[i]) || (i > 0 && aj_path_within(real, own[i])))
			return NULL;
	for (size_t i = 0; i < 2; i++)
		if (s->homes[i] && (aj_path_within(s->homes[i], real) || aj_path_within(s->homes[i], folder)))
			return NULL;
	return aj_strdup(s->arena, real);
}

static void show_folder(struct toolchain_search *s, const char *folder)
{
	const char *source = source_of(s, folder), *workspace = s->request->workspace;
	/* A folder of the workspace is there already, and a jail may have written it. */
	bool same = workspace && s->policy->workspace_at == AJ_AT_SAME;
	if (!source || (same && aj_path_within(folder, workspace)) || (workspace && aj_path_within(source, workspace)))
		return;
	struct aj_bind bind = { .source = source, .target = folder };
	for (size_t i = 0; i < s->shown.count; i++)
		if (strcmp(source, s->shown.items[i].source) == 0 && strcmp(folder, s->shown.items[i].target) == 0)
			return;
	*AJ_PUSH(s->arena, &s->shown) = bind;
	for (size_t i = 0; i < s->request->tools.count; i++)
		if (aj_path_within(folder, s->request->tools.items[i].target))
			return;
	*AJ_PUSH(s->arena, &s->request->tools) = bind;
}

static void add_toolchain(struct toolchain_search *s, const struct aj_toolchain *tool, const char *entry, const char *home)
{
	for (size_t i = 0; i < AJ_TOOLCHAIN_FOLDERS && tool->shown[i].path; i++) {
		const struct aj_toolchain_folder *f = &tool->shown[i];
		const char *value = f->variable ? getenv(f->variable) : NULL;
		const char *folder = strcmp(f->path, ".") == 0 ? entry
		                   : strcmp(f->path, "^") == 0 ? aj_path_folder(entry, s->arena)
		                   : value && value[0] == '/'  ? aj_path_simplify(value, s->arena)
		                                               : expand(s, f->path, home);
		if (!folder || !is_folder(folder))
			continue;
		show_folder(s, folder);
		if (f->variable)
			*AJ_PUSH(s->arena, &s->request->tool_env) = aj_printf(s->arena, "%s=%s", f->variable, folder);
	}
	add_to_path(s, entry);
}

/* Take the entry for every row that it belongs to, among those of `name` (NULL: all). */
static bool betrays(struct toolchain_search *s, const char *entry, const char *name)
{
	bool found = false;
	for (const struct aj_toolchain *tool = aj_toolchains; tool->name; tool++)
		for (size_t i = 0; i < AJ_TOOLCHAIN_ENTRIES && tool->on_path[i]; i++)
			for (size_t h = 0; h < 2 && (!name || strcmp(name, tool->name) == 0); h++) {
				const char *pattern = expand(s, tool->on_path[i], s->homes[h]);
				if (!pattern || fnmatch(pattern, entry, FNM_PATHNAME | FNM_NOESCAPE) != 0)
					continue;
				add_toolchain(s, tool, entry, s->homes[h]);
				found = true;
				break;
			}
	return found;
}

/* Does the policy name this toolchain, or `auto`? */
static bool has_word(const struct aj_policy *policy, const char *word)
{
	for (size_t i = 0; i < policy->toolchains.count; i++)
		if (strcmp(policy->toolchains.items[i], word) == 0)
			return true;
	return false;
}

/* The usual folders of a toolchain that is named, whether or not PATH has them. */
static bool find_usual(struct toolchain_search *s, const char *name)
{
	bool found = false;
	for (const struct aj_toolchain *tool = aj_toolchains; tool->name; tool++)
		for (size_t i = 0; i < AJ_TOOLCHAIN_ENTRIES && tool->on_path[i] && strcmp(tool->name, name) == 0; i++) {
			const char *entry = strchr(tool->on_path[i], '*') ? NULL : expand(s, tool->on_path[i], s->homes[0]);
			if (!entry || !is_folder(entry))
				continue;
			add_toolchain(s, tool, entry, s->homes[0]);
			found = true;
		}
	return found;
}

/* The jail has /usr as the host has it, and the workspace, where that is at its own path. */
static bool is_shown(const struct toolchain_search *s, const char *entry)
{
	static const char *const shown[] = { "/usr", "/bin", "/sbin" };
	for (size_t i = 0; i < sizeof shown / sizeof *shown; i++)
		if (aj_path_within(entry, shown[i]))
			return true;
	return s->request->workspace && s->policy->workspace_at == AJ_AT_SAME && aj_path_within(entry, s->request->workspace);
}

static void each_entry(struct toolchain_search *s, const char *path)
{
	bool all = has_word(s->policy, AJ_TOOLCHAINS_AUTO);
	for (const char *at = path; *at;) {
		size_t bytes = strcspn(at, ":");
		const char *entry = aj_path_simplify(aj_strndup(s->arena, at, bytes), s->arena);
		if (at[0] == '/' && aj_jail_path_valid(entry)) {
			bool found = false;
			for (size_t i = 0; i < s->policy->toolchains.count && !all; i++)
				found |= betrays(s, entry, s->policy->toolchains.items[i]);
			if (!(all ? betrays(s, entry, NULL) : found) && is_shown(s, entry))
				add_to_path(s, entry);
		}
		at += bytes + (at[bytes] == ':');
	}
}

static const char *const standard[] = { "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

/* Whether the jail has this toolchain anyway, in a folder of /usr on its PATH. */
static bool in_system(struct toolchain_search *s, const char *name)
{
	const char *program = aj_toolchain_program(name);
	size_t own = s->path.count, all = own + sizeof standard / sizeof *standard;
	for (size_t i = 0; program && i < all; i++) {
		const char *entry = i < own ? s->path.items[i] : standard[i - own];
		if (is_shown(s, entry) && access(aj_printf(s->arena, "%s/%s", entry, program), X_OK) == 0)
			return true;
	}
	return false;
}

int aj_toolchains_find(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err)
{
	const char *home = secure_getenv("HOME"), *real = aj_home_of_caller(arena), *path = getenv("PATH");
	struct toolchain_search s = { .request = request, .policy = policy, .arena = arena };
	if (request->is_snippet || !policy->toolchains.count || has_word(policy, AJ_TOOLCHAINS_NONE))
		return 0;
	if (real && strpbrk(real, "*?[")) /* no path of the table would mean what it says */
		real = NULL;
	s.homes[0] = real ? aj_path_simplify(home && home[0] == '/' ? home : real, arena) : NULL;
	s.homes[1] = real;
	each_entry(&s, path ? path : "");
	for (size_t i = 0; i < policy->toolchains.count; i++) {
		const char *name = policy->toolchains.items[i];
		size_t before = s.path.count;
		if (strcmp(name, AJ_TOOLCHAINS_AUTO) == 0 || find_usual(&s, name) || s.path.count > before)
			continue;
		bool there = false;
		for (size_t j = 0; j < s.path.count && !there; j++)
			there = betrays(&s, s.path.items[j], name);
		if (there || in_system(&s, name))
			continue;
		aj_fail(err, AJ_EXIT_USAGE, "toolchain", 0,
		        "the toolchain `%s` is not there: no entry of PATH and no usual folder is its", name);
		aj_advise(err, "install it, add its folder to PATH, or show that folder with --bind");
		return -1;
	}
	for (size_t i = 0; i < sizeof standard / sizeof *standard; i++)
		add_to_path(&s, standard[i]);
	for (size_t i = 0; i < s.shown.count; i++)
		aj_tokens_hide(request, policy, s.shown.items[i].source, s.shown.items[i].target, arena);
	const char *list = s.path.items[0];
	for (size_t i = 1; i < s.path.count; i++)
		list = aj_printf(arena, "%s:%s", list, s.path.items[i]);
	request->command.path = list;
	return 0;
}
