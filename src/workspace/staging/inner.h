/* The staged workspace of one run, private to workspace/staging/. */
#pragma once
#include "policy/plan/request.h"
#include "sandbox/mounts/built.h"
#include "workspace/changes/run_state.h"
#include "workspace/staging/copy.h"
#include "workspace/staging/preflight.h"
#include "workspace/staging/staging.h"
#include "workspace/staging/staging_record.h"
#include "workspace/staging/unapplied.h"

/* A folder of the host and what the jail has in its stead: the workspace, or the main repository of a linked worktree. */
struct aj_staging_tree {
	const char *name, *path;      /* for messages; on the host */
	struct aj_built_mount *mount; /* NULL: there is none */
	int folder;                   /* of the host */
	int dir;                      /* of its layers, or of its copy */
	int mapped, mapped_layers;
	const char *changes; /* the folder that takes the changes */
	struct aj_copied_tree copied;
};

struct aj_staging {
	struct aj_arena arena;
	const struct aj_plan *plan;
	char id[AJ_CHANGES_ID];
	int all, dir, lock; /* the folder of all state folders, this run's, and its lock */
	struct aj_staging_record record;
	struct aj_staging_tree workspace, repository; /* without a mount: its changes are not kept apart, or there is none */
	bool copy, resumed, ready, reported;
	bool direct;                   /* the jail writes to the workspace itself, and the repository alone is kept apart */
	bool read;                     /* the run is only shown: neither its lock is taken nor its state changed */
	struct aj_unapplied unapplied; /* of the earlier run, where this one continues with its changes */
	struct aj_staging_unmapped unmapped;
};

int aj_staging_fail(struct aj_error *err, int errnum, const char *what);
/* The changes of a run count from here: they get later times of change than all that the files have at `since_ns`. */
void aj_staging_begin(struct aj_staging *a, int64_t since_ns);

/* Make the run's state folder, or take that of an earlier run, as the request has it, and hold its lock. -1 with err. */
int aj_staging_state_open(struct aj_staging *a, const struct aj_request *request, struct aj_error *err);
/* The newest ended run of the same policy and mode on the workspace, in resume.c. False: there is none. */
bool aj_staging_state_find(const struct aj_staging *a, char ret[AJ_CHANGES_ID]);
/* Open the state folder of a run that is only shown, which may be under way. -1 with err. */
int aj_staging_state_read(struct aj_staging *a, const char *id, struct aj_error *err);
/* Take the state folder of an earlier run. `newest`: where nothing in it waits it is removed, which is 1. -1 with err. */
int aj_staging_state_take(struct aj_staging *a, const char *id, bool newest, struct aj_error *err);
/* Remove it with everything in it, and the lock last. */
void aj_staging_state_remove(struct aj_staging *a);
/* Make the overlay's layers in the tree's folder, and name them in its mount. -1 with err. */
int aj_staging_layers_make(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request,
                           struct aj_error *err);
