/* Expands a pattern of filesystem.protect to the places that match it, on descriptors beneath the workspace and through no
 * symlink. It decides nothing about a place: its caller's function does. */
#include "workspace/expand.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/protected_places.h"

enum { PART_BYTES = 256, STEPS_MAX = 20000 };

#define DOT_GIT ".git/"

static int expand_rest(struct aj_expansion *x, int dir, const char *prefix, const char *rest, bool starred);

bool aj_expand_of_git(const char *pattern)
{
	return strncmp(pattern, DOT_GIT, strlen(DOT_GIT)) == 0;
}

int aj_expand_fail(const struct aj_expansion *x, int errnum, const char *what, const char *path)
{
	return aj_fail(x->err, AJ_EXIT_SETUP, "protect", errnum, "%s `%s` in the workspace (filesystem.protect: `%s`)", what,
	               path, x->pattern);
}

bool aj_expand_may_skip(const struct aj_expansion *x, int dir, int error)
{
	return error == EACCES && !aj_beneath_owned(dir, x->p->plan->host_uid);
}

/* Continue with one entry of `dir` that matches the pattern's current component. `rest`: the components after it. */
static int expand_entry(struct aj_expansion *x, int dir, const char *prefix, const char *name, const char *rest, bool starred)
{
	struct stat st;
	const char *path = aj_printf(x->arena, "%s%s", prefix, name);
	bool folder = rest[0] == '/', last = rest[strspn(rest, "/")] == '\0';
	if (++x->steps > STEPS_MAX) {
		aj_fail(x->err, AJ_EXIT_SETUP, "protect", 0,
		        "the stars of filesystem.protect match more than %d files and folders (`%s`)", STEPS_MAX, x->pattern);
		aj_advise(x->err, "remove files from that folder, or use patterns with fewer stars");
		return -1;
	}
	bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT && errno != ENOTDIR)
		return aj_expand_may_skip(x, dir, errno) ? 0 : aj_expand_fail(x, errno, "examine", path);
	if (last)
		return x->found(x, dir, name, path, there ? &st : NULL, folder, starred);
	if (!there)
		return 0;
	/* A file in a folder's place, like the `.git` of a linked worktree, which names the folder. */
	if (!S_ISDIR(st.st_mode))
		return x->found(x, dir, name, path, &st, false, starred);
	cleanup_fd int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return aj_expand_fail(x, errno, "open", path);
	return expand_rest(x, next, aj_printf(x->arena, "%s/", path), rest + strspn(rest, "/"), starred);
}

/* Is this entry part of a repository, and no submodule's folder? Such entries lie beside a HEAD. */
static bool is_part(int dir, const char *name)
{
	static const char *const parts[] = {
		"objects", "refs", "logs", "hooks", "info", "branches", "modules", "worktrees", "lfs"
	};
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		if (strcmp(name, parts[i]) == 0)
			return aj_beneath_has(dir, "HEAD");
	return false;
}

/* Is the entry neither a folder nor a symlink? */
static bool is_no_folder(int dir, const struct dirent *e)
{
	struct stat st;
	if (e->d_type != DT_UNKNOWN)
		return e->d_type != DT_DIR && e->d_type != DT_LNK;
	return fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) && !S_ISLNK(st.st_mode);
}

static int each_match(struct aj_expansion *x, int dir, const char *prefix, const char *rest, size_t bytes)
{
	int r = 0;
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	if (!entries.dir && aj_expand_may_skip(x, dir, entries.error))
		return 0;
	/* A star before the last component matches folders only: a submodule's index is beside the folders of its own
	 * submodules. */
	bool last = rest[bytes + strspn(rest + bytes, "/")] == '\0';
	for (const struct dirent *e; r == 0 && (e = aj_listing_next(&entries));)
		if (aj_protect_part_matches(rest, bytes, e->d_name) &&
		    (last || !(is_no_folder(dirfd(entries.dir), e) || (aj_expand_of_git(x->pattern) && is_part(dir, e->d_name)))))
			r = expand_entry(x, dir, prefix, e->d_name, rest + bytes, true);
	return r == 0 && entries.error ? aj_expand_fail(x, entries.error, "list the folder", prefix) : r;
}

static int expand_rest(struct aj_expansion *x, int dir, const char *prefix, const char *rest, bool starred)
{
	char name[PART_BYTES];
	size_t bytes = strcspn(rest, "/");
	if (memchr(rest, '*', bytes))
		return each_match(x, dir, prefix, rest, bytes);
	if (bytes >= sizeof name)
		return aj_expand_fail(x, ENAMETOOLONG, "examine", rest);
	memcpy(name, rest, bytes);
	name[bytes] = '\0';
	return expand_entry(x, dir, prefix, name, rest + bytes, starred);
}

int aj_expand_one(struct aj_expansion *x)
{
	x->steps = 0;
	if (expand_rest(x, x->p->workspace, "", x->pattern, false) < 0)
		return -1;
	/* A linked worktree's `.git` is a file; its folder is in the main repository. */
	if (x->p->main < 0 || !aj_expand_of_git(x->pattern))
		return 0;
	return expand_rest(x, x->p->main, aj_printf(x->arena, "%s/", x->p->plan->main_repository), x->pattern + strlen(DOT_GIT),
	                   false);
}
