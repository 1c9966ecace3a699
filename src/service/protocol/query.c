/* Reads requests by the tables: a frame's body becomes an operation with members of the right types, or an error that names the
 * wrong member. It carries no operation out, and accepts no unknown member. */
#include "service/protocol/query.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/python_name.h"
#include "base/text.h"

enum { WORDS_BYTES = 80 };

/* Those of a snippet's members, and more. */
enum kind { TEXT, NAME, SWITCH, EITHER, CHOICE, COUNT, TIME, OBJECT, FILES, PATH, ID, ARRAY, ANY, ERROR, STRINGS };

/* clang-format off */
static const char *const kind_types[] = {
	[TEXT] = "string",    [NAME] = "string",    [SWITCH] = "boolean",  [EITHER] = "string",  [CHOICE] = "string",
	[COUNT] = "integer",  [TIME] = "integer",   [OBJECT] = "object",   [FILES] = "array",    [ARRAY] = "array",
	[ANY] = "any",        [ERROR] = "object",   [STRINGS] = "array of strings",
	[PATH] = "string, an absolute path",        [ID] = "string or integer",
};

static const struct {
	const char *name;
	enum kind kind;
	int64_t max; /* bytes of a string, or the largest number */
	const char *help, *words; /* words: of EITHER and CHOICE, as in policy/plan/snippet.h */
} members[AJ_MEMBERS] = {
	[AJ_M_OP] = { "op", NAME, 32, "the operation", NULL },
	[AJ_M_ID] = { "id", ID, AJ_ID_BYTES,
	  "your name for this request: a string of 1 to 128 bytes or an integer. "
	  "Its answer and its events carry this id; no two requests under way on a connection have the same", NULL },
	[AJ_M_POLICY] = { "policy", NAME, 128, "one of `hello.policies`; without it the first of them", NULL },
	[AJ_M_TENANT] = { "tenant", NAME, 128, "on whose behalf. Jails of two tenants never come from the same zygote", NULL },
	[AJ_M_WORKSPACE] = { "workspace", PATH, 4095,
	  "the folder of the host that the jail sees at /workspace, under a policy that has one", NULL },
	[AJ_M_TOOLS] = { "tools", ARRAY, 0, "declarations of tools, see docs/reference/tools.md", NULL },
	[AJ_M_IMPORTS] = { "imports", STRINGS, 0,
	  "modules that the code may import, in place of python.imports of the policy: `json`, "
	  "`numpy.*` with its submodules, `*`. See below", NULL },
	[AJ_M_IMPORTS_CHECKED] = { "imports_checked", NAME, 32,
	  "`before` or `run`, in place of python.imports_checked of the policy", NULL },
	[AJ_M_BUILTINS] = { "builtins", NAME, 32,
	  "`minimal`, `static`, `standard` or `full`, in place of python.builtins of the policy. See below", NULL },
	[AJ_M_LAYER] = { "layer", SWITCH, 0,
	  "whether the Python layer is on, in place of python.layer of the policy. See below", NULL },
	[AJ_M_CLOCK] = { "clock", NAME, 64,
	  "the time that time and datetime show, in place of python.clock of the policy: `real`, "
	  "a fixed time in UTC (`2026-01-01T00:00:00Z`), or a shift (`+24h`, `-90s`)", NULL },
	[AJ_M_SLEEP_MAX] = { "sleep_max", NAME, 32,
	  "longest time that one call of time.sleep() takes (`100ms`), in place of python.sleep_max of the policy, "
	  "and no longer than that", NULL },
	[AJ_M_BRANCHING] = { "branching", SWITCH, 0,
	  "whether the session can be forked, kept and rolled back; "
	  "writes inside are then bounded by mounts alone, not by Landlock too. "
	  "Not under a policy that needs a cold start, such as one with masks", NULL },
	[AJ_M_SESSION] = { "session", NAME, 64, "a session's name, as the answer to `open` gave it", NULL },
	[AJ_M_CHECKPOINT] = { "checkpoint", COUNT, INT64_MAX,
	  "what `checkpoint` answered, to this session or to one that has the same origin", NULL },
#define MEMBER(constant, member, name, kind, most, words, frame, key, text, more) \
	[AJ_M_##constant] = { name, kind, most, text more, words },
	AJ_SNIPPET_OPTIONS(MEMBER)
#undef MEMBER
	[AJ_M_VARIABLES] = { "variables", OBJECT, 0,
	  "variables to set: name to value. Typed tags become what they stand for", NULL },
	[AJ_M_NAME] = { "name", NAME, 1024, "a variable's name", NULL },
	[AJ_M_QUEUE_MS] = { "queue_ms", COUNT, AJ_TIMEOUT_MS_MAX,
	  "how long the request may wait for a jail before it fails as `busy`; "
	  "default and limit: the service's `--queue-time`; 0: do not wait", NULL },
	[AJ_M_STREAM] = { "stream", SWITCH, 0, "whether output is also sent as it comes, in events `stdout` and `stderr`", NULL },
	[AJ_M_PATH] = { "path", PATH, 1000, "a path of the jail: /tmp, /input or /output, or below one of them", NULL },
	[AJ_M_OFFSET] = { "offset", COUNT, INT64_MAX, "where in the file to begin; without it 0", NULL },
	[AJ_M_BYTES] = { "bytes", COUNT, INT64_MAX, "how many bytes at most; never more than 1,048,576", NULL },
	[AJ_M_REQUEST] = { "request", ID, AJ_ID_BYTES, "the `id` of a request that is under way", NULL },
	[AJ_M_CALL] = { "call", COUNT, INT64_MAX, "the event's `call`", NULL },
	[AJ_M_VALUE] = { "value", ANY, 0, "what the tool gave", NULL },
	[AJ_M_ERROR] = { "error", ERROR, 0, "what the tool raised: `{\"type\": \"ValueError\", \"message\": \"...\"}`", NULL },
};

_Static_assert(AJ_MEMBERS <= 64, "a set of members is 64 bits");
#define M(x) (1ull << AJ_M_##x)
#define PLACE (M(POLICY) | M(TENANT) | M(WORKSPACE) | M(TOOLS) | PYTHON | M(QUEUE_MS))
#define PYTHON (M(IMPORTS) | M(IMPORTS_CHECKED) | M(BUILTINS) | M(LAYER) | M(CLOCK) | M(SLEEP_MAX))
#define BIT(constant, ...) | M(constant)
#define SNIPPET ((M(STREAM) AJ_SNIPPET_OPTIONS(BIT)) & ~M(CODE))

static const struct {
	const char *name;
	uint64_t must, may, one; /* one: exactly one of these */
	const char *help;
} ops[AJ_OPS] = {
	[AJ_OP_EXEC] = { "exec", M(ID) | M(CODE), PLACE | SNIPPET, 0,
	  "run one snippet in a jail of its own. The answer is the result" },
	[AJ_OP_OPEN] = { "open", M(ID), PLACE | M(BRANCHING) | M(BRIEF) | M(FILES) | M(SEED), 0,
	  "open a session: a jail that lasts. The answer is `{\"session\": NAME, \"policy\": NAME, \"warm\": BOOLEAN}`" },
	[AJ_OP_RUN] = { "run", M(ID) | M(SESSION) | M(CODE), SNIPPET, 0, "run a snippet in a session. The answer is the result" },
	[AJ_OP_SET] = { "set", M(ID) | M(SESSION) | M(VARIABLES), M(RUN_ID), 0,
	  "set variables in a session. The answer is a result too" },
	[AJ_OP_GET] = { "get", M(ID) | M(SESSION) | M(NAME), M(HANDLES) | M(TIMEOUT_MS) | M(RUN_ID), 0,
	  "read a variable of a session. The answer is a result, with the variable's `value`, `repr` and `type`; "
	  "the error is a `NameError` where there is none of that name. "
	  "No code is run but the value's own `__repr__` and `__str__`" },
	[AJ_OP_VARS] = { "vars", M(ID) | M(SESSION), M(TIMEOUT_MS) | M(RUN_ID), 0,
	  "list the variables of a session, without tools. The answer is a result, "
	  "whose `value` is an array of `{\"name\", \"type\", \"repr\", \"len\"}`: `repr` has at most 200 bytes, "
	  "`len` is there where the value has a length" },
	[AJ_OP_WRITE_FILES] = { "write_files", M(ID) | M(SESSION) | M(FILES), M(TIMEOUT_MS) | M(RUN_ID), 0,
	  "write files in a session. The answer is a result, with an `OSError` where a file could not be written" },
	[AJ_OP_READ_FILE] = { "read_file", M(ID) | M(SESSION) | M(PATH), M(OFFSET) | M(BYTES), 0,
	  "read a part of a regular file of a session, also while it runs. "
	  "The answer is `{\"size\": NUMBER, \"media_type\": TEXT, \"offset\": NUMBER, \"data\": BASE64, \"sha256\": "
	  "of the part, \"end\": whether nothing follows}`" },
	[AJ_OP_LIST_FILES] = { "list_files", M(ID) | M(SESSION) | M(PATH), 0, 0,
	  "list a folder of a session, also while it runs. The answer is `{\"files\": [{\"name\", \"type\": `file`, "
	  "`folder`, `link` or `other`, \"size\"}], \"truncated\": BOOLEAN}`, with 1,000 entries at most, in no order" },
	[AJ_OP_REMOVE_FILE] = { "remove_file", M(ID) | M(SESSION) | M(PATH), 0, 0,
	  "remove a file, a link or an empty folder of a session, also while it runs. The answer is `{}`" },
	[AJ_OP_FORK] = { "fork", M(ID) | M(SESSION), 0, 0,
	  "a second session that continues from this one: memory, open files and /tmp. "
	  "It must run nothing, and have been opened with `branching`. The answer is that of `open`" },
	[AJ_OP_CHECKPOINT] = { "checkpoint", M(ID) | M(SESSION), 0, 0,
	  "keep what the session is now. The answer is `{\"checkpoint\": NUMBER}`" },
	[AJ_OP_ROLLBACK] = { "rollback", M(ID) | M(SESSION) | M(CHECKPOINT), 0, 0,
	  "go on from a checkpoint, which stays; also after the session's jail has ended. The answer is `{}`" },
	[AJ_OP_FORGET] = { "forget", M(ID) | M(SESSION) | M(CHECKPOINT), 0, 0,
	  "give a checkpoint up, and its memory back. The answer is `{}`" },
	[AJ_OP_TOOLS] = { "tools", M(ID) | M(SESSION) | M(TOOLS), 0, 0,
	  "declare tools for a session, or replace some; its next run knows them. The answer is `{}`" },
	[AJ_OP_TOOL_RESULT] = { "tool_result", M(REQUEST) | M(CALL), M(ID), M(VALUE) | M(ERROR),
	  "answer the event `tool_call` of `request`. With an `id` the answer is `{}`, or an error; "
	  "without one only a value that does not fit is answered, and a call that never was" },
	[AJ_OP_INTERRUPT] = { "interrupt", M(ID), 0, M(SESSION) | M(REQUEST),
	  "raise KeyboardInterrupt in what the session, or the request, runs; "
	  "one that waits for a jail is answered with `interrupted`. The answer is `{}`" },
	[AJ_OP_CLOSE] = { "close", M(ID), 0, M(SESSION) | M(REQUEST),
	  "end the session, or the `exec` or `open` that is under way, at once. "
	  "The request under way is answered with `closed`, then this one with `{}`" },
	[AJ_OP_STATS] = { "stats", M(ID), 0, 0, "numbers about the service" },
	[AJ_OP_PING] = { "ping", M(ID), 0, 0, "nothing. The answer is `{}`" },
};

/* clang-format on */

/* Write the names of a set of members, for an error's advice. */
static void list_members(char *out, size_t room, const char *intro, uint64_t set)
{
	size_t at = (size_t)snprintf(out, room, "%s", intro);
	for (int m = 0; m < AJ_MEMBERS; m++)
		if (set & 1ull << m && at < room)
			at += (size_t)snprintf(out + at, room - at, "%s %s", out[at - 1] == ':' ? "" : ",", members[m].name);
}

/* "is neither `a` nor `b`" */
static const char *list_words(const char *words, char room[WORDS_BYTES])
{
	size_t at = 0;
	for (const char *word = words, *before = "is neither"; *word && at < WORDS_BYTES;
	     word += strlen(word) + 1, before = " nor")
		at += (size_t)snprintf(room + at, WORDS_BYTES - at, "%s `%s`", before, word);
	return room;
}

static bool is_id(const json_t *value)
{
	return json_is_integer(value) || (json_is_string(value) && json_string_length(value) &&
	                                  json_string_length(value) <= AJ_ID_BYTES && !aj_json_has_nul(value));
}

static bool is_strings(const json_t *value)
{
	size_t i;
	const json_t *item;
	json_array_foreach(value, i, item)
		if (!json_is_string(item))
			return false;
	return json_is_array(value);
}

static bool is_error(const json_t *value)
{
	return json_is_object(value) && json_object_size(value) == 2 && json_is_string(json_object_get(value, "type")) &&
	       json_is_string(json_object_get(value, "message"));
}

/* The place of the word among the member's; -1: it is none of them. */
static int word_of(enum aj_member m, const json_t *value)
{
	return json_is_string(value) ? aj_snippet_word(members[m].words, json_string_value(value)) : -1;
}

/* NULL, or the reason why the value does not fit the member. */
static const char *misfit(enum aj_member m, const json_t *value, char room[WORDS_BYTES])
{
	switch (members[m].kind) {
	case NAME:
	case TEXT:
	case PATH:
		if (!json_is_string(value))
			return "is not a string";
		if (json_string_length(value) > (size_t)members[m].max)
			return "is too long";
		if (members[m].kind == TEXT)
			return NULL;
		if (!json_string_length(value))
			return "is empty";
		if (aj_has_control(json_string_value(value)))
			return "holds a control character";
		return members[m].kind == PATH && json_string_value(value)[0] != '/' ? "is not an absolute path" : NULL;
	case ID:
		return is_id(value) ? NULL : "is neither a string of 1 to 128 bytes nor an integer";
	case COUNT:
	case TIME:
		return !json_is_integer(value)                               ? "is not an integer"
		     : json_integer_value(value) < (members[m].kind == TIME) ? "is too small"
		     : json_integer_value(value) > members[m].max            ? "is too large"
		                                                             : NULL;
	case SWITCH:
		return json_is_boolean(value) ? NULL : "is not true or false";
	case OBJECT:
		return json_is_object(value) ? NULL : "is not an object";
	case ARRAY:
	case FILES:
		return json_is_array(value) ? NULL : "is not an array";
	case STRINGS:
		return is_strings(value) ? NULL : "is not an array of strings";
	case ERROR:
		return is_error(value) ? NULL : "is not an object of the strings `type` and `message`";
	case EITHER:
	case CHOICE:
		return word_of(m, value) < 0 ? list_words(members[m].words, room) : NULL;
	case ANY:
		break;
	}
	return NULL;
}

static int find_op(struct aj_query *q, struct aj_fault *fault)
{
	const json_t *value = json_object_get(q->doc, "op");
	const char *name = json_string_value(value);
	if (!name)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST, value ? "`op` is not a string" : "there is no `op`");
	for (int op = 0; op < AJ_OPS; op++)
		if (strcmp(ops[op].name, name) == 0) {
			q->op = (enum aj_op)op;
			return 0;
		}
	aj_fault(fault, AJ_CODE_UNKNOWN_OP, "no operation is called `%.60s`", name);
	size_t at = 0;
	for (int op = 0; op < AJ_OPS; op++)
		at += (size_t)snprintf(fault->fix + at, sizeof fault->fix - at, "%s%s", op ? ", " : "one of: ", ops[op].name);
	return -1;
}

