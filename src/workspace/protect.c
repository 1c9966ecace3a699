/* Expands the patterns of a plan in its workspace, before the jail starts and after it has ended; on descriptors beneath the workspace,
 * through no symlink. It mounts nothing: the rows that it adds to the plan are for sandbox/. */
#include "workspace/protect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "policy/protect.h"
#include "result/result.h"
#include "mounts/blanks.h"
#include "workspace/beneath.h"
#include "workspace/hard_links.h"
#include "workspace/placeholder.h"
#include "workspace/quarantine.h"
#include "workspace/repos.h"

enum { INSIDE_MAX = 2000, PLACES_MAX = 4000, PART_BYTES = 256, TOLD_MAX = 200, STEPS_MAX = 20000 };

#define DOT_GIT ".git/"

static bool of_git(const char *pattern)
{
	return strncmp(pattern, DOT_GIT, strlen(DOT_GIT)) == 0;
}

/* A place that matches a pattern. `blank`: the placeholder in use where the place was missing. */
struct place {
	const char *path; /* relative to the workspace; absolute in the main repository of a worktree */
	const char *name; /* last component of the path */
	const char *blank;
	int dir, fd; /* with a blank: the parent folder, and the placeholder with its lock */
	bool held, there, link;
	bool inside; /* a file inside a held place, with another hard link outside */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime of a regular file */
};

struct aj_protect {
	struct aj_arena arena;
	struct aj_plan plan;
	int workspace, main; /* -1: no main repository */
	uint64_t budget_ms;
	struct aj_repos before;
	AJ_LIST(struct place) places;
};

/* --- expansion of patterns --- */

struct expansion {
	struct aj_protect *p;
	struct aj_arena *arena; /* of paths */
	const char *pattern;
	/* Called for a place, existing (`st`) or missing (NULL). `name` is its last component, in `dir`. */
	int (*found)(struct expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder, bool starred);
	json_t *changed; /* the report's array */
	size_t steps;
	struct aj_error *err;
};

static int expand_rest(struct expansion *x, int dir, const char *prefix, const char *rest, bool starred);

static int fail(const struct expansion *x, int errnum, const char *what, const char *path)
{
	return aj_fail(x->err, AJ_EXIT_SETUP, "protect", errnum, "%s `%s` in the workspace (filesystem.protect: `%s`)", what,
	               path, x->pattern);
}

/* A folder that this process may not search is closed to the jail as well, which has no more rights, unless the jail's user owns the
 * folder. */
static bool may_skip(const struct expansion *x, int dir, int error)
{
	return error == EACCES && !aj_beneath_owned(dir, x->p->plan.host_uid);
}

/* Continue with one entry of `dir` that matches the pattern's current component. `rest`: the components after it. */
static int expand_entry(struct expansion *x, int dir, const char *prefix, const char *name, const char *rest, bool starred)
{
	struct stat st;
	const char *path = aj_printf(x->arena, "%s%s", prefix, name);
	bool folder = rest[0] == '/', last = rest[strspn(rest, "/")] == '\0';
	if (++x->steps > STEPS_MAX) {
		aj_fail(x->err, AJ_EXIT_SETUP, "protect", 0,
		        "the stars of filesystem.protect mean more than %d files and folders (`%s`)", STEPS_MAX, x->pattern);
		aj_advise(x->err, "remove what lies there for no reason, or a list with fewer stars");
		return -1;
	}
	bool there = fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
	if (!there && errno != ENOENT && errno != ENOTDIR)
		return may_skip(x, dir, errno) ? 0 : fail(x, errno, "look at", path);
	if (last)
		return x->found(x, dir, name, path, there ? &st : NULL, folder, starred);
	if (!there)
		return 0;
	/* A file in a folder's place, like the `.git` of a linked worktree, which names the folder. */
	if (!S_ISDIR(st.st_mode))
		return x->found(x, dir, name, path, &st, false, starred);
	cleanup_fd int next = openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (next < 0)
		return fail(x, errno, "open", path);
	return expand_rest(x, next, aj_printf(x->arena, "%s/", path), rest + strspn(rest, "/"), starred);
}

