/* Reads, as data, what decides which programs git runs in one repository: configuration, hooks, an unfinished rebase, an index's
 * paths. It runs no git and follows no symlink; every text and every list is bounded. */
#include "workspace/git/repo.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/path.h"
#include "base/sha256.h"
#include "sandbox/mounts/blanks.h"
#include "workspace/git/config.h"
#include "workspace/git/index.h"

enum {
	RUNS_MAX = 50,
	FILE_BYTES = 256 << 10,
	SHOWN_BYTES = 240,
	HOOKS_MAX = 256,
	INCLUDES_MAX = 16,
	LINKS_MAX = 50000,
	LINKS_DEPTH = 12
};

struct reading {
	struct aj_repo *repo;
	char *text; /* FILE_BYTES and a NUL */
	const struct aj_gitrepo_place *at;
	const char *base; /* folder of the configuration that is being read, relative to the workspace; NULL: not needed */
	/* Paths below the workspace that the configuration names: see read_referenced(). */
	const char *hooks_path, *includes[INCLUDES_MAX];
	size_t includes_count;
	AJ_LIST(const char *) entries; /* states of links, and of indexes that are not plain */
};

/* Extend the checksum: hash the previous sum and the new data. */
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

/* What was not examined may have changed: the checksum differs from every other. */
static void add_unexamined(struct aj_repo *repo, const char *by, const char *why)
{
	int64_t now_us = aj_now_us();
	add_sum(repo, by, &now_us, sizeof now_us);
	add_run(repo, by, why);
}

/* A configured path, relative to the workspace; NULL: it leads elsewhere. */
static const char *in_workspace(const struct reading *r, const char *base, const char *value)
{
	const char *root = r->at->path, *home = getenv("HOME");
	if (strlen(base) + strlen(value) + (home ? strlen(home) : 0) + 2 >= PATH_MAX)
		return NULL;
	if (strncmp(value, "~/", 2) == 0 && home)
		value = aj_printf(r->at->arena, "%s%s", home, value + 1);
	if (value[0] != '/')
		return aj_printf(r->at->arena, "%s%s%s", base, *base ? "/" : "", value);
	const char *rest = aj_path_rest(value, root);
	return rest && *rest ? aj_strdup(r->at->arena, rest + 1) : NULL;
}

static void on_variable(void *arg, const struct aj_gitconfig *v)
{
	struct reading *r = arg;
	char name[3 * AJ_GITCONFIG_NAME_BYTES + 4];
	if (!aj_gitconfig_runs(v))
		return;
	snprintf(name, sizeof name, "%s%s%s.%s", v->section, v->subsection[0] ? "." : "", v->subsection, v->key);
	add_run(r->repo, name, v->value);
	if (!r->base || strlen(v->value) >= sizeof v->value - 1)
		return;
	/* hooksPath is relative to the folder that contains `.git`, an included file to the including one. */
	if (strcmp(v->key, "hookspath") == 0)
		r->hooks_path = in_workspace(r, r->at->folder, v->value);
	else if (strncmp(v->section, "include", 7) == 0 && r->includes_count < INCLUDES_MAX &&
	         (r->includes[r->includes_count] = in_workspace(r, r->base, v->value)))
		r->includes_count++;
}

/* Read a file into r->text, cut at its size. -1: it is missing or no regular file, which the checksum records. */
static ssize_t read_file(struct reading *r, int dir, const char *name)
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
	/* An empty file counts as missing, and so does agentjail's placeholder for commondir. */
	if (bytes == 0 || (strcmp(name, "commondir") == 0 && strcmp(r->text, AJ_BLANK_ITSELF_TEXT) == 0))
		return -1;
	add_sum(r->repo, name, r->text, (size_t)bytes);
	if (bytes == FILE_BYTES) {
		add_sum(r->repo, "changed", &st.st_ctim, sizeof st.st_ctim);
		add_run(r->repo, name, "too large to be read completely");
	}
	return bytes;
}