static int take_member(struct aj_query *q, const char *key, json_t *value, struct aj_fault *fault)
{
	char room[WORDS_BYTES];
	uint64_t known = M(OP) | M(ID) | ops[q->op].must | ops[q->op].may | ops[q->op].one;
	int m = 0;
	while (m < AJ_MEMBERS && strcmp(members[m].name, key) != 0)
		m++;
	if (m == AJ_MEMBERS || !(known & 1ull << m)) {
		aj_fault(fault, AJ_CODE_BAD_REQUEST, "`%s` takes no `%.60s`", ops[q->op].name, key);
		list_members(fault->fix, sizeof fault->fix, "it takes:", known & ~M(OP));
		return -1;
	}
	/* A tool's value is passed on; the rest is read as C strings. */
	const char *wrong = m != AJ_M_VALUE && aj_json_has_nul(value) ? "holds a NUL" : misfit((enum aj_member)m, value, room);
	if (wrong)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST, "`%s` %s", key, wrong);
	q->member[m] = value;
	return 0;
}

/* Names of `inputs` or `variables` that Python has no variables for. */
static int check_names(const struct aj_query *q, struct aj_fault *fault)
{
	char name[AJ_BAD_NAME];
	const char *wrong = q->passed_on ? aj_json_bad_name(q->passed_on, strlen(q->passed_on), aj_python_name_bad, name) : NULL;
	return !wrong ? 0
	              : aj_fault(fault, AJ_CODE_BAD_REQUEST, "`%s`: the name `%s` %s",
	                         members[q->member[AJ_M_INPUTS] ? AJ_M_INPUTS : AJ_M_VARIABLES].name, name, wrong);
}

