/* Sets, prints and compares values as the rows of the schema describe them; one switch over the types for each.
 * It knows no key by name and accepts nothing by halves: a bad value leaves the old one alone. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "policy/schema.h"

typedef AJ_LIST(const char *) text_list;

static void *field(const struct aj_key *key, void *base)
{
	return (char *)base + key->offset;
}

static const void *const_field(const struct aj_key *key, const void *base)
{
	return (const char *)base + key->offset;
}

static uint64_t number(const struct aj_key *key, const void *base)
{
	return *(const uint64_t *)const_field(key, base);
}

static size_t names_count(const struct aj_key *key)
{
	size_t n = 0;
	while (key->names[n])
		n++;
	return n;
}

static const char *name_at(size_t i, const void *names)
{
	return ((const char *const *)names)[i];
}

const struct aj_key *aj_key_find(const struct aj_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

static const char *key_name_at(size_t i, const void *keys)
{
	return ((const struct aj_key *)keys)[i].name;
}

static const char *last_part(size_t i, const void *keys)
{
	const char *name = key_name_at(i, keys), *dot = strchr(name, '.');
	return dot ? dot + 1 : name;
}

const char *aj_key_suggest(const struct aj_key *keys, const char *name)
{
	size_t count = 0;
	while (keys[count].name)
		count++;
	const char *part = strrchr(name, '.'), *best;
	/* Right key, wrong or missing section? Else a misspelling of the whole, or of the key. */
	for (size_t i = 0; i < count; i++)
		if (strcmp(last_part(i, keys), part ? part + 1 : name) == 0)
			return keys[i].name;
	if ((best = aj_suggest(name, key_name_at, keys, count)))
		return best;
	best = aj_suggest(part ? part + 1 : name, last_part, keys, count);
	for (size_t i = 0; best && i < count; i++)
		if (strcmp(last_part(i, keys), best) == 0)
			return keys[i].name;
	return NULL;
}

static size_t section_bytes(const struct aj_key *key)
{
	const char *dot = strchr(key->name, '.');
	return dot ? (size_t)(dot - key->name) : 0;
}

bool aj_section_known(const struct aj_key *keys, const char *section)
{
	for (; keys->name; keys++)
		if (section_bytes(keys) == strlen(section) && strncmp(keys->name, section, strlen(section)) == 0 && *section)
			return true;
	return false;
}

const char *aj_section_suggest(const struct aj_key *keys, const char *section, struct aj_arena *arena)
{
	AJ_LIST(const char *) sections = { 0 };
	for (; keys->name; keys++)
		if (section_bytes(keys))
			*AJ_PUSH(arena, &sections) = aj_strndup(arena, keys->name, section_bytes(keys));
	return sections.count ? aj_suggest(section, name_at, sections.items, sections.count) : NULL;
}

bool aj_key_is_list(const struct aj_key *key)
{
	return key->type == AJ_KEY_LIST || key->type == AJ_KEY_FLAGS;
}

static const struct {
	const char *kind, *name;
	bool wall;
} enforcers[] = {
	[AJ_BY_NOBODY] = { "no wall", "nobody", false },
	[AJ_BY_RAIL] = { "rail", "the Python layer (a rail, not a wall)", false },
	[AJ_BY_LAUNCHER] = { "launcher", "the launcher, before anything runs", true },
	[AJ_BY_NAMESPACE] = { "kernel wall", "kernel: namespaces", true },
	[AJ_BY_MOUNTS] = { "kernel wall", "kernel: the jail's own mounts", true },
	[AJ_BY_SECCOMP] = { "kernel wall", "kernel: system call filter", true },
	[AJ_BY_CGROUP] = { "kernel wall", "kernel: cgroup v2, or rlimits where there is none", true },
	[AJ_BY_RLIMIT] = { "kernel wall", "kernel: rlimit", true },
	[AJ_BY_SUPERVISOR] = { "supervisor", "the supervisor, outside the jail", true },
};

const char *aj_enforcer_kind(enum aj_enforcer by)
{
	return enforcers[by].kind;
}

const char *aj_enforcer_name(enum aj_enforcer by)
{
	return enforcers[by].name;
}

bool aj_enforcer_is_wall(enum aj_enforcer by)
{
	return enforcers[by].wall;
}

/* --- one word --- */

