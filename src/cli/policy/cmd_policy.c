/* `agentjail policy`: finds the subcommand by its name and runs it; each has a file of its own.
 * It starts no jail and changes nothing. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/help.h"

enum { MANY = 1000 };

const struct aj_policy_command aj_policy_commands[] = {
	{ "list", aj_policy_list, 0, 0, "list", "all policies that have a name", "0; 2 when one of them cannot be loaded" },
	{ "show", aj_policy_show, 0, 1, "show [NAME]", "one policy with everything that it extends, as one file",
	  "0; 2 when it cannot be loaded" },
	{ "explain", aj_policy_explain, 0, 1, "explain [NAME] [QUESTION...]",
	  "what it sets, with origin and enforcer; or whether it allows a path, a host, an import, a system call",
	  "0; with questions: 0 everything is allowed, 1 not, 2 an error" },
	{ "check", aj_policy_check, 0, MANY, "check [NAME...]",
	  "all errors and lint of these policies, or of all policies in the list", "0 clean, 1 with warnings, 2 with errors" },
	{ "diff", aj_policy_diff, 2, 2, "diff A B", "what is looser in B than in A, what is tighter, and other differences",
	  "0 no key is looser, 1 one is or cannot be compared, 2 an error" },
	{ "schema", aj_policy_schema, 0, 0, "schema", "JSON Schema of policies, or of a site's configuration", "0" },
	{ 0 },
};

static void usage(FILE *out)
{
	fprintf(out, "Usage: agentjail policy SUBCOMMAND [options]\n\n");
	for (const struct aj_policy_command *c = aj_policy_commands; c->name; c++)
		aj_help_row(out, c->synopsis, c->help);
	fprintf(out, "\nA policy is a NAME of `agentjail policy list`, or --policy-file FILE; a NAME is\n"
	             "never a path. `agentjail policy SUBCOMMAND --help` has the options;\n"
	             "agentjail.toml(5) describes the files.\n");
}

static int run_subcommand(const struct aj_policy_command *command, int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_policy_args args = { .arena = &arena, .options = { .arena = &arena } };
	int code = -1;
	if (argc > 1 && strcmp(argv[1], "--help") == 0) {
		printf("Usage: agentjail policy %s [options]\n\n", command->synopsis);
		aj_help_row(stdout, "Prints", command->help);
		aj_policy_options_help(command, stdout);
		printf("\nExit status: %s.\n", command->exits);
		code = 0;
	} else if (aj_policy_parse(&args, command, argc, argv, &err) == 0) {
		code = command->run(&args, &err);
	}
	if (code < 0) {
		fflush(stdout);
		code = aj_print_error(&err);
	}
	aj_arena_free(&arena);
	return code;
}

static const char *subcommand_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_policy_commands[i].name;
}

static int refuse_subcommand(const char *word)
{
	struct aj_error err = { 0 };
	size_t count = 0;
	while (aj_policy_commands[count].name)
		count++;
	const char *meant = aj_suggest(word, subcommand_at, NULL, count);
	aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "policy has no subcommand `%s`", word);
	if (meant)
		aj_advise(&err, "did you mean `agentjail policy %s`?", meant);
	else
		aj_advise(&err, "`agentjail policy --help` lists the subcommands");
	return aj_print_error(&err);
}

int aj_cmd_policy(int argc, char **argv)
{
	const char *word = argc > 1 ? argv[1] : "";
	for (const struct aj_policy_command *c = aj_policy_commands; c->name; c++)
		if (strcmp(word, c->name) == 0)
			return run_subcommand(c, argc - 1, argv + 1);
	if (strcmp(word, "--help") == 0) {
		usage(stdout);
		return 0;
	}
	if (*word)
		return refuse_subcommand(word);
	usage(stderr);
	return AJ_EXIT_USAGE;
}
