/* The requests of the protocol: tables of operations and members, from which a frame's body is parsed.
 * The tables of docs/reference/protocol.md are printed from these. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/json/scan.h"
#include "policy/plan/snippet.h"
#include "service/protocol/fault.h"

enum {
	AJ_PROTOCOL = 1, /* the version that hello names */
	AJ_REQUEST_BYTES = 4 << 20,
	AJ_REQUEST_DEPTH = 200,
	AJ_REQUEST_VALUES = 100000, /* beside those of `inputs` and `variables` */
	AJ_ID_BYTES = 128,
};

enum aj_op {
	AJ_OP_EXEC,
	AJ_OP_OPEN,
	AJ_OP_RUN,
	AJ_OP_SET,
	AJ_OP_GET,
	AJ_OP_VARS,
	AJ_OP_WRITE_FILES,
	AJ_OP_READ_FILE,
	AJ_OP_LIST_FILES,
	AJ_OP_REMOVE_FILE,
	AJ_OP_FORK,
	AJ_OP_CHECKPOINT,
	AJ_OP_ROLLBACK,
	AJ_OP_FORGET,
	AJ_OP_TOOLS,
	AJ_OP_TOOL_RESULT,
	AJ_OP_INTERRUPT,
	AJ_OP_CLOSE,
	AJ_OP_STATS,
	AJ_OP_PING,
	AJ_OPS,
};

/* The members of requests. */
enum aj_member {
	AJ_M_OP,
	AJ_M_ID,
	AJ_M_POLICY,
	AJ_M_TENANT,
	AJ_M_WORKSPACE,
	AJ_M_TOOLS,
	AJ_M_IMPORTS,
	AJ_M_IMPORTS_CHECKED,
	AJ_M_BUILTINS,
	AJ_M_LAYER,
	AJ_M_CLOCK,
	AJ_M_SLEEP_MAX,
	AJ_M_QUEUE_MS,
	AJ_M_BRANCHING,
	AJ_M_SESSION,
	AJ_M_CHECKPOINT,
#define AJ_CONSTANT(constant, ...) AJ_M_##constant,
	AJ_SNIPPET_OPTIONS(AJ_CONSTANT)
#undef AJ_CONSTANT
	    AJ_M_VARIABLES,
	AJ_M_NAME,
	AJ_M_STREAM,
	AJ_M_PATH,
	AJ_M_OFFSET,
	AJ_M_BYTES,
	AJ_M_REQUEST,
	AJ_M_CALL,
	AJ_M_VALUE,
	AJ_M_ERROR,
	AJ_MEMBERS,
};

struct aj_query {
	json_t *doc; /* owns the rest */
	enum aj_op op;
	size_t weight;              /* an upper bound of the bytes of memory that it takes */
	json_t *member[AJ_MEMBERS]; /* NULL: absent; else of the right type and range. `inputs` and `variables`: empty */
	char *passed_on;            /* owned; the text of `inputs` or `variables`, an object; NULL: there is none */
};

/* Read one frame's body, which `scan` has been fed. `inputs` and `variables`, which are passed on to a jail, stay text. -1 with
 * `ret_fault`: free `ret` too; it has its AJ_M_ID if that could be read. */
int aj_query_read(const char *text, size_t bytes, struct aj_scan *scan, struct aj_query *ret, struct aj_fault *ret_fault);
void aj_query_free(struct aj_query *query);
/* NULL when the member is absent. */
const char *aj_query_text(const struct aj_query *query, enum aj_member member);
uint64_t aj_query_count(const struct aj_query *query, enum aj_member member);

/* The members of a snippet, which point into the query. */
void aj_query_snippet(const struct aj_query *query, struct aj_snippet *ret);

/* For the tables of the documentation. aj_op_holds(): whether `op` has `member`: "yes", "may", "one" of several, or NULL. */
const char *aj_op_name(enum aj_op op);
const char *aj_op_help(enum aj_op op);
const char *aj_op_holds(enum aj_op op, enum aj_member member);
const char *aj_member_name(enum aj_member member);
const char *aj_member_type(enum aj_member member);
const char *aj_member_help(enum aj_member member);
