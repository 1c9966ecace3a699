/* Answers one question about a policy (may a jail do X?) from the policy and its plan, with the rule and the enforcer.
 * Pure: other files look up the type of a file of the host or of the tree. */
#pragma once
#include "policy/keys.h"
#include "policy/plan/plan.h"

enum aj_question_kind { AJ_ASK_PATH, AJ_ASK_HOST, AJ_ASK_IMPORT, AJ_ASK_SYSCALL };
enum aj_answer_verdict { AJ_ALLOWED, AJ_DENIED, AJ_ASKED /* somebody would be asked */ };
#define AJ_NO_ITEM ((size_t)-1)

struct aj_answer {
	enum aj_answer_verdict verdict;
	const char *why;
	const char *key; /* the policy key that decides; NULL: the same in every jail */
	size_t item;     /* index in that key's list, or AJ_NO_ITEM */
	enum aj_enforcer by;
	const char *enforcer; /* replaces by's name; or NULL */
};

/* The mount row to which a path of the jail leads. */
enum aj_path_match_kind {
	AJ_MATCH_NONE,
	AJ_MATCH_FOLDER,
	AJ_MATCH_LINK,
	AJ_MATCH_TEXT,
	AJ_MATCH_SCRATCH,
	AJ_MATCH_KERNEL,
	AJ_MATCH_MASK,
	AJ_MATCH_HOST
};
struct aj_path_match {
	enum aj_path_match_kind kind;
	const struct aj_mount *row; /* NULL for NONE and FOLDER */
	const char *rest;           /* the part of the path below the row: "" or "/..." */
};
struct aj_path_match aj_plan_match_path(const struct aj_plan *plan, const char *path);

/* "host:port" of a question; [::1]:80 too. */
bool aj_host_question_valid(const char *text);
struct aj_answer aj_answer_host(const struct aj_plan *plan, const struct aj_policy *policy, const char *host,
                                struct aj_arena *arena);
struct aj_answer aj_answer_import(const struct aj_policy *policy, const char *module, struct aj_arena *arena);
struct aj_answer aj_answer_syscall(const struct aj_plan *plan, const struct aj_policy *policy, const char *name,
                                   struct aj_arena *arena);
