/* What a run did to the history of the workspace's repositories, fetched into the host's by the host's git.
 *
 * A repository of the run is read by git-upload-pack in a jail. Its branches, tags, HEAD, stash entries and index arrive as
 * references below refs/agentjail/ID/ of the host's repository, and no other reference, no configuration, hook or index of the
 * host's changes. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "workspace/changes/run_state.h"

enum { AJ_HISTORY_SUBMODULE = 0160000 }; /* the mode of a commit in a tree */
enum { AJ_HISTORY_OID = 65 };            /* hex digits of SHA-256, and a NUL */

enum aj_history_verdict {
	AJ_HISTORY_SAME,    /* nothing to move: the run's HEAD is the host's, an ancestor of it, or neither has a commit */
	AJ_HISTORY_FORWARD, /* `branch` (or a detached HEAD) of the host can move from host_oid, which may be NULL, to run_oid */
	AJ_HISTORY_APART,   /* both went on, or the run is on another branch: references alone */
	AJ_HISTORY_NEW,     /* the host has no repository there */
	AJ_HISTORY_MADE,    /* the same, and aj_history_make() has made it */
	AJ_HISTORY_DELETED, /* the run has none any more */
	AJ_HISTORY_UNREADABLE, /* `why` says so: no git, a damaged repository, a limit; the history stays in the run's layer */
	AJ_HISTORY_VERDICTS
};

/* A path that differs between the commits `base_oid` and `run_oid` (FORWARD, APART). */
struct aj_history_path {
	const char *path; /* relative to the workspace, as in struct aj_change */
	const char *oid;  /* of the blob in run_oid; NULL: deleted there, or a submodule */
	unsigned mode;    /* in run_oid: 0100644, 0100755, 0120000, 0160000; 0: deleted */
};

/* A reference of the run that the host's repository does not have with this value. */
struct aj_history_ref {
	const char *name;      /* refs/agentjail/ID/... of the host's repository */
	const char *named;     /* the run's own: refs/heads/main, refs/tags/v1, HEAD; refs/agentjail/index and
	                        * refs/agentjail/stash/0 are made of its data */
	const char *oid, *was; /* in the run; what the host's reference of the same name has, NULL: none */
};

struct aj_history_repo {
	const char *git;  /* path of the git folder, as in struct aj_change; absolute for a main repository */
	const char *tree; /* its working tree: "." or "lib"; NULL: bare */
	/* The same on the host, as absolute paths, for struct aj_git; of a linked worktree `dir` is its folder in the main
	 * repository. NULL: the host has none there, or none that git may be run on. */
	const char *dir, *work;
	const char *branch;     /* refs/heads/... that the host has checked out; NULL: detached, or no host repository */
	const char *run_branch; /* the same of the run; NULL: detached, or without a commit */
	const char *host_oid;   /* of the host's HEAD; NULL: it has no commit */
	const char *run_oid;    /* of the run's HEAD; NULL: it has no commit */
	const char *base_oid;   /* their merge base; NULL: none */
	enum aj_history_verdict verdict;
	const char *why;     /* for people, of APART, DELETED and UNREADABLE; without control characters */
	const char *command; /* takes an APART history over, typed in the workspace: `git merge agentjail/ID/main`; NULL: none */
	const char *index_oid; /* a commit with what the run has staged and not committed; also in `refs`. NULL: nothing */
	size_t left_out;       /* references of the run whose names no reference of the host may have */
	AJ_LIST(struct aj_history_path) touched; /* sorted by path (strcmp) */
	AJ_LIST(struct aj_history_ref) refs;     /* sorted by `named` */
};

struct aj_history {
	AJ_LIST(struct aj_history_repo) repos; /* an outer repository before the ones inside it */
};

/* Fetch the history of these repositories of the run, paths of changes with `repository` set, and of their submodules, and
 * compare. The trees of `state` are open. What cannot be fetched is UNREADABLE. Safe to repeat, and while the run is under
 * way. */
void aj_history_fetch(struct aj_change_state *state, const char *const *repos, size_t count, struct aj_arena *arena,
                      struct aj_history *ret);
/* The entry for the repository that contains `path` in its working tree, the innermost one; NULL: none. */
const struct aj_history_repo *aj_history_of(const struct aj_history *history, const char *path);
/* The entry in `touched`; NULL: the commits do not touch that path. */
const struct aj_history_path *aj_history_touched(const struct aj_history_repo *repo, const char *path);
/* Make a repository that the host does not have (verdict NEW), with the run's branches, tags and HEAD. -1 with err, and then
 * nothing is left. */
int aj_history_make(struct aj_change_state *state, const struct aj_history_repo *repo, struct aj_error *err);
/* Delete refs/agentjail/ID/ of the host's repositories of this run. A repository without such references is left alone. */
int aj_history_forget(struct aj_change_state *state, struct aj_error *err);
/* `git -C TREE VERB REF` for a shell: a run may have chosen both names. `ref` begins with refs/. */
const char *aj_history_command(struct aj_arena *arena, const struct aj_history_repo *repo, const char *verb, const char *ref);
/* "refs/agentjail/ID/": what the names of a run's references begin with in the host's repositories. */
const char *aj_history_prefix(const char *id, struct aj_arena *arena);
