/* Reads, as data, what decides about the programs that git runs in one repository: configuration, hooks, the rest of a rebase.
 * It runs no git and follows no symlink; every text and every list has an end. */
#include "run/gitrepo.h"

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

enum { RUNS_MAX = 50, FILE_BYTES = 256 << 10, SHOWN_BYTES = 240, HOOKS_MAX = 256, INCLUDES_MAX = 16 };

struct reading {
	struct aj_repo *repo;
	char *text; /* FILE_BYTES, and a NUL */
	const struct aj_gitrepo_place *at;
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
	const char *value = v->value, *root = r->at->path;
	if (value[0] == '~' || strlen(value) >= sizeof v->value - 1)
		return;
	if (value[0] == '/') {
		size_t bytes = strlen(root);
		if (strncmp(value, root, bytes) != 0 || value[bytes] != '/')
			return;
		value += bytes; /* with its slash: below the workspace, and not beside the file */
	}
	if (strcmp(v->key, "hookspath") == 0)
		r->hooks_path = aj_strdup(r->at->arena, value);
	else if (strncmp(v->section, "include", 7) == 0 && r->includes_count < INCLUDES_MAX)
		r->includes[r->includes_count++] = aj_strdup(r->at->arena, value);
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
	struct aj_arena *arena = r->at->arena;
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
	for (const struct dirent *e; names.count < HOOKS_MAX && (e = readdir(entries));)
		if (e->d_name[0] != '.' && !sample(e->d_name))
			*AJ_PUSH(arena, &names) = aj_strdup(arena, e->d_name);
	if (names.count == HOOKS_MAX) {
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
	return path[0] == '/' ? path + 1 : aj_printf(r->at->arena, "%s%s%s%s", folder, *folder ? "/" : "", below, path);
}

static void look_further(struct reading *r, const char *folder)
{
	struct reading one = { .repo = r->repo, .text = r->text, .at = r->at };
	const char *path;
	if (r->hooks_path && (path = further(r, folder, "", r->hooks_path)))
		look_hooks(r, r->at->workspace, path);
	for (size_t i = 0; i < r->includes_count; i++)
		if ((path = further(r, folder, ".git/", r->includes[i])))
			look_config(&one, r->at->workspace, path);
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

void aj_gitrepo_read(struct aj_repo *repo, const struct aj_gitrepo_place *at, int dir, const char *name)
{
	static char text[FILE_BYTES + 1];
	struct reading r = { .repo = repo, .text = text, .at = at };
	repo->runs = json_array();
	add_sum(repo, repo->kind, repo->kind, strlen(repo->kind));
	if (strcmp(repo->kind, "file") == 0) {
		look_text(&r, dir, name);
	} else if (strcmp(repo->kind, "symlink") == 0) {
		char target[PATH_MAX];
		ssize_t bytes = readlinkat(dir, name, target, sizeof target - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		add_sum(repo, name, target, strlen(target));
		add_run(repo, "symlink", target);
	} else {
		cleanup_fd int fd = aj_beneath_open(dir, name, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			look_folder(&r, fd, at->folder);
	}
}
