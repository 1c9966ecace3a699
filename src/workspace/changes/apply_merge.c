/* Merges files by `git merge-file`. The version that both began with is the blob of a commit: the merge base where the run has
 * commits of its own, else the host's HEAD as its log has it just before the run. */
#include "workspace/changes/apply_merge.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/apply_git.h"
#include "workspace/changes/apply_journal.h"

enum { TEXT_MAX = 16 << 20, CONFLICTS_MAX = 127 };

static const char no_base[] = "no commit has the version that both began with",
		  not_text[] = "only text files of up to 16 MiB are merged";

struct merge {
	struct aj_apply_history *h;
	const struct aj_change *c;
	struct aj_git git; /* of the host's repository around the file */
	const char *name;  /* of its git folder, as in struct aj_change */
	const char *path;  /* of the file in it */
};

/* The repository around the file, by the innermost `.git`. */
static bool find_repository(struct merge *m)
{
	struct aj_arena *arena = &m->h->arena;
	const struct aj_change_record *r = &m->h->s->record;
	const char *folder = aj_path_folder(m->c->path, arena);
	for (;; folder = aj_path_folder(folder, arena)) {
		bool top = strcmp(folder, ".") == 0;
		const char *git = top ? ".git" : aj_printf(arena, "%s/.git", folder);
		struct stat st;
		if (fstatat(m->h->s->workspace, git, &st, AT_SYMLINK_NOFOLLOW) == 0) {
			bool linked = top && S_ISREG(st.st_mode) && *r->repository;
			if (!S_ISDIR(st.st_mode) && !linked)
				return false;
			m->name = linked ? r->repository : git;
			m->path = top ? m->c->path : aj_path_rest(m->c->path, folder) + 1;
			m->git = (struct aj_git){ .dir = aj_apply_git_dir(r, m->name, arena) };
			return true;
		}
		if (top)
			return false;
	}
}

/* A whole second earlier is safe: what came between is in both versions. */
static const char *head_before_run(struct merge *m)
{
	time_t before = (time_t)(m->h->s->record.started_ns / 1000000000) - 1;
	char when[40];
	struct tm parts;
	if (!gmtime_r(&before, &parts) || !strftime(when, sizeof when, "%Y-%m-%dT%H:%M:%SZ", &parts))
		return NULL;
	return aj_printf(&m->h->arena, "HEAD@{%s}", when);
}

static const char *find_base(struct merge *m)
{
	for (size_t i = 0; i < m->h->history.repos.count; i++) {
		const struct aj_history_repo *r = &m->h->history.repos.items[i];
		if (strcmp(r->git, m->name) == 0 && r->run_oid && r->host_oid && strcmp(r->run_oid, r->host_oid) != 0)
			return r->base_oid;
	}
	return head_before_run(m);
}

static bool is_text(const struct aj_buffer *b)
{
	return !memchr(b->data ? b->data : "", '\0', b->bytes);
}

static bool read_base(struct merge *m, struct aj_buffer *ret)
{
	struct aj_error why = { 0 };
	const char *commit = find_base(m);
	if (!commit)
		return false;
	const char *const argv[] = { "cat-file", "blob", aj_printf(&m->h->arena, "%s:%s", commit, m->path), NULL };
	return aj_git_run(&m->git, argv, NULL, ret, &why) == 0;
}

static bool read_file(int top, const char *path, bool force, struct aj_buffer *ret)
{
	struct stat st;
	cleanup_fd int place = aj_node_place(top, path, force);
	cleanup_fd int fd = place < 0 ? -1 : aj_node_open_place(place, force, &st);
	if (fd < 0 || st.st_size > TEXT_MAX)
		return false;
	size_t bytes = (size_t)st.st_size;
	if (aj_read_all(fd, aj_buffer_reserve(ret, bytes), bytes) < 0)
		return false;
	ret->bytes = bytes;
	return true;
}

static bool write_file(int dir, const char *name, const struct aj_buffer *b)
{
	cleanup_fd int fd = aj_beneath_open_here(dir, name, O_WRONLY | O_CREAT | O_TRUNC);
	return fd >= 0 && aj_write_all(fd, b->data, b->bytes) == 0 && fsync(fd) == 0;
}

enum { HOST, BASE, RUN, SIDES };
static const char *const files[SIDES] = { AJ_MERGED "host", AJ_MERGED "base", AJ_MERGED "run" };

/* In the state folder, by the caller's own ids: git needs no repository for it. */
static int merge_files(struct merge *m, const struct aj_buffer sides[SIDES], struct aj_buffer *ret)
{
	int dir = m->h->s->dir;
	char state[PATH_MAX];
	struct aj_error why = { 0 };
	const char *paths[SIDES];
	if (!aj_fd_path(dir, state, sizeof state))
		return -1;
	for (int i = 0; i < SIDES; i++) {
		paths[i] = aj_printf(&m->h->arena, "%s/%s", state, files[i]);
		if (!write_file(dir, files[i], &sides[i]))
			return -1;
	}
	struct aj_git git = { .dir = state };
	const char *const argv[] = { "merge-file", "-p",        "-q",        "-L",        "host",     "-L", "before",
		                     "-L",         m->h->s->id, paths[HOST], paths[BASE], paths[RUN], NULL };
	return aj_git_run(&git, argv, NULL, ret, &why);
}

int aj_apply_merge(struct aj_apply_history *h, const struct aj_change *c, uint64_t number, const char **ret_why)
{
	struct merge m = { .h = h, .c = c };
	struct aj_change_side side = aj_change_side(h->s, c->path);
	struct aj_buffer sides[SIDES] = { 0 }, merged = { 0 };
	char name[AJ_JOURNAL_NAME];
	int conflicts = -1;
	*ret_why = not_text;
	if (S_ISREG(c->is.st_mode) && S_ISREG(c->was.st_mode) && read_file(side.host, side.path, false, &sides[HOST]) &&
	    read_file(side.view, side.path, true, &sides[RUN]) && is_text(&sides[HOST]) && is_text(&sides[RUN])) {
		*ret_why = no_base;
		if (find_repository(&m) && read_base(&m, &sides[BASE]) && is_text(&sides[BASE]))
			conflicts = merge_files(&m, sides, &merged);
	}
	snprintf(name, sizeof name, AJ_MERGED "%" PRIu64, number);
	if (conflicts > CONFLICTS_MAX || (conflicts >= 0 && !write_file(h->s->dir, name, &merged))) {
		*ret_why = "git merge-file failed";
		conflicts = -1;
	}
	for (int i = 0; i < SIDES; i++) {
		unlinkat(h->s->dir, files[i], 0);
		aj_buffer_free(&sides[i]);
	}
	aj_buffer_free(&merged);
	return conflicts;
}

void aj_apply_merge_clean(int dir)
{
	struct aj_entries names = { 0 };
	if (aj_change_state_interrupted(dir) || aj_entries_read(dir, &names) < 0)
		return;
	for (size_t i = 0; i < names.count; i++)
		if (strncmp(names.items[i], AJ_MERGED, strlen(AJ_MERGED)) == 0)
			unlinkat(dir, names.items[i], 0);
	aj_entries_free(&names);
}
