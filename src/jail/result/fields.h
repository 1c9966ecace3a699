/* The table of a result's fields, from which its claims, docs/reference/result.md, its JSON Schema and agentjail(1) are made. */
#pragma once
#include <stdbool.h>

enum aj_field_types {
	AJ_FIELD_ANY, /* any JSON value */
	AJ_FIELD_STRING = 1,
	AJ_FIELD_INTEGER = 2,
	AJ_FIELD_BOOLEAN = 4,
	AJ_FIELD_OBJECT = 8,
	AJ_FIELD_ARRAY = 16,
	AJ_FIELD_NULL = 32,
};

struct aj_field {
	/* `a.b` is the member b of the object a, `a[]` is an item of the array a, `a.*` any member of the object a. */
	const char *path;
	unsigned types;
	bool claimed; /* else the supervisor attests it */
	bool sent;    /* a guest may send it; a claim is refused for any other member */
	bool unbrief; /* not in a brief result: equal for all results of a policy, known to the caller, or useless to a program */
	const char *when;  /* when it is there; NULL: always, in the object that it is a member of */
	const char *help;  /* a sentence without its period */
	const char *words; /* the strings that it may be, with spaces between; NULL: any string */
	const char *like;  /* the path of an object with the same members */
	unsigned most;     /* of what is sent: bytes of a string, or items of an array; 0: what the whole result may have */
};

/* In the order in which a result has them. The last row has no path. */
extern const struct aj_field aj_fields[];

/* Whether this path, or the rest of one, is a single name: that of a field of the result itself, not of an object or array. */
bool aj_field_is_name(const char *path);
/* The row of a member of the result itself, which must be in the table. */
const struct aj_field *aj_field_of_result(const char *name);
