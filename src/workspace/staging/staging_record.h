/* record.json of a state folder: the run that it belongs to, and whether that run has ended. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#include "policy/plan/plan.h"

struct aj_staging_record {
	const char *workspace;
	bool copy, direct;            /* as in struct aj_change_record */
	int64_t started_ns, ended_ns; /* CLOCK_REALTIME; ended_ns 0: not yet */
	char head[1024];              /* what is in the file HEAD of the workspace's repository at the start; "": none */
	uint64_t device, inode;       /* of the workspace's folder */
	const char *repository;       /* the main repository of a linked worktree; NULL: none */
	uint64_t repository_device, repository_inode, worktree_inode;
};

/* Replace the record in `dir` as a whole. The rest is the plan's. -1 with err. */
int aj_staging_record_write(const struct aj_plan *plan, const struct aj_staging_record *record, int dir, const char *id,
                            struct aj_error *err);
