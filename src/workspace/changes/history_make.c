/* Makes a repository that only the run has, with the host's git: branches, tags and HEAD. Its configuration, hooks and stash
 * stay behind. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/remove.h"
#include "workspace/changes/history_inner.h"

/* It is made here, beside its place, and moved there when it is complete. */
#define UNFINISHED AJ_CHANGES_OWN "repository"

struct new_repository {
	struct aj_history_work w;
	const char *name;  /* of the git folder */
	int parent;        /* on the host */
	struct stat owner; /* of that folder */
	bool bare;
};

static int make_folders(void *arg)
{
	const struct new_repository *n = arg;
	aj_tree_remove(n->parent, UNFINISHED);
	if (mkdirat(n->parent, UNFINISHED, 0700) < 0)
		return -1;
	cleanup_fd int dir = aj_beneath_open_here(n->parent, UNFINISHED, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : mkdirat(dir, n->name, 0777);
}

static int move_home(void *arg)
{
	const struct new_repository *n = arg;
	cleanup_fd int dir = aj_beneath_open_here(n->parent, UNFINISHED, O_RDONLY | O_DIRECTORY);
	return dir < 0 ? -1 : renameat2(dir, n->name, n->parent, n->name, RENAME_NOREPLACE);
}

static int discard(void *arg)
{
	const struct new_repository *n = arg;
	return aj_tree_remove(n->parent, UNFINISHED);
}

static bool is_kept(const char *name)
{
	return strncmp(name, "refs/heads/", 11) == 0 || strncmp(name, "refs/tags/", 10) == 0;
}

/* Objects and references. */
static int fill(struct new_repository *n)
{
	struct aj_history_work *w = &n->w;
	struct aj_buffer wanted = { 0 }, lines = { 0 };
	for (size_t i = 0; i < w->run.count; i++) {
		const struct aj_ref *r = &w->run.items[i];
		if (!is_kept(r->name) && strcmp(r->name, "HEAD") != 0)
			continue;
		aj_buffer_text(&wanted, aj_printf(w->arena, "%s\n", r->oid));
		if (is_kept(r->name))
			aj_buffer_text(&lines, aj_printf(w->arena, "create %s %s\n", r->name, r->oid));
	}
	int r = wanted.bytes ? aj_history_fetch_wanted(w, &wanted) : 0;
	if (r == 0 && lines.bytes)
		r = AJ_GIT(w, &lines, NULL, "update-ref", "--no-deref", "--stdin");
	const char *head = w->repo->run_branch, *oid = w->repo->run_oid;
	if (r == 0 && head)
		r = AJ_GIT(w, NULL, NULL, "symbolic-ref", "HEAD", head);
	else if (r == 0 && oid)
		r = AJ_GIT(w, NULL, NULL, "update-ref", "--no-deref", "HEAD", oid);
	if (r == 0 && oid && !n->bare)
		r = AJ_GIT(w, NULL, NULL, "read-tree", oid);
	aj_buffer_free(&wanted);
	aj_buffer_free(&lines);
	return r == 0 ? 0 : -1;
}

static int make(struct new_repository *n)
{
	struct aj_history_work *w = &n->w;
	/* The folder is still empty: the run is asked how long its object names are. */
	const char *parent = aj_change_host_path(&w->state->record, aj_path_folder(w->repo->git, w->arena), w->arena);
	w->git = (struct aj_git){ .dir = aj_printf(w->arena, "%s/" UNFINISHED "/%s", parent, n->name) };
	if (aj_history_read_run(w) < 0)
		return -1;
	const char *any = w->run.count ? w->run.items[0].oid : "";
	const char *format = strlen(any) == 64 ? "--object-format=sha256" : "--object-format=sha1";
	if (AJ_GIT(w, NULL, NULL, "init", "--quiet", "--template=", format) != 0 || fill(n) < 0)
		return -1;
	return aj_git_as_owner(&n->owner, move_home, n) == 0
	         ? 0
	         : aj_fail(&w->err, AJ_EXIT_SETUP, "git", errno, "put the new repository in its place `%s`", w->repo->git);
}

int aj_history_make(struct aj_change_state *state, const struct aj_history_repo *repo, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	struct aj_history_repo own = { .git = repo->git };
	const char *slash = strrchr(repo->git, '/');
	struct new_repository n = { .w = { .state = state, .arena = &arena, .repo = &own },
		                    .name = slash ? slash + 1 : repo->git };
	n.bare = strcmp(n.name, ".git") != 0;
	n.parent = aj_beneath_open(state->workspace, aj_path_folder(repo->git, &arena), O_RDONLY | O_DIRECTORY);
	int r = 0;
	if (n.parent < 0 || fstat(n.parent, &n.owner) < 0)
		r = aj_fail(err, AJ_EXIT_USAGE, "git", errno, "open the folder of the new repository `%s`; apply its files first",
		            repo->git);
	else if (aj_git_as_owner(&n.owner, make_folders, &n) < 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "git", errno, "make a folder for the new repository `%s`", repo->git);
	else if (make(&n) < 0) {
		*err = n.w.err;
		r = -1;
	}
	if (n.parent >= 0)
		aj_git_as_owner(&n.owner, discard, &n);
	aj_close(&n.parent);
	aj_arena_free(&arena);
	return r;
}
