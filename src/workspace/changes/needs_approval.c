/* Decides by path, type and target of a link which changes require approval. It checks no content: a program that the user builds
 * or runs by hand may do anything, and no list of names covers that. It follows links by their text and opens nothing else. */
#include "workspace/changes/needs_approval.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "policy/protected_places.h"
#include "workspace/changes/approval_reached.h"
#include "workspace/changes/approval_spelling.h"

enum { FOLLOWED_MAX = 40 }; /* as the kernel */

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
	return !aj_path_within(target, workspace) &&
	       (geteuid() == 0 || !below_any(target, of_root, sizeof of_root / sizeof *of_root));
}

/* --- following --- */

struct following {
	const struct aj_change_state *s;
	bool view;             /* through the links of the run as well, else of the workspace alone */
	char target[PATH_MAX]; /* of the last link */
	size_t bytes;          /* of path */
	char path[PATH_MAX];   /* relative to the workspace, through no link */
};

/* Read the link at f->path. 0: not a link. -1: unknown. */
static ssize_t read_link(struct following *f)
{
	ssize_t n = f->view ? aj_node_link(f->s->view, f->path, f->target, sizeof f->target) : -1;
	if (n < 0 && (!f->view || errno == ENOENT))
		n = aj_node_link(f->s->workspace, f->path, f->target, sizeof f->target);
	return n < 0 && (errno == EINVAL || errno == ENOENT || errno == ENOTDIR) ? 0 : n;
}

/* Append a name, or take the last away for `..`. */
static bool follow_name(struct following *f, const char *name, size_t bytes)
{
	if (!aj_path_part_valid(name, bytes)) {
		if (bytes < 2)
			return true;
		char *slash = strrchr(f->path, '/');
		bool inside = f->bytes > 0;
		f->bytes = slash ? (size_t)(slash - f->path) : 0;
		f->path[f->bytes] = '\0';
		return inside;
	}
	if (f->bytes + bytes + 2 > sizeof f->path)
		return false;
	if (f->bytes)
		f->path[f->bytes++] = '/';
	memcpy(f->path + f->bytes, name, bytes);
	f->bytes += bytes;
	f->path[f->bytes] = '\0';
	return true;
}

/* Follow `rest`, relative to the workspace, so that f->path is where it leads. False: out of the workspace, or unknown.
 * An empty f->path: to the workspace itself, or to where only root writes. */
static bool follow_target(struct following *f, const char *rest, struct aj_arena *arena)
{
	unsigned followed = 0;
	while (*rest) {
		size_t bytes = strcspn(rest, "/"), before = f->bytes;
		if (!follow_name(f, rest, bytes))
			return false;
		rest += bytes + strspn(rest + bytes, "/");
		ssize_t n = f->bytes > before ? read_link(f) : 0;
		if (n == 0)
			continue;
		if (n < 0 || ++followed > FOLLOWED_MAX)
			return false;
		f->bytes = f->target[0] == '/' ? 0 : before;
		f->path[f->bytes] = '\0';
		const char *target = f->target;
		if (target[0] == '/' && !(target = aj_path_rest(target, f->s->record.workspace)))
			return !aj_link_leads_out("", f->target, f->s->record.workspace);
		rest = aj_printf(arena, "%s/%s", target + (*target == '/'), rest);
	}
	return true;
}

/* --- judging --- */

