/* Finds the root of the repository around a folder. The root of a submodule is that of the outer repository, which contains the
 * submodule's git folder. Opens only files `.git`. */
#include "workspace/repository.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

static const char *real(const char *path, struct aj_arena *arena)
{
	char found[PATH_MAX];
	return realpath(path, found) ? aj_strdup(arena, found) : NULL;
}

/* The folder that a file `.git` names. */
static const char *named_by(const char *top, const char *entry, struct aj_arena *arena)
{
	static const char prefix[] = "gitdir: ";
	char text[PATH_MAX];
	cleanup_fd int fd = open(entry, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n < 0)
		return NULL;
	text[n] = '\0';
	text[strcspn(text, "\r\n")] = '\0';
	if (strncmp(text, prefix, sizeof prefix - 1) != 0)
		return NULL;
	const char *path = text + sizeof prefix - 1;
	return real(path[0] == '/' ? path : aj_printf(arena, "%s/%s", top, path), arena);
}

/* The git folder that `.git` in `top` is or names; NULL: none. */
static const char *git_of(const char *top, const struct stat *owner, struct aj_arena *arena)
{
	struct stat folder, st;
	const char *entry = aj_printf(arena, "%s/.git", top);
	if (stat(top, &folder) < 0 || stat(entry, &st) < 0)
		return NULL;
	/* Like git's safe.directory: another user's `.git` in a shared folder must not choose the workspace. */
	uid_t caller = geteuid();
	if ((folder.st_uid != caller && folder.st_uid != owner->st_uid) || (st.st_uid != caller && st.st_uid != owner->st_uid))
		return NULL;
	const char *git = S_ISDIR(st.st_mode) ? real(entry, arena) : S_ISREG(st.st_mode) ? named_by(top, entry, arena) : NULL;
	return git && access(aj_printf(arena, "%s/HEAD", git), F_OK) == 0 ? git : NULL;
}

struct aj_repository aj_repository_around(const char *folder, struct aj_arena *arena)
{
	struct aj_repository found = { 0 };
	struct stat start, st;
	if (stat(folder, &start) < 0)
		return found;
	for (const char *at = folder; stat(at, &st) == 0 && st.st_dev == start.st_dev; at = aj_path_folder(at, arena)) {
		const char *git = git_of(at, &start, arena);
		/* A file `.git` may come from an earlier jail: it leads out of a repository only if it is a submodule of that
		 * one. */
		if (git && found.root && !aj_path_below(found.git, aj_printf(arena, "%s/modules", git)))
			return found;
		if (git && !found.root)
			found = (struct aj_repository){ .root = at, .git = git };
		/* A linked worktree does not need the main repository as its workspace: a key of its own shows that. */
		if (git && (aj_path_below(found.git, at) || access(aj_printf(arena, "%s/commondir", git), F_OK) == 0))
			return (struct aj_repository){ .root = at };
		if (at[0] != '/' || !at[1])
			break;
	}
	return found;
}

const char *aj_repository_git_folder(const char *root, struct aj_arena *arena)
{
	struct stat st;
	return stat(root, &st) == 0 ? git_of(root, &st, arena) : NULL;
}
