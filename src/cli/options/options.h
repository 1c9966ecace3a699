/* The options of the commands that make jails, as one table: the parser, --help and the manual page are made from it. */
#pragma once
#include "base/error.h"
#include "cli/options/parsed.h"

/* Parse options of `command` (AJ_FOR_EXEC, _RUN, _SERVE or _SESSION). Returns the index of the first operand, or -1 with err. */
int aj_options_parse(struct aj_options *options, int command, int argc, char **argv, struct aj_error *err);
/* Apply one option of `agentjail policy`: one that sets a key of the policy, or --rootfs, --workspace, --config, --json. Returns
 * NULL, or why the value is wrong; *ret_known: is it one of those options? *ret_value: the value's name in help texts, NULL for a
 * switch. */
const char *aj_options_policy(struct aj_options *options, const char *name, size_t bytes, const char *value, bool *ret_known,
                              const char **ret_value);
/* Load the policy that the options name, as a layer above the site's. 0, or -1 with err, after printing all findings. */
int aj_options_load(struct aj_options *options, int command, struct aj_error *err);
/* After that: -1 with err where --workspace names a folder and the policy has no workspace; the advice names policies that have
 * one. */
int aj_options_check_workspace(struct aj_options *options, int command, struct aj_error *err);
/* If the working directory has a policy, print one line on standard error: whether it is used, and why not. */
void aj_options_report_local(const struct aj_loaded *loaded, struct aj_arena *arena);
void aj_options_help(int command, FILE *out);

/* The text about an option in --help and the manual page. */
struct aj_option_row {
	const char *name, *value, *help, *fallback; /* value NULL: a switch; fallback NULL: none */
	const char *const *words;                   /* the values, where they are a few words; else NULL */
	const char *heading;                        /* of the option's group */
};
/* The next option of `command` (or of AJ_FOR_POLICY) from row *i on, which is 0 for the first. False: there is none. */
bool aj_options_row(int command, size_t *i, struct aj_option_row *ret);
