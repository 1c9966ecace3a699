/* A policy and its plan on this host, for `agentjail policy explain`. */
#pragma once
#include "cli/policy/policycmd.h"

struct aj_explained {
	struct aj_arena *arena;
	struct aj_loaded loaded;
	struct aj_plan plan; /* for inspection */
	const char *rootfs;  /* the Python tree's folder; NULL where there is none */
};

/* Answer args->questions. Returns 0 when all is allowed, else 1. */
int aj_explain_questions(const struct aj_explained *explained, const struct aj_policy_args *args);
