/* After a jail has ended, or between a session's snippets: reports what has changed at the places of a workspace, and moves what
 * the jail has made aside where the policy requires it. It changes no place that existed before the jail. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/path.h"
#include "workspace/expand.h"
#include "workspace/protect.h"
#include "workspace/quarantine.h"

enum { TOLD_MAX = 200 };

static void add_change(json_t *changed, const char *path, const char *what)
{
	if (json_array_size(changed) < TOLD_MAX)
		json_array_append_new(changed, json_pack("{s:o, s:s}", "path", aj_json_text(path, strlen(path)), "what", what));
}

/* Report new matches of a star, and places that were only watched and exist now. */
static int on_place_later(struct aj_expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder,
                          bool starred)
{
	(void)dir, (void)name, (void)folder;
	const struct aj_place *was = aj_protect_find_place(x->p, path);
	if (starred && aj_expand_of_git(x->pattern))
		return 0; /* a new submodule or worktree, which is reported as a repository */
	if (st && (!was || (!was->there && !was->blank)))
		add_change(x->changed, path, "made");
	return 0;
}

/* Does a symlink lead to a folder that the jail can write? */
static bool leads_into(const struct aj_protect *p, int dir, const char *name)
{
	char real[PATH_MAX];
	cleanup_fd int fd = openat(dir, name, O_PATH | O_CLOEXEC);
	return aj_fd_path(fd, real, sizeof real) && aj_path_below(real, p->plan->writable_workspace);
}

/* Is a held or watched place still the same file? A jail's mount is detached when the host removes or replaces the mount
 * point. */
static void recheck(const struct aj_protect *p, const struct aj_place *place, struct aj_arena *arena, json_t *changed)
{
	struct stat st;
	cleanup_fd int dir = -1;
	const char *slash = strrchr(place->path, '/');
	if (!place->there && !place->blank)
		return;
	if (slash)
		dir = aj_beneath_open(place->path[0] == '/' ? AT_FDCWD : p->workspace,
		                      aj_strndup(arena, place->path, (size_t)(slash - place->path)), O_PATH | O_DIRECTORY);
	if (fstatat(slash ? dir : p->workspace, place->name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		add_change(changed, place->path,
		           place->held ? "removed on the host during the run, so not held from then on" : "removed");
	else if (st.st_dev != place->dev || st.st_ino != place->ino)
		add_change(changed, place->path,
		           place->held ? "replaced on the host during the run, so not held from then on" : "replaced");
	else if (place->changed.tv_sec &&
	         (st.st_ctim.tv_sec != place->changed.tv_sec || st.st_ctim.tv_nsec != place->changed.tv_nsec))
		add_change(changed, place->path,
		           "changed on the host during the run, or by another name of the same file (a hard link)");
	else if (place->link && leads_into(p, slash ? dir : p->workspace, place->name))
		add_change(changed, place->path, "a symlink into the workspace, so what it leads to is not held");
}

/* Rename new files and folders that a program would obey. A place that existed before may belong to the host's user even if it
 * has changed: the report only names it. A repository is disabled by renaming its HEAD. */
static void quarantine(const struct aj_protect *p, json_t *items, struct aj_arena *arena)
{
	size_t i;
	json_t *item;
	json_array_foreach(items, i, item) {
		const char *path = json_string_value(json_object_get(item, "path")),
			   *kind = json_string_value(json_object_get(item, "kind"));
		if (strcmp(json_string_value(json_object_get(item, "what")), "made") != 0)
			continue;
		bool folder = kind && (strcmp(kind, "folder") == 0 || strcmp(kind, "bare") == 0);
		const char *to = aj_quarantine(p->workspace, folder ? aj_printf(arena, "%s/HEAD", path) : path, arena);
		if (to)
			json_object_set_new(item, "moved_to", aj_json_text(to, strlen(to)));
		else
			json_object_set_new(item, "not_moved", aj_json_text(strerror(errno), strlen(strerror(errno))));
	}
}

json_t *aj_protect_report(struct aj_protect *p, bool jail_gone)
{
	json_t *held = json_array(), *watched = json_array(), *changed = json_array();
	struct aj_error ignored = { 0 };
	struct aj_arena arena = { 0 };
	for (size_t i = 0; i < p->places.count; i++) {
		const struct aj_place *place = &p->places.items[i];
		if (!place->inside && json_array_size(place->held ? held : watched) < TOLD_MAX)
			json_array_append_new(place->held ? held : watched, aj_json_text(place->path, strlen(place->path)));
		recheck(p, place, &arena, changed);
	}
	struct aj_expansion x = { .p = p, .arena = &arena, .found = on_place_later, .changed = changed, .err = &ignored };
	/* Each pattern is expanded on its own: a jail that has created too many matches of one hides no match of another. */
	for (size_t i = 0; i < p->plan->protect.count; i++) {
		x.pattern = p->plan->protect.items[i];
		if (aj_expand_one(&x) < 0)
			add_change(changed, x.pattern, "cannot be looked at any more");
	}
	struct aj_repos now;
	aj_repos_look(&now, &arena, p->workspace, p->plan->writable_workspace, &p->before, p->budget_ms);
	if (p->main >= 0)
		aj_repos_add(&now, &arena, p->main, p->plan->main_repository);
	json_t *repositories = aj_repos_changes(&p->before, &now);
	if (jail_gone && p->plan->quarantine) {
		quarantine(p, changed, &arena);
		quarantine(p, repositories, &arena);
	}
	json_t *report = json_pack("{s:o, s:o, s:o, s:o, s:b}", "held", held, "watched", watched, "changed", changed,
	                           "repositories", repositories, "complete", !p->before.why[0] && !now.why[0]);
	if (p->before.why[0] || now.why[0])
		json_object_set_new(report, "why",
		                    aj_json_text(now.why[0] ? now.why : p->before.why,
		                                 strlen(now.why[0] ? now.why : p->before.why)));
	aj_repos_free(&now);
	aj_arena_free(&arena);
	return report;
}
