/* Decides by path, type and target of a link which changes wait for their name. It judges no content: a program that the user builds or
 * runs by hand may do anything, and no list of names tells that.
 * It opens no file; links.c follows links. */
#include "workspace/changes/needs_approval.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "policy/protect.h"
#include "workspace/changes/approval_links.h"
#include "workspace/changes/approval_reached.h"
#include "workspace/changes/approval_spelling.h"

bool aj_is_git_name(const char *name)
{
	return aj_spelling_is(name, ".git") || (aj_spelling_short(name) && strncasecmp(name, "git~", 4) == 0);
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

/* No ref has a name that ends so: git-check-ref-format(1). */
static bool ends_like_a_lock(const char *name, size_t bytes)
{
	return bytes > 5 && strncasecmp(name + bytes - 5, ".lock", 5) == 0;
}

bool aj_git_lock(const char *below)
{
	static const char *const names[] = { AJ_GIT_LOCKS };
	bool in_data = is_data(below);
	for (const char *at = below; *at; at += strcspn(at, "/"), at += *at == '/') {
		size_t bytes = strcspn(at, "/");
		bool found = in_data && at > below && ends_like_a_lock(at, bytes);
		for (size_t i = 0; i < sizeof names / sizeof *names && !found; i++)
			found = strlen(names[i]) == bytes && strncasecmp(at, names[i], bytes) == 0;
		if (found)
			return true;
	}
	return false;
}

size_t aj_change_protected(const struct aj_change_record *record, const char *path)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	bool all = false;
	for (size_t i = 0; i < record->protect_count && !all; i++)
		all = strcmp(record->protect[i], AJ_PROTECT_DEFAULT) == 0;
	size_t bytes = aj_protect_obeyed(record->protect, record->protect_count, path);
	return bytes || all ? bytes : aj_protect_obeyed(defaults, 1, path);
}

/* Why the change is held, by its path in plain names. `in_git`: what follows in it after a repository's folder; NULL: the change is in none.
 * `*ret_bytes`: of the part of `path` that is the held place. */
static const char *reason_to_hold(const struct aj_change *c, const char *path, const char *in_git,
                                  const struct aj_change_state *s, size_t *ret_bytes)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t bytes = in_git ? aj_git_obeyed(in_git) : 0;
	if (bytes) {
		*ret_bytes = (size_t)(in_git - path) + bytes;
		return "git runs programs by it";
	}
	if (in_git && S_ISLNK(c->is.st_mode))
		return "git writes through a link";
	if ((!in_git || !is_data(in_git)) && (bytes = aj_change_protected(&s->record, path)) > 0) {
		*ret_bytes = bytes;
		return "programs of the host obey it (filesystem.protect)";
	}
	if ((bytes = aj_change_reached(s, path)) > 0) {
		*ret_bytes = bytes;
		return "git of the host reads or runs it, or a link of the host leads to it";
	}
	if (in_git ? !*in_git && c->is.st_mode && !S_ISDIR(c->is.st_mode) : strcasecmp(name, ".git") == 0)
		return "git takes the folder for a repository by it";
	if ((bytes = aj_spelling_short(path)) > 0) {
		*ret_bytes = bytes;
		return "file systems of DOS take the name for another file's";
	}
	if (!in_git && c->kind != AJ_CHANGE_DELETED && strcasecmp(name, "HEAD") == 0)
		return "git takes a folder for a repository by a file of that name";
	return S_ISLNK(c->is.st_mode) ? aj_link_held(c, s) : NULL;
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
	c->held = reason_to_hold(c, path, in_git, s, &bytes);
	c->held_bytes = c->held ? aj_spelling_bytes(c->path, aj_spelling_count(path, bytes)) : 0;
}
