/* Parses the options of `agentjail policy`, and loads policies for its subcommands.
 * It takes no path for a name, and refuses an option that the subcommand does not have. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/help.h"
#include "policy/bind.h"
#include "policy/host/choose_policy.h"
#include "policy/seccomp/syscalls.h"

typedef const char *set_fn(struct aj_policy_args *args, const char *value);

static const char *add_file(struct aj_policy_args *args, const char *v)
{
	AJ_PUSH(args->arena, &args->policies)->file = v;
	return *v ? NULL : "empty";
}

static const char *add_question(struct aj_policy_args *args, enum aj_question_kind kind, const char *v)
{
	*AJ_PUSH(args->arena, &args->questions) = (struct aj_policy_question){ kind, v };
	return NULL;
}

static const char *ask_path(struct aj_policy_args *args, const char *v)
{
	if (strcmp(v, "/") != 0 && !aj_jail_path_valid(v))
		return "not an absolute path in the jail (no `.`, `..`, `//` or slash at the end)";
	return add_question(args, AJ_ASK_PATH, v);
}

static const char *ask_host(struct aj_policy_args *args, const char *v)
{
	return aj_host_question_valid(v) ? add_question(args, AJ_ASK_HOST, v) : "not host:port";
}

static const char *ask_import(struct aj_policy_args *args, const char *v)
{
	if (!aj_import_pattern_valid(v) || strchr(v, '*'))
		return "not the name of a module";
	return add_question(args, AJ_ASK_IMPORT, v);
}

static const char *call_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_syscall_names[i];
}

static const char *ask_syscall(struct aj_policy_args *args, const char *v)
{
	for (size_t i = 0; i < AJ_SYSCALL_NUMBERS; i++)
		if (*v && strcmp(aj_syscall_names[i], v) == 0)
			return add_question(args, AJ_ASK_SYSCALL, v);
	const char *meant = aj_suggest(v, call_at, NULL, AJ_SYSCALL_NUMBERS);
	return meant && *meant ? aj_printf(args->arena, "not a system call of this architecture; did you mean `%s`?", meant)
	                       : "not a system call of this architecture";
}

#define SWITCH(name)                                                              \
	static const char *set_##name(struct aj_policy_args *args, const char *v) \
	{                                                                         \
		(void)v;                                                          \
		args->name = true;                                                \
		return NULL;                                                      \
	}
SWITCH(all)
SWITCH(write)
SWITCH(source)
SWITCH(site_schema)
SWITCH(text)
SWITCH(codes)
#undef SWITCH

static const char *add_name(struct aj_policy_args *args, const char *v)
{
	AJ_PUSH(args->arena, &args->policies)->name = v;
	return aj_policy_name_valid(v) ? NULL : "not a policy's name (letters, digits, - and _); for a file use --policy-file";
}

/* --config, --json and the options of exec and run that change a policy are in the table of cli/options/table.c. */
static const struct {
	const char *name, *value; /* NULL: a switch */
	const char *commands;     /* the subcommands that have it, with blanks between */
	set_fn *set;
	const char *help;
} table[] = {
	{ "--policy-file", "FILE", "show explain check diff", add_file, "a policy by its path, in place of a NAME" },
	{ "--source", NULL, "show", set_source, "the text of the policy's own file, without the policies that it extends" },
	{ "--all", NULL, "explain", set_all, "also list keys that nothing sets" },
	{ "--path", "PATH", "explain", ask_path, "may it read this path of the jail? (questions are repeatable)" },
	{ "--write", NULL, "explain", set_write, "--path asks about writing" },
	{ "--host", "HOST:PORT", "explain", ask_host, "may it connect to this host?" },
	{ "--import", "MODULE", "explain", ask_import, "may a snippet import this module?" },
	{ "--syscall", "NAME", "explain", ask_syscall, "may it make this system call?" },
	{ "--codes", NULL, "check", set_codes, "the codes of all findings, and their meaning" },
	{ "--site", NULL, "schema", set_site_schema, "of agentjail.toml in place of policies" },
	{ "--text", NULL, "schema", set_text, "a table for people" },
};

static bool shows_effective(const char *command)
{
	return aj_has_word("show explain", command);
}

/* Does this subcommand take the option, which is one of exec and run? */
static bool takes_policy_option(const char *command, const char *option, size_t bytes)
{
	static const char *const always[] = { "--config", "--json" };
	for (size_t i = 0; i < 2; i++)
		if (strlen(always[i]) == bytes && strncmp(always[i], option, bytes) == 0)
			return strcmp(command, "schema") != 0;
	return shows_effective(command);
}

bool aj_policy_options_row(const struct aj_policy_command *command, size_t *i, struct aj_option_row *ret)
{
	size_t own = sizeof table / sizeof *table;
	for (; *i < own; (*i)++)
		if (aj_has_word(table[*i].commands, command->name)) {
			*ret = (struct aj_option_row){ .name = table[*i].name, .value = table[*i].value, .help = table[*i].help };
			(*i)++;
			return true;
		}
	size_t row = *i - own;
	bool found;
	do
		found = aj_options_row(AJ_FOR_POLICY, &row, ret);
	while (found && !takes_policy_option(command->name, ret->name, strlen(ret->name)));
	*i = own + row;
	return found;
}