static int check_members(const struct aj_query *q, struct aj_fault *fault)
{
	uint64_t have = 0;
	for (int m = 0; m < AJ_MEMBERS; m++)
		have |= q->member[m] ? 1ull << m : 0;
	uint64_t lacks = ops[q->op].must & ~have, one = ops[q->op].one & have;
	if (lacks) {
		aj_fault(fault, AJ_CODE_BAD_REQUEST, "`%s` lacks `%s`", ops[q->op].name, members[__builtin_ctzll(lacks)].name);
		list_members(fault->fix, sizeof fault->fix, "it must have:", ops[q->op].must);
		return -1;
	}
	if (ops[q->op].one && __builtin_popcountll(one) != 1) {
		aj_fault(fault, AJ_CODE_BAD_REQUEST, "`%s` has %s", ops[q->op].name, one ? "too many of these" : "none of these");
		list_members(fault->fix, sizeof fault->fix, "give exactly one of:", ops[q->op].one);
		return -1;
	}
	return 0;
}

/* The span of `inputs` or `variables`, which are passed on as text; NULL: there is none. A request with both is refused later. */
static const struct aj_span *passed_on(const struct aj_scan *scan, const char *text)
{
	static const enum aj_member names[] = { AJ_M_INPUTS, AJ_M_VARIABLES };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct aj_span *span = aj_scan_member(scan, text, members[names[i]].name);
		if (span && text[span->at] == '{')
			return span;
	}
	return NULL;
}

