/* Checks a value against a schema: one short function for each keyword, and a budget that bounds every check.
 * It never guesses: a check that runs out of budget fails, also below `not`. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "session/jsonschema/keyword.h"

/* Format the reason why the value at `at` does not fit. Always returns false. */
static bool refuse(struct aj_check *c, const struct aj_pointer *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(struct aj_check *c, const struct aj_pointer *at, const char *fmt, ...)
{
	if (c->quiet || c->budget.spent)
		return false;
	va_list ap;
	va_start(ap, fmt);
	aj_pointer_vformat(c->why, c->why_bytes, at, fmt, ap);
	va_end(ap);
	return false;
}

/* A value of the schema, or a number of the checked value, as short JSON. */
struct brief {
	char text[48];
};

static struct brief brief(const json_t *value)
{
	struct brief b = { "" };
	const char *text = json_string_value(value);
	const size_t room = sizeof b.text - 5; /* json_dumpb() leaves out pieces that do not fit, and writes no NUL */
	if (text) {
		size_t bytes = strlen(text), end = aj_utf8_valid_prefix(text, bytes < room - 2 ? bytes : room - 2);
		snprintf(b.text, sizeof b.text, "\"%.*s%s\"", (int)end, text, end < bytes ? "..." : "");
	} else if (json_dumpb(value, b.text, room, JSON_COMPACT | JSON_ENCODE_ANY) > room) {
		strcpy(b.text + aj_utf8_valid_prefix(b.text, strlen(b.text)), "...");
	}
	return b;
}

bool aj_fits(struct aj_check *c, const struct aj_schema *s, const struct aj_pointer *at, const json_t *value)
{
	bool fits = aj_spend(&c->budget, c->depth < AJ_SCHEMA_MAX_CHECK_DEPTH ? 1 : (size_t)-1);
	if (fits && s->never)
		return refuse(c, at, "no value is allowed here");
	unsigned type = aj_type_of(value);
	c->depth++;
	for (size_t i = 0; fits && i < s->count; i++) {
		const struct aj_rule *rule = &s->rules[i];
		if (rule->keyword->check && (rule->keyword->applies & type))
			fits = aj_spend(&c->budget, 1) && rule->keyword->check(c, rule, at, value);
	}
	c->depth--;
	return fits;
}

#define CHECK(name) bool name(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *at, const json_t *value)

static bool refuse_type(struct aj_check *c, unsigned types, const struct aj_pointer *at, const json_t *value)
{
	char wanted[80], got[48];
	if (c->quiet)
		return false;
	return refuse(c, at, "expected %s, got %s", aj_types_text(types, wanted), aj_type_name(value, got));
}

CHECK(aj_check_type)
{
	return (aj_type_of(value) & rule->types) || refuse_type(c, rule->types, at, value);
}

CHECK(aj_check_enum)
{
	char list[200] = "";
	size_t used = 0, count = json_array_size(rule->json), i;
	for (i = 0; i < count && !c->budget.spent; i++)
		if (aj_json_equal(&c->budget, json_array_get(rule->json, i), value))
			return true;
	for (i = 0; i < count && !c->quiet; i++) {
		struct brief b = brief(json_array_get(rule->json, i));
		if (used + strlen(b.text) + 8 > sizeof list)
			break;
		used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? ", " : "", b.text);
	}
	return refuse(c, at, "expected one of %s%s", list, i < count ? " ..." : "");
}

CHECK(aj_check_const)
{
	if (aj_json_equal(&c->budget, rule->json, value))
		return true;
	return !c->quiet && refuse(c, at, "expected %s", brief(rule->json).text);
}

CHECK(aj_check_all)
{
	for (size_t i = 0; i < rule->count; i++)
		if (!aj_fits(c, rule->schemas[i], at, value))
			return false;
	return true;
}

static size_t count_fitting(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *at, const json_t *value,
                            size_t enough)
{
	size_t fit = 0;
	c->quiet++;
	for (size_t i = 0; i < rule->count && fit < enough && !c->budget.spent; i++)
		fit += aj_fits(c, rule->schemas[i], at, value);
	c->quiet--;
	return fit;
}

/* If no alternative has the value's type, the reason names the types ("integer or null"). */
static bool refuse_alternatives(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *at, const json_t *value)
{
	unsigned types = 0;
	for (size_t i = 0; i < rule->count; i++)
		types |= rule->schemas[i]->never ? 0 : rule->schemas[i]->types;
	if (types && !(types & aj_type_of(value)))
		return refuse_type(c, types, at, value);
	return refuse(c, at, "fits none of the %zu schemas in %s", rule->count, rule->keyword->name);
}

CHECK(aj_check_any)
{
	if (rule->count == 1) /* then the reason can be that of the schema */
		return aj_check_all(c, rule, at, value);
	return count_fitting(c, rule, at, value, 1) == 1 || refuse_alternatives(c, rule, at, value);
}

CHECK(aj_check_one)
{
	if (rule->count == 1)
		return aj_check_all(c, rule, at, value);
	size_t fit = count_fitting(c, rule, at, value, 2);
	if (fit == 0)
		return refuse_alternatives(c, rule, at, value);
	return fit == 1 || refuse(c, at, "fits more than one of the %zu schemas in oneOf", rule->count);
}

CHECK(aj_check_not)
{
	return count_fitting(c, rule, at, value, 1) == 0 || refuse(c, at, "fits a schema that it must not fit (not)");
}