void aj_policy_options_help(const struct aj_policy_command *command, FILE *out)
{
	aj_help_heading(out, "Options");
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		char left[64];
		snprintf(left, sizeof left, table[i].value ? "%s %s" : "%s", table[i].name, table[i].value);
		if (aj_has_word(table[i].commands, command->name))
			aj_help_row(out, left, table[i].help);
	}
	if (takes_policy_option(command->name, "--json", 6)) {
		aj_help_row(out, "--json", "the same for programs");
		aj_help_row(out, "--config FILE", "the site's configuration, if /etc/agentjail/agentjail.toml does not exist");
	}
	if (shows_effective(command->name))
		aj_help_row(out, "--network MODE, ...",
		            "every option of exec and run that sets a key of the policy; --rootfs, --workspace, --local-policy");
}

static const char *nearest_option(const struct aj_policy_command *command, const char *word)
{
	struct aj_option_row row;
	const char *names[128];
	size_t count = 0;
	for (size_t i = 0; count < sizeof names / sizeof *names && aj_policy_options_row(command, &i, &row);)
		names[count++] = row.name;
	return aj_suggest_name(word, names, count);
}

static int parse_option(struct aj_policy_args *args, const struct aj_policy_command *command, char **argv, int *i,
                        struct aj_error *err)
{
	const char *word = argv[*i], *inline_value = strchr(word, '='), *value_name = NULL, *wrong = NULL;
	size_t bytes = strcspn(word, "=");
	set_fn *set = NULL;
	bool known = false;
	for (size_t j = 0; j < sizeof table / sizeof *table && !known; j++) {
		known = strlen(table[j].name) == bytes && strncmp(table[j].name, word, bytes) == 0 &&
		        aj_has_word(table[j].commands, command->name);
		set = table[j].set;
		value_name = table[j].value;
	}
	bool own = known;
	if (!known && takes_policy_option(command->name, word, bytes))
		aj_options_policy(&args->options, word, bytes, NULL, &known, &value_name);
	if (!known) {
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, "policy %s has no option `%s`", command->name, word);
		const char *meant = nearest_option(command, aj_strndup(args->arena, word, bytes));
		if (meant)
			aj_advise(err, "did you mean `%s`? `agentjail policy %s --help` lists the options", meant, command->name);
		else
			aj_advise(err, "`agentjail policy %s --help` lists the options", command->name);
		return -1;
	}
	const char *value = inline_value ? inline_value + 1 : value_name ? argv[++*i] : NULL;
	if (value_name && !value)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%.*s needs a value: %s", (int)bytes, word, value_name);
	if (!value_name && value)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%.*s takes no value", (int)bytes, word);
	if (own)
		wrong = set(args, value);
	else if (value_name) /* a switch was set by the first call */
		wrong = aj_options_policy(&args->options, word, bytes, value, &known, &value_name);
	return wrong ? aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%.*s `%s`: %s", (int)bytes, word, value ? value : "", wrong)
	             : 0;
}

int aj_policy_parse(struct aj_policy_args *args, const struct aj_policy_command *command, int argc, char **argv,
                    struct aj_error *err)
{
	bool operands = false;
	for (int i = 1; i < argc; i++) {
		const char *wrong;
		if (!operands && strcmp(argv[i], "--") == 0)
			operands = true;
		else if (!operands && argv[i][0] == '-' && argv[i][1]) {
			if (parse_option(args, command, argv, &i, err) < 0)
				return -1;
		} else if ((wrong = add_name(args, argv[i])))
			return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "`%s` is %s", argv[i], wrong);
	}
	size_t count = args->policies.count;
	if (count > command->most || count < command->least) {
		aj_fail(err, AJ_EXIT_USAGE, "options", 0, count > command->most ? "too many policies" : "too few policies");
		aj_advise(err, "agentjail policy %s", command->synopsis);
		return -1;
	}
	if (args->write && !args->questions.count)
		return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "--write requires --path");
	return 0;
}

/* --- loading --- */

int aj_policy_failed(const struct aj_diags *diags, struct aj_error *err)
{
	fflush(stdout);
	aj_findings_print(diags, stderr);
	return aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0, "%zu %s", diags->errors,
	                       diags->errors == 1 ? "error" : "errors");
}

int aj_policy_site(struct aj_policy_args *args, struct aj_error *err)
{
	struct aj_diags diags = { .arena = args->arena };
	return aj_site_load(&args->options.site, args->options.config, &diags) < 0 ? aj_policy_failed(&diags, err) : 0;
}

int aj_policy_effective(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret,
                        struct aj_error *err)
{
	struct aj_diags diags = { .arena = args->arena };
	struct aj_ask *choice = &args->options.ask;
	choice->name = word ? word->name : args->options.site.default_exec;
	choice->file = word ? word->file : NULL;
	choice->local = AJ_LOCAL_FILE;
	choice->workspace = args->options.request.workspace;
	if (aj_choose_policy(ret, &args->options.site, choice, &diags) < 0)
		return aj_policy_failed(&diags, err);
	aj_options_report_local(ret, args->arena);
	return 0;
}

int aj_policy_alone(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_loaded *ret, struct aj_diags *diags)
{
	struct aj_ask ask = { .name = word->name, .file = word->file };
	return aj_find_own_policy(&ask, &args->options.site, diags) < 0 ? -1
	                                                                : aj_policy_load(ret, &args->options.site, &ask, diags);
}