/* The request as a tree, with {} in place of the object that is passed on. */
static json_t *load_tree(struct aj_query *q, const char *text, size_t bytes, const struct aj_span *out, const char **why)
{
	if (!out) {
		q->weight = aj_json_tree_bytes(text, bytes, AJ_REQUEST_DEPTH);
		return aj_json_read(text, bytes, why);
	}
	char *rest = malloc(bytes);
	if (!rest || !(q->passed_on = strndup(text + out->at, out->bytes)))
		abort();
	memcpy(rest, text, out->at);
	memcpy(rest + out->at, "{}", 2);
	memcpy(rest + out->at + 2, text + out->at + out->bytes, bytes - out->at - out->bytes);
	bytes = bytes - out->bytes + 2;
	q->weight = out->bytes + aj_json_tree_bytes(rest, bytes, AJ_REQUEST_DEPTH);
	json_t *doc = aj_json_read(rest, bytes, why);
	free(rest);
	return doc;
}

/* The id of a request that cannot be read, where the text before the fault has one. */
static void take_id(struct aj_query *q, const char *text, const struct aj_scan *scan)
{
	const char *why;
	const struct aj_span *found = NULL;
	for (size_t i = 0; i < scan->members_count; i++) {
		const struct aj_span *m = &scan->members[i];
		if (m->key_bytes != 2 || memcmp(text + m->key, "id", 2) != 0)
			continue;
		if (found || !m->bytes)
			return;
		found = m;
	}
	json_t *id = found ? aj_json_read(text + found->at, found->bytes, &why) : NULL;
	if (is_id(id)) {
		q->doc = json_pack("{s:O}", "id", id);
		q->member[AJ_M_ID] = id; /* the document's reference */
	}
	json_decref(id);
}