static void read_config(struct reading *r, int dir, const char *name)
{
	ssize_t bytes = read_file(r, dir, name);
	if (bytes > 0 && !aj_gitconfig_read(r->text, (size_t)bytes, on_variable, r))
		add_run(r->repo, name, "a line that git would refuse; the lines after it were not read");
}

static void hash_file(struct reading *r, int dir, const char *name)
{
	ssize_t bytes = read_file(r, dir, name);
	if (bytes <= 0)
		return;
	r->text[strcspn(r->text, "\n")] = '\0';
	add_run(r->repo, name, r->text);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool is_sample(const char *name)
{
	size_t bytes = strlen(name);
	return bytes > 7 && strcmp(name + bytes - 7, ".sample") == 0;
}

static void read_hooks(struct reading *r, int dir, const char *folder)
{
	struct aj_arena *arena = r->at->arena;
	AJ_LIST(const char *) names = { 0 };
	struct stat st;
	if (fstatat(dir, folder, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, folder);
	for (const struct dirent *e; names.count < HOOKS_MAX && (e = aj_listing_next(&entries));)
		if (e->d_name[0] != '.' && !is_sample(e->d_name))
			*AJ_PUSH(arena, &names) = aj_strdup(arena, e->d_name);
	if (!entries.dir) {
		add_sum(r->repo, folder, &st.st_ino, sizeof st.st_ino);
		add_run(r->repo, folder, S_ISLNK(st.st_mode) ? "a symlink" : "cannot be listed");
		return;
	}
	if (entries.error || names.count == HOOKS_MAX)
		add_unexamined(r->repo, folder, entries.error ? "cannot be listed" : "too many entries: not all were examined");
	if (names.count) /* a list has no order */
		qsort(names.items, names.count, sizeof *names.items, by_name);
	for (size_t i = 0; i < names.count; i++) {
		char by[NAME_MAX + AJ_GITCONFIG_VALUE_BYTES + 2];
		if (fstatat(dirfd(entries.dir), names.items[i], &st, AT_SYMLINK_NOFOLLOW) < 0)
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
}

/* An old configuration may name files of the workspace, which the jail can change and which can name further ones. Each file is
 * read once, below the workspace. */
static void read_referenced(struct reading *r)
{
	for (size_t i = 0; i < r->includes_count; i++) {
		const char *path = r->includes[i], *slash = strrchr(path, '/');
		bool again = false;
		for (size_t k = 0; k < i; k++)
			again |= strcmp(r->includes[k], path) == 0;
		r->base = slash ? aj_strndup(r->at->arena, path, (size_t)(slash - path)) : "";
		if (!again)
			read_config(r, r->at->workspace, path);
	}
	if (r->hooks_path) /* the last hooksPath applies */
		read_hooks(r, r->at->workspace, r->hooks_path);
}

/* A list has no order. */
static void add_entries(struct reading *r)
{
	if (r->entries.count)
		qsort(r->entries.items, r->entries.count, sizeof *r->entries.items, by_name);
	for (size_t i = 0; i < r->entries.count; i++)
		add_sum(r->repo, "links", r->entries.items[i], strlen(r->entries.items[i]));
}

static void add_link(struct reading *r, int dir, const char *name, const char *path)
{
	char target[PATH_MAX];
	ssize_t bytes = readlinkat(dir, name, target, sizeof target - 1);
	target[bytes > 0 ? bytes : 0] = '\0';
	*AJ_PUSH(r->at->arena, &r->entries) = aj_printf(r->at->arena, "%s %s", path, target);
	add_run(r->repo, path, aj_printf(r->at->arena, "a symlink, which git writes through: %s", target));
}

/* Folders that git writes besides the git dir itself. `hooks` and `info` are held, and git writes objects under temporary names
 * and renames them. */
static bool written_by_git(const char *below, const char *name)
{
	if (!*below)
		return strcmp(name, "logs") == 0 || strcmp(name, "refs") == 0 || strcmp(name, "objects") == 0;
	return strncmp(below, "objects/", 8) != 0 || strcmp(name, "info") == 0 || strcmp(name, "pack") == 0;
}

/* One that was not plain before is reported when it has changed. */
static void read_index(struct reading *r, int dir, const char *name)
{
	struct stat st;
	cleanup_fd int fd = aj_beneath_open(dir, name, O_RDONLY);
	if (fd < 0 || aj_gitindex_file_plain(fd) || fstat(fd, &st) < 0)
		return;
	*AJ_PUSH(r->at->arena, &r->entries) = aj_printf(r->at->arena, "%s %ju %jd %jd.%09ld %o", name, (uintmax_t)st.st_ino,
	                                                (intmax_t)st.st_size, (intmax_t)st.st_ctim.tv_sec, st.st_ctim.tv_nsec,
	                                                st.st_mode);
	add_run(r->repo, name,
	        "by its paths git may write into a repository or out of the working tree, at the next `git restore .`");
}

/* Git writes through a symlink in its folder: a reflog that links to a shell's start-up file would put a commit's message there,
 * which the shell runs. */
static void read_entries(struct reading *r, int dir, const char *below, int depth, size_t *left)
{
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	for (const struct dirent *e; *left && (e = aj_listing_next(&entries)); --*left) {
		struct stat st;
		if (!*below && (strcmp(e->d_name, "index") == 0 || strncmp(e->d_name, "sharedindex.", 12) == 0))
			read_index(r, dir, e->d_name);
		if (e->d_type != DT_LNK && e->d_type != DT_DIR && e->d_type != DT_UNKNOWN)
			continue;
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if (S_ISLNK(st.st_mode))
			add_link(r, dir, e->d_name, aj_printf(r->at->arena, "%s%s", below, e->d_name));
		if (!S_ISDIR(st.st_mode) || !written_by_git(below, e->d_name))
			continue;
		cleanup_fd int next = openat(dir, e->d_name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next >= 0 && depth < LINKS_DEPTH)
			read_entries(r, next, aj_printf(r->at->arena, "%s%s/", below, e->d_name), depth + 1, left);
	}
	if (entries.dir && entries.error)
		add_unexamined(r->repo, *below ? below : "links", "cannot be listed");
}

/* An unfinished rebase: `git rebase --continue` runs its `exec` lines. */
static void read_todo(struct reading *r, int dir)
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
		add_run(r->repo, name, "too large to be read completely");
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

static void read_git_dir(struct reading *r, int dir, const char *folder)
{
	size_t left = LINKS_MAX;
	r->base = folder ? aj_printf(r->at->arena, "%s%s.git", folder, *folder ? "/" : "") : NULL;
	read_config(r, dir, "config");
	read_config(r, dir, "config.worktree");
	hash_file(r, dir, "commondir");
	read_hooks(r, dir, "hooks");
	read_todo(r, dir);
	hash_file(r, dir, "objects/info/alternates");
	read_entries(r, dir, "", 0, &left);
	add_entries(r);
	if (!left)
		add_unexamined(r->repo, "links", "too many files: not all were examined");
	if (folder)
		read_referenced(r);
}

void aj_gitrepo_read(struct aj_repo *repo, const struct aj_gitrepo_place *at, int dir, const char *name)
{
	static char text[FILE_BYTES + 1];
	struct reading r = { .repo = repo, .text = text, .at = at };
	repo->runs = json_array();
	add_sum(repo, repo->kind, repo->kind, strlen(repo->kind));
	if (strcmp(repo->kind, "file") == 0) {
		hash_file(&r, dir, name);
	} else if (strcmp(repo->kind, "symlink") == 0) {
		char target[PATH_MAX];
		ssize_t bytes = readlinkat(dir, name, target, sizeof target - 1);
		target[bytes > 0 ? bytes : 0] = '\0';
		add_sum(repo, name, target, strlen(target));
		add_run(repo, "symlink", target);
	} else {
		cleanup_fd int fd = aj_beneath_open(dir, name, O_PATH | O_DIRECTORY);
		if (fd >= 0)
			read_git_dir(&r, fd, at->folder);
	}
}
