/* Walks a workspace for repositories as git recognises them, and reads as data the files that determine which programs git runs
 * in them. It follows no symlink, runs no git, and stops at limits of time, entries and repositories, which it reports. */
#include "workspace/git/search.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/path.h"

enum { ENTRIES_MAX = 2000000, FOLDERS_MAX = 400000, REPOS_MAX = 1000, PER_LOOK = 256 };
/* A ctime is reliable only when it is older than this: clocks of file systems are coarse, so a later change could get the same
 * ctime. */
enum { OLD_S = 1 };
/* How many entries ahead the next known folder is searched for in a listing, whose order mostly repeats. */
enum { AHEAD = 32 };

/* The names that make a folder a repository. */
enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMONDIR = 8, HAS_DOT_GIT = 16 };
static const char *const marks[] = { "HEAD", "objects", "refs", "commondir", ".git" };

struct repository_walk {
	struct aj_repos *repos;
	struct aj_arena *arena;
	int workspace;
	const char *path; /* of the workspace */
	const struct aj_repos *before;
	int budget_ms;
	int64_t deadline_us;
	size_t entries;
	bool times; /* the workspace's file system `dev` counts subfolders in links and updates ctime */
	dev_t dev;
	time_t old_s;
};

/* `folder`: the folder that contains `.git`, NULL for a bare repository. */
static void add_repo(struct repository_walk *w, const char *folder, const char *path, const char *kind, int dir, const char *name)
{
	struct aj_repos *repos = w->repos;
	if (repos->list.count >= REPOS_MAX) {
		snprintf(repos->why, sizeof repos->why, "the workspace has more than %d repositories", REPOS_MAX);
		return;
	}
	struct aj_repo *repo = AJ_PUSH(w->arena, &repos->list);
	*repo = (struct aj_repo){ .path = path, .kind = kind };
	aj_gitrepo_read(repo, &(struct aj_gitrepo_place){ w->arena, w->workspace, w->path, folder }, dir, name);
}

/* --- the tree --- */

static const char *join_path(struct repository_walk *w, const char *folder, const char *name)
{
	return *folder ? aj_printf(w->arena, "%s/%s", folder, name) : aj_strdup(w->arena, name);
}

static unsigned mark_of(const char *name)
{
	if (!strchr("Horc.", name[0])) /* rejects most names at once */
		return 0;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strcmp(marks[i], name) == 0)
			return 1U << i;
	return 0;
}

static void push_folder(struct repository_walk *w, const char *path, size_t was)
{
	struct aj_repos *repos = w->repos;
	if (repos->folders.count >= FOLDERS_MAX) {
		snprintf(repos->why, sizeof repos->why, "the workspace has more than %d folders", FOLDERS_MAX);
		return;
	}
	*AJ_PUSH(w->arena, &repos->folders) = (struct aj_repos_folder){ .path = path, .was = was };
}

/* The record of the folder at this index of the previous walk; NULL: none. */
static const struct aj_repos_folder *previous_folder(const struct repository_walk *w, size_t was)
{
	return w->before && was < w->before->folders.count ? &w->before->folders.items[was] : NULL;
}

static size_t find_known(const struct repository_walk *w, const struct aj_repos_folder *parent, const char *name, size_t *next)
{
	for (size_t i = *next; parent && i < parent->count && i < *next + AHEAD; i++) {
		const struct aj_repos_folder *child = previous_folder(w, parent->first + i);
		const char *slash = child && child->path ? strrchr(child->path, '/') : NULL;
		if (child && child->path && strcmp(slash ? slash + 1 : child->path, name) == 0) {
			*next = i + 1;
			return parent->first + i;
		}
	}
	return SIZE_MAX;
}

static void push_named(struct repository_walk *w, const char *folder, const char *name, const struct aj_repos_folder *known,
                       size_t *next)
{
	if (strlen(folder) + strlen(name) + 2 > PATH_MAX) {
		snprintf(w->repos->why, sizeof w->repos->why, "a path is longer than %d bytes", PATH_MAX);
		return;
	}
	push_folder(w, join_path(w, folder, name), find_known(w, known, name, next));
}

static bool in_dot_git(const char *path)
{
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || at[4] == '\0'))
			return true;
	return false;
}