static int read_tree(struct aj_query *q, const char *text, size_t bytes, struct aj_scan *scan, struct aj_fault *fault)
{
	const char *why, *wrong = aj_scan_end(scan);
	if (wrong)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST,
		                "the frame is not a JSON object of at most %zu values in %d levels: at byte %zu %s",
		                scan->max_values, AJ_SCAN_DEPTH, scan->at, wrong);
	const struct aj_span *out = passed_on(scan, text);
	if (scan->values - (out ? out->values : 0) > AJ_REQUEST_VALUES)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST,
		                "the request has more than %d values beside those of `inputs` and `variables`",
		                AJ_REQUEST_VALUES);
	q->doc = load_tree(q, text, bytes, out, &why);
	if (!json_is_object(q->doc))
		return aj_fault(fault, AJ_CODE_BAD_REQUEST, "the frame is not a JSON object: %s",
		                q->doc ? "it is of another type" : why);
	return 0;
}

/* Sets `doc`, `weight` and `passed_on` of an empty query. -1 with fault: the body is not a JSON object, or has too many values;
 * the query then has its AJ_M_ID if the text before the fault has one. */
static int load_query(struct aj_query *q, const char *text, size_t bytes, struct aj_scan *scan, struct aj_fault *fault)
{
	int r = read_tree(q, text, bytes, scan, fault);
	if (r < 0)
		take_id(q, text, scan);
	return r;
}

