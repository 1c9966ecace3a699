/* Prints Python from the table of a snippet's members: the keys that the jail's reader knows, and the options of the client.
 * It prints no check: the reader and the client have these themselves. */
#include "policy/plan/snippet.h"

#include <stdio.h>
#include <string.h>

#include "gen/gen.h"

enum { WIDTH = 140 };

/* Type and default of a key, as Python has them. */
static void print_key_type(const struct aj_snippet_row *row)
{
	switch (row->kind) {
	case AJ_MEMBER_EITHER:
		printf("(str, \"%s\")", row->words);
		break;
	case AJ_MEMBER_SWITCH:
	case AJ_MEMBER_CHOICE:
		printf("(bool, False)");
		break;
	case AJ_MEMBER_COUNT:
		printf("(int, None)");
		break;
	case AJ_MEMBER_TIME:
		printf("(int, 0)");
		break;
	case AJ_MEMBER_OBJECT:
	case AJ_MEMBER_MADE:
		printf("(dict, {})");
		break;
	case AJ_MEMBER_ARRAY:
		printf("(list, ())");
		break;
	default:
		printf("(str, None)");
	}
}

void aj_snippet_keys(void)
{
	printf("# The keys of a snippet: type, default.\nSNIPPET_KEYS = {\n");
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++) {
		if (row->frame == AJ_ON_HOST)
			continue;
		printf("    # %s\n    \"%s\": ", row->text, row->key);
		print_key_type(row);
		printf(",\n");
	}
	printf("}\n# Of the head: bit -> key of the snippet, value.\nHAS_CODE = %d\nFLAGS = {\n", AJ_HAS_CODE);
	int bits = AJ_HAS_CODE;
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++) {
		if (row->frame <= 0)
			continue;
		bool either = row->kind == AJ_MEMBER_EITHER;
		printf(either ? "    %d: (\"%s\", \"%s\"),\n" : "    %d: (\"%s\", True),\n", row->frame, row->key,
		       either ? row->words + strlen(row->words) + 1 : "");
		bits |= row->frame;
	}
	printf("}\nFLAGS_END = %d\n# The keys that are one of two words.\nWORDS = {\n", bits + 1);
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++)
		if (row->kind == AJ_MEMBER_EITHER)
			printf("    \"%s\": (\"%s\", \"%s\"),\n", row->key, row->words, row->words + strlen(row->words) + 1);
	printf("}\n");
}

/* An option's name in the client: a time there is in seconds. */
static int name_bytes(const struct aj_snippet_row *row)
{
	return (int)(strlen(row->name) - (row->kind == AJ_MEMBER_TIME ? strlen("_ms") : 0));
}

static void print_option_type(const struct aj_snippet_row *row)
{
	switch (row->kind) {
	case AJ_MEMBER_SWITCH:
		printf("bool");
		break;
	case AJ_MEMBER_EITHER:
	case AJ_MEMBER_CHOICE:
		printf("Literal[");
		for (const char *word = row->words; *word; word += strlen(word) + 1)
			printf("%s\"%s\"", word == row->words ? "" : ", ", word);
		printf("]");
		break;
	case AJ_MEMBER_COUNT:
		printf("int");
		break;
	case AJ_MEMBER_TIME:
		printf("float");
		break;
	case AJ_MEMBER_OBJECT:
		printf("Mapping[str, Any]");
		break;
	case AJ_MEMBER_FILES:
		printf("Files");
		break;
	default:
		printf("str");
	}
}

static void print_option_help(const struct aj_snippet_row *row)
{
	char text[600];
	snprintf(text, sizeof text, "%.*s: %s%s.", name_bytes(row), row->name, row->text,
	         row->kind == AJ_MEMBER_TIME ? ", in seconds" : "");
	int column = printf("   ");
	for (char *save = NULL, *word = strtok_r(text, " ", &save); word; word = strtok_r(NULL, " ", &save)) {
		if (column + 1 + (int)strlen(word) > WIDTH)
			column = printf("\n       ") - 1;
		column += printf(" %s", word);
	}
	printf("\n");
}

/* Those of a run: the code is an argument of its own. */
void aj_snippet_client_options(void)
{
	printf("class RunOptions(TypedDict, total=False):\n    \"\"\"Options of one run.\n\n");
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++)
		if (row->name && strcmp(row->name, "code") != 0)
			print_option_help(row);
	printf("    \"\"\"\n\n");
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++) {
		if (!row->name || strcmp(row->name, "code") == 0)
			continue;
		printf("    %.*s: ", name_bytes(row), row->name);
		print_option_type(row);
		printf(" | None\n");
	}
	printf("\n\n");
}
