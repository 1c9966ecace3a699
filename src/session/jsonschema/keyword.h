/* Private to session/jsonschema/: the row of a keyword, a compiled schema, and the state of a compilation and of a check.
 * Other code uses the table alone, to print it. */
#pragma once
#include <stdint.h>

#include "session/jsonschema/pointer.h"
#include "session/jsonschema/schema.h"
#include "session/jsonschema/value.h"

/* A keyword in one schema. Its `parse` decides which members are set. */
struct aj_rule {
	const struct aj_keyword *keyword;
	const json_t *json; /* the argument; of additionalProperties: the `properties` beside it, or NULL */
	long double number;
	size_t count;      /* of `schemas`, or the bound of a count */
	size_t skip;       /* of `items`: how many first items prefixItems checks */
	size_t cost;       /* steps of the budget that looking up all `keys` takes */
	unsigned types;    /* of `type` */
	const char **keys; /* of `required`; of `properties`: one for each of `schemas` */
	const struct aj_schema **schemas;
};

/* A schema or subschema. */
struct aj_schema {
	const struct aj_pointer *place; /* in the document that it was compiled from */
	unsigned types;                 /* of its `type`; all types without one */
	struct aj_rule *rules;          /* in the order of the table */
	size_t count;
	bool never; /* the schema `false` */
	int chain;  /* 0: not counted yet; else how many schemas check the same value from here on */
	bool counting;
	struct aj_schema *next; /* the list of a document's schemas */
};

struct aj_def {
	const char *name;
	struct aj_schema *schema;
};

struct aj_compiler {
	struct aj_arena *arena;
	struct aj_def defs[AJ_SCHEMA_MAX_DEFS];
	size_t def_count;
	struct aj_schema *all; /* linked by `next` */
	char *why;
	size_t why_bytes;
};

/* Compile the schema in `json`, whose place is `at`; NULL when it is refused. */
struct aj_schema *aj_compile(struct aj_compiler *c, const struct aj_pointer *at, const json_t *json);
bool aj_compile_into(struct aj_compiler *c, struct aj_schema *into, const struct aj_pointer *at, const json_t *json);
/* A pointer that lives as long as the schema. */
const struct aj_pointer *aj_compile_pointer(struct aj_compiler *c, const struct aj_pointer *up, const char *key, size_t index);
/* Format the reason why the schema is refused at `at`. Always returns false. */
bool aj_malformed(struct aj_compiler *c, const struct aj_pointer *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

struct aj_check {
	struct aj_budget budget;
	int depth;
	int quiet; /* above 0: a misfit is no error yet, and no reason is formatted */
	char *why;
	size_t why_bytes;
};

bool aj_fits(struct aj_check *c, const struct aj_schema *schema, const struct aj_pointer *at, const json_t *value);

struct aj_keyword {
	const char *name;
	unsigned applies;     /* types of values; others are not checked */
	bool in_place;        /* its schemas check the same value */
	const char *argument; /* the form of its argument, for people */
	const char *meaning;  /* one sentence without a full stop */
	bool (*parse)(struct aj_compiler *c, struct aj_rule *rule, const struct aj_pointer *at, const json_t *argument,
	              const json_t *schema);
	/* NULL: an annotation, which checks no value. */
	bool (*check)(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *at, const json_t *value);
};
/* In the order of the checks; ends with a row without a name. */
extern const struct aj_keyword aj_keywords[];

/* Common keywords that are refused, and what to use instead. Ends with a row without a name. */
struct aj_refused_keyword {
	const char *name, *instead;
};
extern const struct aj_refused_keyword aj_refused_keywords[];

/* The checks of session/jsonschema/check.c: one for each keyword, or for several similar ones. */
typedef bool aj_checker(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *at, const json_t *value);
aj_checker aj_check_type, aj_check_enum, aj_check_const, aj_check_all, aj_check_any, aj_check_one, aj_check_not;
aj_checker aj_check_required, aj_check_properties, aj_check_additional, aj_check_prefix, aj_check_items, aj_check_unique;
aj_checker aj_check_min_size, aj_check_max_size, aj_check_min, aj_check_max, aj_check_above, aj_check_below, aj_check_multiple;
