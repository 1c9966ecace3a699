/* Resolves a path of the jail through the plan's mounts, and the host's files or the tree behind them.
 * It opens no file: it reads names, types and permissions only. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "policy/bind.h"
#include "policy/protected_places.h"
#include "workspace/protect.h"

enum { HOPS = 40 };

struct path_query {
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	struct aj_arena *arena;
	bool write;
};

static struct aj_answer make_answer(enum aj_answer_verdict verdict, const char *key, const char *why)
{
	return (struct aj_answer){ .verdict = verdict, .why = why, .key = key, .item = AJ_NO_ITEM, .by = AJ_BY_MOUNTS };
}

/* Set the key of the policy, and its item, that a mount comes from. */
static void find_rule(const struct path_query *l, const struct aj_mount *row, struct aj_answer *a)
{
	static const struct {
		const char *folder, *key; /* NULL: every jail has it */
	} rules[] = {
		{ "/proc", "filesystem.proc" },        { "/tmp", "filesystem.tmp_size" },
		{ "/dev/shm", "filesystem.tmp_size" }, { "/dev", NULL },
		{ "", "filesystem.rootfs" },
	};
	struct aj_bind bind;
	struct aj_masked mask;
	for (size_t i = 0; row->kind == AJ_MOUNT_MASK && i < l->policy->masks.count; i++)
		if (!aj_mask_parse(l->arena, l->policy->masks.items[i], &mask) &&
		    strcmp(aj_plan_in_workspace(l->plan, mask.target, l->arena), row->target) == 0) {
			a->key = "filesystem.masks";
			a->item = i;
			return;
		}
	for (size_t i = 0; i < l->policy->binds.count; i++)
		if (!aj_bind_parse(l->arena, l->policy->binds.items[i], &bind) && strcmp(bind.target, row->target) == 0) {
			a->key = "filesystem.binds";
			a->item = i;
			return;
		}
	if (l->plan->workspace_at &&
	    (strcmp(row->target, l->plan->workspace_at) == 0 || strcmp(row->target, AJ_WORKSPACE) == 0)) {
		a->key = strcmp(row->target, l->plan->workspace_at) == 0 ? "filesystem.workspace" : "filesystem.workspace_at";
		return;
	}
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (!*rules[i].folder || aj_path_within(row->target, rules[i].folder)) {
			a->key = rules[i].key;
			return;
		}
}

/* Whether the jail's id may access the file so. The kernel answers for our id; root's jail has another id, without groups. */
static bool permitted(const struct path_query *l, const char *path, const struct stat *st, int want)
{
	if (geteuid() != 0)
		return faccessat(AT_FDCWD, path, want, AT_EACCESS) == 0;
	int shift = st->st_uid == l->plan->host_uid ? 6 : st->st_gid == l->plan->host_gid ? 3 : 0;
	return ((int)(st->st_mode >> shift) & want) == want;
}

/* The path of a symlink's `text` in the folder `base`, with `rest` behind it. `.`, `..` and `//` are removed lexically, which is
 * right here because every folder before them is resolved. */
static const char *join(struct aj_arena *arena, const char *base, const char *text, const char *rest)
{
	return aj_path_simplify(aj_printf(arena, "%s/%s%s", text[0] == '/' ? "" : base, text, rest), arena);
}

static struct aj_answer no_access_answer(const struct path_query *l, const char *path, struct aj_answer a)
{
	a.verdict = AJ_DENIED;
	a.enforcer = "kernel: file permissions";
	a.why = aj_printf(l->arena, "shown, but the permissions of %s deny it to id %u", path, l->plan->host_uid);
	return a;
}

static struct aj_answer missing_answer(const struct path_query *l, const char *path, bool may_be_made, bool tree,
                                       struct aj_answer a)
{
	a.verdict = may_be_made ? AJ_ALLOWED : AJ_DENIED;
	a.why = may_be_made ? aj_printf(l->arena, "does not exist, and can be created: %s is bound writable",
	                                aj_path_folder(path, l->arena))
	      : tree        ? "not in the tree"
	                    : aj_printf(l->arena, "not on the host: %s", path);
	return a;
}

