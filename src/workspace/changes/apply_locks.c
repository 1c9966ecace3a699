/* Plans the locks of an apply: a repository in the workspace is locked by its index, and in the main repository of a linked worktree each
 * file is locked as git itself locks it, by a file beside it. It takes no lock: a step of the journal does. */
#include "workspace/changes/apply_locks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"

static void add(struct aj_journal_writer *journal, const char *path)
{
	aj_journal_add(journal, &(struct aj_apply_step){ .op = AJ_STEP_LOCK, .mode = S_IFREG, .path = path });
}

static void lock_in_workspace(struct aj_apply_locks *l, struct aj_journal_writer *journal, const struct aj_change_state *s,
                              const struct aj_change *c)
{
	char path[PATH_MAX];
	struct stat st;
	if (!c->unit_bytes || c->unit_bytes + sizeof "/index.lock" > sizeof path ||
	    (strncmp(l->locked, c->path, c->unit_bytes) == 0 && !l->locked[c->unit_bytes]))
		return;
	memcpy(path, c->path, c->unit_bytes);
	path[c->unit_bytes] = '\0';
	memcpy(l->locked, path, c->unit_bytes + 1);
	cleanup_fd int place = aj_beneath_open_here(s->workspace, path, O_PATH);
	if (place < 0 || fstat(place, &st) < 0 || !S_ISDIR(st.st_mode) || !aj_beneath_has(place, "HEAD"))
		return;
	memcpy(path + c->unit_bytes, "/index.lock", sizeof "/index.lock");
	add(journal, path);
}

/* The index, HEAD and packed-refs are locked for any change: by them git of the host decides what to keep and where to write. */
static void lock_main(struct aj_apply_locks *l, struct aj_journal_writer *journal, const struct aj_change_record *r,
                      const struct aj_change *c)
{
	static const char *const always[] = { "%s/packed-refs.lock", "%s/worktrees/%s/index.lock", "%s/worktrees/%s/HEAD.lock" };
	static const char *const others[] = { "config", "config.worktree", "shallow" };
	char path[PATH_MAX + 16];
	const char *below = aj_path_rest(c->path, r->repository) + 1;
	mode_t mode = c->is.st_mode ? c->is.st_mode : c->was.st_mode;
	bool locked = S_ISREG(mode) && (aj_path_below(below, "refs") || strstr(below, "/refs/"));
	for (size_t i = 0; i < sizeof always / sizeof *always && !l->main; i++) {
		snprintf(path, sizeof path, always[i], r->repository, r->worktree);
		add(journal, path);
	}
	l->main = true;
	for (size_t i = 0; i < sizeof others / sizeof *others && !locked; i++)
		locked = S_ISREG(mode) && strcmp(below, others[i]) == 0;
	if (!locked || aj_path_below(below, "logs") || strstr(below, "/logs/"))
		return;
	snprintf(path, sizeof path, "%s.lock", c->path);
	add(journal, path);
}

void aj_apply_lock(struct aj_apply_locks *locks, struct aj_journal_writer *journal, const struct aj_change_state *state,
                   const struct aj_change *change)
{
	if (change->path[0] == '/')
		lock_main(locks, journal, &state->record, change);
	else
		lock_in_workspace(locks, journal, state, change);
}
