/* A snippet: code, and what it runs with (inputs, files, seed, time limit). Its members are rows of one table, from which these
 * are made: the members of the protocol's requests, the keys of the frame to the jail's Python and of its reader, the options of
 * the client, the checks of the command line, and the reference pages. CONTRIBUTING.md has the steps to add one. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct json_t;

enum {
	AJ_STDIN_BYTES = 16 << 20, /* largest standard input */
	AJ_TIMEOUT_MS_MAX = 7 * 24 * 3600 * 1000,
};

/* A number that may be absent. */
struct aj_number {
	bool given;
	uint64_t value;
};

enum aj_snippet_kind {
	AJ_MEMBER_TEXT,
	AJ_MEMBER_NAME, /* a text of one line, not empty */
	AJ_MEMBER_SWITCH,
	AJ_MEMBER_EITHER, /* a switch with a word for each of its two states, which are `words` */
	AJ_MEMBER_CHOICE, /* one of `words`, as its place among them from 1 on; or none, 0 */
	AJ_MEMBER_COUNT,
	AJ_MEMBER_TIME,   /* in milliseconds, from 1; 0: absent */
	AJ_MEMBER_OBJECT, /* a JSON object as text, of the caller's */
	AJ_MEMBER_ARRAY,  /* a JSON array as text, of the caller's */
	AJ_MEMBER_MADE,   /* a JSON object as text, of our own making */
	AJ_MEMBER_FILES,  /* a tree */
};

/* How a member reaches the jail: not at all, at a place of its own in the head of the frame, as a member of the JSON object
 * behind it; or, every other value, as this bit of the head's flags. */
enum { AJ_ON_HOST = 0, AJ_IN_HEAD = -1, AJ_AS_KEY = -2, AJ_HAS_CODE = 1 };

/* X(constant, member, name, kind, most, words, frame, key, text, more)
 *   name         in the protocol and the client, and in messages
 *   most         bytes of a text, or the largest number
 *   frame, key   how it reaches the jail, and its name there
 *   text, more   what it is: a line for the client, and the rest for the protocol's page */

/* clang-format off */

/* Given by the caller: the protocol, the client and the library have each of these. */
#define AJ_SNIPPET_OPTIONS(X) \
	X(CODE, code, "code", TEXT, INT32_MAX, NULL, AJ_IN_HEAD, "code", \
	  "the snippet", \
	  ". If it is longer than `python.source_size` of the policy, the answer is a result with status `rejected`") \
	X(FILENAME, filename, "filename", NAME, 255, NULL, AJ_IN_HEAD, "filename", \
	  "the snippet's name in errors", \
	  "; without it `<snippet>`") \
	X(INPUTS, inputs_json, "inputs", OBJECT, 0, NULL, AJ_AS_KEY, "inputs", \
	  "variables to set before the snippet runs: name to value", \
	  ". Typed tags become what they stand for") \
	X(STDIN, stdin_text, "stdin", TEXT, AJ_STDIN_BYTES, NULL, AJ_AS_KEY, "stdin", \
	  "the standard input of this run, which `sys.stdin` and `input()` read", \
	  "; empty by default. At most 16 MiB") \
	X(TIMEOUT_MS, timeout_ms, "timeout_ms", TIME, AJ_TIMEOUT_MS_MAX, NULL, AJ_IN_HEAD, "soft_ms", \
	  "when the snippet is interrupted", \
	  ", from 1; no later than the policy says. A second later its jail is killed") \
	X(SEED, seed, "seed", COUNT, UINT32_MAX, NULL, AJ_AS_KEY, "seed", \
	  "for `random` and numpy's older random functions", \
	  ", before the code, also where it imports them later: as `random.seed(N)` and `numpy.random.seed(N)`. " \
	  "In a session it holds until the next seed. " \
	  "Not for `secrets`, `os.urandom`, `uuid` and generators that the code makes without a seed") \
	X(VALUE_OF, value_of_statement, "value_of", EITHER, 0, "expression\0statement\0", 16, "value_of", \
	  "`expression` (the default): the result has a value where the last statement is an expression; `statement`: also " \
	  "where it is an assignment", \
	  " (the right side; of `+=` the sum), or a block in which an expression or an assignment ran last") \
	X(HANDLES, handles, "handles", SWITCH, 0, NULL, 32, "handles", \
	  "whether a value that cannot cross stays inside and its name crosses, as a handle", \
	  " (docs/reference/values.md), in place of its repr; in `exec` for the arguments of tools alone") \
	X(FOR_MODEL, for_model, "for_model", SWITCH, 0, NULL, AJ_ON_HOST, NULL, \
	  "whether the result has `for_model`, a text for a model", \
	  " of at most 2000 bytes: what happened, where, what to do") \
	X(BRIEF, brief, "brief", SWITCH, 0, NULL, AJ_ON_HOST, NULL, \
	  "whether the result is brief: without the parts that each result of the policy repeats, and without members that say " \
	  "nothing", \
	  ". In `open`: of all results of the session, and the answer has those parts, `enforced` and `policy`") \
	X(FILES, files, "files", FILES, 0, NULL, AJ_ON_HOST, NULL, \
	  "files to write first", \
	  ": `{\"name\": \"data.csv\", \"data\": BASE64}`, or `text` in place of `data`. A name is below /input, where a file " \
	  "cannot be opened for writing; or it is a path below /input, /output or /tmp. A file of that name is replaced; with " \
	  "`\"append\": true` the file gets longer, or is made") \
	X(OUTPUT, output_files, "output", CHOICE, 0, "list\0data\0", 64, "output", \
	  "`list`: the result names the files of /output that the run has made or changed; `data`: with their bytes", \
	  ". /output is there from the first such request on, or from the first code on that names it") \
	X(RUN_ID, id, "run_id", NAME, 128, NULL, AJ_ON_HOST, NULL, \
	  "the `id` in the result and in the audit trail", \
	  "; without it one is generated")

