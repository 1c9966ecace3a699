/* Decides by path, type and target of a link which changes wait for their name. It judges no content: a program that the user builds or
 * runs by hand may do anything, and no list of names tells that.
 * It opens no file but links. */
#include "changes/held.h"

#include <limits.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/node.h"
#include "policy/protect.h"

bool aj_is_git_name(const char *name)
{
	return strcasecmp(name, ".git") == 0;
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

static void hold(struct aj_change *c, const char *why, size_t bytes)
{
	c->held = why;
	c->held_bytes = bytes;
}

/* The end of the first component of `below` that names something by which git runs programs; 0: none. */
static size_t obeyed_by_git(const char *below)
{
	static const char *const names[] = { "config",     "config.worktree", "commondir",    "gitdir", "hooks",
		                             "alternates", "rebase-merge",    "rebase-apply", "info",   "sequencer" };
	static const char *const data[] = { "objects", "refs", "logs" };
	bool in_data = false; /* of this repository itself: a submodule may be called `refs` */
	for (size_t i = 0; i < sizeof data / sizeof *data; i++)
		in_data |= strlen(data[i]) == strcspn(below, "/") && strncasecmp(below, data[i], strlen(data[i])) == 0;
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

static void hold_link(struct aj_change *c, const struct aj_change_state *s)
{
	char target[PATH_MAX];
	cleanup_fd int place = aj_node_place(s->view, c->path, !s->running);
	if (place < 0 || aj_node_link(place, "", target, sizeof target) < 0)
		hold(c, "a link whose target cannot be read", strlen(c->path));
	else if (aj_link_leads_out(c->path, target, s->record.workspace))
		hold(c, "a link that leads out of the workspace", strlen(c->path));
}

void aj_change_hold(struct aj_change *c, size_t git_bytes, const struct aj_change_state *s)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
	size_t whole = strlen(c->path), bytes;
	if (git_bytes) {
		bytes = c->path[git_bytes] ? obeyed_by_git(c->path + git_bytes + 1) : 0;
		if (bytes)
			hold(c, "git runs programs by it", git_bytes + 1 + bytes);
		else if (S_ISLNK(c->is.st_mode))
			hold(c, "git writes through a link", whole);
		return;
	}
	bytes = aj_protect_obeyed(s->record.protect, s->record.protect_count, c->path);
	bool all = false;
	for (size_t i = 0; i < s->record.protect_count && !all; i++)
		all = strcmp(s->record.protect[i], AJ_PROTECT_DEFAULT) == 0;
	if (!bytes && !all)
		bytes = aj_protect_obeyed(defaults, 1, c->path);
	if (bytes)
		hold(c, "programs of the host obey it (filesystem.protect)", bytes);
	else if (aj_is_git_name(name))
		hold(c, "git takes the folder for a repository by it", whole);
	else if (strcasecmp(name, "HEAD") == 0 && c->kind != AJ_CHANGE_DELETED)
		hold(c, "git takes a folder for a repository by a file of that name", whole);
	else if (S_ISLNK(c->is.st_mode))
		hold_link(c, s);
}
