/* Sets values from words and prints them as TOML, as the rows of the schema describe them; one switch over the types for each.
 * It knows no key by name and accepts no part of a bad value: the old value stays. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/field.h"

static bool find_name(const struct aj_key *key, const char *text, size_t *ret)
{
	for (*ret = 0; key->names[*ret]; ++*ret)
		if (strcmp(key->names[*ret], text) == 0)
			return true;
	bool boolean = key->was_boolean && (strcmp(text, "true") == 0 || strcmp(text, "false") == 0);
	*ret = *text == 't' ? *ret - 1 : 0;
	return boolean;
}

static const char *all_names(const struct aj_key *key, struct aj_arena *arena)
{
	const char *all = key->names[0];
	for (size_t i = 1; key->names[i]; i++)
		all = aj_printf(arena, "%s%s%s", all, key->names[i + 1] ? ", " : " or ", key->names[i]);
	return all;
}

static const char *quantity_text(enum aj_key_type type, uint64_t value, struct aj_arena *arena)
{
	static const struct {
		const char *unit;
		uint64_t factor;
	} bytes[] = { { "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 } },
	  time[] = { { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
	for (int i = 0; i < 3 && type != AJ_KEY_COUNT; i++) {
		uint64_t factor = type == AJ_KEY_BYTES ? bytes[i].factor : time[i].factor;
		if (value && value % factor == 0)
			return aj_printf(arena, "%lu%s", value / factor, type == AJ_KEY_BYTES ? bytes[i].unit : time[i].unit);
	}
	return aj_printf(arena, type == AJ_KEY_DURATION ? "%lums" : "%lu", value);
}

const char *aj_key_range(const struct aj_key *key, struct aj_arena *arena)
{
	const char *low = quantity_text(key->type, key->min, arena), *high = quantity_text(key->type, key->max, arena);
	return aj_printf(arena, "from %s to %s%s", low, high, key->none ? ", or \"none\"" : "");
}

const char *aj_key_set_number(const struct aj_key *key, void *base, struct aj_arena *arena, uint64_t value)
{
	if (value == 0 && key->none)
		return aj_printf(arena, "a limit of 0 lets nothing run: %s, which is no limit", aj_key_range(key, arena));
	if (value < key->min || value > key->max)
		return aj_printf(arena, "out of range: %s", aj_key_range(key, arena));
	*(uint64_t *)aj_field(key, base) = value;
	return NULL;
}

/* The size that "512MB" or "2g" stands for, in our units; "" where the text is not such a number. */
static const char *size_meant(struct aj_arena *arena, const char *text)
{
	size_t digits = strspn(text, "0123456789");
	const char *unit = text + digits, *letter = *unit ? strchr("KMG", *unit & ~0x20) : NULL;
	if (!digits || !letter || (unit[1] && strcasecmp(unit + 1, "b") != 0 && strcasecmp(unit + 1, "ib") != 0))
		return "";
	return aj_printf(arena, "; did you mean %.*s%c?", (int)digits, text, *letter);
}

static const char *parse_quantity(const struct aj_key *key, void *base, struct aj_arena *arena, const char *text)
{
	uint64_t value;
	if (key->none && strcmp(text, "none") == 0) {
		*(uint64_t *)aj_field(key, base) = 0;
		return NULL;
	}
	if (key->as_wall && strcmp(text, "wall") == 0) {
		*(uint64_t *)aj_field(key, base) = AJ_AS_WALL;
		return NULL;
	}
	bool parsed = key->type == AJ_KEY_BYTES    ? aj_parse_bytes(text, &value)
	            : key->type == AJ_KEY_DURATION ? aj_parse_duration(text, &value)
	                                           : aj_parse_count(text, &value);
	if (!parsed)
		return aj_printf(arena, "not %s %s%s",
		                 key->type == AJ_KEY_BYTES      ? "a size like 64K, 256M or 2G,"
		                 : key->type == AJ_KEY_DURATION ? "a duration like 500ms, 10s, 2m or 1h,"
		                                                : "a number",
		                 aj_key_range(key, arena), key->type == AJ_KEY_BYTES ? size_meant(arena, text) : "");
	return aj_key_set_number(key, base, arena, value);
}

static const char *add_item(const struct aj_key *key, aj_text_list *list, struct aj_arena *arena, const char *text)
{
	const char *wrong = key->items->check(arena, text);
	if (wrong)
		return wrong;
	if (list->count >= key->max)
		return aj_printf(arena, "too many items: at most %lu", key->max);
	*AJ_PUSH(arena, list) = aj_strdup(arena, text);
	return NULL;
}

static const char *no_such_name(const struct aj_key *key, const char *text, struct aj_arena *arena)
{
	size_t count = 0;
	while (key->names[count])
		count++;
	const char *meant = aj_suggest_name(text, key->names, count);
	const char *hint = meant ? aj_printf(arena, "; did you mean \"%s\"?", meant) : "";
	return aj_printf(arena, "not one of %s%s", all_names(key, arena), hint);
}