static bool folder_has(const struct aj_change_state *s, const char *folder, size_t bytes, const char *name)
{
	char path[PATH_MAX + 16];
	struct stat st;
	snprintf(path, sizeof path, "%.*s/%s", (int)bytes, folder, name);
	return fstatat(s->workspace, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ||
	       fstatat(s->view, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* Is there a repository on the way, whatever its folder is called? */
static bool through_repository(const struct aj_change_state *s, const char *path)
{
	for (size_t bytes = strcspn(path, "/"); bytes > 0; bytes += path[bytes] ? 1 + strcspn(path + bytes + 1, "/") : 0) {
		if (folder_has(s, path, bytes, "HEAD") &&
		    (folder_has(s, path, bytes, "refs") || folder_has(s, path, bytes, "commondir")))
			return true;
		if (!path[bytes])
			break;
	}
	return false;
}

static bool is_held_place(const struct aj_change_state *s, const char *target, struct aj_arena *arena)
{
	const char *path = aj_spelling_plain(target, aj_alloc(arena, strlen(target) + 1));
	if (aj_change_protected(&s->record, path) || aj_change_reached(s, path) || aj_spelling_short(path))
		return true;
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
		if (aj_is_git_name(aj_strndup(arena, at, strcspn(at, "/"))))
			return true;
	return through_repository(s, target);
}

static const char *leads_badly(const struct aj_change *c, const char *target, const struct aj_change_state *s,
                               struct aj_arena *arena)
{
	static const char out[] = "a link that leads out of the workspace", held[] = "a link that leads to a held place";
	if (aj_link_leads_out(c->path, target, s->record.workspace))
		return out;
	const char *slash = strrchr(c->path, '/');
	const char *begin = target[0] == '/' ? aj_path_rest(target, s->record.workspace)
	                                     : aj_printf(arena, "%.*s/%s", slash ? (int)(slash - c->path) : 0, c->path, target);
	if (!begin)
		return NULL; /* to where only root writes */
	begin += *begin == '/';
	if (is_held_place(s, aj_path_simplify(aj_printf(arena, "/%s", begin), arena) + 1, arena))
		return held;
	for (int view = 0; view < 2; view++) {
		struct following f = { .s = s, .view = view };
		if (!follow_target(&f, begin, arena))
			return out;
		if (is_held_place(s, f.path, arena))
			return held;
	}
	return NULL;
}

static bool stands_above(const struct aj_change *c, const struct aj_change_state *s, struct aj_arena *arena)
{
	static const char *const defaults[] = { AJ_PROTECT_DEFAULT };
	const char *path = aj_spelling_plain(c->path, aj_alloc(arena, strlen(c->path) + 1));
	return aj_protect_above(s->record.protect, s->record.protect_count, path) || aj_protect_above(defaults, 1, path) ||
	       aj_change_reached_below(s, path);
}

const char *aj_change_judge_link(const struct aj_change *c, const char *target, const struct aj_change_state *s)
{
	struct aj_arena arena = { 0 };
	const char *why = stands_above(c, s, &arena) ? "a link in place of a folder with places that programs of the host obey"
	                : target                     ? leads_badly(c, target, s, &arena)
	                                             : NULL;
	aj_arena_free(&arena);
	return why;
}

static const char *reason_to_hold_link(const struct aj_change *c, const struct aj_change_state *s)
{
	char target[PATH_MAX];
	cleanup_fd int place = aj_node_place(s->view, c->path, !s->running);
	if (place < 0 || aj_node_link(place, "", target, sizeof target) < 0)
		return "a link whose target cannot be read";
	return aj_change_judge_link(c, target, s);
}

bool aj_is_git_name(const char *name)
{
	return aj_spelling_is(name, ".git") || (aj_spelling_short(name) && strncasecmp(name, "git~", 4) == 0);
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

/* Why the change is held, by its path in plain names. `*ret_bytes`: of the part of `path` that is the held place. */
static const char *reason_to_hold(const struct aj_change *c, const char *path, const struct aj_change_state *s, size_t *ret_bytes)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t bytes = aj_change_protected(&s->record, path);
	if (bytes) {
		*ret_bytes = bytes;
		return "programs of the host obey it (filesystem.protect)";
	}
	if ((bytes = aj_change_reached(s, path)) > 0) {
		*ret_bytes = bytes;
		return "git of the host reads or runs it, or a link of the host leads to it";
	}
	if ((bytes = aj_spelling_short(path)) > 0) {
		*ret_bytes = bytes;
		return "file systems of DOS take the name for another file's";
	}
	if (c->kind != AJ_CHANGE_DELETED && strcasecmp(name, "HEAD") == 0)
		return "git takes a folder for a repository by a file of that name";
	return S_ISLNK(c->is.st_mode) ? reason_to_hold_link(c, s) : NULL;
}

void aj_change_judge_approval(struct aj_change *c, const struct aj_change_state *s)
{
	char room[PATH_MAX];
	const char *path = aj_spelling_plain(c->path, room);
	size_t bytes = strlen(path);
	c->held = reason_to_hold(c, path, s, &bytes);
	c->held_bytes = c->held ? aj_spelling_bytes(c->path, aj_spelling_count(path, bytes)) : 0;
}