int aj_query_read(const char *text, size_t bytes, struct aj_scan *scan, struct aj_query *q, struct aj_fault *fault)
{
	*q = (struct aj_query){ 0 };
	if (load_query(q, text, bytes, scan, fault) < 0)
		return -1;
	json_t *id = json_object_get(q->doc, "id"), *value;
	q->member[AJ_M_ID] = is_id(id) ? id : NULL;
	if (find_op(q, fault) < 0)
		return -1;
	const char *key;
	json_object_foreach(q->doc, key, value)
		if (take_member(q, key, value, fault) < 0)
			return -1;
	return check_members(q, fault) < 0 || check_names(q, fault) < 0 ? -1 : 0;
}

void aj_query_free(struct aj_query *q)
{
	json_decref(q->doc);
	free(q->passed_on);
	*q = (struct aj_query){ 0 };
}

const char *aj_query_text(const struct aj_query *q, enum aj_member m)
{
	return json_string_value(q->member[m]);
}

uint64_t aj_query_count(const struct aj_query *q, enum aj_member m)
{
	return (uint64_t)json_integer_value(q->member[m]);
}

void aj_query_snippet(const struct aj_query *q, struct aj_snippet *ret)
{
	*ret = (struct aj_snippet){ .code_bytes = json_string_length(q->member[AJ_M_CODE]), .inputs_checked = true };
#define TAKE_TEXT(m) aj_query_text(q, m)
#define TAKE_NAME(m) aj_query_text(q, m)
#define TAKE_SWITCH(m) json_is_true(q->member[m])
#define TAKE_EITHER(m) word_of(m, q->member[m]) == 1
#define TAKE_CHOICE(m) (unsigned)(word_of(m, q->member[m]) + 1)
#define TAKE_COUNT(m) (struct aj_number){ .given = q->member[m] != NULL, .value = aj_query_count(q, m) }
#define TAKE_TIME(m) aj_query_count(q, m)
#define TAKE_OBJECT(m) q->passed_on
#define TAKE_FILES(m) q->member[m]
#define TAKE(constant, member, name, kind, ...) ret->member = TAKE_##kind(AJ_M_##constant);
	AJ_SNIPPET_OPTIONS(TAKE)
}

const char *aj_op_name(enum aj_op op)
{
	return ops[op].name;
}

const char *aj_op_help(enum aj_op op)
{
	return ops[op].help;
}

const char *aj_op_holds(enum aj_op op, enum aj_member m)
{
	return ops[op].must & 1ull << m ? "yes" : ops[op].may & 1ull << m ? "may" : ops[op].one & 1ull << m ? "one" : NULL;
}

const char *aj_member_name(enum aj_member m)
{
	return members[m].name;
}

const char *aj_member_type(enum aj_member m)
{
	return kind_types[members[m].kind];
}

const char *aj_member_help(enum aj_member m)
{
	return members[m].help;
}