/* Chosen by what starts the snippet, or made by it. */
#define AJ_SNIPPET_OTHERS(X) \
	X(PUT, put_json, NULL, MADE, 0, NULL, AJ_AS_KEY, "put", "`files`, as files.py reads them", "") \
	X(DECLARED, tools_json, NULL, ARRAY, 0, NULL, AJ_AS_KEY, "tools", "functions that the host runs, see tools.py", "") \
	X(GET, get, NULL, TEXT, 0, NULL, AJ_AS_KEY, "get", "in place of code: the variable to read", "") \
	X(VARS, vars, NULL, SWITCH, 0, NULL, 128, "vars", "in place of code: whether to list the variables", "") \
	X(KEEP_VALUE, keep_value, NULL, SWITCH, 0, NULL, 8, "keep_value", \
	  "as in Python's own shell: the variable _ is the last value", "") \
	X(LINES, lines, NULL, SWITCH, 0, NULL, 4, "lines", "a reader waits for the output: it is sent with each newline", "") \
	X(LAST, last, NULL, SWITCH, 0, NULL, 2, "last", "no other snippet follows in this jail", "")

/* clang-format on */

#define AJ_SNIPPET_MEMBERS(X) AJ_SNIPPET_OPTIONS(X) AJ_SNIPPET_OTHERS(X)

#define AJ_C_TYPE_TEXT const char *
#define AJ_C_TYPE_NAME const char *
#define AJ_C_TYPE_SWITCH bool
#define AJ_C_TYPE_EITHER bool
#define AJ_C_TYPE_CHOICE unsigned
#define AJ_C_TYPE_COUNT struct aj_number
#define AJ_C_TYPE_TIME uint64_t
#define AJ_C_TYPE_OBJECT const char *
#define AJ_C_TYPE_ARRAY const char *
#define AJ_C_TYPE_MADE const char *
#define AJ_C_TYPE_FILES const struct json_t *

/* Texts are the caller's, and UTF-8. NULL, false, 0: absent. */
struct aj_snippet {
#define AJ_FIELD(constant, member, name, kind, ...) AJ_C_TYPE_##kind member;
	AJ_SNIPPET_MEMBERS(AJ_FIELD)
#undef AJ_FIELD
	size_t code_bytes;
	bool inputs_checked; /* base/json/scan has accepted them, and their names are names of variables */
	int output_to;       /* a folder of the host that gets copies of the files of /output, never 0 to 2; 0: none */
};

enum { AJ_OUTPUT_LIST = 1, AJ_OUTPUT_DATA };

/* A row of the table, for loops over it. */
struct aj_snippet_row {
	const char *name; /* NULL: none that a caller knows */
	enum aj_snippet_kind kind;
	int64_t most;
	const char *words; /* each with its NUL, and an empty one at the end; NULL: none */
	int frame;
	const char *key;
	const char *text, *more;
	size_t at; /* in struct aj_snippet */
};
extern const struct aj_snippet_row aj_snippet_rows[]; /* in the table's order; ends with a row of no text */
/* The row of this name, which may have `-` for `_`; NULL: none. */
const struct aj_snippet_row *aj_snippet_find(const char *name);
/* The place of `word` among `words`, from 0; -1: not among them. */
int aj_snippet_word(const char *words, const char *word);
/* Copy every text, which is the caller's. */
void aj_snippet_keep_texts(struct aj_snippet *snippet, struct aj_arena *arena);
/* Forget every text, which is the caller's, and the files: a run outlives them. */
void aj_snippet_drop_texts(struct aj_snippet *snippet);
const char *aj_snippet_list_words(const char *words, const char *between, struct aj_arena *arena);
/* Set the member of this name from a text, as of a command line's option; a switch has none. NULL, or why it does not fit. */
const char *aj_snippet_set_text(struct aj_snippet *snippet, const char *name, const char *text, struct aj_arena *arena);
