/* Decides by path, type and target of a link which changes wait for their name. It judges no content: a program that the user builds or
 * runs by hand may do anything, and no list of names tells that.
 * It opens no file but links. */
#include "changes/held.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/node.h"
#include "changes/reached.h"
#include "changes/spelling.h"
#include "policy/protect.h"

bool aj_is_git_name(const char *name)
{
	return aj_spelling_is(name, ".git") || (aj_spelling_short(name) && strncasecmp(name, "git~", 4) == 0);
}

static bool below_any(const char *path, const char *const *folders, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (aj_path_within(path, folders[i]))
			return true;
	return false;
}

/* A `..` after a name could follow another link of the tree, so it counts as a way out. */
static bool relative_leads_out(const char *path, const char *target)
{
	size_t depth = 0;
	for (const char *c = path; *c; c++)
		depth += *c == '/';
	bool named = false;
	for (const char *at = target; *at;) {
		size_t bytes = strcspn(at, "/");
		bool up = bytes == 2 && strncmp(at, "..", 2) == 0;
		if (up && (named || depth-- == 0))
			return true;
		named = named || (!up && aj_path_part_valid(at, bytes));
		at += bytes + strspn(at + bytes, "/");
	}
	return false;
}

bool aj_link_leads_out(const char *path, const char *target, const char *workspace)
{
	/* Only root writes there, and virtual environments link to interpreters in them. */
	static const char *const of_root[] = { "/usr", "/bin", "/sbin", "/lib", "/lib64", "/nix/store", "/dev/null" };
	if (target[0] != '/')
		return relative_leads_out(path, target);
	if (strstr(target, "/../") || (strlen(target) > 3 && strcmp(target + strlen(target) - 3, "/..") == 0))
		return true;
	return !aj_path_within(target, workspace) && (geteuid() == 0 || !below_any(target, of_root, sizeof of_root / sizeof *of_root));
}

/* In the data of this repository itself: a submodule may be called `refs`. */
static bool is_data(const char *below)
{
	static const char *const data[] = { "objects", "refs", "logs" };
	bool found = false;
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		found |= strlen(data[i]) == strcspn(below, "/") && strncasecmp(below, data[i], strlen(data[i])) == 0;
	return found;
}

size_t aj_git_obeyed(const char *below)
{
	static const char *const names[] = { "config",     "config.worktree", "commondir",    "gitdir", "hooks",
		                             "alternates", "rebase-merge",    "rebase-apply", "info",   "sequencer" };
	bool in_data = is_data(below);
	for (const char *at = below; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t bytes = strcspn(at, "/");
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			/* A branch may be called `config`; objects/info/alternates names other places of objects. */
			if (strlen(names[i]) == bytes && strncasecmp(at, names[i], bytes) == 0 &&
			    (!in_data || strcmp(names[i], "alternates") == 0))
				return (size_t)(at - below) + bytes;
	}
	return 0;
}

/* The part of the path, whose names are plain, that the policy or its built-in list protects. */
static size_t protected_place(const char *path, const struct aj_change_record *record)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	bool all = false;
	for (size_t i = 0; i < record->protect_count && !all; i++)
		all = strcmp(record->protect[i], AJ_PROTECT_DEFAULT) == 0;
	size_t bytes = aj_protect_obeyed(record->protect, record->protect_count, path);
	return bytes || all ? bytes : aj_protect_obeyed(defaults, 1, path);
}

/* --- links --- */

/* Is there a repository of the workspace on the way, whatever its folder is called? */
static bool through_repository(const struct aj_change_state *s, const char *path)
{
	static const char *const marks[] = { "HEAD", "refs", "commondir" };
	for (const char *end = path; *end;) {
		end += strspn(end, "/");
		end += strcspn(end, "/");
		size_t found = 0;
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
			char mark[PATH_MAX + 16];
			struct stat st;
			snprintf(mark, sizeof mark, "%.*s/%s", (int)(end - path), path, marks[i]);
			found += fstatat(s->workspace, mark, &st, AT_SYMLINK_NOFOLLOW) == 0 && (i > 0 || !S_ISDIR(st.st_mode));
			if (!found)
				break; /* without a HEAD the others mean nothing */
		}
		if (found > 1)
			return true;
	}
	return false;
}

/* `target`: relative to the workspace. */
static bool is_held_place(const struct aj_change_state *s, const char *target, struct aj_arena *arena)
{
	const char *path = aj_spelling_plain(target, aj_alloc(arena, strlen(target) + 1));
	if (protected_place(path, &s->record) || aj_change_reached(s, path) || aj_spelling_short(path))
		return true;
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
		if (aj_is_git_name(aj_strndup(arena, at, strcspn(at, "/"))))
			return true;
	return through_repository(s, target);
}

