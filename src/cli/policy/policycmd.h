/* Common parts of the subcommands of `agentjail policy`: options, loading policies, printing values. */
#pragma once
#include <jansson.h>

#include "cli/options/options.h"
#include "policy/load/policy_names.h"
#include "policy/plan/is_allowed.h"

/* One policy of the command line: a name is never a path. */
struct aj_policy_word {
	const char *name, *file;
};

struct aj_policy_question {
	enum aj_question_kind kind;
	const char *text;
};

struct aj_policy_args {
	struct aj_arena *arena;
	struct aj_options options; /* --config, --json, and those options of exec and run that change the policy */
	AJ_LIST(struct aj_policy_word) policies;
	AJ_LIST(struct aj_policy_question) questions;
	bool all, write, source, site_schema, text, codes;
};

struct aj_policy_command {
	const char *name;
	/* Returns the exit code, or -1 with err set. */
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

/* Parse the arguments after the subcommand. Returns 0, or -1 with err set. */
int aj_policy_parse(struct aj_policy_args *args, const struct aj_policy_command *command, int argc, char **argv,
                    struct aj_error *err);
/* The subcommand's next option from row *i on, which is 0 for the first. False: there is none. */
bool aj_policy_options_row(const struct aj_policy_command *command, size_t *i, struct aj_option_row *ret);
void aj_policy_options_help(const struct aj_policy_command *command, FILE *out);

/* Load the site's configuration into args->options.site. On failure prints the findings and returns -1 with err set. */
int aj_policy_site(struct aj_policy_args *args, struct aj_error *err);
/* Load one policy as a run would: with the working directory's policy and the options. `word`: NULL for the default of exec. On
 * failure as aj_policy_site(). */
int aj_policy_effective(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret,
                        struct aj_error *err);
/* Load one policy as it is. Returns 0, or -1 with findings. */
int aj_policy_alone(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret,
                    struct aj_diags *diags);
/* Print the findings. Returns -1 with err set. */
int aj_policy_failed(const struct aj_diags *diags, struct aj_error *err);

const char *aj_policy_where(const struct aj_loaded *loaded); /* the policy's own file, or "built-in"; NULL: none was read */

/* A value as a policy file has it; an origin. New references. */
json_t *aj_key_json(const struct aj_key *key, const void *base, struct aj_arena *arena);
json_t *aj_origin_json(const struct aj_origin *at);
/* Print `doc` as one line on standard output, and drop the reference. */
void aj_json_print(json_t *doc);

/* An origin as text, safe for a terminal. */
const char *aj_where(const struct aj_origin *at, struct aj_arena *arena);

/* The schema of policies, or of a site's configuration: as JSON, as text. */
void aj_schema_print(bool site, FILE *out);
void aj_schema_text(bool site, FILE *out);
void aj_codes_text(FILE *out);
const char *aj_key_type_text(const struct aj_key *key, struct aj_arena *arena);
const char *aj_key_default_text(const struct aj_key *key);

/* May the jail access this path of its own? Considers the host's files and the tree. */
struct aj_answer aj_answer_path(const struct aj_plan *plan, const struct aj_policy *policy, const char *path, bool write,
                                struct aj_arena *arena);
/* Does the tree below `rootfs` hold the module? True also where file names alone cannot tell. */
bool aj_tree_has_module(const char *rootfs, const char *module, struct aj_arena *arena);
