/* The packed references of a main repository: the host's, and the view's where the run has changed them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

struct aj_packed_ref {
	const char *name, *id;
};

/* Ordered by name, as git writes them. */
typedef AJ_LIST(struct aj_packed_ref) aj_packed_refs;

/* Reads the lines in place. NULL, or why git does not write such a text. */
const char *aj_packed_read(struct aj_arena *arena, char *text, aj_packed_refs *ret);
/* The id of a reference; NULL: it is not there. */
const char *aj_packed_id(const aj_packed_refs *refs, const char *name);
/* Is there a reference below the name, or one above it? git cannot have both. */
bool aj_packed_crosses(const aj_packed_refs *refs, const char *name);
