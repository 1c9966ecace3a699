/* Prints the tables of completions for bash, zsh and fish: docs/completions/ holds the files that read them.
 * It knows no command and no option; places.c gathers them from the program's tables. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "gen/gen.h"
#include "gen/places.h"

/* Print `text`, each of `special` with a backslash before it; a quote as '\''. */
static void print_escaped(const char *text, const char *special)
{
	for (; *text; text++)
		printf(*text == '\'' ? "'\\''" : strchr(special, *text) ? "\\%c" : "%c", *text);
}

/* --- the words of the program: those that follow "" are the commands, others the subcommands of a command --- */

struct word {
	const char *text, *help;
};

/* The next word that follows `command` ("": the program) from place *i on, which is 0 for the first. False: there is none. */
static bool next_word(const char *command, size_t *i, struct word *ret)
{
	for (; *i < aj_place_count; (*i)++) {
		const struct aj_doc_place *place = &aj_places[*i];
		bool first = *i == 0 || strcmp(place->command, place[-1].command) != 0;
		if (*command ? place->sub && strcmp(place->command, command) == 0 : first) {
			*ret = (struct word){ *command ? place->sub : place->command, place->help };
			for (const struct aj_subcommand *c = aj_commands; !*command && c->name; c++)
				if (strcmp(c->name, place->command) == 0)
					ret->help = c->help;
			(*i)++;
			return true;
		}
	}
	return false;
}

/* --- bash: words by place, options by place, and what a value or an operand is --- */

static const char *bash_kind(const struct aj_option_row *row, enum aj_kind kind)
{
	static const char *const names[] = {
		[AJ_KIND_TEXT] = "text",       [AJ_KIND_WORDS] = "words",       [AJ_KIND_FILES] = "files",
		[AJ_KIND_FOLDERS] = "folders", [AJ_KIND_POLICIES] = "policies", [AJ_KIND_CHANGES] = "changes",
		[AJ_KIND_PROGRAM] = "programs"
	};
	if (kind == AJ_KIND_WORDS)
		printf("'words %s'", aj_words_of(row));
	return kind == AJ_KIND_WORDS ? "" : names[kind];
}

static void bash_words(const char *command)
{
	struct word word;
	size_t i = 0;
	if (!next_word(command, &i, &word))
		return;
	printf("\t'%s') echo '", command);
	do
		printf("%s ", word.text);
	while (next_word(command, &i, &word));
	printf("--help%s' ;;\n", *command ? "" : " --version");
}

static void print_bash(void)
{
	printf("_agentjail_words() # PLACE\n{\n\tcase $1 in\n");
	bash_words("");
	for (const struct aj_subcommand *c = aj_commands; c->name; c++)
		bash_words(c->name);
	printf("\tesac\n}\n\n_agentjail_options() # PLACE\n{\n\tcase $1 in\n");
	for (const struct aj_doc_place *p = aj_places; p < aj_places + aj_place_count; p++) {
		printf("\t'%s') echo '", aj_place_name(p));
		for (size_t i = 0; i < p->count; i++)
			printf("%s%s", i ? " " : "", p->rows[i].name);
		printf("' ;;\n");
	}
	printf("\tesac\n}\n\n_agentjail_kind() # OPTION: of its value; or PLACE: of its operands\n{\n\tcase $1 in\n");
	for (size_t i = 0; i < aj_valued_count; i++) {
		printf("\t%s) echo ", aj_valued[i]->name);
		printf("%s ;;\n", bash_kind(aj_valued[i], aj_kind_of(aj_valued[i])));
	}
	for (const struct aj_doc_place *p = aj_places; p < aj_places + aj_place_count; p++)
		if (p->operand > AJ_KIND_TEXT)
			printf("\t'%s') echo %s ;;\n", aj_place_name(p), bash_kind(NULL, p->operand));
	printf("\tesac\n}\n");
}

/* --- zsh: words with their help, and the specifications of _arguments --- */

static void zsh_words(const char *command)
{
	struct word word;
	size_t i = 0;
	if (!next_word(command, &i, &word))
		return;
	printf("\t('%s')\n\t\tnames=(\n", command);
	do {
		printf("\t\t\t'%s:", word.text);
		print_escaped(word.help, "\\:");
		printf("'\n");
	} while (next_word(command, &i, &word));
	printf("\t\t\t--help:help\n%s\t\t)\n\t\t;;\n", *command ? "" : "\t\t\t'--version:the version'\n");
}