static bool find_name(const struct aj_key *key, const char *text, size_t *ret)
{
	for (*ret = 0; key->names[*ret]; ++*ret)
		if (strcmp(key->names[*ret], text) == 0)
			return true;
	return false;
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
	} bytes[] = { { "G", 1 << 30 }, { "M", 1 << 20 }, { "K", 1 << 10 } }, time[] = { { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } };
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

static const char *set_quantity(const struct aj_key *key, void *base, struct aj_arena *arena, uint64_t value)
{
	if (value == 0 && key->none)
		return aj_printf(arena, "no limit that anything could keep: %s (which means without a limit)", aj_key_range(key, arena));
	if (value < key->min || value > key->max)
		return aj_printf(arena, "out of range: %s", aj_key_range(key, arena));
	*(uint64_t *)field(key, base) = value;
	return NULL;
}

static const char *parse_quantity(const struct aj_key *key, void *base, struct aj_arena *arena, const char *text)
{
	uint64_t value;
	if (key->none && strcmp(text, "none") == 0) {
		*(uint64_t *)field(key, base) = 0;
		return NULL;
	}
	if (key->type == AJ_KEY_DURATION && strcmp(text, "wall") == 0 && key->fallback && strcmp(key->fallback, "wall") == 0) {
		*(uint64_t *)field(key, base) = AJ_AS_WALL;
		return NULL;
	}
	bool parsed = key->type == AJ_KEY_BYTES      ? aj_parse_bytes(text, &value)
	              : key->type == AJ_KEY_DURATION ? aj_parse_duration(text, &value)
	                                             : aj_parse_count(text, &value);
	if (!parsed)
		return aj_printf(arena, "not %s %s",
		                 key->type == AJ_KEY_BYTES      ? "a size like 64K, 256M or 2G,"
		                 : key->type == AJ_KEY_DURATION ? "a duration like 500ms, 10s, 2m or 1h,"
		                                                : "a number",
		                 aj_key_range(key, arena));
	return set_quantity(key, base, arena, value);
}

static const char *add_item(const struct aj_key *key, text_list *list, struct aj_arena *arena, const char *text)
{
	const char *wrong = key->items->check(arena, text);
	if (wrong)
		return wrong;
	if (list->count >= key->max)
		return aj_printf(arena, "one too many: at most %lu", key->max);
	*AJ_PUSH(arena, list) = aj_strdup(arena, text);
	return NULL;
}

