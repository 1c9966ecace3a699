/* Walks a workspace for what git would take for a repository, and reads as data what decides about programs in it.
 * It follows no symlink, runs no git, and stops at a time, a number of entries and a number of repositories, which it says. */
#include "run/repos.h"

#include <ctype.h>
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
#include "base/hash.h"
#include "run/beneath.h"
#include "run/gitconfig.h"
#include "run/result.h"
#include "sandbox/blanks.h"

enum {
	ENTRIES_MAX = 2000000,
	FOLDERS_MAX = 400000,
	REPOS_MAX = 1000,
	RUNS_MAX = 50,
	FILE_BYTES = 256 << 10,
	SHOWN_BYTES = 240,
	PER_LOOK = 256,
	INCLUDES_MAX = 16
};

/* The names in a folder that make it one. */
enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMONDIR = 8, HAS_DOT_GIT = 16 };
static const char *const marks[] = { "HEAD", "objects", "refs", "commondir", ".git" };

struct walk {
	struct aj_repos *repos;
	struct aj_arena *arena;
	int workspace;
	const char *path; /* of the workspace */
	int64_t deadline_us;
	size_t entries;
	AJ_LIST(const char *) queue; /* folders still to be looked at; "" is the workspace */
};

/* --- one repository --- */

struct reading {
	struct aj_repo *repo;
	char *text; /* FILE_BYTES, and a NUL */
	struct walk *walk;
	/* Below the workspace, by a path of its configuration: see look_further(). */
	const char *hooks_path, *includes[INCLUDES_MAX];
	size_t includes_count;
};

/* The sum goes on: what was, and what comes. */
static void add_sum(struct aj_repo *repo, const char *name, const void *data, size_t bytes)
{
	char part[2 * AJ_SHA256_HEX + PATH_MAX], of_data[AJ_SHA256_HEX];
	aj_sha256(data, bytes, of_data);
	int n = snprintf(part, sizeof part, "%s %s %s", repo->sum, of_data, name);
	aj_sha256(part, (size_t)n < sizeof part ? (size_t)n : sizeof part - 1, repo->sum);
}

static void add_run(struct aj_repo *repo, const char *by, const char *value)
{
	size_t bytes = strlen(value) < SHOWN_BYTES ? strlen(value) : SHOWN_BYTES;
	if (json_array_size(repo->runs) < RUNS_MAX)
		json_array_append_new(repo->runs, json_pack("{s:o, s:o}", "by", aj_json_text(by, strlen(by)), "value",
		                                            aj_json_text(value, bytes)));
}

static void on_variable(void *arg, const struct aj_gitconfig *v)
{
	struct reading *r = arg;
	char name[3 * AJ_GITCONFIG_NAME_BYTES + 4];
	if (!aj_gitconfig_runs(v))
		return;
	snprintf(name, sizeof name, "%s%s%s.%s", v->section, v->subsection[0] ? "." : "", v->subsection, v->key);
	add_run(r->repo, name, v->value);
	const char *value = v->value, *root = r->walk->path;
	if (value[0] == '~' || strlen(value) >= sizeof v->value - 1)
		return;
	if (value[0] == '/') {
		size_t bytes = strlen(root);
		if (strncmp(value, root, bytes) != 0 || value[bytes] != '/')
			return;
		value += bytes; /* with its slash: below the workspace, and not beside the file */
	}
	if (strcmp(v->key, "hookspath") == 0)
		r->hooks_path = aj_strdup(r->walk->arena, value);
	else if (strncmp(v->section, "include", 7) == 0 && r->includes_count < INCLUDES_MAX)
		r->includes[r->includes_count++] = aj_strdup(r->walk->arena, value);
}

/* A whole file, or as much of it as there is room for. -1: it is not there, or no regular file, which is in the sum. */
static ssize_t take_file(struct reading *r, int dir, const char *name)
{
	struct stat st;
	cleanup_fd int fd = aj_beneath_open(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		if (fd >= 0 || errno != ENOENT) {
			add_sum(r->repo, name, "?", 1);
			add_run(r->repo, name, "cannot be read");
		}
		return -1;
	}
	ssize_t n, bytes = 0;
	while (bytes < FILE_BYTES && (n = read(fd, r->text + bytes, (size_t)(FILE_BYTES - bytes))) > 0)
		bytes += n;
	r->text[bytes] = '\0';
	/* As good as none, and so are the placeholders of ours that look like this. */
	if (bytes == 0 || (strcmp(name, "commondir") == 0 && strcmp(r->text, AJ_BLANK_ITSELF_TEXT) == 0))
		return -1;
	add_sum(r->repo, name, r->text, (size_t)bytes);
	if (bytes == FILE_BYTES) {
		add_sum(r->repo, "changed", &st.st_ctim, sizeof st.st_ctim);
		add_run(r->repo, name, "too large to be read whole");
	}
	return bytes;
}

