/* Sets values from TOML: type, range and items are checked, and every finding has its position.
 * It knows no key by name and accepts no part of a bad value: the old value stays. */
#include <string.h>

#include "policy/field.h"

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
	const char *kind = aj_toml_kind_name(value->kind);
	aj_diag_error(diags, at, AJ_E_TYPE, "`%s` is %s and must be %s", key->name, kind, expected(key));
	if (value->kind == AJ_TOML_STRING && (key->type == AJ_KEY_BOOL || key->type == AJ_KEY_COUNT))
		aj_diag_advise(diags, "without the quotes");
	else if (value->kind == AJ_TOML_STRING && aj_key_is_list(key))
		aj_diag_advise(diags, "put it in brackets: [%s]", aj_toml_quote(value->text, diags->arena));
	else if (value->kind == AJ_TOML_INTEGER && key->type == AJ_KEY_DURATION)
		aj_diag_advise(diags, "write \"%lds\" for seconds, or \"%ldms\" for milliseconds", value->integer,
		               value->integer);
	return -1;
}

/* Leave a URL's user and password out of error messages. */
static const char *quoted(const char *text, struct aj_arena *arena)
{
	const char *scheme = strstr(text, "://"), *user = scheme ? strrchr(scheme, '@') : NULL;
	if (user)
		text = aj_printf(arena, "%.*s://...%s", (int)(scheme - text), text, user);
	return aj_toml_quote(text, arena);
}

static int bad_value(const struct aj_key *key, const struct aj_toml *value, const char *wrong, const struct aj_origin *at,
                     struct aj_diags *diags)
{
	const char *shown = value->kind == AJ_TOML_STRING ? quoted(value->text, diags->arena)
	                                                  : aj_printf(diags->arena, "%ld", value->integer);
	return aj_diag_error(diags, at, AJ_E_VALUE, "`%s`: %s: %s", key->name, shown, wrong);
}

static bool holds_nul(const struct aj_toml *value)
{
	return value->kind == AJ_TOML_STRING && strlen(value->text) != value->text_bytes;
}

static int set_array(const struct aj_key *key, void *base, const struct aj_toml *value, bool extend, const char *file,
                     struct aj_diags *diags)
{
	int r = 0;
	uint64_t old_flags = key->type == AJ_KEY_FLAGS && extend ? aj_number(key, base) : 0;
	struct {
		uint64_t flags;
		aj_text_list list;
	} fresh = { .flags = old_flags };
	struct aj_key there = *key; /* the same rules, applied to `fresh` */
	there.offset = key->type == AJ_KEY_FLAGS ? 0 : offsetof(__typeof__(fresh), list);
	if (key->type == AJ_KEY_LIST && extend) {
		const aj_text_list *old = aj_const_field(key, base);
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
		const char *wrong = "with a NUL in it";
		if (!holds_nul(item))
			wrong = aj_key_set_text(&there, &fresh, diags->arena, item->text);
		if (wrong)
			r = bad_value(key, item, wrong, &at, diags);
	}
	if (r < 0)
		return r;
	if (key->type == AJ_KEY_FLAGS)
		*(uint64_t *)aj_field(key, base) = fresh.flags;
	else
		memcpy(aj_field(key, base), &fresh.list, sizeof fresh.list);
	return 0;
}

int aj_key_set_toml(const struct aj_key *key, void *base, const struct aj_toml *value, bool extend, const char *file,
                    struct aj_diags *diags)
{
	struct aj_origin at = { file, value->line, value->column };
	const char *wrong = NULL;
	bool number_allowed = key->type == AJ_KEY_BYTES || key->type == AJ_KEY_COUNT;
	bool string_allowed = key->type == AJ_KEY_ENUM || key->type == AJ_KEY_TEXT || key->type == AJ_KEY_BYTES ||
	                      key->type == AJ_KEY_DURATION ||
	                      (key->type == AJ_KEY_COUNT && key->none && value->kind == AJ_TOML_STRING &&
	                       strcmp(value->text, "none") == 0);
	if (holds_nul(value))
		return aj_diag_error(diags, &at, AJ_E_VALUE, "`%s` holds a NUL", key->name);
	if (aj_key_is_list(key) && value->kind == AJ_TOML_ARRAY)
		return set_array(key, base, value, extend, file, diags);
	if ((key->type == AJ_KEY_BOOL || key->was_boolean) && value->kind == AJ_TOML_BOOL)
		wrong = aj_key_set_text(key, base, diags->arena, value->boolean ? "true" : "false");
	else if (number_allowed && value->kind == AJ_TOML_INTEGER)
		wrong = value->integer < 0 ? aj_printf(diags->arena, "out of range: %s", aj_key_range(key, diags->arena))
		                           : aj_key_set_number(key, base, diags->arena, (uint64_t)value->integer);
	else if (string_allowed && value->kind == AJ_TOML_STRING)
		/* A bare number is seconds on the command line; in a file, for its readers, a unit is required. */
		wrong = key->type == AJ_KEY_DURATION && *value->text && value->text[strspn(value->text, "0123456789")] == '\0'
		          ? "without a unit (ms, s, m, h)"
		          : aj_key_set_text(key, base, diags->arena, value->text);
	else
		return wrong_type(key, value, &at, diags);
	return wrong ? bad_value(key, value, wrong, &at, diags) : 0;
}
