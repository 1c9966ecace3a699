/* A result as JSON text: its members are written one after another, in the order of jail/result/fields.c. */
#pragma once
#include <stdbool.h>

#include "base/buffer.h"
#include "base/json/json.h"

/* Ready for use when zeroed, with `brief` set. */
struct aj_members {
	struct aj_buffer text; /* of the members so far */
	bool brief;            /* leave out what each result of a policy repeats, and members that say nothing */
	/* Internal: of the last member, whose value may still be growing. */
	const char *name; /* NULL: it is complete */
	size_t begin, value;
	size_t truncated_end; /* of the object `truncated`, its bracket; 0: there is none */
};

/* Begin the member of this name, a field of the result itself: append its value to what is returned. */
struct aj_buffer *aj_member(struct aj_members *members, const char *name);
void aj_member_json(struct aj_members *members, const char *name, json_t *value /* stolen */);
/* Add the files of /output, and what was left out; either may be NULL. Takes no reference. */
void aj_members_add_files(struct aj_members *members, json_t *files, json_t *skipped);
/* The members so far as a tree (new reference). */
json_t *aj_members_tree(struct aj_members *members);
/* No member follows: the text is a JSON object. */
void aj_members_end(struct aj_members *members);