const char *aj_key_set_text(const struct aj_key *key, void *base, struct aj_arena *arena, const char *text)
{
	size_t i;
	const char *wrong;
	switch (key->type) {
	case AJ_KEY_BOOL:
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return "not one of true, false";
		*(bool *)aj_field(key, base) = *text == 't';
		return NULL;
	case AJ_KEY_ENUM:
		if (!find_name(key, text, &i))
			return no_such_name(key, text, arena);
		*(int *)aj_field(key, base) = (int)i;
		return NULL;
	case AJ_KEY_FLAGS:
		if (!find_name(key, text, &i))
			return no_such_name(key, text, arena);
		*(uint64_t *)aj_field(key, base) |= (uint64_t)1 << i;
		return NULL;
	case AJ_KEY_BYTES:
	case AJ_KEY_DURATION:
	case AJ_KEY_COUNT:
		return parse_quantity(key, base, arena, text);
	case AJ_KEY_TEXT:
		wrong = *text || *key->fallback ? key->items->check(arena, text) : NULL;
		if (!wrong)
			*(const char **)aj_field(key, base) = aj_strdup(arena, text);
		return wrong;
	case AJ_KEY_LIST:
		return add_item(key, aj_field(key, base), arena, text);
	}
	return "of an unknown type";
}

void aj_keys_default(const struct aj_key *keys, void *base, struct aj_arena *arena)
{
	for (; keys->name; keys++) {
		if (keys->type == AJ_KEY_LIST)
			memset(aj_field(keys, base), 0, sizeof(aj_text_list));
		else if (keys->type == AJ_KEY_FLAGS)
			*(uint64_t *)aj_field(keys, base) = 0;
		if (keys->fallback)
			aj_key_set_text(keys, base, arena, keys->fallback);
	}
}

void aj_key_copy(const struct aj_key *key, void *to, const void *from)
{
	static const size_t bytes[] = {
		[AJ_KEY_BOOL] = sizeof(bool),         [AJ_KEY_ENUM] = sizeof(int),          [AJ_KEY_FLAGS] = sizeof(uint64_t),
		[AJ_KEY_BYTES] = sizeof(uint64_t),    [AJ_KEY_DURATION] = sizeof(uint64_t), [AJ_KEY_COUNT] = sizeof(uint64_t),
		[AJ_KEY_TEXT] = sizeof(const char *), [AJ_KEY_LIST] = sizeof(aj_text_list),
	};
	memcpy(aj_field(key, to), aj_const_field(key, from), bytes[key->type]);
	if (key->type == AJ_KEY_LIST) {
		aj_text_list *list = aj_field(key, to);
		list->room = list->count; /* full: the next item goes into a new array */
	}
}

/* --- as TOML --- */

const char *aj_toml_quote(const char *text, struct aj_arena *arena)
{
	size_t bytes = strlen(text), used = 0;
	char *out = aj_alloc(arena, 6 * bytes + 3);
	out[used++] = '"';
	for (size_t i = 0, n; i < bytes; i += n) {
		enum aj_char_kind kind = aj_char_first(text + i, bytes - i, &n);
		if (kind == AJ_CHAR_BREAK || kind == AJ_CHAR_CONTROL) {
			/* The last byte of a C1 control's two is its number. */
			used += (size_t)snprintf(out + used, 7, "\\u%04x", text[i + n - 1] & 0xff);
			continue;
		}
		if (text[i] == '"' || text[i] == '\\')
			out[used++] = '\\';
		memcpy(out + used, text + i, n);
		used += n;
	}
	out[used++] = '"';
	return out;
}

static const char *quoted_list(const aj_text_list *list, struct aj_arena *arena)
{
	size_t bytes = 3;
	for (size_t i = 0; i < list->count; i++)
		bytes += 6 * strlen(list->items[i]) + 4;
	char *out = aj_alloc(arena, bytes), *at = stpcpy(out, "[");
	for (size_t i = 0; i < list->count; i++) {
		if (i)
			at = stpcpy(at, ", ");
		at = stpcpy(at, aj_toml_quote(list->items[i], arena));
	}
	stpcpy(at, "]");
	return out;
}

aj_text_list aj_key_items(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	aj_text_list flags = { 0 };
	if (key->type == AJ_KEY_LIST)
		return *(const aj_text_list *)aj_const_field(key, base);
	for (size_t i = 0; key->names[i]; i++)
		if (aj_number(key, base) & ((uint64_t)1 << i))
			*AJ_PUSH(arena, &flags) = key->names[i];
	return flags;
}

bool aj_key_is_number(const struct aj_key *key, const void *base)
{
	return key->type == AJ_KEY_COUNT && (aj_number(key, base) || !key->none);
}

const char *aj_key_word(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	const void *at = aj_const_field(key, base);
	switch (key->type) {
	case AJ_KEY_BOOL:
		return *(const bool *)at ? "true" : "false";
	case AJ_KEY_ENUM:
		return key->names[*(const int *)at];
	case AJ_KEY_TEXT:
		return *(const char *const *)at;
	default:
		if (key->as_wall && aj_number(key, base) == AJ_AS_WALL)
			return "wall";
		return aj_number(key, base) || !key->none ? quantity_text(key->type, aj_number(key, base), arena) : "none";
	}
}

const char *aj_key_value(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	if (aj_key_is_list(key)) {
		aj_text_list items = aj_key_items(key, base, arena);
		return quoted_list(&items, arena);
	}
	const char *word = aj_key_word(key, base, arena);
	return key->type == AJ_KEY_BOOL || aj_key_is_number(key, base) ? word : aj_toml_quote(word, arena);
}

void aj_key_push(const struct aj_key *key, void *base, struct aj_arena *arena, const char *item)
{
	*AJ_PUSH(arena, (aj_text_list *)aj_field(key, base)) = item;
}
