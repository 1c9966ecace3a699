/* The list of all findings about a policy, each with its position, code and advice. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"

/* A place in a policy file, or an option of the command line (line 0). */
struct aj_origin {
	const char *file; /* as shown; NULL: the program's default */
	int line, column; /* from 1 */
};

struct aj_diag {
	const char *code; /* AJ001... */
	bool warning;
	struct aj_origin at;
	const char *message;
	const char *advice; /* or NULL */
};

struct aj_diags {
	struct aj_arena *arena;
	AJ_LIST(struct aj_diag) list;
	size_t errors, warnings; /* total numbers; the list keeps the first AJ_DIAGS_MAX */
};
enum { AJ_DIAGS_MAX = 100 };

/* All codes: errors below AJ100, lint (allowed but unwise) from there on. */
#define AJ_FINDINGS(X)                                                                                                 \
	X(AJ_E_SYNTAX, "AJ001", "the file is not TOML")                                                                \
	X(AJ_E_UNKNOWN, "AJ002", "no key, section or wall has this name")                                              \
	X(AJ_E_TYPE, "AJ003", "a value of the wrong type")                                                             \
	X(AJ_E_VALUE, "AJ004", "a value that the key does not accept: out of range, misspelt, or without a meaning")   \
	X(AJ_E_LOCKED, "AJ005", "loosens what a policy or the site has locked")                                        \
	X(AJ_E_CEILING, "AJ006", "passes a ceiling of the site")                                                       \
	X(AJ_E_CONTRADICTION, "AJ007", "two values that cannot both be meant")                                         \
	X(AJ_E_TRUST, "AJ008", "a file that another user could have written, or that cannot be read")                  \
	X(AJ_E_EXTENDS, "AJ009", "a policy that does not exist, or that extends itself")                               \
	X(AJ_E_TIGHTEN_ONLY, "AJ010", "a policy of the working directory that does not tighten")                       \
	X(AJ_W_MODULE, "AJ101", "an allowed module undoes the import check")                                           \
	X(AJ_W_STAR, "AJ102", "a pattern allows more names than a reviewer has seen")                                  \
	X(AJ_W_SECRET, "AJ103", "a variable looks like a secret, and every process in the jail can read the variable") \
	X(AJ_W_BUILTINS, "AJ104", "the builtin set \"full\" leaves little of the rail")                                \
	X(AJ_W_HOST_NETWORK, "AJ105", "the host's network is used, so there is no network wall")                       \
	X(AJ_W_NO_LIMIT, "AJ107", "a limit that every policy should set is \"none\"")                                  \
	X(AJ_W_WHOLE_FOLDER, "AJ108", "a bind shows a whole folder of the host, which holds more than the jail needs") \
	X(AJ_W_KEYS, "AJ109", "a bind shows keys, or a socket through which programs can be started outside")          \
	X(AJ_W_MASK_FOLDER, "AJ110", "a mask inside a writable bind")                                                  \
	X(AJ_W_METADATA, "AJ112", "an address from which a cloud's machines get credentials is allowed")

enum aj_code {
#define AJ_FINDING_NAME(name, text, meaning) name,
	AJ_FINDINGS(AJ_FINDING_NAME)
#undef AJ_FINDING_NAME
	    AJ_FINDING_COUNT
};
struct aj_code_row {
	const char *code, *meaning;
};
extern const struct aj_code_row aj_codes[AJ_FINDING_COUNT];

/* Always returns -1, so that a check can end with it. */
int aj_diag_error(struct aj_diags *diags, const struct aj_origin *at, enum aj_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void aj_diag_warn(struct aj_diags *diags, const struct aj_origin *at, enum aj_code code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Advice for the finding that was added last. */
void aj_diag_advise(struct aj_diags *diags, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "file:line:column", "file" or "the default". */
const char *aj_origin_text(const struct aj_origin *at, struct aj_arena *arena);
/* The candidate that `text` probably misspells, or NULL. `at(i)` returns the i-th of `count`. */
const char *aj_suggest(const char *text, const char *(*at)(size_t i, const void *arg), const void *arg, size_t count);
const char *aj_suggest_name(const char *text, const char *const *names, size_t count);
