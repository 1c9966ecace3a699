/* Looks at a folder `.git` as a whole: it is applied whole or not at all, since an index, refs and objects that do not fit each other are a
 * broken repository. It runs no git.
 * A repository that is new is held if git would run programs by what is in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "changes/inner.h"
#include "changes/node.h"
#include "git/repo.h"

enum { REFS_MAX = 50000, REFS_DEPTH = 16 };

static int scan(void *arg, const struct aj_change *c)
{
	struct aj_git_unit *unit = arg;
	if (!c->unit_bytes)
		return 0;
	unit->moved = true;
	unit->conflict = unit->conflict ? unit->conflict : c->conflict;
	return 0;
}

/* Has the host's git moved a ref since? `path`: of the folder. */
static bool refs_changed(struct aj_walk *w, int dir, const char *path, size_t *left, unsigned depth)
{
	bool found = false;
	DIR *entries = aj_beneath_list(dir, ".");
	for (const struct dirent *e; entries && !found && *left && (e = readdir(entries)); --*left) {
		char below[PATH_MAX];
		struct stat st;
		if (aj_path_is_dots(e->d_name) || fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((size_t)snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= sizeof below || depth >= REFS_DEPTH) {
			found = true;
			break;
		}
		cleanup_fd int next = S_ISDIR(st.st_mode) ? aj_node_open_folder(dir, e->d_name, false) : -1;
		found = next >= 0 ? refs_changed(w, next, below, left, depth + 1)
		                  : S_ISREG(st.st_mode) && aj_changed_since(w->s, below, &st);
	}
	if (entries)
		closedir(entries);
	return found || !*left;
}

static const char *host_conflict(struct aj_walk *w, const struct aj_pair *p)
{
	static const char *const locks[] = { "index.lock", "HEAD.lock", "packed-refs.lock", "config.lock" };
	static const char *const heads[] = { "HEAD", "packed-refs" };
	static const char moved[] = "the host's git has moved HEAD or refs since the run began";
	size_t left = REFS_MAX;
	struct stat st;
	char path[PATH_MAX];
	cleanup_fd int git = aj_node_open_folder(p->work, p->name, false);
	if (git < 0)
		return "the host's repository cannot be read";
	for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
		if (aj_beneath_has(git, locks[i]))
			return "the host's git is at work in it, or has left a file *.lock";
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		int n = snprintf(path, sizeof path, "%s/%s", w->path, heads[i]);
		if ((size_t)n < sizeof path && fstatat(git, heads[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && aj_changed_since(w->s, path, &st))
			return moved;
	}
	cleanup_fd int refs = aj_node_open_folder(git, "refs", false);
	bool short_enough = (size_t)snprintf(path, sizeof path, "%s/refs", w->path) < sizeof path;
	return refs >= 0 && (!short_enough || refs_changed(w, refs, path, &left, 0)) ? moved : NULL;
}

/* Would git run programs by a repository that is new? */
static const char *runs(struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_arena arena = { 0 };
	struct aj_repo repo = { .path = w->path, .kind = "folder" };
	const char *folder = aj_strndup(&arena, w->path, w->bytes > strlen(p->name) ? w->bytes - strlen(p->name) - 1 : 0);
	aj_gitrepo_read(&repo, &(struct aj_gitrepo_place){ &arena, w->s->view, w->s->record.workspace, folder }, p->view, p->name);
	bool any = json_array_size(repo.runs) > 0;
	json_decref(repo.runs);
	aj_arena_free(&arena);
	return any ? "git would run programs by this new repository" : NULL;
}

int aj_walk_git(struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_git_unit unit = { .bytes = w->bytes, .made = !p->was.st_mode };
	aj_change_fn *each = w->each;
	void *arg = w->arg;
	w->unit = &unit;
	w->each = scan;
	w->arg = &unit;
	int result = aj_walk_entry(w, p);
	w->each = each;
	w->arg = arg;
	if (result == 0 && S_ISDIR(p->was.st_mode) && unit.moved && !unit.conflict)
		unit.conflict = host_conflict(w, p);
	if (unit.made)
		unit.held = runs(w, p);
	if (result == 0)
		result = aj_walk_entry(w, p);
	w->unit = NULL;
	return result;
}
