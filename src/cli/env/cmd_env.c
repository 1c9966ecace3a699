/* `agentjail env`: finds the subcommand, reads its options, and prints errors.
 * A subcommand's file does the rest. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "cli/env/envcmd.h"
#include "cli/options/options.h"
#include "cli/terminal/findings.h"
#include "cli/terminal/help.h"
#include "policy/item_types.h"
#include "policy/keys.h"

enum { ONE_NAME = 1, NAMES = 2, REQUEST = 4, AS_JSON = 8 };
static const struct {
	const char *name, *synopsis, *help;
	int (*run)(const struct aj_env_args *args, struct aj_error *err);
	int takes;
} subcommands[] = {
	{ "create", "create NAME [--packages SPEC...] [-r FILE] [--lock FILE] [--python X.Y] [--json]",
	  "download packages, with what they need, into a new environment", aj_env_create, ONE_NAME | REQUEST | AS_JSON },
	{ "list", "list [--json]", "the environments that there are", aj_env_list, AS_JSON },
	{ "show", "show NAME [--json]", "packages with versions, sizes and licences, and the names to import", aj_env_show,
	  ONE_NAME | AS_JSON },
	{ "verify", "verify NAME", "compare each file with its hash of when the environment was made", aj_env_verify, ONE_NAME },
	{ "update", "update NAME [--packages SPEC...] [-r FILE] [--lock FILE] [--json]",
	  "make it again with the newest packages that fit, or with other packages", aj_env_update,
	  ONE_NAME | REQUEST | AS_JSON },
	{ "remove", "remove NAME...", "remove environments", aj_env_remove, NAMES },
	{ "path", "path NAME", "print the folder of the packages", aj_env_path, ONE_NAME },
};
enum { SUBCOMMANDS = sizeof subcommands / sizeof *subcommands };

static void usage(FILE *out)
{
	fprintf(out, "Usage: agentjail env SUBCOMMAND\n\n");
	for (size_t i = 0; i < SUBCOMMANDS; i++)
		aj_help_row(out, subcommands[i].synopsis, subcommands[i].help);
	fprintf(out, "\nAn environment is a folder of Python packages for snippets: `exec --env NAME`. uv\n"
	             "downloads them, or pip where there is no uv, as its own configuration says; only\n"
	             "wheels are taken, and nothing in them is executed outside of a jail.\n\n"
	             "SPEC: pandas, 'pandas>=2,<3', polars==1.0. -r FILE: a requirements file. --lock\n"
	             "FILE: requirements with hashes, or a pylock.toml (needs uv). --python X.Y: refuse\n"
	             "another Python than this one. Environments are in $XDG_DATA_HOME/agentjail/envs.\n\n"
	             "Exit status: 0 done, 2 wrong use, 125 a download or another step failed.\n");
}

static int refuse(struct aj_error *err, const char *what, const char *word)
{
	return aj_refuse_word(err, "env", what, word);
}

static const char *subcommand_at(size_t i, const void *arg)
{
	(void)arg;
	return subcommands[i].name;
}

static const char *absolute(struct aj_env_args *a, const char *file, struct aj_error *err)
{
	char *real = realpath(file, NULL);
	const char *copy = real ? aj_strdup(a->arena, real) : NULL;
	free(real);
	if (!copy)
		refuse(err, "no such file:", file);
	return copy;
}

static int add_operand(struct aj_env_args *a, int takes, const char *word, struct aj_error *err)
{
	if (!(takes & (ONE_NAME | NAMES)) || ((takes & ONE_NAME) && a->name))
		return refuse(err, "one word too many:", word);
	if (!aj_policy_name_valid(word))
		return refuse(err, "not an environment's name (letters, digits, - and _):", word);
	a->name = a->name ? a->name : word;
	*AJ_PUSH(a->arena, &a->names) = word;
	return 0;
}

static int parse(struct aj_env_args *a, int takes, int argc, char **argv, struct aj_error *err)
{
	bool packages = false;
	for (int i = 0; i < argc; i++) {
		const char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
		bool option = word[0] == '-';
		if (!option && packages) {
			*AJ_PUSH(a->arena, &a->packages) = word;
			continue;
		}
		packages = strcmp(word, "--packages") == 0 && (takes & REQUEST);
		if (packages)
			continue;
		if (!option) {
			if (add_operand(a, takes, word, err) < 0)
				return -1;
		} else if (strcmp(word, "--json") == 0 && (takes & AS_JSON)) {
			a->json = true;
		} else if (takes & REQUEST &&
		           (strcmp(word, "-r") == 0 || strcmp(word, "--lock") == 0 || strcmp(word, "--python") == 0)) {
			if (!next)
				return refuse(err, "no value for", word);
			const char *file = word[2] == 'p' ? next : absolute(a, next, err);
			if (!file)
				return -1;
			if (word[1] == 'r')
				*AJ_PUSH(a->arena, &a->files) = file;
			else if (word[2] == 'l')
				a->lock = file;
			else
				a->python = file;
			i++;
		} else {
			return refuse(err, "unknown option", word);
		}
	}
	if (takes & (ONE_NAME | NAMES) && !a->name)
		return refuse(err, "no name is given:", "NAME");
	return 0;
}

int aj_cmd_env(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	struct aj_env_args args = { .arena = &arena };
	size_t sub = 0;
	int code = -1;
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--help") == 0) {
			usage(stdout);
			return 0;
		}
	while (sub < SUBCOMMANDS && (argc < 2 || strcmp(argv[1], subcommands[sub].name) != 0))
		sub++;
	if (argc < 2) {
		usage(stderr);
		return AJ_EXIT_USAGE;
	}
	if (sub == SUBCOMMANDS) {
		aj_refuse_subcommand(&err, "env", argv[1], subcommand_at, SUBCOMMANDS);
	} else if (parse(&args, subcommands[sub].takes, argc - 2, argv + 2, &err) == 0) {
		code = subcommands[sub].run(&args, &err);
	}
	if (code < 0)
		code = aj_print_error(&err);
	aj_arena_free(&arena);
	return code;
}