const char *aj_key_set_text(const struct aj_key *key, void *base, struct aj_arena *arena, const char *text)
{
	size_t i;
	const char *wrong;
	switch (key->type) {
	case AJ_KEY_BOOL:
		if (strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
			return "not one of true, false";
		*(bool *)field(key, base) = *text == 't';
		return NULL;
	case AJ_KEY_ENUM:
		if (!find_name(key, text, &i))
			return aj_printf(arena, "not one of %s", all_names(key, arena));
		*(int *)field(key, base) = (int)i;
		return NULL;
	case AJ_KEY_FLAGS:
		if (!find_name(key, text, &i))
			return aj_printf(arena, "not one of %s", all_names(key, arena));
		*(uint64_t *)field(key, base) |= (uint64_t)1 << i;
		return NULL;
	case AJ_KEY_BYTES:
	case AJ_KEY_DURATION:
	case AJ_KEY_COUNT:
		return parse_quantity(key, base, arena, text);
	case AJ_KEY_TEXT:
		wrong = *text || *key->fallback ? key->items->check(arena, text) : NULL;
		if (!wrong)
			*(const char **)field(key, base) = aj_strdup(arena, text);
		return wrong;
	case AJ_KEY_LIST:
		return add_item(key, field(key, base), arena, text);
	}
	return "of a type that is not known";
}

void aj_keys_default(const struct aj_key *keys, void *base, struct aj_arena *arena)
{
	for (; keys->name; keys++) {
		if (keys->type == AJ_KEY_LIST)
			memset(field(keys, base), 0, sizeof(text_list));
		else if (keys->type == AJ_KEY_FLAGS)
			*(uint64_t *)field(keys, base) = 0;
		if (keys->fallback)
			aj_key_set_text(keys, base, arena, keys->fallback);
	}
}

void aj_key_copy(const struct aj_key *key, void *to, const void *from)
{
	static const size_t bytes[] = {
		[AJ_KEY_BOOL] = sizeof(bool),         [AJ_KEY_ENUM] = sizeof(int),        [AJ_KEY_FLAGS] = sizeof(uint64_t),
		[AJ_KEY_BYTES] = sizeof(uint64_t),    [AJ_KEY_DURATION] = sizeof(uint64_t), [AJ_KEY_COUNT] = sizeof(uint64_t),
		[AJ_KEY_TEXT] = sizeof(const char *), [AJ_KEY_LIST] = sizeof(text_list),
	};
	memcpy(field(key, to), const_field(key, from), bytes[key->type]);
	if (key->type == AJ_KEY_LIST) {
		text_list *list = field(key, to);
		list->room = list->count; /* full: the next item goes into an array of its own */
	}
}

/* --- TOML --- */

static const char *expected(const struct aj_key *key)
{
	switch (key->type) {
	case AJ_KEY_BOOL:
		return "true or false";
	case AJ_KEY_BYTES:
		return "a size: \"512M\", or an integer of bytes";
	case AJ_KEY_DURATION:
		return "a duration with its unit: \"30s\"";
	case AJ_KEY_COUNT:
		return "an integer";
	case AJ_KEY_FLAGS:
	case AJ_KEY_LIST:
		return "an array of strings";
	default:
		return "a string";
	}
}

static int wrong_type(const struct aj_key *key, const struct aj_toml *value, const struct aj_origin *at, struct aj_diags *diags)
{
	aj_diag_error(diags, at, AJ_E_TYPE, "`%s` is %s and must be %s", key->name, aj_toml_kind_name(value->kind), expected(key));
	if (value->kind == AJ_TOML_STRING && (key->type == AJ_KEY_BOOL || key->type == AJ_KEY_COUNT))
		aj_diag_advise(diags, "without the quotes");
	else if (value->kind == AJ_TOML_STRING && aj_key_is_list(key))
		aj_diag_advise(diags, "put it in brackets: [%s]", aj_toml_quote(value->text, diags->arena));
	else if (value->kind == AJ_TOML_INTEGER && key->type == AJ_KEY_DURATION)
		aj_diag_advise(diags, "seconds? write \"%lds\"; milliseconds? \"%ldms\"", value->integer, value->integer);
	return -1;
}

static int bad_value(const struct aj_key *key, const struct aj_toml *value, const char *wrong, const struct aj_origin *at, struct aj_diags *diags)
{
	const char *shown = value->kind == AJ_TOML_STRING ? aj_toml_quote(value->text, diags->arena)
	                                                  : aj_printf(diags->arena, "%ld", value->integer);
	aj_diag_error(diags, at, AJ_E_VALUE, "`%s`: %s: %s", key->name, shown, wrong);
	if (value->kind == AJ_TOML_STRING && key->names) {
		const char *meant = aj_suggest(value->text, name_at, key->names, names_count(key));
		if (meant)
			aj_diag_advise(diags, "did you mean \"%s\"?", meant);
	}
	return -1;
}

static bool holds_nul(const struct aj_toml *value)
{
	return value->kind == AJ_TOML_STRING && strlen(value->text) != value->text_bytes;
}

static int set_array(const struct aj_key *key, void *base, const struct aj_toml *value, bool extend, const char *file,
                     struct aj_diags *diags)
{
	int r = 0;
	uint64_t old_flags = key->type == AJ_KEY_FLAGS && extend ? number(key, base) : 0;
	struct {
		uint64_t flags;
		text_list list;
	} fresh = { .flags = old_flags };
	struct aj_key there = *key; /* the same rules, applied to `fresh` */
	there.offset = key->type == AJ_KEY_FLAGS ? 0 : offsetof(__typeof__(fresh), list);
	if (key->type == AJ_KEY_LIST && extend) {
		const text_list *old = const_field(key, base);
		for (size_t i = 0; i < old->count; i++)
			*AJ_PUSH(diags->arena, &fresh.list) = old->items[i];
	}
	for (size_t i = 0; i < value->count; i++) {
		const struct aj_toml *item = &value->children[i];
		struct aj_origin at = { file, item->line, item->column };
		if (item->kind != AJ_TOML_STRING) {
			r = aj_diag_error(diags, &at, AJ_E_TYPE, "an item of `%s` is %s and must be a string", key->name,
			                  aj_toml_kind_name(item->kind));
			continue;
		}
		const char *wrong = holds_nul(item) ? "with a NUL in it" : aj_key_set_text(&there, &fresh, diags->arena, item->text);
		if (wrong)
			r = bad_value(key, item, wrong, &at, diags);
	}
	if (r < 0)
		return r;
	if (key->type == AJ_KEY_FLAGS)
		*(uint64_t *)field(key, base) = fresh.flags;
	else
		memcpy(field(key, base), &fresh.list, sizeof fresh.list);
	return 0;
}

int aj_key_set_toml(const struct aj_key *key, void *base, const struct aj_toml *value, bool extend, const char *file, struct aj_diags *diags)
{
	struct aj_origin at = { file, value->line, value->column };
	const char *wrong = NULL;
	bool number_allowed = key->type == AJ_KEY_BYTES || key->type == AJ_KEY_COUNT;
	bool string_allowed = key->type == AJ_KEY_ENUM || key->type == AJ_KEY_TEXT || key->type == AJ_KEY_BYTES || key->type == AJ_KEY_DURATION ||
	                      (key->type == AJ_KEY_COUNT && key->none && value->kind == AJ_TOML_STRING && strcmp(value->text, "none") == 0);
	if (holds_nul(value))
		return aj_diag_error(diags, &at, AJ_E_VALUE, "`%s` holds a NUL", key->name);
	if (aj_key_is_list(key) && value->kind == AJ_TOML_ARRAY)
		return set_array(key, base, value, extend, file, diags);
	if (key->type == AJ_KEY_BOOL && value->kind == AJ_TOML_BOOL)
		*(bool *)field(key, base) = value->boolean;
	else if (number_allowed && value->kind == AJ_TOML_INTEGER)
		wrong = value->integer < 0 ? aj_printf(diags->arena, "out of range: %s", aj_key_range(key, diags->arena))
		                           : set_quantity(key, base, diags->arena, (uint64_t)value->integer);
	else if (string_allowed && value->kind == AJ_TOML_STRING)
		/* On the command line a bare number is seconds; in a file somebody else has to read it. */
		wrong = key->type == AJ_KEY_DURATION && *value->text && value->text[strspn(value->text, "0123456789")] == '\0'
		            ? "without a unit (ms, s, m, h)"
		            : aj_key_set_text(key, base, diags->arena, value->text);
	else
		return wrong_type(key, value, &at, diags);
	return wrong ? bad_value(key, value, wrong, &at, diags) : 0;
}

const char *aj_toml_quote(const char *text, struct aj_arena *arena)
{
	size_t bytes = strlen(text), used = 0;
	char *out = aj_alloc(arena, 6 * bytes + 3);
	out[used++] = '"';
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)text[i];
		if (c == '"' || c == '\\')
			out[used++] = '\\';
		/* U+0080 to U+009f are controls, too. */
		unsigned char next = (unsigned char)text[i + 1];
		if (c < 32 || c == 127)
			used += (size_t)snprintf(out + used, 7, "\\u%04x", c);
		else if (c == 0xc2 && next >= 0x80 && next < 0xa0)
			used += (size_t)snprintf(out + used, 7, "\\u%04x", text[++i] & 0xff);
		else
			out[used++] = (char)c;
	}
	out[used++] = '"';
	return out;
}