/* Is a limit reached? The walk then ends and says so. */
static bool limit_reached(struct repository_walk *w)
{
	if (w->entries <= ENTRIES_MAX && aj_now_us() < w->deadline_us)
		return false;
	snprintf(w->repos->why, sizeof w->repos->why,
	         w->entries > ENTRIES_MAX ? "the workspace has more than %d files and folders"
	                                  : "the search took more than %d ms",
	         w->entries > ENTRIES_MAX ? ENTRIES_MAX : w->budget_ms);
	return true;
}

/* Look the marks up by name; without a HEAD the others mean nothing. */
static unsigned probe_marks(int dir)
{
	unsigned found = aj_beneath_has(dir, ".git") ? HAS_DOT_GIT : 0;
	if (!aj_beneath_has(dir, "HEAD"))
		return found;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		found |= aj_beneath_has(dir, marks[i]) ? 1U << i : 0;
	return found;
}

/* List the folder: returns its marks, and queues its subfolders. */
static unsigned list_folder(struct repository_walk *w, const char *path, int dir, const struct aj_repos_folder *known)
{
	unsigned found = 0;
	size_t queued = w->repos->folders.count, next = 0;
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		struct stat st;
		bool folder = e->d_type == DT_DIR ||
		              (e->d_type == DT_UNKNOWN && fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		               S_ISDIR(st.st_mode));
		w->entries++;
		if ((w->entries > ENTRIES_MAX || w->entries % PER_LOOK == 0) && limit_reached(w))
			break;
		found |= mark_of(e->d_name);
		if (folder)
			push_named(w, path, e->d_name, known, &next);
	}
	if (entries.error) { /* git finds a repository in it by name, without a listing */
		snprintf(w->repos->why, sizeof w->repos->why, "a folder cannot be listed: %.80s", path);
		found |= probe_marks(dir);
	}
	/* The large parts of a repository contain no other repository that git would find by itself. This holds only in `.git`: a
	 * jail can put a HEAD beside a folder `objects`, and git would find a repository in that folder. */
	if ((found & HAS_HEAD) && (found & (HAS_OBJECTS | HAS_COMMONDIR)) && in_dot_git(path))
		for (size_t i = queued; i < w->repos->folders.count; i++) {
			struct aj_repos_folder *child = &w->repos->folders.items[i];
			const char *slash = strrchr(child->path, '/'), *name = slash ? slash + 1 : child->path;
			if (strcmp(name, "objects") == 0 || strcmp(name, "refs") == 0 || strcmp(name, "logs") == 0)
				child->path = NULL;
		}
	return found;
}

static bool ends_in_dot_git(const char *path)
{
	size_t bytes = strlen(path);
	return bytes >= 4 && strcmp(path + bytes - 4, ".git") == 0 && (bytes == 4 || path[bytes - 5] == '/');
}

/* Is it the same folder, with the same entries? Device and inode identify it, and its parents have been visited already, so a
 * symlink on the path changes nothing. */
