/* Gathers where on a command line of agentjail which options and operands can stand: from the tables of commands and options, and
 * from the synopses of commands whose options are in no table. It ends if the value of one option is of two kinds. */
#include "gen/places.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "cli/changes/changescmd.h"
#include "cli/command.h"
#include "cli/policy/policycmd.h"

static struct aj_arena arena; /* as long as the program runs */
struct aj_doc_place aj_places[AJ_PLACES_MAX];
size_t aj_place_count;
const struct aj_option_row *aj_valued[2 * AJ_PLACE_ROWS_MAX];
size_t aj_valued_count;

enum aj_kind aj_kind_of(const struct aj_option_row *row)
{
	static const struct {
		const char *value;
		enum aj_kind kind;
	} kinds[] = { { "FILE", AJ_KIND_FILES },     { "PATH", AJ_KIND_FILES },  { "SOCKET", AJ_KIND_FILES },
		      { "WHERE", AJ_KIND_FILES },    { "HOST[", AJ_KIND_FILES }, { "DIR", AJ_KIND_FOLDERS },
		      { "COMMAND", AJ_KIND_PROGRAM } };
	if (!row->value)
		return AJ_KIND_SWITCH;
	if (row->words || strchr(row->value, '|'))
		return AJ_KIND_WORDS;
	if (row->name && strcmp(row->name, "--policy") == 0)
		return AJ_KIND_POLICIES;
	if (!row->name && strcmp(row->value, "ID") == 0) /* as an option's value it is any text */
		return AJ_KIND_CHANGES;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (strncmp(row->value, kinds[i].value, strlen(kinds[i].value)) == 0)
			return kinds[i].kind;
	return AJ_KIND_TEXT;
}

const char *aj_place_name(const struct aj_doc_place *place)
{
	return place->sub ? aj_printf(&arena, "%s %s", place->command, place->sub) : place->command;
}

const char *aj_words_of(const struct aj_option_row *row)
{
	char *text = aj_strdup(&arena, row->words ? "" : row->value);
	for (char *c = text; (c = strchr(c, '|'));)
		*c = ' ';
	for (size_t i = 0; row->words && row->words[i]; i++)
		text = aj_printf(&arena, "%s%s%s", text, i ? " " : "", row->words[i]);
	return text;
}

/* --- places, from the tables and from synopses --- */

static struct aj_option_row *add_row(struct aj_doc_place *place)
{
	if (place->count == AJ_PLACE_ROWS_MAX)
		abort();
	return &place->rows[place->count++];
}

static struct aj_doc_place *add_place(const char *command, const char *sub, const char *help)
{
	if (aj_place_count == AJ_PLACES_MAX)
		abort();
	struct aj_doc_place *place = &aj_places[aj_place_count++];
	*place = (struct aj_doc_place){ .command = command, .sub = sub, .help = help, .has_help = !sub };
	return place;
}

/* In a synopsis `--name` is an option, `--name WORD` one with a value, and another word in capitals an operand. */
static void read_synopsis(struct aj_doc_place *place, const char *synopsis, bool with_options)
{
	const char *not_kept, **value = NULL; /* where the next word in capitals goes, unless it is an operand */
	for (char *rest = aj_strdup(&arena, synopsis), *word; (word = strsep(&rest, " "));) {
		bool closed = strpbrk(word, "]|");
		char *clean = word + strspn(word, "[|");
		clean[strcspn(clean, "]|.")] = '\0';
		bool option = clean[0] == '-' && clean[1] && strcmp(clean, "--") != 0;
		bool capitals = isupper((unsigned char)clean[0]);
		if (capitals && value)
			*value = clean;
		else if (capitals && place->operand == AJ_KIND_SWITCH)
			place->operand = aj_kind_of(&(struct aj_option_row){ .value = clean });
		value = NULL;
		if (option) {
			value = &not_kept;
			if (with_options) {
				struct aj_option_row *row = add_row(place);
				*row = (struct aj_option_row){ .name = clean, .help = "" };
				value = &row->value;
			}
		}
		if (closed)
			value = NULL;
	}
}

static void gather_changes(const struct aj_subcommand *command)
{
	for (const struct aj_changes_command *sub = aj_changes_commands; sub->name; sub++)
		if (sub->synopsis)
			read_synopsis(add_place(command->name, sub->name, sub->help), sub->synopsis, true);
}

static void gather_policy(const struct aj_subcommand *command)
{
	for (const struct aj_policy_command *sub = aj_policy_commands; sub->name; sub++) {
		struct aj_doc_place *place = add_place(command->name, sub->name, sub->help);
		place->operand = sub->most ? AJ_KIND_POLICIES : AJ_KIND_TEXT;
		place->has_help = true;
		struct aj_option_row row;
		for (size_t i = 0; aj_policy_options_row(sub, &i, &row);)
			*add_row(place) = row;
	}
}

/* The value of an option is of one kind, wherever the option is. */
static void note_value(const struct aj_option_row *row)
{
	if (!row->value)
		return;
	for (size_t i = 0; i < aj_valued_count; i++)
		if (strcmp(aj_valued[i]->name, row->name) == 0) {
			if (aj_kind_of(aj_valued[i]) == aj_kind_of(row))
				return;
			fprintf(stderr, "gen-docs: the value of %s has two kinds\n", row->name);
			exit(1);
		}
	if (aj_valued_count == sizeof aj_valued / sizeof *aj_valued)
		abort();
	aj_valued[aj_valued_count++] = row;
}

void aj_places_gather(void)
{
	for (const struct aj_subcommand *command = aj_commands; command->name; command++) {
		char *subs = aj_strdup(&arena, command->synopsis + strlen(command->name) + 1);
		subs[strcspn(subs, " ")] = '\0';
		if (command->run == aj_cmd_policy) {
			gather_policy(command);
		} else if (command->run == aj_cmd_changes) {
			gather_changes(command);
		} else if (islower((unsigned char)subs[0])) {
			for (char *sub; (sub = strsep(&subs, "|"));) {
				struct aj_doc_place *place = add_place(command->name, sub, command->help);
				read_synopsis(place, command->synopsis, true);
			}
		} else {
			struct aj_doc_place *place = add_place(command->name, NULL, command->help);
			struct aj_option_row row;
			for (size_t i = 0; command->options && aj_options_row(command->options, &i, &row);)
				*add_row(place) = row;
			read_synopsis(place, command->synopsis, !command->options);
		}
	}
	for (size_t i = 0; i < aj_place_count; i++) {
		if (aj_places[i].has_help)
			*add_row(&aj_places[i]) = (struct aj_option_row){ .name = "--help", .help = "the options" };
		for (size_t j = 0; j < aj_places[i].count; j++)
			note_value(&aj_places[i].rows[j]);
	}
}