static const char *list_value(const text_list *list, struct aj_arena *arena)
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

const char *aj_key_value(const struct aj_key *key, const void *base, struct aj_arena *arena)
{
	const void *at = const_field(key, base);
	text_list flags = { 0 };
	switch (key->type) {
	case AJ_KEY_BOOL:
		return *(const bool *)at ? "true" : "false";
	case AJ_KEY_ENUM:
		return aj_toml_quote(key->names[*(const int *)at], arena);
	case AJ_KEY_FLAGS:
		for (size_t i = 0; key->names[i]; i++)
			if (number(key, base) & ((uint64_t)1 << i))
				*AJ_PUSH(arena, &flags) = key->names[i];
		return list_value(&flags, arena);
	case AJ_KEY_BYTES:
	case AJ_KEY_DURATION:
	case AJ_KEY_COUNT:
		if (number(key, base) == AJ_AS_WALL)
			return "\"wall\"";
		if (number(key, base) == 0 && key->none)
			return "\"none\"";
		return aj_printf(arena, key->type == AJ_KEY_COUNT ? "%s" : "\"%s\"", quantity_text(key->type, number(key, base), arena));
	case AJ_KEY_TEXT:
		return aj_toml_quote(*(const char *const *)at, arena);
	case AJ_KEY_LIST:
		return list_value(at, arena);
	}
	return "";
}

/* --- order --- */

static bool all_covered(const struct aj_key *key, const text_list *inner, const text_list *outer, struct aj_arena *arena)
{
	for (size_t i = 0; i < inner->count; i++) {
		bool covered = false;
		for (size_t j = 0; j < outer->count && !covered; j++)
			covered = key->items->covers(arena, outer->items[j], inner->items[i]);
		if (!covered)
			return false;
	}
	return true;
}

