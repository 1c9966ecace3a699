/* What the subcommands of `agentjail policy` share: options, and how a policy is named, loaded and written. */
#pragma once
#include <jansson.h>

#include "cli/options.h"
#include "plan/answer.h"

/* One policy of the command line: a name is never a path. */
struct aj_policy_word {
	const char *name, *file;
};

struct aj_question {
	enum aj_question_kind kind;
	const char *text;
};

struct aj_policy_args {
	struct aj_arena *arena;
	struct aj_options options; /* --config, --json, and what changes the policy, as for exec and run */
	AJ_LIST(struct aj_policy_word) policies;
	AJ_LIST(struct aj_question) questions;
	bool write, source, site_schema, text, dictionary, codes;
};

struct aj_policy_command {
	const char *name;
	/* Returns the exit code; an error goes into `err` with -1. */
	int (*run)(struct aj_policy_args *args, struct aj_error *err);
	size_t least, most; /* policies on the command line */
	const char *synopsis, *help, *exits;
};
extern const struct aj_policy_command aj_policy_commands[]; /* ends with a NULL name */

int aj_policy_list(struct aj_policy_args *args, struct aj_error *err);
int aj_policy_show(struct aj_policy_args *args, struct aj_error *err);
int aj_policy_explain(struct aj_policy_args *args, struct aj_error *err);
int aj_policy_check(struct aj_policy_args *args, struct aj_error *err);
int aj_policy_diff(struct aj_policy_args *args, struct aj_error *err);
int aj_policy_schema(struct aj_policy_args *args, struct aj_error *err);

/* Parse what follows the subcommand. 0, or -1 with err set. */
int aj_policy_parse(struct aj_policy_args *args, const struct aj_policy_command *command, int argc, char **argv, struct aj_error *err);
void aj_policy_options_help(const struct aj_policy_command *command, FILE *out);

/* The site's configuration into args->options.site. -1 after its findings were printed, with err set. */
int aj_policy_site(struct aj_policy_args *args, struct aj_error *err);
/* Load one policy as a run would: with the working directory's and the command line's part. NULL for the default of exec. The
 * same as above on failure. */
int aj_policy_effective(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret, struct aj_error *err);
/* Load one policy as it is. 0, or -1 with findings. */
int aj_policy_alone(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret, struct aj_diags *diags);
/* Prints the findings; -1 with err set. */
int aj_policy_failed(const struct aj_diags *diags, struct aj_error *err);

/* Every name that can be loaded, sorted, each once. */
typedef AJ_LIST(const char *) aj_policy_names;
void aj_policy_names_find(struct aj_policy_args *args, aj_policy_names *ret);
const char *aj_policy_where(const struct aj_loaded *loaded); /* the policy's own file; "built-in" for one of ours */

/* A value as it is in a policy file; an origin. New references. */
json_t *aj_key_json(const struct aj_key *key, const void *base, struct aj_arena *arena);
json_t *aj_origin_json(const struct aj_origin *at);
/* One line on standard output, and gone. */
void aj_json_print(json_t *doc);

/* An origin for a terminal. */
const char *aj_where(const struct aj_origin *at, struct aj_arena *arena);

/* The schema of policies, or of a site's configuration; the tables behind them for people and for the manual. */
void aj_schema_print(bool site, FILE *out);
void aj_schema_text(bool site, FILE *out);
void aj_schema_dictionary(FILE *out);
void aj_schema_man(bool site, FILE *out);
void aj_codes_text(FILE *out);
void aj_codes_man(FILE *out);

/* Where a path of the jail leads, with what the host's files and the tree hold. */
struct aj_answer aj_look_path(const struct aj_plan *plan, const struct aj_policy *policy, const char *path, bool write,
                              struct aj_arena *arena);
/* Does the tree of `plan` hold the module? Also true when nobody can tell. */
bool aj_tree_has_module(const char *rootfs, const char *module, struct aj_arena *arena);