CHECK(aj_check_required)
{
	if (!aj_spend(&c->budget, rule->cost))
		return false;
	for (size_t i = 0; i < rule->count; i++)
		if (!json_object_get(value, rule->keys[i]))
			return refuse(c, at, "the required key `%.64s` is missing", rule->keys[i]);
	return true;
}

CHECK(aj_check_properties)
{
	if (!aj_spend(&c->budget, rule->cost))
		return false;
	for (size_t i = 0; i < rule->count; i++) {
		const json_t *item = json_object_get(value, rule->keys[i]);
		struct aj_pointer here = { at, rule->keys[i], 0 };
		if (item && !aj_fits(c, rule->schemas[i], &here, item))
			return false;
	}
	return true;
}

static bool refuse_key(struct aj_check *c, const struct aj_rule *rule, const struct aj_pointer *here)
{
	char list[160] = "";
	size_t used = 0;
	const char *key;
	json_t *value;
	json_object_foreach((json_t *)rule->json, key, value) {
		if (c->quiet || used + strlen(key) + 8 > sizeof list)
			break;
		used += (size_t)snprintf(list + used, sizeof list - used, "%s`%s`", used ? ", " : "", key);
	}
	return used ? refuse(c, here, "unknown key; the known keys are %s", list) : refuse(c, here, "unknown key");
}

CHECK(aj_check_additional)
{
	const char *key;
	json_t *item;
	json_object_foreach((json_t *)value, key, item) {
		struct aj_pointer here = { at, key, 0 };
		if (!aj_spend(&c->budget, aj_text_steps(strlen(key))))
			return false;
		if (rule->json && json_object_get(rule->json, key))
			continue;
		if (rule->schemas[0]->never)
			return refuse_key(c, rule, &here);
		if (!aj_fits(c, rule->schemas[0], &here, item))
			return false;
	}
	return true;
}

CHECK(aj_check_prefix)
{
	size_t items = json_array_size(value);
	for (size_t i = 0; i < rule->count && i < items; i++) {
		struct aj_pointer here = { at, NULL, i };
		if (!aj_fits(c, rule->schemas[i], &here, json_array_get(value, i)))
			return false;
	}
	return true;
}

CHECK(aj_check_items)
{
	size_t items = json_array_size(value);
	for (size_t i = rule->skip; i < items; i++) {
		struct aj_pointer here = { at, NULL, i };
		if (!aj_fits(c, rule->schemas[0], &here, json_array_get(value, i)))
			return false;
	}
	return true;
}

CHECK(aj_check_unique)
{
	size_t first = 0, second = 0;
	return !rule->count || aj_json_unique(&c->budget, value, &first, &second) ||
	       refuse(c, at, "items %zu and %zu are equal", first, second);
}

static size_t measure(struct aj_check *c, const json_t *value, const char **ret_unit)
{
	if (json_is_object(value)) {
		*ret_unit = "keys";
		return json_object_size(value);
	}
	if (json_is_array(value)) {
		*ret_unit = "items";
		return json_array_size(value);
	}
	const char *text = json_string_value(value);
	size_t bytes = json_string_length(value), points = 0;
	*ret_unit = "code points";
	for (size_t i = 0; aj_spend(&c->budget, i ? 0 : aj_text_steps(bytes)) && i < bytes; i++)
		points += (text[i] & 0xc0) != 0x80;
	return points;
}

CHECK(aj_check_min_size)
{
	const char *unit;
	size_t size = measure(c, value, &unit);
	return size >= rule->count || refuse(c, at, "expected at least %zu %s, got %zu", rule->count, unit, size);
}

CHECK(aj_check_max_size)
{
	const char *unit;
	size_t size = measure(c, value, &unit);
	return size <= rule->count || refuse(c, at, "expected at most %zu %s, got %zu", rule->count, unit, size);
}

static bool check_range(struct aj_check *c, bool holds, const char *bound, const struct aj_rule *rule,
                        const struct aj_pointer *at, const json_t *value)
{
	return holds || (!c->quiet && refuse(c, at, "expected %s%s, got %s", bound, brief(rule->json).text, brief(value).text));
}

CHECK(aj_check_min)
{
	return check_range(c, aj_json_number(value) >= rule->number, "at least ", rule, at, value);
}

CHECK(aj_check_max)
{
	return check_range(c, aj_json_number(value) <= rule->number, "at most ", rule, at, value);
}

CHECK(aj_check_above)
{
	return check_range(c, aj_json_number(value) > rule->number, "more than ", rule, at, value);
}

CHECK(aj_check_below)
{
	return check_range(c, aj_json_number(value) < rule->number, "less than ", rule, at, value);
}

CHECK(aj_check_multiple)
{
	return check_range(c, aj_multiple_of(&c->budget, aj_json_number(value), rule->number), "a multiple of ", rule, at, value);
}

bool aj_schema_check(const struct aj_schema *schema, const json_t *value, char *ret_why, size_t why_bytes)
{
	struct aj_check c = { .budget = { .steps = AJ_SCHEMA_MAX_STEPS }, .why = ret_why, .why_bytes = why_bytes };
	bool fits = aj_fits(&c, schema, NULL, value);
	if (!c.budget.spent)
		return fits;
	snprintf(ret_why, why_bytes, "the value is too large or nested too deep to be checked");
	return false;
}
