/* Before a jail starts: finds the places of a workspace that its plan protects, and creates placeholders where places are
 * missing. It mounts nothing: sandbox/mounts/ does. */
#include "workspace/protect.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/mounts/blanks.h"
#include "sandbox/mounts/mount.h"
#include "workspace/expand.h"
#include "workspace/git/search.h"
#include "workspace/hard_links.h"
#include "workspace/placeholder.h"

enum { INSIDE_MAX = 2000, PLACES_MAX = 4000 };

const struct aj_place *aj_protect_find_place(const struct aj_protect *p, const char *path)
{
	for (size_t i = 0; i < p->places.count; i++)
		if (strcmp(p->places.items[i].path, path) == 0)
			return &p->places.items[i];
	return NULL;
}

bool aj_protect_is_blank(int workspace)
{
	cleanup_listing struct aj_listing entries = aj_beneath_list(workspace, ".");
	struct stat st;
	bool blank = true;
	for (const struct dirent *e; blank && (e = aj_listing_next(&entries));)
		blank = strncmp(e->d_name, ".git", 4) == 0 || strncmp(e->d_name, "LICENSE", 7) == 0 ||
		        (fstatat(workspace, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
		         aj_placeholder_marked(&st));
	return blank && !entries.error;
}

const char *aj_protect_blank_for(const struct aj_protect *p, bool repository, const char *path, const char *name, bool folder,
                                 bool starred)
{
	/* `git clone URL .` and project generators require an empty folder. */
	if (folder && p->blank && !strchr(path, '/'))
		return NULL;
	if (folder)
		return !starred || repository ? AJ_BLANK_FOLDER : NULL;
	if (repository && strcmp(name, "commondir") == 0)
		return AJ_BLANK_ITSELF;
	if (repository && (strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0))
		return AJ_BLANK_FILE;
	return NULL;
}

/* 1: another file or folder has this name. */
static int take_placeholder(struct aj_expansion *x, struct aj_place *place, int dir)
{
	struct stat st;
	cleanup_fd int fd = aj_placeholder_take(dir, place->name, place->blank);
	if (fd < 0 && errno == EEXIST)
		return 1;
	/* Nothing can be created there, at least not by the jail. */
	if (fd < 0 && (errno == EROFS || aj_expand_may_skip(x, dir, errno)))
		return 0;
	if (fd < 0) {
		aj_expand_fail(x, errno, "create a placeholder at", place->path);
		aj_advise(x->err,
		          "without a placeholder the jail could create that file, which programs of the host would obey: make the folder above it "
		          "writable, or remove the place from the policy's filesystem.protect");
		return -1;
	}
	place->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (place->dir < 0 || fstat(fd, &st) < 0)
		return aj_expand_fail(x, errno, "hold", place->path);
	place->fd = aj_steal(&fd);
	place->held = true;
	place->dev = st.st_dev;
	place->ino = st.st_ino;
	return 0;
}

static int on_place(struct aj_expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder,
                    bool starred)
{
	struct aj_protect *p = x->p;
	struct stat now;
	bool repository = aj_beneath_has(dir, "HEAD");
	/* Folders between submodules are no places. */
	if (aj_protect_find_place(p, path) || (!st && starred && !repository && aj_expand_of_git(x->pattern)))
		return 0;
	if (p->places.count >= PLACES_MAX) {
		aj_fail(x->err, AJ_EXIT_SETUP, "protect", 0, "filesystem.protect matches more than %d places of the workspace",
		        PLACES_MAX);
		aj_advise(x->err, "use patterns with fewer stars in filesystem.protect");
		return -1;
	}
	struct aj_place *place = AJ_PUSH(&p->arena, &p->places);
	*place = (struct aj_place){ .path = path, .name = aj_strdup(&p->arena, name), .dir = -1, .fd = -1 };
	/* A placeholder that a killed run has left is taken over like any other, and removed at the end. */
	place->blank = !st || aj_placeholder_marked(st) ? aj_protect_blank_for(p, repository, path, name, folder, starred) : NULL;
	int r = place->blank ? take_placeholder(x, place, dir) : 1;
	if (r <= 0)
		return r;
	place->blank = NULL;
	if (!st && fstatat(dir, name, &now, AT_SYMLINK_NOFOLLOW) == 0)
		st = &now;
	if (st) {
		place->there = true;
		place->dev = st->st_dev;
		place->ino = st->st_ino;
		place->link = S_ISLNK(st->st_mode);
		place->held = !place->link;
		if (S_ISREG(st->st_mode))
			place->changed = st->st_ctim;
	}
	return 0;
}

static void on_othername(void *arg, const char *path, const struct stat *st)
{
	struct aj_protect *p = arg;
	*AJ_PUSH(&p->arena, &p->places) = (struct aj_place){ .path = path,
		                                             .name = strrchr(path, '/') + 1,
		                                             .dir = -1,
		                                             .fd = -1,
		                                             .held = true,
		                                             .there = true,
		                                             .inside = true,
		                                             .dev = st->st_dev,
		                                             .ino = st->st_ino,
		                                             .changed = st->st_ctim };
}

/* A mount protects a path. A file in a held folder with another hard link can be changed through that link, which the report
 * says. */
static void find_othernames(struct aj_protect *p)
{
	size_t left = INSIDE_MAX, count = p->places.count;
	for (size_t i = 0; i < count; i++) {
		const struct aj_place *place = &p->places.items[i];
		if (!place->held || !place->there || place->changed.tv_sec) /* a regular file has been checked on its own */
			continue;
		cleanup_fd int dir = aj_beneath_open(place->path[0] == '/' ? AT_FDCWD : p->workspace, place->path,
		                                     O_PATH | O_DIRECTORY);
		if (dir >= 0 && !aj_hard_links_each(dir, place->path, &p->arena, &left, on_othername, p))
			snprintf(p->before.why, sizeof p->before.why, "a folder cannot be listed: %.80s", place->path);
	}
}

static void note_places(struct aj_protect *p, struct aj_built *built)
{
	for (size_t i = 0; i < p->places.count; i++) {
		const struct aj_place *place = &p->places.items[i];
		if (place->held && !place->inside)
			*AJ_PUSH(&p->arena, &built->protected) = (struct aj_protected_place){
				.target = place->path[0] == '/'
				            ? place->path
				            : aj_printf(&p->arena, "%s/%s", p->plan->workspace_at, place->path),
				.placeholder = place->blank ? place->blank : "",
			};
	}
	built->searched = true;
}

static int expand(struct aj_expansion *x)
{
	for (size_t i = 0; i < x->p->plan->protect.count; i++) {
		x->pattern = x->p->plan->protect.items[i];
		if (aj_expand_one(x) < 0)
			return -1;
	}
	return 0;
}

int aj_protect_open(struct aj_protect **ret, struct aj_built *built, uint64_t budget_ms, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	*ret = NULL;
	if (!plan->writable_workspace || plan->inspect || (!plan->protect.count && !plan->quarantine))
		return 0;
	int workspace = aj_beneath_open(AT_FDCWD, plan->writable_workspace, O_PATH | O_DIRECTORY);
	if (workspace < 0)
		return aj_mount_fail_source(plan->writable_workspace, err);
	struct aj_protect *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	p->plan = plan;
	p->workspace = workspace;
	p->blank = aj_protect_is_blank(workspace);
	p->budget_ms = budget_ms;
	p->main = plan->main_repository ? aj_beneath_open(AT_FDCWD, plan->main_repository, O_PATH | O_DIRECTORY) : -1;
	if (plan->main_repository && p->main < 0) {
		aj_fail_because(err, AJ_REASON_SOURCE, AJ_EXIT_SETUP, "sources", errno,
		                "open `%s`, the worktree's main repository", plan->main_repository);
		aj_protect_close(p);
		return -1;
	}
	aj_repos_look(&p->before, &p->arena, workspace, plan->writable_workspace, NULL, budget_ms);
	if (p->main >= 0)
		aj_repos_add(&p->before, &p->arena, p->main, plan->main_repository);
	struct aj_expansion x = { .p = p, .arena = &p->arena, .found = on_place, .err = err };
	if (expand(&x) < 0) {
		aj_protect_close(p);
		return -1;
	}
	find_othernames(p);
	note_places(p, built);
	*ret = p;
	return 0;
}

void aj_protect_close(struct aj_protect *p)
{
	if (!p)
		return;
	for (size_t i = p->places.count; i-- > 0;) {
		struct aj_place *place = &p->places.items[i];
		if (place->fd >= 0)
			aj_placeholder_give(place->dir, place->name, place->blank, place->fd);
		aj_close(&place->dir);
	}
	aj_close(&p->workspace);
	aj_close(&p->main);
	aj_repos_free(&p->before);
	aj_arena_free(&p->arena);
	free(p);
}
