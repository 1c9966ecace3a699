/* State folders: what is kept of a run over a private view of its workspace, in $XDG_STATE_HOME/agentjail/changes/ID/. */
#pragma once
#include <sys/stat.h>

#include "workspace/changes/copied_files.h"
#include "workspace/changes/run_record.h"
#include "workspace/changes/settled.h"

struct aj_change_state {
	char id[AJ_CHANGES_ID];
	int dir, lock;                   /* the state folder; its lock, which is held for aj_change_state_lock() */
	int view, workspace;             /* the run's tree (upper or copy), and the workspace now; -1: not opened */
	int repository_view, repository; /* the same of the main repository of a linked worktree; -1: not opened, or none */
	bool running;                    /* its supervisor lives */
	bool interrupted;                /* an apply was begun and not ended */
	struct aj_arena arena;
	struct aj_change_record record;
	struct aj_marks marks, originals;
	struct aj_base base, repository_base; /* of copies */
	const struct aj_git_named *reached;   /* NULL: not searched, see workspace/changes/approval_reached.h */
};

/* How the names of an apply's own files begin, in a workspace and, for its journal, in the state folder. */
#define AJ_CHANGES_OWN ".agentjail-"
#define AJ_CHANGES_JOURNAL "journal."
bool aj_changes_own(const char *name);
/* Is there a journal in the state folder? */
bool aj_change_state_interrupted(int dir);

#define AJ_NO_CHANGE_STATE                                                                                                  \
	{                                                                                                                   \
		.dir = -1, .lock = -1, .view = -1, .workspace = -1, .repository_view = -1, .repository = -1, .base.fd = -1, \
		.repository_base.fd = -1                                                                                    \
	}

/* Below the state folder: what a run has of the main repository, like what it has of the workspace. */
#define AJ_CHANGES_REPOSITORY "repository"

/* The folder of all state folders; -1 with errno (ENOENT: there was no such run yet). `make`: make it where it is missing. */
int aj_changes_folder(bool make);
/* Does the ID of a run begin with this word? */
bool aj_changes_has_run(int all, const char *word);
/* Open the run's state folder and read its record. `id`: whole, or the beginning of one alone. -1 with err. */
int aj_change_state_open(int all, const char *id, struct aj_change_state *ret, struct aj_error *err);
/* Open its trees, the workspace and the main repository, which must be the folders that the run had. -1 with err. */
int aj_change_state_trees(struct aj_change_state *state, struct aj_error *err);
/* Open those of the main repository alone, which outlasts a worktree. -1 with err. */
int aj_change_state_repository(struct aj_change_state *state, struct aj_error *err);
/* Is the main repository's worktree the one that the run had? It may have been removed since, and another one made under its
 * name. */
bool aj_change_state_has_worktree(const struct aj_change_state *state);
/* Does the host's tree or the run's have this path? The trees need not be open. */
bool aj_change_state_has_path(const struct aj_change_state *state, const char *path);
/* The trees that contain the path of a change: a relative one in those of the workspace, an absolute one in those of the main
 * repository. */
struct aj_change_side {
	int view, host; /* the run's tree, and the host's; -1: neither of them has such a path */
	const struct aj_base *base;
	const char *path; /* in both; "." for their top */
};
struct aj_change_side aj_change_side(const struct aj_change_state *state, const char *path);
/* The path on the host of the path of a change; `.` is the workspace. */
const char *aj_change_host_path(const struct aj_change_record *record, const char *path, struct aj_arena *arena);
/* The regular file that the run left at the path of a change; -1 with errno. */
int aj_change_open_file(const struct aj_change_state *state, const char *path, struct stat *ret);
/* No run and no other apply, from now on. -1 with err. */
int aj_change_state_lock(struct aj_change_state *state, struct aj_error *err);
void aj_change_state_close(struct aj_change_state *state);
/* Remove a state folder with everything in it; the run must have ended, and its lock be held. -1 with err. */
int aj_change_state_remove(int all, struct aj_change_state *state, struct aj_error *err);
