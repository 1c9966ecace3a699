/* Parts of workspace/changes/history, private to it. */
#pragma once
#include <sys/stat.h>

#include "base/buffer.h"
#include "workspace/changes/history.h"
#include "workspace/git/host_git.h"

/* A folder of the host's repository for objects that are not yet part of it. */
struct aj_incoming {
	char name[48];
	const char *path;
	int objects; /* the repository's folder of objects */
	int lock;    /* held while the fetch is at work; another fetch of the repository may be */
	struct stat owner;
};
/* `common`: the repository's git folder. Those that killed fetches left are removed. -1 with err. */
int aj_incoming_open(struct aj_incoming *incoming, const char *common, struct aj_arena *arena, struct aj_error *err);
/* Make the objects part of the repository. -1 with err. */
int aj_incoming_keep(struct aj_incoming *incoming, struct aj_error *err);
/* Bytes of the largest file in such a folder. */
uint64_t aj_incoming_largest(const char *path);
/* Remove what was not kept. */
void aj_incoming_close(struct aj_incoming *incoming);

struct aj_ref {
	const char *name, *oid;
};
/* References in the order of their names. */
struct aj_refs {
	AJ_LIST(struct aj_ref);
	const char *head; /* of HEAD, if it is a symbolic reference to a branch; NULL */
	size_t left_out;  /* with names that no reference of the host may have */
};
/* Lines "OID NAME", or as `git ls-remote --symref` prints them; the text is a claim. */
void aj_refs_read(struct aj_refs *ret, struct aj_arena *arena, const struct aj_buffer *text);
void aj_refs_sort(struct aj_refs *refs);
/* NULL: there is none. */
const char *aj_refs_find(const struct aj_refs *refs, const char *name);
/* The name below refs/agentjail/ID/ of a run's reference; NULL: it has none. */
const char *aj_ref_map(struct aj_arena *arena, const char *prefix, const char *name);

/* One repository at work. */
struct aj_history_work {
	struct aj_change_state *state;
	struct aj_arena *arena;
	struct aj_history_repo *repo;
	const char *prefix, *common; /* refs/agentjail/ID/; the main git folder of a linked worktree, else repo->dir */
	struct aj_git git;
	struct aj_refs host, run;
	struct aj_error err; /* of what failed: why it is UNREADABLE */
};

#define AJ_GIT(w, input, ret, ...) aj_git_run(&(w)->git, (const char *const[]){ __VA_ARGS__, NULL }, (input), (ret), &(w)->err)
/* The run's references, by the jail. -1 with w->err. */
int aj_history_read_run(struct aj_history_work *w);
/* Fetch these objects, one name a line, within the run's limits. -1 with w->err. */
int aj_history_fetch_wanted(struct aj_history_work *w, const struct aj_buffer *wanted);