/* Is this entry part of a repository, and no submodule's folder? Such entries lie beside a HEAD. */
static bool is_part(int dir, const char *name)
{
	static const char *const parts[] = { "objects", "refs", "logs", "hooks", "info", "branches", "modules", "worktrees", "lfs" };
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

static int each_match(struct expansion *x, int dir, const char *prefix, const char *rest, size_t bytes)
{
	int r = 0;
	DIR *entries = aj_beneath_list(dir, ".");
	if (!entries) {
		int error = errno;
		return may_skip(x, dir, error) ? 0 : fail(x, error, "list the folder", prefix);
	}
	/* A star before the last component matches folders only: a submodule's index lies beside the folders of its own submodules. */
	bool last = rest[bytes + strspn(rest + bytes, "/")] == '\0';
	for (const struct dirent *e; r == 0 && (e = readdir(entries));)
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 && aj_protect_part_matches(rest, bytes, e->d_name) &&
		    (last || !(is_no_folder(dirfd(entries), e) || (of_git(x->pattern) && is_part(dir, e->d_name)))))
			r = expand_entry(x, dir, prefix, e->d_name, rest + bytes, true);
	closedir(entries);
	return r;
}

static int expand_rest(struct expansion *x, int dir, const char *prefix, const char *rest, bool starred)
{
	char name[PART_BYTES];
	size_t bytes = strcspn(rest, "/");
	if (memchr(rest, '*', bytes))
		return each_match(x, dir, prefix, rest, bytes);
	if (bytes >= sizeof name)
		return fail(x, ENAMETOOLONG, "look at", rest);
	memcpy(name, rest, bytes);
	name[bytes] = '\0';
	return expand_entry(x, dir, prefix, name, rest + bytes, starred);
}

static int expand_one(struct expansion *x)
{
	x->steps = 0;
	if (expand_rest(x, x->p->workspace, "", x->pattern, false) < 0)
		return -1;
	/* A linked worktree's `.git` is a file; its folder lies in the main repository. */
	if (x->p->main < 0 || !of_git(x->pattern))
		return 0;
	return expand_rest(x, x->p->main, aj_printf(x->arena, "%s/", x->p->plan.main_repository), x->pattern + strlen(DOT_GIT), false);
}

static int expand(struct expansion *x)
{
	for (size_t i = 0; i < x->p->plan.protect.count; i++) {
		x->pattern = x->p->plan.protect.items[i];
		if (expand_one(x) < 0)
			return -1;
	}
	return 0;
}

/* --- before the jail starts --- */

static const struct place *find_place(const struct aj_protect *p, const char *path)
{
	for (size_t i = 0; i < p->places.count; i++)
		if (strcmp(p->places.items[i].path, path) == 0)
			return &p->places.items[i];
	return NULL;
}

/* The placeholder that may be created at a missing place without harm to a program that finds it; NULL: none. */
static const char *blank_for(bool repository, const char *name, bool folder, bool starred)
{
	if (folder)
		return !starred || repository ? AJ_BLANK_FOLDER : NULL;
	if (repository && strcmp(name, "commondir") == 0)
		return AJ_BLANK_ITSELF;
	if (repository && (strcmp(name, "config") == 0 || strcmp(name, "config.worktree") == 0))
		return AJ_BLANK_FILE;
	return NULL;
}