static void look_config(struct reading *r, int dir, const char *name)
{
	ssize_t bytes = take_file(r, dir, name);
	if (bytes > 0 && !aj_gitconfig_read(r->text, (size_t)bytes, on_variable, r))
		add_run(r->repo, name, "git would refuse it from some line on");
}

static void look_text(struct reading *r, int dir, const char *name)
{
	ssize_t bytes = take_file(r, dir, name);
	if (bytes <= 0)
		return;
	r->text[strcspn(r->text, "\n")] = '\0';
	add_run(r->repo, name, r->text);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool sample(const char *name)
{
	size_t bytes = strlen(name);
	return bytes > 7 && strcmp(name + bytes - 7, ".sample") == 0;
}

static void look_hooks(struct reading *r, int dir, const char *folder)
{
	struct aj_arena *arena = r->walk->arena;
	AJ_LIST(const char *) names = { 0 };
	struct stat st;
	if (fstatat(dir, folder, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	int listing = aj_beneath_open(dir, folder, O_RDONLY | O_DIRECTORY);
	DIR *entries = listing < 0 ? NULL : fdopendir(listing);
	if (!entries) {
		aj_close(&listing);
		add_sum(r->repo, folder, &st.st_ino, sizeof st.st_ino);
		add_run(r->repo, folder, S_ISLNK(st.st_mode) ? "a symlink" : "cannot be listed");
		return;
	}
	for (const struct dirent *e; names.count < PER_LOOK && (e = readdir(entries));)
		if (e->d_name[0] != '.' && !sample(e->d_name))
			*AJ_PUSH(arena, &names) = aj_strdup(arena, e->d_name);
	if (names.count == PER_LOOK) {
		int64_t now_us = aj_now_us(); /* what was left out may have changed */
		add_sum(r->repo, folder, &now_us, sizeof now_us);
		add_run(r->repo, folder, "too many to look at all");
	}
	if (names.count) /* a listing has no order */
		qsort(names.items, names.count, sizeof *names.items, by_name);
	for (size_t i = 0; i < names.count; i++) {
		char by[NAME_MAX + AJ_GITCONFIG_VALUE_BYTES + 2];
		if (fstatat(dirfd(entries), names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		struct {
			ino_t ino;
			off_t bytes;
			struct timespec changed;
			mode_t mode;
		} state;
		memset(&state, 0, sizeof state);
		state.ino = st.st_ino;
		state.bytes = st.st_size;
		state.changed = st.st_ctim;
		state.mode = st.st_mode;
		add_sum(r->repo, names.items[i], &state, sizeof state);
		snprintf(by, sizeof by, "%s/%s", folder, names.items[i]);
		if (S_ISLNK(st.st_mode) || (st.st_mode & 0111))
			add_run(r->repo, by, S_ISLNK(st.st_mode) ? "a symlink" : "executable");
	}
	closedir(entries);
}

/* A configuration that was there before may name files of the workspace, which are the jail's to change: hooks relative to the folder
 * around `.git`, included files to `.git` itself. One step of these is followed, below the workspace. */
static const char *further(struct reading *r, const char *folder, const char *below, const char *path)
{
	if (strlen(folder) + strlen(path) + 6 >= PATH_MAX)
		return NULL;
	return path[0] == '/' ? path + 1 : aj_printf(r->walk->arena, "%s%s%s%s", folder, *folder ? "/" : "", below, path);
}

static void look_further(struct reading *r, const char *folder)
{
	struct reading one = { .repo = r->repo, .text = r->text, .walk = r->walk };
	const char *path;
	if (r->hooks_path && (path = further(r, folder, "", r->hooks_path)))
		look_hooks(r, r->walk->workspace, path);
	for (size_t i = 0; i < r->includes_count; i++)
		if ((path = further(r, folder, ".git/", r->includes[i])))
			look_config(&one, r->walk->workspace, path);
}

/* The rest of a rebase that was begun: `git rebase --continue` runs its lines `exec`. */
static void look_todo(struct reading *r, int dir)
{
	static const char name[] = "rebase-merge/git-rebase-todo";
	struct stat st;
	cleanup_fd int fd = aj_beneath_open(dir, name, O_RDONLY);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	ssize_t n, bytes = 0;
	while (bytes < FILE_BYTES && (n = read(fd, r->text + bytes, (size_t)(FILE_BYTES - bytes))) > 0)
		bytes += n;
	r->text[bytes] = '\0';
	if (bytes == FILE_BYTES) {
		add_sum(r->repo, name, &st.st_ctim, sizeof st.st_ctim);
		add_run(r->repo, name, "too large to be read whole");
	}
	for (char *line = r->text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = '\0';
		line += strspn(line, " \t");
		if ((strncmp(line, "exec", 4) == 0 && isspace((unsigned char)line[4])) ||
		    (line[0] == 'x' && isspace((unsigned char)line[1]))) {
			add_sum(r->repo, name, line, strlen(line));
			add_run(r->repo, name, line);
		}
	}
}

static void look_folder(struct reading *r, int dir, const char *folder)
{
	look_config(r, dir, "config");
	look_config(r, dir, "config.worktree");
	look_text(r, dir, "commondir");
	look_hooks(r, dir, "hooks");
	look_todo(r, dir);
	if (folder)
		look_further(r, folder);
}

/* `folder`: the one around a `.git`, NULL for a bare one. */
static void take_in(struct walk *w, const char *folder, const char *path, const char *kind, int dir, const char *name)
{
	static char text[FILE_BYTES + 1];
	struct aj_repos *repos = w->repos;
	if (repos->list.count >= REPOS_MAX) {
		snprintf(repos->why, sizeof repos->why, "there are more than %d repositories", REPOS_MAX);
		return;
	}
	struct aj_repo *repo = AJ_PUSH(w->arena, &repos->list);
	*repo = (struct aj_repo){ .path = path, .kind = kind, .runs = json_array() };
	struct reading r = { .repo = repo, .text = text, .walk = w };
	add_sum(repo, kind, kind, strlen(kind));
	if (strcmp(kind, "file") == 0) {
		look_text(&r, dir, name);
	} else if (strcmp(kind, "symlink") == 0) {
		char target[PATH_MAX];
		ssize_t bytes = readlinkat(dir, name, target, sizeof target - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		add_sum(repo, name, target, strlen(target));
		add_run(repo, "symlink", target);
	} else {
		cleanup_fd int fd = aj_beneath_open(dir, name, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			look_folder(&r, fd, folder);
	}
}

/* --- the tree --- */

static const char *join(struct walk *w, const char *folder, const char *name)
{
	return *folder ? aj_printf(w->arena, "%s/%s", folder, name) : aj_strdup(w->arena, name);
}

static unsigned mark_of(const char *name)
{
	if (!strchr("Horc.", name[0])) /* most names are none of them */
		return 0;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (strcmp(marks[i], name) == 0)
			return 1U << i;
	return 0;
}

static void push(struct walk *w, const char *folder, const char *name)
{
	if (strlen(folder) + strlen(name) + 2 > PATH_MAX || w->queue.count >= FOLDERS_MAX) {
		snprintf(w->repos->why, sizeof w->repos->why,
		         w->queue.count >= FOLDERS_MAX ? "there are more than %d folders" : "a path is longer than %d bytes",
		         w->queue.count >= FOLDERS_MAX ? FOLDERS_MAX : PATH_MAX);
		return;
	}
	*AJ_PUSH(w->arena, &w->queue) = join(w, folder, name);
}

static bool in_dot_git(const char *path)
{
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
		if (strncmp(at, ".git", 4) == 0 && (at[4] == '/' || at[4] == '\0'))
			return true;
	return false;
}

/* The marks in it; folders below it are queued. */
static unsigned list(struct walk *w, const char *path, int dir, bool listable)
{
	unsigned found = 0;
	size_t queued = w->queue.count;
	int listing = listable ? fcntl(dir, F_DUPFD_CLOEXEC, 3) : -1;
	DIR *entries = listing < 0 ? NULL : fdopendir(listing);
	if (!entries) { /* git needs no listing to find a repository by its name */
		aj_close(&listing);
		snprintf(w->repos->why, sizeof w->repos->why, "a folder cannot be listed: %.80s", path);
		for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
			found |= aj_beneath_has(dir, marks[i]) ? 1U << i : 0;
		return found;
	}
	for (const struct dirent *e; (e = readdir(entries));) {
		struct stat st;
		bool folder = e->d_type == DT_DIR || (e->d_type == DT_UNKNOWN &&
		                                      fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode));
		if (++w->entries > ENTRIES_MAX || (w->entries % PER_LOOK == 0 && aj_now_us() >= w->deadline_us))
			break;
		if (e->d_name[0] == '.' && (e->d_name[1] == '\0' || strcmp(e->d_name, "..") == 0))
			continue;
		found |= mark_of(e->d_name);
		if (folder)
			push(w, path, e->d_name);
	}
	closedir(entries);
	/* The parts of a repository that may be large hold none that git would find by itself. Only in `.git`: anybody can put a HEAD beside
	 * a folder `objects`, and git would find what is in that. */
	if ((found & HAS_HEAD) && (found & (HAS_OBJECTS | HAS_COMMONDIR)) && in_dot_git(path))
		for (size_t i = queued; i < w->queue.count; i++) {
			const char *slash = strrchr(w->queue.items[i], '/'), *name = slash ? slash + 1 : w->queue.items[i];
			if (strcmp(name, "objects") == 0 || strcmp(name, "refs") == 0 || strcmp(name, "logs") == 0)
				w->queue.items[i] = NULL;
		}
	return found;
}

static bool ends_in_dot_git(const char *path)
{
	size_t bytes = strlen(path);
	return bytes >= 4 && strcmp(path + bytes - 4, ".git") == 0 && (bytes == 4 || path[bytes - 5] == '/');
}

static void look_at(struct walk *w, const char *path)
{
	struct stat st;
	cleanup_fd int dir = aj_beneath_open(w->workspace, *path ? path : ".", O_RDONLY | O_DIRECTORY);
	bool listable = dir >= 0;
	if (!listable)
		dir = aj_beneath_open(w->workspace, *path ? path : ".", O_PATH | O_DIRECTORY);
	if (dir < 0) {
		if (errno != ENOENT && errno != ENOTDIR && errno != ELOOP)
			snprintf(w->repos->why, sizeof w->repos->why, "a folder cannot be opened: %.80s", path);
		return;
	}
	unsigned found = list(w, path, dir, listable);
	bool shape = (found & HAS_HEAD) && ((found & HAS_COMMONDIR) || ((found & HAS_OBJECTS) && (found & HAS_REFS)));
	if (shape && !ends_in_dot_git(path))
		take_in(w, NULL, *path ? path : ".", "bare", dir, ".");
	if ((found & HAS_DOT_GIT) && fstatat(dir, ".git", &st, AT_SYMLINK_NOFOLLOW) == 0)
		take_in(w, path, join(w, path, ".git"),
		        S_ISDIR(st.st_mode)   ? "folder"
		        : S_ISLNK(st.st_mode) ? "symlink"
		                              : "file",
		        dir, ".git");
}

void aj_repos_look(struct aj_repos *ret, struct aj_arena *arena, int workspace, const char *path, uint64_t budget_ms)
{
	*ret = (struct aj_repos){ 0 };
	struct walk w = { .repos = ret, .arena = arena, .workspace = workspace, .path = path, .deadline_us = aj_in_ms(budget_ms) };
	push(&w, "", "");
	w.queue.items[0] = "";
	for (size_t i = 0; i < w.queue.count; i++) {
		if (w.entries > ENTRIES_MAX || aj_now_us() >= w.deadline_us) {
			snprintf(ret->why, sizeof ret->why,
			         w.entries > ENTRIES_MAX ? "there are more than %d files and folders" : "it took more than %d ms",
			         w.entries > ENTRIES_MAX ? ENTRIES_MAX : (int)budget_ms);
			return;
		}
		if (w.queue.items[i])
			look_at(&w, w.queue.items[i]);
	}
}

/* --- before and now --- */

static const struct aj_repo *find(const struct aj_repos *repos, const char *path)
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
		const struct aj_repo *repo = &now->list.items[i], *was = find(before, repo->path);
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