/* The answer for a file that exists. */
static struct aj_answer final_answer(const struct path_query *l, const char *path, const struct stat *st,
                                     const struct aj_mount *row, struct aj_answer a)
{
	const char *kind = S_ISDIR(st->st_mode) ? "folder" : S_ISCHR(st->st_mode) ? "device" : "file";
	if (l->write && aj_mount_denies_writes(row)) {
		a.verdict = AJ_DENIED;
		a.why = aj_printf(l->arena, "%s is shown read-only (%s)", path, row->why);
		return a;
	}
	if (!permitted(l, path, st, l->write ? W_OK : R_OK))
		return no_access_answer(l, path, a);
	a.why = aj_printf(l->arena, "the %s %s%s (%s)", kind, path, aj_mount_denies_writes(row) ? ", read-only" : "", row->why);
	return a;
}

/* The answer where no tree was found or no workspace was named, so that there is no file to check. */
static struct aj_answer unknown_answer(const struct path_query *l, const struct aj_mount *row, bool tree, struct aj_answer a)
{
	const char *place_name = tree ? "the Python tree, which was not found on this host" : "the folder that --workspace names";
	a.verdict = l->write && aj_mount_denies_writes(row) ? AJ_DENIED : AJ_ALLOWED;
	a.why = a.verdict == AJ_DENIED
	          ? aj_printf(l->arena, "in %s: read-only", place_name)
	          : aj_printf(l->arena, "if %s has it and its permissions let id %u", place_name, l->plan->host_uid);
	return a;
}

/* Deny where an item of filesystem.protect holds the place. `path`: relative to the workspace, or absolute in the main
 * repository. `there`: the workspace exists and can be searched. */
static void apply_protect(const struct path_query *l, const char *path, bool there, struct aj_answer *a)
{
	const char *pattern;
	for (size_t i = 0; i < l->policy->protect.count; i++)
		for (size_t at = 0; (pattern = aj_protect_next(&l->policy->protect.items[i], 1, &at));) {
			enum aj_protect_answer answer = there ? aj_protect_ask(l->plan, pattern, path)
			                              : aj_protect_covers_path(pattern, path) ? AJ_PROTECT_HELD
			                                                                      : AJ_PROTECT_FREE;
			if (answer == AJ_PROTECT_FREE)
				continue;
			if (answer == AJ_PROTECT_WATCHED && a->verdict == AJ_ALLOWED)
				a->why = aj_printf(l->arena, "%s; reported at the end, as the place `%s`, which the host obeys",
				                   a->why, pattern);
			if (answer == AJ_PROTECT_WATCHED)
				continue;
			*a = make_answer(AJ_DENIED, "filesystem.protect",
			                 aj_printf(l->arena,
			                           there ? "`%s` is held unchanged, since the host runs or obeys it later"
			                                 : "`%s` is held unchanged where the folder of --workspace has it",
			                           pattern));
			a->item = i;
			return;
		}
}

static void apply_protected_places(const struct path_query *l, const struct aj_path_match *place, struct aj_answer *a)
{
	const struct aj_mount *row = place->row;
	if (!l->write || !l->plan->writable_workspace)
		return;
	if (l->plan->workspace_at && strcmp(row->target, l->plan->workspace_at) == 0 && *place->rest)
		apply_protect(l, place->rest + 1, row->source[0] == '/', a);
	else if (l->plan->main_repository && strcmp(row->target, l->plan->main_repository) == 0)
		apply_protect(l, aj_printf(l->arena, "%s%s", row->target, place->rest), true, a);
}

/* Has the path a symlink in it? The source of a bind is never resolved through one. */
static bool through_link(const struct path_query *l, const char *path)
{
	struct stat st;
	for (const char *at = path; *at; at += strspn(at, "/")) {
		at += strcspn(at, "/");
		if (lstat(aj_strndup(l->arena, path, (size_t)(at - path)), &st) == 0 && S_ISLNK(st.st_mode))
			return true;
	}
	return false;
}

