/* Makes an array of the table AJ_SNIPPET_MEMBERS of snippet.h, for code that reads or writes a snippet's members one by one. */
#include "policy/plan/snippet.h"

#include <string.h>

#include "base/text.h"

#define ROW(constant, member, name, kind, most, words, frame, key, text, more) \
	{ name, AJ_MEMBER_##kind, most, words, frame, key, text, more, offsetof(struct aj_snippet, member) },
const struct aj_snippet_row aj_snippet_rows[] = { AJ_SNIPPET_MEMBERS(ROW){ .text = NULL } };
#undef ROW

static bool is_name(const char *name, const char *given)
{
	while (*name && (*name == *given || (*name == '_' && *given == '-')))
		name++, given++;
	return !*name && !*given;
}

const struct aj_snippet_row *aj_snippet_find(const char *name)
{
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++)
		if (row->name && is_name(row->name, name))
			return row;
	return NULL;
}

int aj_snippet_word(const char *words, const char *word)
{
	for (int place = 0; *words; place++, words += strlen(words) + 1)
		if (strcmp(words, word) == 0)
			return place;
	return -1;
}

const char *aj_snippet_list_words(const char *words, const char *between, struct aj_arena *arena)
{
	const char *list = words;
	for (words += strlen(words) + 1; *words; words += strlen(words) + 1)
		list = aj_printf(arena, "%s%s%s", list, between, words);
	return list;
}

static bool is_pointer(enum aj_snippet_kind kind)
{
	return kind == AJ_MEMBER_TEXT || kind == AJ_MEMBER_NAME || kind >= AJ_MEMBER_OBJECT;
}

void aj_snippet_keep_texts(struct aj_snippet *s, struct aj_arena *arena)
{
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++) {
		const char **text = (const char **)(void *)((char *)s + row->at);
		if (is_pointer(row->kind) && row->kind != AJ_MEMBER_FILES && *text)
			*text = aj_strndup(arena, *text, text == &s->code ? s->code_bytes : strlen(*text));
	}
}

void aj_snippet_drop_texts(struct aj_snippet *s)
{
	for (const struct aj_snippet_row *row = aj_snippet_rows; row->text; row++)
		if (is_pointer(row->kind))
			*(const void **)(void *)((char *)s + row->at) = NULL;
}

const char *aj_snippet_set_text(struct aj_snippet *snippet, const char *name, const char *text, struct aj_arena *arena)
{
	const struct aj_snippet_row *row = aj_snippet_find(name);
	void *member = (char *)snippet + row->at;
	uint64_t number;
	int place;
	switch (row->kind) {
	case AJ_MEMBER_SWITCH:
		*(bool *)member = true;
		return NULL;
	case AJ_MEMBER_EITHER:
	case AJ_MEMBER_CHOICE:
		if ((place = aj_snippet_word(row->words, text)) < 0)
			return aj_printf(arena, "not one of %s", aj_snippet_list_words(row->words, ", ", arena));
		if (row->kind == AJ_MEMBER_EITHER)
			*(bool *)member = place;
		else
			*(unsigned *)member = (unsigned)place + 1;
		return NULL;
	case AJ_MEMBER_COUNT:
		if (!aj_parse_count(text, &number) || number > (uint64_t)row->most)
			return aj_printf(arena, "not a number from 0 to %lld", (long long)row->most);
		*(struct aj_number *)member = (struct aj_number){ .given = true, .value = number };
		return NULL;
	default:
		return "not a value that an option can have";
	}
}
