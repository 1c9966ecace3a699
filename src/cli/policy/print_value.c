/* Values and origins of a policy as JSON, and origins as text.
 * It writes each value as a policy file has it, so that the value can be loaded again. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "policy/field.h"

json_t *aj_key_json(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	if (key->type == AJ_KEY_BOOL)
		return json_boolean(*(const bool *)aj_const_field(key, base));
	if (aj_key_is_number(key, base))
		return json_integer((json_int_t)aj_number(key, base));
	if (!aj_key_is_list(key))
		return json_string(aj_key_word(key, base, arena));
	const aj_text_list items = aj_key_items(key, base, arena);
	json_t *all = json_array();
	for (size_t i = 0; i < items.count; i++)
		json_array_append_new(all, json_string(items.items[i]));
	return all;
}

json_t *aj_origin_json(const struct aj_origin *at)
{
	if (!at->file)
		return json_pack("{s:s}", "file", "default");
	if (!at->line)
		return json_pack("{s:s}", "file", at->file);
	return json_pack("{s:s, s:i, s:i}", "file", at->file, "line", at->line, "column", at->column);
}

void aj_json_print(json_t *doc)
{
	/* Plain ASCII to a terminal: some terminals interpret C1 control characters. */
	json_dumpf(doc, stdout, JSON_COMPACT | (isatty(1) ? JSON_ENSURE_ASCII : 0));
	putchar('\n');
	json_decref(doc);
}

const char *aj_where(const struct aj_origin *at, struct aj_arena *arena)
{
	return aj_line(arena, aj_origin_text(at, arena));
}
