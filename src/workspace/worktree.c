/* Follows the file `.git` of a workspace to the main repository of this worktree.
 * A jail may have written that file: it is trusted only where the named repository points back at the workspace. */
#include "workspace/worktree.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/path.h"
#include "policy/bind.h"
#include "workspace/location.h"

static const char prefix[] = "gitdir: ", middle[] = "/worktrees/";

/* The content of a one-line file, the only form that git writes there. */
static const char *line_of(int dir, const char *name, struct aj_arena *arena)
{
	char text[PATH_MAX + sizeof prefix];
	struct stat st;
	cleanup_fd int fd = aj_beneath_open(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size < 1 || st.st_size >= (off_t)sizeof text)
		return NULL;
	ssize_t n = read(fd, text, sizeof text - 1);
	if (n < 1 || memchr(text, '\0', (size_t)n))
		return NULL;
	text[n] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return aj_strdup(arena, text);
}

/* Does the repository's record of this worktree name this `.git` file? */
static bool points_back(int own, int workspace, struct aj_arena *arena)
{
	struct stat here, there;
	const char *common = line_of(own, "commondir", arena), *back = line_of(own, "gitdir", arena);
	if (!common || strcmp(common, "../..") != 0 || !back || !aj_jail_path_valid(back))
		return false;
	cleanup_fd int fd = aj_beneath_open(AT_FDCWD, back, O_PATH);
	return fd >= 0 && fstat(fd, &there) == 0 && fstatat(workspace, ".git", &here, AT_SYMLINK_NOFOLLOW) == 0 &&
	       here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

/* As git reports it. A workspace may lie at `proj/worktrees/x`: a jail that has written a record of a worktree into the workspace
 * itself, or into another one beside it, would have named `proj` as its main repository. */
static bool is_repository(const char *path)
{
	cleanup_fd int fd = aj_beneath_open(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	cleanup_fd int objects = fd < 0 ? -1 : aj_beneath_open(fd, "objects", O_PATH | O_DIRECTORY);
	cleanup_fd int refs = fd < 0 ? -1 : aj_beneath_open(fd, "refs", O_PATH | O_DIRECTORY);
	return objects >= 0 && refs >= 0 && aj_beneath_has(fd, "HEAD");
}

static int refuse(const struct aj_request *request, const char *why, struct aj_error *err)
{
	aj_fail(err, AJ_EXIT_USAGE, "worktree", 0, "`%s/.git` is the file of a linked worktree, but %s", request->workspace, why);
	aj_advise(err,
	          "read that file: an earlier run may have written it; `git worktree repair` in the main repository repairs it");
	return -1;
}

/* Unchecked, the workspace would be taken for one that is not a linked worktree, and shown without its main repository. */
static int refuse_unread(const struct aj_request *request, const char *below, struct aj_error *err)
{
	aj_fail(err, AJ_EXIT_SETUP, "worktree", errno, "cannot tell whether the workspace is a linked worktree: look at `%s%s`",
	        request->workspace, below);
	aj_advise(err, "allow the caller to read the workspace, or set filesystem.worktree = \"none\" in a policy");
	return -1;
}

/* The main repository's folder in the path, with a slash, that a worktree's `.git` file has: all before /worktrees/NAME. NULL:
 * the file is a submodule's, whose path is relative, or that of a repository with a separate git dir. */
static const char *main_repository(const char *path, struct aj_arena *arena)
{
	const char *name = strrchr(path, '/');
	size_t bytes = (size_t)(name - path), middle_bytes = sizeof middle - 2; /* without its last slash, which is the name's */
	if (bytes <= middle_bytes || strncmp(name - middle_bytes, middle, sizeof middle - 1) != 0)
		return NULL;
	return aj_strndup(arena, path, bytes - middle_bytes);
}

const char *aj_worktree_unseen(const struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena)
{
	if (!request->workspace || request->is_snippet || policy->worktree != AJ_WORKTREE_NONE)
		return NULL;
	cleanup_fd int workspace = aj_beneath_open(AT_FDCWD, request->workspace, O_PATH | O_DIRECTORY);
	const char *line = workspace < 0 ? NULL : line_of(workspace, ".git", arena);
	if (!line || strncmp(line, prefix, sizeof prefix - 1) != 0 || !aj_jail_path_valid(line + sizeof prefix - 1))
		return NULL;
	return main_repository(line + sizeof prefix - 1, arena);
}

static int find(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site, struct aj_arena *arena,
                struct aj_error *err)
{
	struct stat st;
	cleanup_fd int workspace = aj_beneath_open(AT_FDCWD, request->workspace, O_PATH | O_DIRECTORY);
	if (workspace < 0)
		return refuse_unread(request, "", err);
	if (fstatat(workspace, ".git", &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : refuse_unread(request, "/.git", err);
	if (!S_ISREG(st.st_mode))
		return 0;
	const char *line = line_of(workspace, ".git", arena);
	if (!line || strncmp(line, prefix, sizeof prefix - 1) != 0)
		return refuse(request, "the file names no repository", err);
	const char *path = line + sizeof prefix - 1;
	if (path[0] != '/' && (!strchr(path, '/') || !main_repository(path, arena)))
		return 0;
	if (!aj_jail_path_valid(path))
		return refuse(request, "the file does not name its repository by a plain absolute path", err);
	const char *repository = main_repository(path, arena);
	if (!repository)
		return 0;
	cleanup_fd int own = aj_beneath_open(AT_FDCWD, path, O_PATH | O_DIRECTORY);
	if (own < 0 || !points_back(own, workspace, arena))
		return refuse(request, "that repository has no record of this worktree", err);
	if (!is_repository(repository) ||
	    (aj_path_within(path, request->workspace) && !aj_path_within(repository, request->workspace)))
		return refuse(request, "the folder that it names is not in a git repository", err);
	struct aj_request probe = { .workspace = repository, .inspect = request->inspect };
	if (aj_places_check(&probe, loaded, site, arena, err) < 0) {
		aj_advise(err,
		          "that is the main repository of this linked worktree: a policy allows it by filesystem.extend_workspace_under = [\"%s\"], "
		          "and leaves it out by filesystem.worktree = \"none\"",
		          repository);
		return -1;
	}
	request->main_repository = probe.workspace;
	bool nested = aj_path_within(probe.workspace, request->workspace) || aj_path_within(request->workspace, probe.workspace);
	request->worktree = nested ? NULL : strrchr(path, '/') + 1;
	return 0;
}

int aj_worktree_find(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site,
                     struct aj_arena *arena, struct aj_error *err)
{
	const struct aj_policy *policy = &loaded->policy;
	struct aj_error unusable = { 0 };
	char cause[600];
	if (!request->workspace || request->is_snippet || policy->worktree == AJ_WORKTREE_NONE ||
	    policy->workspace < AJ_WORKSPACE_OVERLAY)
		return 0;
	if (policy->worktree == AJ_WORKTREE_SHARED)
		return find(request, loaded, site, arena, err);
	/* Built-in policies have "apart": what cannot be shown must not keep a program from running that needs no git. */
	if (find(request, loaded, site, arena, &unusable) < 0)
		request->worktree_unseen = aj_printf(arena, "%s%s%s", aj_error_cause(&unusable, cause, sizeof cause),
		                                     *unusable.fix ? "; fix: " : "", unusable.fix);
	return 0;
}
