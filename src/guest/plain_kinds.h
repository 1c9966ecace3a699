/* The types of nodes that plain code has, with their fields.
 * Code with a node of any other type is declined. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "guest/python.h"

/* The parts of a node that are looked at, besides its children. */
enum aj_plain_rule {
	AJ_PLAIN_NODE,
	AJ_PLAIN_NAME,
	AJ_PLAIN_ATTRIBUTE,
	AJ_PLAIN_CALL,
	AJ_PLAIN_ARGUMENT,
	AJ_PLAIN_FUNCTION,
	AJ_PLAIN_CLASS,
	AJ_PLAIN_HANDLER,
	AJ_PLAIN_SCOPE,
	AJ_PLAIN_IMPORT,
	AJ_PLAIN_IMPORT_FROM
};

enum { AJ_PLAIN_FIELDS = 8 };

struct aj_plain_kind {
	object *type;
	enum aj_plain_rule rule;
	size_t count;
	object *fields[AJ_PLAIN_FIELDS];
	bool empty[AJ_PLAIN_FIELDS];
};

/* False: a class of _ast is missing, or has more fields than this file has room for. */
bool aj_plain_find_kinds(void);
/* NULL: not a type of plain code. */
const struct aj_plain_kind *aj_plain_kind_of(object *type);
