/* What is wrong with a policy, all of it: a list of findings with place, code and advice. */
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
	const char *code; /* AJ001...: errors below AJ100, lint from there on */
	bool warning;
	struct aj_origin at;
	const char *message;
	const char *advice; /* or NULL */
};

struct aj_diags {
	struct aj_arena *arena;
	AJ_LIST(struct aj_diag) list;
	size_t errors, warnings; /* all of them; the list keeps the first AJ_DIAGS_MAX */
};
enum { AJ_DIAGS_MAX = 100 };

#define AJ_E_SYNTAX "AJ001"
#define AJ_E_UNKNOWN "AJ002"
#define AJ_E_TYPE "AJ003"
#define AJ_E_VALUE "AJ004"
#define AJ_E_LOCKED "AJ005"
#define AJ_E_CEILING "AJ006"
#define AJ_E_CONTRADICTION "AJ007"
#define AJ_E_TRUST "AJ008"
#define AJ_E_EXTENDS "AJ009"
#define AJ_E_TIGHTEN_ONLY "AJ010"

/* Always returns -1, so that a check can end with it. */
int aj_diag_error(struct aj_diags *diags, const struct aj_origin *at, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void aj_diag_warn(struct aj_diags *diags, const struct aj_origin *at, const char *code, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
/* Advice for the finding that was added last. */
void aj_diag_advise(struct aj_diags *diags, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* "file:line:column", "file" or "the default". */
const char *aj_origin_text(const struct aj_origin *at, struct aj_arena *arena);
/* The name among `count` that `text` was probably meant to be, or NULL. `at(i)` gives the i-th. */
const char *aj_suggest(const char *text, const char *(*at)(size_t i, const void *arg), const void *arg, size_t count);
