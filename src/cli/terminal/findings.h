/* Errors, and findings about policies, as text for people or as JSON. */
#pragma once
#include <jansson.h>
#include <stdio.h>

#include "base/error.h"
#include "base/toml/diag.h"

/* `text` with its control characters escaped: a policy may be written by an agent, and its text must neither control a terminal
 * nor look like another line of output. */
const char *aj_line(struct aj_arena *arena, const char *text);

/* Print an error with its fix on stderr; returns its exit code. */
int aj_print_error(const struct aj_error *err);

/* A word after `agentjail COMMAND` that the command does not take: "WHAT `word`", and where its help is. -1 with err. */
int aj_refuse_word(struct aj_error *err, const char *command, const char *what, const char *word);
/* The same of a subcommand, with a suggestion from the `count` names that `name_at` gives (see aj_suggest()). */
int aj_refuse_subcommand(struct aj_error *err, const char *command, const char *word,
                         const char *(*name_at)(size_t i, const void *arg), size_t count);

void aj_findings_print(const struct aj_diags *diags, FILE *out);
json_t *aj_findings_json(const struct aj_diags *diags);