static enum aj_order order_of(bool more, bool less)
{
	return more && less ? AJ_DIFFERENT : more ? AJ_LOOSER : less ? AJ_TIGHTER : AJ_SAME;
}

static uint64_t magnitude(const struct aj_key *key, const void *base)
{
	switch (key->type) {
	case AJ_KEY_BOOL:
		return *(const bool *)const_field(key, base);
	case AJ_KEY_ENUM:
		return (uint64_t) * (const int *)const_field(key, base);
	default:
		if (number(key, base) == AJ_AS_WALL) {
			uint64_t wall_ms = ((const struct aj_policy *)base)->wall_ms;
			return wall_ms ? wall_ms : UINT64_MAX;
		}
		return key->none && number(key, base) == 0 ? UINT64_MAX : number(key, base);
	}
}

enum aj_order aj_key_compare(const struct aj_key *key, const void *from, const void *to, struct aj_arena *arena)
{
	const text_list *a = const_field(key, from), *b = const_field(key, to);
	uint64_t x, y;
	enum aj_order order;
	switch (key->type) {
	case AJ_KEY_TEXT:
		return strcmp(*(const char *const *)const_field(key, from), *(const char *const *)const_field(key, to)) == 0 ? AJ_SAME : AJ_DIFFERENT;
	case AJ_KEY_LIST:
		order = order_of(!all_covered(key, b, a, arena), !all_covered(key, a, b, arena));
		break;
	case AJ_KEY_FLAGS:
		order = order_of((number(key, to) & ~number(key, from)) != 0, (number(key, from) & ~number(key, to)) != 0);
		break;
	default:
		x = magnitude(key, from);
		y = magnitude(key, to);
		order = order_of(y > x, y < x);
	}
	if (order == AJ_SAME || order == AJ_DIFFERENT || key->looser == AJ_LOOSER_MORE)
		return order;
	if (key->looser == AJ_LOOSER_LESS)
		return order == AJ_LOOSER ? AJ_TIGHTER : AJ_LOOSER;
	return AJ_DIFFERENT;
}

bool aj_key_within(const struct aj_key *key, const void *outer, const void *inner, struct aj_arena *arena)
{
	enum aj_order order = aj_key_compare(key, outer, inner, arena);
	if (key->type == AJ_KEY_LIST && order == AJ_DIFFERENT) {
		bool more = key->looser == AJ_LOOSER_MORE;
		return all_covered(key, const_field(key, more ? inner : outer), const_field(key, more ? outer : inner), arena);
	}
	if (key->type == AJ_KEY_FLAGS && key->looser == AJ_LOOSER_LESS)
		return (number(key, outer) & ~number(key, inner)) == 0;
	return order == AJ_SAME || order == AJ_TIGHTER;
}

void aj_key_push(const struct aj_key *key, void *base, struct aj_arena *arena, const char *item)
{
	*AJ_PUSH(arena, (text_list *)field(key, base)) = item;
}

void aj_key_lower(const struct aj_key *key, void *base, const void *ceiling, struct aj_arena *arena)
{
	text_list *list = field(key, base), kept = { 0 };
	const text_list *limit = const_field(key, ceiling);
	if (key->type == AJ_KEY_FLAGS) {
		*(uint64_t *)field(key, base) |= number(key, ceiling);
	} else if (key->type != AJ_KEY_LIST) {
		aj_key_copy(key, base, ceiling);
	} else {
		/* More is looser: only what the ceiling covers stays. Less is looser: what the ceiling asks for comes in. */
		for (size_t i = 0; i < list->count; i++)
			if (key->looser == AJ_LOOSER_LESS || all_covered(key, &(text_list){ .items = &list->items[i], .count = 1 }, limit, arena))
				*AJ_PUSH(arena, &kept) = list->items[i];
		for (size_t i = 0; key->looser == AJ_LOOSER_LESS && i < limit->count; i++)
			*AJ_PUSH(arena, &kept) = limit->items[i];
		*list = kept;
	}
}

const char *aj_network_name(enum aj_network network)
{
	return aj_key_find(aj_policy_keys, "network.mode")->names[network];
}

const char *aj_builtins_name(enum aj_builtins builtins)
{
	return aj_key_find(aj_policy_keys, "python.builtins")->names[builtins];
}
