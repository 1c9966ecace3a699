/* Rules for a change in the main repository of a linked worktree, by its path and its kind alone. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "workspace/changes/change.h"

enum aj_main_verdict {
	AJ_MAIN_PART,    /* applied with all other parts, or not at all */
	AJ_MAIN_HOLDS,   /* a part because of which all parts wait for the repository's name */
	AJ_MAIN_HELD,    /* waits for its own name, and the parts are whole without it */
	AJ_MAIN_REFUSED, /* never applied, and the parts are whole without it */
	AJ_MAIN_SPOILS,  /* never applied, and the parts are not whole without it */
};

/* The kind of a part, by which its content is judged. */
enum aj_main_content { AJ_MAIN_DATA, AJ_MAIN_OBJECT, AJ_MAIN_REF, AJ_MAIN_HEAD, AJ_MAIN_LOG, AJ_MAIN_INDEX };

struct aj_main_rule {
	enum aj_main_verdict verdict;
	enum aj_main_content content;
	const char *why;   /* NULL for a part */
	size_t held_bytes; /* of `below`: the held place */
	bool own;          /* it belongs to the worktree, and no other one has it */
};

/* `below`: what follows in the path after the repository's folder. `worktree`: the name of the run's own. */
struct aj_main_rule aj_main_rule(const char *below, const char *worktree, const struct aj_change *change);
/* Does git take the name for one of a reference, as `refs/heads/x`? */
bool aj_main_ref_valid(const char *name);
