/* The run-time state of one jail's plan: all that is found or made when it starts. The plan itself never changes.
 * The supervisor makes its part before the launch. Init starts with a copy of it and adds its own part to that copy. */
#pragma once
#include "policy/plan/plan.h"

/* Of one mount of the plan. */
struct aj_built_mount {
	const struct aj_mount *row;
	/* The supervisor's part. */
	const char *source; /* shown in place of the row's: the copy of a folder; NULL: the row's */
	const char *layers; /* AJ_LAYERED: the folder with the layers `upper` and `work`, and its inode */
	dev_t layers_dev;
	ino_t layers_ino;
	int mapped, mapped_layers; /* detached mounts of the source and of `layers` with mapped ids; 0: opened by their paths */
	/* Init's part. */
	int fd;                    /* a detached mount of the source, or the source itself, opened with O_PATH; -1: none */
	mode_t type;               /* S_IF* of `fd`, or of the part that replaces it */
	dev_t device;              /* its number, of a device */
	int layers_mount;          /* a detached mount of `layers` */
	int refused, file_refused; /* the errno for which a bind replaced the overlay of the folder or file; else 0 */
	char *name; /* of a file, or of a folder beside one: its name in `folder`, from which it is cloned; NULL: not available */
	int folder;
};

/* A place of a writable workspace that stays unchanged: read-only, where it is. */
struct aj_protected_place {
	const char *target;      /* absolute, in the jail */
	const char *placeholder; /* shown where the place is missing: a name of sandbox/mounts/blanks.h; "": the place is there */
};

struct aj_built {
	const struct aj_plan *plan;
	struct aj_built_mount *mounts; /* one for each of the plan's; NULL for a jail that mounts nothing itself */
	AJ_LIST(struct aj_protected_place) protected;
	bool searched;                  /* for protected places */
	const char *changes;            /* the folder that takes the changes of a workspace which are kept apart; or NULL */
	const char *repository_changes; /* the same of the main repository; or NULL */
	bool reaches_sockets;           /* a folder is bound in place of its overlay: plan->in_reach applies */
};

/* Call aj_built_close() later. `plan` must outlive it. */
void aj_built_open(struct aj_built *built, const struct aj_plan *plan);
void aj_built_close(struct aj_built *built);

static inline const char *aj_built_source(const struct aj_built_mount *b)
{
	return b->source ? b->source : b->row->source;
}

/* AJ_DENY_*, and whether connects are mediated. */
static inline uint64_t aj_built_deny(const struct aj_built *built)
{
	return built->plan->deny | (built->reaches_sockets ? built->plan->in_reach.deny : 0);
}

static inline bool aj_built_mediated(const struct aj_built *built)
{
	return built->plan->mediated || (built->reaches_sockets && built->plan->in_reach.mediated);
}
