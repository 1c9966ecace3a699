/* Prints the rows of the manual's pages that are tables in the code, as man(7) macros.
 * It adds nothing to a row and leaves nothing out of it. */
#include <stdio.h>
#include <string.h>

#include "cli/command.h"
#include "cli/options/options.h"
#include "cli/policy/policycmd.h"
#include "gen/gen.h"
#include "jail/result/fields.h"
#include "policy/load/site.h"

/* A hyphen in man(7) text must be escaped to stay a hyphen that can be copied. */
static void put_text(const char *text)
{
	for (; *text; text++)
		printf(*text == '-' ? "\\-" : *text == '\\' ? "\\e" : "%c", *text);
}

void aj_man_synopsis(void)
{
	for (const struct aj_subcommand *c = aj_commands; c->name; c++) {
		printf(".B agentjail ");
		put_text(c->name);
		printf("\n");
		put_text(c->synopsis + strlen(c->name) + strspn(c->synopsis + strlen(c->name), " "));
		printf("\n.br\n");
	}
}

void aj_man_options(int command)
{
	struct aj_option_row row;
	for (size_t i = 0; aj_options_row(command, &i, &row);) {
		printf(".TP\n.B ");
		put_text(row.name);
		if (row.value)
			printf(" \\fI%s\\fR", row.value);
		printf("\n");
		put_text(row.help);
		if (row.fallback)
			printf(" (default %s)", row.fallback);
		printf(".\n");
	}
}

void aj_man_keys(int site)
{
	struct aj_arena arena = { 0 };
	for (const struct aj_key *key = site ? aj_site_keys : aj_policy_keys; key->name; key++) {
		printf(".TP\n.B ");
		put_text(key->name);
		printf("\n");
		put_text(key->help);
		printf(".\n.br\n");
		put_text(aj_printf(&arena, "%s; default %s.", aj_key_type_text(key, &arena), aj_key_default_text(key)));
		if (!site)
			put_text(aj_printf(&arena, " Enforced by %s.", aj_enforcer_name(key->by)));
		printf("\n");
	}
	aj_arena_free(&arena);
}

/* Of the result itself: docs/reference/result.md has the members of its objects. */
void aj_man_result(void)
{
	for (const struct aj_field *f = aj_fields; f->path; f++) {
		if (!aj_field_is_name(f->path))
			continue;
		printf(".TP\n.B ");
		put_text(f->path);
		printf("\n");
		put_text(f->help);
		printf(f->words ? ": " : ".\n");
		for (const char *word = f->words; word && *word; word++)
			printf(*word == ' ' ? ", " : "%c", *word);
		printf(f->words ? ".\n" : "");
		printf(f->claimed ? "Claimed" : "Attested");
		if (f->when) {
			printf("; there where: ");
			put_text(f->when);
		}
		printf(".\n");
	}
}

void aj_man_codes(void)
{
	for (int i = 0; i < AJ_FINDING_COUNT; i++) {
		printf(".TP\n.B %s\n", aj_codes[i].code);
		put_text(aj_codes[i].meaning);
		printf(".\n");
	}
}