/* Where `target`, relative to the workspace, leads through the links that the workspace has: an absolute path. What is not there yet stays as
 * it is written. */
static const char *resolve(const struct aj_change_state *s, const char *target, struct aj_arena *arena)
{
	char real[PATH_MAX];
	const char *top = s->record.workspace, *whole = aj_printf(arena, "%s/%s", top, target);
	for (size_t bytes = strlen(whole); bytes > strlen(top);) {
		if (realpath(aj_strndup(arena, whole, bytes), real))
			return aj_printf(arena, "%s%s", real, whole + bytes);
		while (bytes > 0 && whole[--bytes] != '/')
			;
	}
	return whole;
}

static const char *link_reason(const struct aj_change *c, const char *target, const struct aj_change_state *s, struct aj_arena *arena)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	static const char out[] = "a link that leads out of the workspace";
	const char *path = aj_spelling_plain(c->path, aj_alloc(arena, strlen(c->path) + 1)), *top = s->record.workspace, *rest;
	if (aj_link_leads_out(c->path, target, top))
		return out;
	if (aj_protect_above(s->record.protect, s->record.protect_count, path) || aj_protect_above(defaults, 1, path) ||
	    aj_change_reached_below(s, path))
		return "a link in place of a folder with places that programs of the host obey";
	if (target[0] != '/')
		target = aj_path_simplify(aj_printf(arena, "/%s/../%s", c->path, target), arena);
	else if (!(target = aj_path_rest(aj_path_simplify(target, arena), top)))
		return NULL; /* to where only root writes */
	const char *real = resolve(s, target + (*target == '/'), arena);
	if (aj_link_leads_out(c->path, real, top))
		return out;
	rest = aj_path_rest(real, top);
	return is_held_place(s, target + (*target == '/'), arena) || (rest && is_held_place(s, rest + (*rest == '/'), arena))
	         ? "a link that leads to a held place"
	         : NULL;
}

static const char *link_held(const struct aj_change *c, const struct aj_change_state *s)
{
	char target[PATH_MAX];
	struct aj_arena arena = { 0 };
	cleanup_fd int place = aj_node_place(s->view, c->path, !s->running);
	if (place < 0 || aj_node_link(place, "", target, sizeof target) < 0)
		return "a link whose target cannot be read";
	const char *why = link_reason(c, target, s, &arena);
	aj_arena_free(&arena);
	return why;
}

/* --- all of it --- */

/* Why the change is held, by its path in plain names. `in_git`: what follows in it after a repository's folder; NULL: the change is in none.
 * `*ret_bytes`: of the part of `path` that is the held place. */
static const char *reason(const struct aj_change *c, const char *path, const char *in_git, const struct aj_change_state *s, size_t *ret_bytes)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t bytes = in_git ? aj_git_obeyed(in_git) : 0;
	if (bytes) {
		*ret_bytes = (size_t)(in_git - path) + bytes;
		return "git runs programs by it";
	}
	if (in_git && S_ISLNK(c->is.st_mode))
		return "git writes through a link";
	if ((!in_git || !is_data(in_git)) && (bytes = protected_place(path, &s->record)) > 0) {
		*ret_bytes = bytes;
		return "programs of the host obey it (filesystem.protect)";
	}
	if ((bytes = aj_change_reached(s, path)) > 0) {
		*ret_bytes = bytes;
		return "git of the host reads or runs it, or a link of the host leads to it";
	}
	if (in_git ? !*in_git && c->is.st_mode && !S_ISDIR(c->is.st_mode) : aj_is_git_name(name))
		return "git takes the folder for a repository by it";
	if ((bytes = aj_spelling_short(path)) > 0) {
		*ret_bytes = bytes;
		return "file systems of DOS take the name for another file's";
	}
	if (!in_git && c->kind != AJ_CHANGE_DELETED && strcasecmp(name, "HEAD") == 0)
		return "git takes a folder for a repository by a file of that name";
	return S_ISLNK(c->is.st_mode) ? link_held(c, s) : NULL;
}

void aj_change_hold(struct aj_change *c, const char *below, const struct aj_change_state *s)
{
	char room[PATH_MAX];
	const char *path = aj_spelling_plain(c->path, room), *in_git = NULL;
	if (below) {
		in_git = path + aj_spelling_bytes(path, aj_spelling_count(c->path, (size_t)(below - c->path)));
		in_git += in_git > path && *in_git == '/';
	}
	size_t bytes = strlen(path);
	c->held = reason(c, path, in_git, s, &bytes);
	c->held_bytes = c->held ? aj_spelling_bytes(c->path, aj_spelling_count(path, bytes)) : 0;
}