/* 1: another file or folder has this name. */
static int take_placeholder(struct expansion *x, struct place *place, int dir)
{
	struct stat st;
	cleanup_fd int fd = aj_placeholder_take(dir, place->name, place->blank);
	if (fd < 0 && errno == EEXIST)
		return 1;
	/* Nothing can be created there, at least not by the jail. */
	if (fd < 0 && (errno == EROFS || may_skip(x, dir, errno)))
		return 0;
	if (fd < 0) {
		fail(x, errno, "make a placeholder at", place->path);
		aj_advise(x->err, "without it the jail could make that place, and programs of the host would obey it: let the folder around it be "
		                  "writable, or have the policy's filesystem.protect leave the place out");
		return -1;
	}
	place->dir = fcntl(dir, F_DUPFD_CLOEXEC, 3);
	if (place->dir < 0 || fstat(fd, &st) < 0)
		return fail(x, errno, "hold", place->path);
	place->fd = aj_steal(&fd);
	place->held = true;
	place->dev = st.st_dev;
	place->ino = st.st_ino;
	return 0;
}

static int on_place(struct expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder, bool starred)
{
	struct aj_protect *p = x->p;
	struct stat now;
	bool repository = aj_beneath_has(dir, "HEAD");
	/* Folders between submodules are no places. */
	if (find_place(p, path) || (!st && starred && !repository && of_git(x->pattern)))
		return 0;
	if (p->places.count >= PLACES_MAX) {
		aj_fail(x->err, AJ_EXIT_SETUP, "protect", 0, "more than %d places of the workspace would have to be held", PLACES_MAX);
		aj_advise(x->err, "a list with fewer stars in filesystem.protect");
		return -1;
	}
	struct place *place = AJ_PUSH(&p->arena, &p->places);
	*place = (struct place){ .path = path, .name = aj_strdup(&p->arena, name), .dir = -1, .fd = -1 };
	/* A placeholder that a killed run has left is taken over like any other, and removed at the end. */
	place->blank = !st || aj_placeholder_marked(st) ? blank_for(repository, name, folder, starred) : NULL;
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
	*AJ_PUSH(&p->arena, &p->places) = (struct place){ .path = path,
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

/* A mount protects a path. A file in a held folder with another hard link can be changed through that link, which the report says. */
static void find_othernames(struct aj_protect *p)
{
	size_t left = INSIDE_MAX, count = p->places.count;
	for (size_t i = 0; i < count; i++) {
		const struct place *place = &p->places.items[i];
		if (!place->held || !place->there || place->changed.tv_sec) /* a regular file has been checked on its own */
			continue;
		cleanup_fd int dir = aj_beneath_open(place->path[0] == '/' ? AT_FDCWD : p->workspace, place->path, O_PATH | O_DIRECTORY);
		if (dir >= 0)
			aj_hard_links_each(dir, place->path, &p->arena, &left, on_othername, p);
	}
}

/* --- a query about one place --- */

struct question {
	struct expansion x;
	const char *path;
	enum aj_protect_answer answer;
};

static int on_place_asked(struct expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder, bool starred)
{
	struct question *q = (struct question *)x;
	if (!aj_path_within(q->path, path))
		return 0;
	bool repository = aj_beneath_has(dir, "HEAD");
	if (!st && starred && !repository && of_git(x->pattern))
		return 0;
	bool held = st ? !S_ISLNK(st->st_mode) : blank_for(repository, name, folder, starred) != NULL;
	q->answer = held ? AJ_PROTECT_HELD : AJ_PROTECT_WATCHED;
	return 0;
}

enum aj_protect_answer aj_protect_ask(const struct aj_plan *plan, const char *pattern, const char *path)
{
	struct aj_arena arena = { 0 };
	struct aj_error ignored = { 0 };
	struct aj_protect p = { .plan = *plan,
		                .workspace = aj_beneath_open(AT_FDCWD, plan->writable_workspace, O_PATH | O_DIRECTORY),
		                .main = -1 };
	if (plan->main_repository)
		p.main = aj_beneath_open(AT_FDCWD, plan->main_repository, O_PATH | O_DIRECTORY);
	struct question q = { { .p = &p, .arena = &arena, .pattern = pattern, .found = on_place_asked, .err = &ignored }, path, AJ_PROTECT_FREE };
	/* A pattern with too many places stops the run, so nothing can be written either. */
	if (p.workspace >= 0 && expand_one(&q.x) < 0)
		q.answer = AJ_PROTECT_HELD;
	aj_close(&p.workspace);
	aj_close(&p.main);
	aj_arena_free(&arena);
	return q.answer;
}

static int on_place_unheld(struct expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder, bool starred)
{
	(void)dir, (void)name, (void)path, (void)folder, (void)starred;
	((struct question *)x)->path = st ? x->pattern : ((struct question *)x)->path;
	return 0;
}

const char *aj_protect_unheld(const char *folder, const char *const *patterns, size_t count)
{
	struct aj_arena arena = { 0 };
	struct aj_error ignored = { 0 };
	struct aj_protect p = { .workspace = aj_beneath_open(AT_FDCWD, folder, O_PATH | O_DIRECTORY), .main = -1 };
	struct question q = { { .p = &p, .arena = &arena, .found = on_place_unheld, .err = &ignored }, NULL, AJ_PROTECT_FREE };
	for (size_t at = 0; p.workspace >= 0 && !q.path && (q.x.pattern = aj_protect_next(patterns, count, &at));)
		if (expand_one(&q.x) < 0)
			break;
	aj_close(&p.workspace);
	aj_arena_free(&arena);
	return q.path;
}

static void add_rows(struct aj_protect *p)
{
	struct aj_mount *all = aj_alloc(&p->arena, (p->plan.mounts.count + p->places.count) * sizeof *all);
	size_t count = p->plan.mounts.count;
	memcpy(all, p->plan.mounts.items, count * sizeof *all);
	for (size_t i = 0; i < p->places.count; i++) {
		const struct place *place = &p->places.items[i];
		if (place->held && !place->inside)
			all[count++] = (struct aj_mount){ .kind = AJ_MOUNT_HOLD,
				                          .target = place->path[0] == '/'
				                                      ? place->path
				                                      : aj_printf(&p->arena, "%s/%s", AJ_WORKSPACE, place->path),
				                          .source = place->blank ? place->blank : "",
				                          .flags = AJ_RO,
				                          .why = "the host runs or obeys it later" };
	}
	p->plan.protected = true;
	p->plan.mounts.items = all;
	p->plan.mounts.count = p->plan.mounts.room = count;
}

int aj_protect_open(struct aj_protect **ret, const struct aj_plan *plan, uint64_t budget_ms, const struct aj_plan **ret_plan,
                    struct aj_error *err)
{
	*ret = NULL;
	*ret_plan = plan;
	if (!plan->writable_workspace || plan->inspect || (!plan->protect.count && !plan->quarantine))
		return 0;
	int workspace = aj_beneath_open(AT_FDCWD, plan->writable_workspace, O_PATH | O_DIRECTORY);
	if (workspace < 0) {
		bool link = errno == ELOOP;
		aj_fail_because(err, AJ_REASON_SOURCE, AJ_EXIT_SETUP, "sources", errno,
		                link ? "a symlink in the path `%s`" : "open `%s` to bind it into the jail", plan->writable_workspace);
		if (link)
			aj_advise(err, "name the place itself: what a link points to may have been chosen by an earlier run");
		return -1;
	}
	struct aj_protect *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	p->plan = *plan;
	p->workspace = workspace;
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
	struct expansion x = { .p = p, .arena = &p->arena, .found = on_place, .err = err };
	if (expand(&x) < 0) {
		aj_protect_close(p);
		return -1;
	}
	find_othernames(p);
	add_rows(p);
	*ret = p;
	*ret_plan = &p->plan;
	return 0;
}

/* --- after the jail has ended --- */

static void add_change(json_t *changed, const char *path, const char *what)
{
	if (json_array_size(changed) < TOLD_MAX)
		json_array_append_new(changed, json_pack("{s:o, s:s}", "path", aj_json_text(path, strlen(path)), "what", what));
}

/* Report new matches of a star, and places that were only watched and exist now. */
static int on_place_later(struct expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder, bool starred)
{
	(void)dir, (void)name, (void)folder;
	const struct place *was = find_place(x->p, path);
	if (starred && of_git(x->pattern))
		return 0; /* a new submodule or worktree, which is reported as a repository */
	if (st && (!was || (!was->there && !was->blank)))
		add_change(x->changed, path, "made");
	return 0;
}

/* Does a symlink lead to a folder that the jail can write? */
static bool leads_into(const struct aj_protect *p, int dir, const char *name)
{
	char link[64], real[PATH_MAX];
	cleanup_fd int fd = openat(dir, name, O_PATH | O_CLOEXEC);
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	ssize_t n = fd < 0 ? -1 : readlink(link, real, sizeof real - 1);
	real[n > 0 ? n : 0] = '\0';
	return aj_path_below(real, p->plan.writable_workspace);
}

/* Is a held or watched place still the same file? A jail's mount is detached when the host removes or replaces the mount point. */
static void recheck(const struct aj_protect *p, const struct place *place, struct aj_arena *arena, json_t *changed)
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
		add_change(changed, place->path, place->held ? "removed on the host during the run, so not held from then on" : "removed");
	else if (st.st_dev != place->dev || st.st_ino != place->ino)
		add_change(changed, place->path,
		           place->held ? "replaced on the host during the run, so not held from then on" : "replaced");
	else if (place->changed.tv_sec && (st.st_ctim.tv_sec != place->changed.tv_sec || st.st_ctim.tv_nsec != place->changed.tv_nsec))
		add_change(changed, place->path, "changed on the host during the run, or by another name of the same file (a hard link)");
	else if (place->link && leads_into(p, slash ? dir : p->workspace, place->name))
		add_change(changed, place->path, "a symlink into the workspace, so what it leads to is not held");
}

/* Rename new files and folders that a program would obey. A place that existed before may belong to the host's user even if it has
 * changed: the report only names it. A repository is disabled by renaming its HEAD. */
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
		const struct place *place = &p->places.items[i];
		if (!place->inside && json_array_size(place->held ? held : watched) < TOLD_MAX)
			json_array_append_new(place->held ? held : watched, aj_json_text(place->path, strlen(place->path)));
		recheck(p, place, &arena, changed);
	}
	struct expansion x = { .p = p, .arena = &arena, .found = on_place_later, .changed = changed, .err = &ignored };
	/* Each pattern is expanded on its own: a jail that has created too many matches of one hides no match of another. */
	for (size_t i = 0; i < p->plan.protect.count; i++) {
		x.pattern = p->plan.protect.items[i];
		if (expand_one(&x) < 0)
			add_change(changed, x.pattern, "cannot be looked at any more");
	}
	struct aj_repos now;
	aj_repos_look(&now, &arena, p->workspace, p->plan.writable_workspace, &p->before, p->budget_ms);
	if (p->main >= 0)
		aj_repos_add(&now, &arena, p->main, p->plan.main_repository);
	json_t *repositories = aj_repos_changes(&p->before, &now);
	if (jail_gone && p->plan.quarantine) {
		quarantine(p, changed, &arena);
		quarantine(p, repositories, &arena);
	}
	json_t *report = json_pack("{s:o, s:o, s:o, s:o, s:b}", "held", held, "watched", watched, "changed", changed,
	                           "repositories", repositories, "complete", !p->before.why[0] && !now.why[0]);
	if (p->before.why[0] || now.why[0])
		json_object_set_new(report, "why",
		                    aj_json_text(now.why[0] ? now.why : p->before.why, strlen(now.why[0] ? now.why : p->before.why)));
	aj_repos_free(&now);
	aj_arena_free(&arena);
	return report;
}

void aj_protect_close(struct aj_protect *p)
{
	if (!p)
		return;
	for (size_t i = p->places.count; i-- > 0;) {
		struct place *place = &p->places.items[i];
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