static void zsh_action(const struct aj_option_row *row, enum aj_kind kind)
{
	static const char *const actions[] = {
		[AJ_KIND_TEXT] = " ",
		[AJ_KIND_FILES] = "_files",
		[AJ_KIND_FOLDERS] = "_files -/",
		[AJ_KIND_POLICIES] = "_agentjail_policies",
		[AJ_KIND_CHANGES] = "_agentjail_changes",
	};
	if (kind == AJ_KIND_WORDS)
		printf("(%s)'", aj_words_of(row));
	else
		printf("%s'", actions[kind]);
}

static void print_zsh(void)
{
	printf("_agentjail_words() # PLACE: fills names\n{\n\tcase $1 in\n");
	zsh_words("");
	for (const struct aj_subcommand *c = aj_commands; c->name; c++)
		zsh_words(c->name);
	printf("\t(*) return 1 ;;\n\tesac\n}\n\n_agentjail_arguments() # PLACE\n{\n\tcase $1 in\n");
	for (const struct aj_doc_place *p = aj_places; p < aj_places + aj_place_count; p++) {
		printf("\t('%s')\n\t\t_arguments -S", aj_place_name(p));
		for (const struct aj_option_row *row = p->rows; row < p->rows + p->count; row++) {
			printf(" \\\n\t\t\t'%s%s%s[", strstr(row->help, "repeat") ? "*" : "", row->name,
			       row->value && row->name[1] == '-' ? "=" : "");
			print_escaped(row->help, "\\[]:");
			printf(row->value ? "]:" : "]'");
			if (row->value) {
				print_escaped(row->value, "\\:");
				printf(":");
				zsh_action(row, aj_kind_of(row));
			}
		}
		if (p->operand == AJ_KIND_PROGRAM) {
			printf(" \\\n\t\t\t'(-)1:command: _command_names -e' \\\n\t\t\t'*::argument:_normal'");
		} else if (p->operand > AJ_KIND_TEXT) {
			printf(" \\\n\t\t\t'*:operand:");
			zsh_action(NULL, p->operand);
		}
		printf("\n\t\t;;\n");
	}
	printf("\tesac\n}\n");
}

/* --- fish: a line for each word and option --- */

static void fish_words(const char *command)
{
	struct word word;
	for (size_t i = 0; next_word(command, &i, &word);) {
		printf("complete -c agentjail -n '__agentjail_after%s%s' -a %s -d '", *command ? " " : "", command, word.text);
		print_escaped(word.help, "\\");
		printf("'\n");
	}
}

static void print_fish(void)
{
	static const char *const values[] = {
		[AJ_KIND_SWITCH] = "",
		[AJ_KIND_TEXT] = " -x",
		[AJ_KIND_FILES] = " -rF",
		[AJ_KIND_FOLDERS] = " -xa '(__fish_complete_directories)'",
		[AJ_KIND_POLICIES] = " -xa '(__agentjail_policies)'",
		[AJ_KIND_CHANGES] = " -xa '(__agentjail_changes)'",
	};
	fish_words("");
	printf("complete -c agentjail -n __agentjail_after -l help -d 'the commands'\n"
	       "complete -c agentjail -n __agentjail_after -l version -d 'the version'\n");
	for (const struct aj_subcommand *c = aj_commands; c->name; c++)
		fish_words(c->name);
	for (const struct aj_doc_place *p = aj_places; p < aj_places + aj_place_count; p++) {
		for (const struct aj_option_row *row = p->rows; row < p->rows + p->count; row++) {
			bool two = row->name[1] == '-';
			printf("complete -c agentjail -n '__agentjail_in %s' -%s %s", aj_place_name(p), two ? "l" : "s",
			       row->name + 1 + two);
			if (aj_kind_of(row) == AJ_KIND_WORDS)
				printf(" -xa '%s'", aj_words_of(row));
			else
				fputs(values[aj_kind_of(row)], stdout);
			printf(" -d '");
			print_escaped(row->help, "\\");
			printf("'\n");
		}
		if (p->operand <= AJ_KIND_TEXT)
			continue;
		printf("complete -c agentjail -n '__agentjail_in %s'", aj_place_name(p));
		if (p->operand == AJ_KIND_PROGRAM) { /* behind two words that are no options, and behind the values of options */
			printf(" -xa '(__fish_complete_subcommand --fcs-skip=2 -c");
			for (size_t i = 0; i < aj_valued_count; i++)
				if (strcmp(aj_valued[i]->name, "-c") != 0)
					printf(" %s", aj_valued[i]->name);
			printf(")'\n");
		} else {
			printf("%s\n", values[p->operand]);
		}
	}
}

void aj_completions(int shell)
{
	aj_places_gather();
	if (shell == AJ_BASH)
		print_bash();
	else if (shell == AJ_ZSH)
		print_zsh();
	else
		print_fish();
}
