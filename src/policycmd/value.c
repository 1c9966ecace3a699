/* Values and origins of a policy as JSON, and origins as text.
 * It writes each value as a policy file has it, so that the value can be loaded again. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "policycmd/policy.h"
#include "terminal/findings.h"

json_t *aj_key_json(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	/* The TOML of a word, a number or a list of words is JSON as well; strings with escapes are not. */
	const char *field = (const char *)base + key->offset;
	if (key->type == AJ_KEY_TEXT)
		return json_string(*(const char *const *)field);
	if (key->type != AJ_KEY_LIST)
		return json_loads(aj_key_value(key, base, arena), JSON_DECODE_ANY, NULL);
	const AJ_LIST(const char *) *list = (const void *)field;
	json_t *all = json_array();
	for (size_t i = 0; i < list->count; i++)
		json_array_append_new(all, json_string(list->items[i]));
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