static bool unchanged(const struct repository_walk *w, const char *path, const struct aj_repos_folder *known)
{
	struct stat st;
	return known && known->changed.tv_sec && fstatat(w->workspace, path, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       S_ISDIR(st.st_mode) && st.st_dev == w->dev && st.st_ino == known->ino &&
	       st.st_ctim.tv_sec == known->changed.tv_sec && st.st_ctim.tv_nsec == known->changed.tv_nsec;
}

/* Add the repository that git would recognise by the entries of this folder. */
static void add_found(struct repository_walk *w, const char *path, int dir, unsigned found)
{
	struct stat st;
	bool shape = (found & HAS_HEAD) && ((found & HAS_COMMONDIR) || ((found & HAS_OBJECTS) && (found & HAS_REFS)));
	if (shape && !ends_in_dot_git(path))
		add_repo(w, NULL, *path ? path : ".", "bare", dir, ".");
	if ((found & HAS_DOT_GIT) && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
		add_repo(w, path, join_path(w, path, ".git"),
		         S_ISDIR(st.st_mode)   ? "folder"
		         : S_ISLNK(st.st_mode) ? "symlink"
		                               : "file",
		         dir, ".git");
}

/* A folder without subfolders needs no listing: the marks are looked up by name. */
static unsigned scan_folder(struct repository_walk *w, struct aj_repos_folder *now, const struct stat *st, int dir)
{
	const struct aj_repos_folder *known = previous_folder(w, now->was);
	bool counts = w->times && st->st_dev == w->dev;
	now->ino = st->st_ino;
	if (counts && st->st_ctim.tv_sec < w->old_s)
		now->changed = st->st_ctim;
	if (counts && st->st_nlink == 2) {
		w->entries++;
		return probe_marks(dir);
	}
	return list_folder(w, now->path, dir, known && known->ino == st->st_ino ? known : NULL);
}

static void look_at(struct repository_walk *w, size_t index)
{
	struct aj_repos_folder now = w->repos->folders.items[index];
	const struct aj_repos_folder *known = previous_folder(w, now.was);
	const char *path = *now.path ? now.path : ".";
	struct stat st;
	cleanup_fd int dir = -1;
	now.first = w->repos->folders.count;
	if (unchanged(w, path, known)) {
		now.ino = known->ino;
		now.changed = known->changed;
		now.found = known->found;
		for (size_t i = 0; i < known->count; i++)
			push_folder(w, previous_folder(w, known->first + i)->path, known->first + i);
	}
	if (!now.changed.tv_sec || now.found) {
		dir = aj_beneath_open(w->workspace, path, O_PATH | O_DIRECTORY);
		if (dir < 0 || fstat(dir, &st) < 0) {
			if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
				snprintf(w->repos->why, sizeof w->repos->why, "a folder cannot be opened: %.80s", now.path);
			return;
		}
	}
	if (!now.changed.tv_sec)
		now.found = scan_folder(w, &now, &st, dir);
	now.count = w->repos->folders.count - now.first;
	w->repos->folders.items[index] = now;
	if (now.found)
		add_found(w, now.path, dir, now.found);
}

void aj_repos_look(struct aj_repos *ret, struct aj_arena *arena, int workspace, const char *path, const struct aj_repos *before,
                   uint64_t budget_ms)
{
	struct timespec now;
	*ret = (struct aj_repos){ 0 };
	struct repository_walk w = { .repos = ret,
		                     .arena = arena,
		                     .workspace = workspace,
		                     .path = path,
		                     .before = before,
		                     .deadline_us = aj_in_ms(budget_ms) };
	w.times = aj_beneath_tells_changes(workspace, &w.dev);
	clock_gettime(CLOCK_REALTIME, &now);
	w.old_s = now.tv_sec - OLD_S;
	push_folder(&w, "", 0);
	for (size_t i = 0; i < ret->folders.count; i++) {
		if (limit_reached(&w))
			return;
		if (ret->folders.items[i].path)
			look_at(&w, i);
	}
}

void aj_repos_add(struct aj_repos *repos, struct aj_arena *arena, int dir, const char *path)
{
	struct repository_walk w = { .repos = repos, .arena = arena, .workspace = dir, .path = path };
	add_repo(&w, NULL, path, "folder", dir, ".");
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, "worktrees");
	for (const struct dirent *e; (e = aj_listing_next(&entries));)
		if (e->d_name[0] != '.')
			add_repo(&w, NULL, aj_printf(arena, "%s/worktrees/%s", path, e->d_name), "folder", dirfd(entries.dir),
			         e->d_name);
	if (entries.error && entries.error != ENOENT)
		snprintf(repos->why, sizeof repos->why, "a folder cannot be listed: %.70s/worktrees", path);
}

/* --- before and now --- */

static const struct aj_repo *find_repo(const struct aj_repos *repos, const char *path)
{
	for (size_t i = 0; i < repos->list.count; i++)
		if (strcmp(repos->list.items[i].path, path) == 0)
			return &repos->list.items[i];
	return NULL;
}

json_t *aj_repos_changes(const struct aj_repos *before, const struct aj_repos *now)
{
	json_t *changes = json_array();
	for (size_t i = 0; i < now->list.count; i++) {
		const struct aj_repo *repo = &now->list.items[i], *was = find_repo(before, repo->path);
		if (was && strcmp(was->sum, repo->sum) == 0)
			continue;
		json_array_append_new(changes, json_pack("{s:o, s:s, s:s, s:O}", "path",
		                                         aj_json_text(repo->path, strlen(repo->path)), "kind", repo->kind, "what",
		                                         was              ? "changed"
		                                         : before->why[0] ? "found, and perhaps made"
		                                                          : "made",
		                                         "runs", repo->runs));
	}
	return changes;
}

void aj_repos_free(struct aj_repos *repos)
{
	for (size_t i = 0; i < repos->list.count; i++)
		json_decref(repos->list.items[i].runs);
	repos->list.count = 0;
}
