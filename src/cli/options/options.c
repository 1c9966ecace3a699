/* Reads a command line by the table of options, and prints the table as --help and the manual page.
 * An option that is unknown, misspelt, lacks its value or has a bad one ends the program before anything happens. */
#include "cli/options/options.h"

#include <string.h>

#include "base/text.h"
#include "cli/options/table.h"
#include "cli/terminal/help.h"

static const struct aj_option *find_option(const char *name, size_t bytes, int command)
{
	for (const struct aj_option *o = aj_option_table; o->help; o++)
		if (o->name && (o->commands & command) && strlen(o->name) == bytes && memcmp(o->name, name, bytes) == 0)
			return o;
	return NULL;
}

static const char *option_at(size_t i, const void *arg)
{
	const int *command = arg;
	const struct aj_option *o = &aj_option_table[i];
	return o->name && (o->commands & *command) ? o->name : "";
}

/* `--network-mode` is no option, but the name of the key that --network sets. */
static bool names_key(const struct aj_option *o, const char *name)
{
	const char *key = o->name && o->key && strncmp(name, "--", 2) == 0 ? o->key : "", *at = name + 2;
	while (*key && (*key == *at || (strchr("._", *key) && *at == '-')))
		key++, at++;
	return o->key && !*key && !*at && at > name + 2;
}

static const char *nearest_option(const char *name, int command)
{
	size_t count = 0;
	for (; aj_option_table[count].help; count++)
		if (names_key(&aj_option_table[count], name) && aj_option_table[count].commands & command)
			return aj_option_table[count].name;
	const char *meant = aj_suggest(name, option_at, &command, count);
	return meant && *meant ? meant : NULL;
}

/* The commands that have this option: "`agentjail run` and `agentjail exec`"; NULL: none. */
static const char *commands_with(struct aj_arena *arena, const char *name)
{
	static const struct {
		int command;
		const char *name;
	} commands[] = {
		{ AJ_FOR_RUN, "run" }, { AJ_FOR_EXEC, "exec" }, { AJ_FOR_SESSION, "session" }, { AJ_FOR_SERVE, "serve" }
	};
	const char *list = NULL;
	for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
		if (find_option(name, strlen(name), commands[i].command))
			list = aj_printf(arena, "%s%s`agentjail %s`", list ? list : "", list ? " and " : "", commands[i].name);
	return list;
}

const char *aj_options_policy(struct aj_options *o, const char *name, size_t bytes, const char *value, bool *ret_known,
                              const char **ret_value)
{
	const struct aj_option *option = find_option(name, bytes, AJ_FOR_BOTH);
	*ret_known = option && (option->key || option->commands & AJ_FOR_POLICY);
	*ret_value = option ? option->value : NULL;
	if (!*ret_known || !value != !option->value)
		return NULL;
	return aj_option_apply(o, option, value);
}

static int parse(struct aj_options *o, int command, int argc, char **argv, struct aj_error *err)
{
	int i = 1;
	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
		bool two = strncmp(argv[i], "--", 2) == 0;
		size_t bytes = two ? strcspn(argv[i], "=") : strlen(argv[i]);
		const struct aj_option *option = find_option(argv[i], bytes, command);
		if (!option) {
			aj_fail(err, AJ_EXIT_USAGE, "options", 0, "unknown option `%s`", argv[i]);
			char name[64];
			snprintf(name, sizeof name, "%.*s", (int)bytes, argv[i]);
			const char *elsewhere = commands_with(o->arena, name),
				   *meant = elsewhere ? NULL : nearest_option(name, command);
			if (elsewhere)
				aj_advise(err, "`%s` is an option of %s; `agentjail %s --help` lists those of %s", name,
				          elsewhere, argv[0], argv[0]);
			else if (meant)
				aj_advise(err, "did you mean `%s`? `agentjail %s --help` lists the options", meant, argv[0]);
			else
				aj_advise(err, "`agentjail %s --help` lists the options", argv[0]);
			return -1;
		}
		const char *value = argv[i][bytes] == '=' ? argv[i] + bytes + 1 : NULL;
		if (option->value && !value && !(value = argv[++i]))
			return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%s needs a value: %s", option->name, option->value);
		if (!option->value && value)
			return aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%s takes no value", option->name);
		const char *wrong = aj_option_apply(o, option, value);
		if (wrong)
			return value ? aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%s `%s`: %s", option->name, value, wrong)
			             : aj_fail(err, AJ_EXIT_USAGE, "options", 0, "%s: %s", option->name, wrong);
	}
	return i;
}

int aj_options_parse(struct aj_options *o, int command, int argc, char **argv, struct aj_error *err)
{
	int first = parse(o, command, argc, argv, err);
	/* A caller that reads JSON reads of a wrong option, too, also where --json comes after it. */
	for (int i = 1; first < 0 && i < argc && strcmp(argv[i], "--") != 0; i++)
		o->json |= strcmp(argv[i], "--json") == 0 && command & AJ_FOR_JAIL;
	return first;
}

bool aj_options_row(int command, size_t *i, struct aj_option_row *ret)
{
	while (aj_option_table[*i].help) {
		const struct aj_option *o = &aj_option_table[(*i)++], *heading = o;
		if (!o->name || (!(o->commands & command) && !(command == AJ_FOR_POLICY && o->key && o->commands & AJ_FOR_BOTH)))
			continue;
		while (heading->name)
			heading--;
		const struct aj_key *key = o->key ? aj_key_find(aj_policy_keys, o->key) : NULL;
		*ret = (struct aj_option_row){
			o->name, o->value, o->help, aj_serve_options_default(o->name), key ? key->names : NULL, heading->help
		};
		return true;
	}
	return false;
}

void aj_options_help(int command, FILE *out)
{
	struct aj_option_row row;
	const char *heading = NULL;
	for (size_t i = 0; aj_options_row(command, &i, &row);) {
		char left[64], text[400];
		if (row.heading != heading)
			aj_help_heading(out, heading = row.heading);
		snprintf(left, sizeof left, row.value ? "%s %s" : "%s", row.name, row.value);
		snprintf(text, sizeof text, row.fallback ? "%s (default %s)" : "%s", row.help, row.fallback);
		aj_help_row(out, left, text);
	}
}