/* Resolve the rest of the path below a bind; a symlink sets *ret_next, which the caller resolves from the jail's root. */
static struct aj_answer walk_below(const struct path_query *l, const struct aj_path_match *place, const char **ret_next)
{
	struct aj_answer a = make_answer(AJ_ALLOWED, NULL, "");
	const struct aj_mount *row = place->row;
	bool tree = strcmp(row->target, "/usr") == 0 && strcmp(l->policy->rootfs, "host") != 0;
	const char *path = row->source, *rest = place->rest, *jail = row->target;
	struct stat st;
	char link[PATH_MAX];
	find_rule(l, row, &a);
	if (l->plan->inspect && path[0] != '/')
		return unknown_answer(l, row, tree, a);
	if (stat(path, &st) < 0)
		return missing_answer(l, path, false, tree, a);
	if (!(row->flags & AJ_FOLLOW) && through_link(l, path)) {
		a.verdict = AJ_DENIED;
		a.why = aj_printf(l->arena, "a symlink in the path %s: a run under this policy is refused", path);
		return a;
	}
	while (*rest) {
		size_t bytes = strcspn(rest + 1, "/") + 1;
		if (!permitted(l, path, &st, X_OK))
			return no_access_answer(l, path, a);
		bool may_make = l->write && !aj_mount_denies_writes(row) && !rest[bytes] && permitted(l, path, &st, W_OK);
		const char *next = aj_printf(l->arena, "%s%.*s", path, (int)bytes, rest);
		if (lstat(next, &st) < 0)
			return missing_answer(l, next, may_make && errno == ENOENT, tree, a);
		if (S_ISLNK(st.st_mode)) {
			ssize_t n = readlink(next, link, sizeof link - 1);
			link[n > 0 ? n : 0] = '\0';
			*ret_next = join(l->arena, jail, link, rest + bytes);
			return a;
		}
		jail = aj_printf(l->arena, "%s%.*s", jail, (int)bytes, rest);
		path = next;
		rest += bytes;
	}
	return final_answer(l, path, &st, row, a);
}

static struct aj_answer walk_place(const struct path_query *l, const struct aj_path_match *place, const char **ret_next)
{
	struct aj_answer a = walk_below(l, place, ret_next);
	if (!*ret_next)
		apply_protected_places(l, place, &a);
	return a;
}

static struct aj_answer answer_at(const struct path_query *l, const char *path, const struct aj_path_match *place,
                                  const char **ret_next)
{
	const struct aj_mount *row = place->row;
	struct aj_answer a = make_answer(AJ_ALLOWED, NULL, "");
	struct stat st;
	if (row) {
		find_rule(l, row, &a);
	} else if (place->kind == AJ_MATCH_FOLDER) {
		a.verdict = l->write ? AJ_DENIED : AJ_ALLOWED;
		a.why = "a folder of the jail's own, sealed read-only";
		return a;
	}
	switch (row ? place->kind : AJ_MATCH_NONE) {
	case AJ_MATCH_LINK:
		*ret_next = join(l->arena, aj_path_folder(row->target, l->arena), row->source, place->rest);
		return a;
	case AJ_MATCH_HOST:
		if ((row->flags & AJ_OPTIONAL) && row->source[0] == '/' && stat(row->source, &st) < 0)
			break;
		return walk_place(l, place, ret_next);
	case AJ_MATCH_MASK:
		a.verdict = AJ_DENIED;
		a.why = aj_printf(l->arena, "hidden behind an empty file or folder (%s)", row->why);
		return a;
	case AJ_MATCH_TEXT:
		if (*place->rest)
			break;
		a.verdict = l->write ? AJ_DENIED : AJ_ALLOWED;
		a.why = aj_printf(l->arena, "the jail's own file, not the host's, and read-only (%s)", row->why);
		return a;
	case AJ_MATCH_SCRATCH:
		a.why = aj_printf(l->arena,
		                  "in the jail's own %s, not the host's: empty at first, removed with the jail, at most %lu bytes",
		                  row->target, row->size_bytes);
		return a;
	case AJ_MATCH_KERNEL:
		a.verdict = l->write && aj_mount_denies_writes(row) ? AJ_DENIED : AJ_ALLOWED;
		a.why = aj_printf(l->arena, "the jail's own %s, if the kernel has that file (%s)", row->target, row->why);
		return a;
	case AJ_MATCH_FOLDER:
	case AJ_MATCH_NONE:
		break;
	}
	return make_answer(AJ_DENIED, "filesystem.binds",
	                   aj_printf(l->arena, "not in the jail: neither its tree nor a bind of the policy contains %s", path));
}

struct aj_answer aj_answer_path(const struct aj_plan *plan, const struct aj_policy *policy, const char *path, bool write,
                                struct aj_arena *arena)
{
	struct path_query l = { plan, policy, arena, write };
	const char *start = path;
	for (int i = 0; i < HOPS; i++) {
		const char *next = NULL;
		struct aj_path_match place = aj_plan_match_path(plan, path);
		struct aj_answer a = answer_at(&l, path, &place, &next);
		if (!next && strcmp(path, start) != 0)
			a.why = aj_printf(arena, "leads to %s: %s", path, a.why);
		if (!next)
			return a;
		path = next;
	}
	return make_answer(AJ_DENIED, NULL, "too many symlinks");
}
