/* JSON values by the rules of JSON Schema: types, numbers, equality, and uniqueness of many by hashing.
 * It stops when its budget is spent, so a hostile value costs no more time than that. */
#include "session/jsonschema/value.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(LDBL_MANT_DIG >= 64, "a long double holds every int64_t and every double");

static const struct {
	const char *name;
	unsigned bit;
} names[] = {
	{ "null", AJ_TYPE_NULL },     { "boolean", AJ_TYPE_BOOLEAN }, { "integer", AJ_TYPE_INTEGER },
	{ "number", AJ_TYPE_NUMBER }, { "string", AJ_TYPE_STRING },   { "array", AJ_TYPE_ARRAY },
	{ "object", AJ_TYPE_OBJECT },
};
enum { NAMES = sizeof names / sizeof *names };

static bool is_integral(double number)
{
	return floor(number) == number; /* jansson holds no infinity and no NaN */
}

unsigned aj_type_of(const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_NULL:
		return AJ_TYPE_NULL;
	case JSON_TRUE:
	case JSON_FALSE:
		return AJ_TYPE_BOOLEAN;
	case JSON_INTEGER:
		return AJ_TYPE_INTEGER | AJ_TYPE_NUMBER;
	case JSON_REAL:
		return AJ_TYPE_NUMBER | (is_integral(json_real_value(value)) ? AJ_TYPE_INTEGER : 0);
	case JSON_STRING:
		return AJ_TYPE_STRING;
	case JSON_ARRAY:
		return AJ_TYPE_ARRAY;
	case JSON_OBJECT:
		return json_is_string(json_object_get(value, "__type__")) ? AJ_TYPE_TAGGED : AJ_TYPE_OBJECT;
	}
	return 0;
}

unsigned aj_type_bit(const char *name)
{
	for (size_t i = 0; i < NAMES; i++)
		if (strcmp(names[i].name, name) == 0)
			return names[i].bit;
	return 0;
}

const char *aj_type_name(const json_t *value, char room[48])
{
	unsigned type = aj_type_of(value);
	if (type == AJ_TYPE_TAGGED) {
		const char *tag = json_string_value(json_object_get(value, "__type__"));
		if (strcmp(tag, "str") == 0)
			return "a string with a lone surrogate";
		size_t plain = strspn(tag, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._");
		snprintf(room, 48, "a tagged %.*s", plain && plain <= 32 && !tag[plain] ? (int)plain : 5,
		         plain && plain <= 32 && !tag[plain] ? tag : "value");
		return room;
	}
	for (size_t i = 0; i < NAMES; i++)
		if (type & names[i].bit)
			return names[i].name;
	return "nothing";
}

const char *aj_types_text(unsigned types, char room[80])
{
	const char *known[NAMES];
	size_t count = 0, at = 0;
	for (size_t i = 0; i < NAMES; i++)
		if ((types & names[i].bit) && !(names[i].bit == AJ_TYPE_INTEGER && (types & AJ_TYPE_NUMBER)))
			known[count++] = names[i].name;
	room[0] = '\0';
	for (size_t i = 0; i < count; i++)
		at += (size_t)snprintf(room + at, 80 - at, "%s%s", i == 0 ? "" : i + 1 == count ? " or " : ", ", known[i]);
	return room;
}

long double aj_json_number(const json_t *value)
{
	return json_is_integer(value) ? (long double)json_integer_value(value) : (long double)json_real_value(value);
}

bool aj_spend(struct aj_budget *b, size_t steps)
{
	if (b->spent || steps > b->steps) {
		b->spent = true;
		return false;
	}
	b->steps -= steps;
	return true;
}

/* As decimals 19.99 is a multiple of 0.01, although the nearest doubles are not: each is off by half a unit of its last place at
 * most, and for quotients below 2^40 that is far from half a step. */
bool aj_multiple_of(struct aj_budget *b, long double number, long double step)
{
	if (number == 0)
		return true;
	/* The time of fmodl() grows with the distance of the exponents: 1e308 by 1e-308 takes a hundred times that of 10 by 3. */
	int distance = ilogbl(number) - ilogbl(step);
	if (!aj_spend(b, distance > 16 ? (size_t)distance / 16 : 1))
		return false;
	if (fmodl(number, step) == 0)
		return true;
	long double times = number / step;
	if ((floorl(number) == number && floorl(step) == step) || !(fabsl(times) < 0x1p40L))
		return false;
	return fabsl(number - roundl(times) * step) <= 2 * (long double)DBL_EPSILON * fabsl(number);
}

static bool equal_at(struct aj_budget *b, const json_t *one, const json_t *other, int depth)
{
	if (!aj_spend(b, depth > AJ_SCHEMA_MAX_CHECK_DEPTH ? SIZE_MAX : 1))
		return false;
	if (json_is_number(one) && json_is_number(other))
		return aj_json_number(one) == aj_json_number(other);
	if (json_typeof(one) != json_typeof(other))
		return false;
	if (json_is_string(one)) {
		size_t bytes = json_string_length(one);
		return bytes == json_string_length(other) && aj_spend(b, aj_text_steps(bytes)) &&
		       memcmp(json_string_value(one), json_string_value(other), bytes) == 0;
	}
	if (json_is_array(one)) {
		size_t count = json_array_size(one);
		bool same = count == json_array_size(other);
		for (size_t i = 0; same && i < count; i++)
			same = equal_at(b, json_array_get(one, i), json_array_get(other, i), depth + 1);
		return same;
	}
	if (json_is_object(one)) {
		const char *key;
		json_t *value;
		if (json_object_size(one) != json_object_size(other))
			return false;
		json_object_foreach((json_t *)one, key, value) {
			const json_t *theirs = json_object_get(other, key);
			if (!theirs || !aj_spend(b, aj_text_steps(strlen(key))) || !equal_at(b, value, theirs, depth + 1))
				return false;
		}
	}
	return true; /* null, true and false are their types */
}

bool aj_json_equal(struct aj_budget *b, const json_t *one, const json_t *other)
{
	return equal_at(b, one, other, 0);
}

static uint64_t mix(uint64_t hash, uint64_t more)
{
	hash = (hash ^ more) * 0x9e3779b97f4a7c15u;
	return hash ^ (hash >> 29);
}

static uint64_t hash_text(const char *text, size_t bytes)
{
	uint64_t hash = bytes;
	for (size_t i = 0; i < bytes; i++)
		hash = mix(hash, (unsigned char)text[i]);
	return hash;
}

/* Equal values have equal hashes; comparing colliding values is charged to the budget. */
static uint64_t hash_of(struct aj_budget *b, const json_t *value, int depth)
{
	uint64_t hash = (uint64_t)json_typeof(value), sum = 0;
	if (!aj_spend(b, depth > AJ_SCHEMA_MAX_CHECK_DEPTH ? SIZE_MAX : 1))
		return 0;
	if (json_is_number(value)) {
		double number = (double)aj_json_number(value); /* equal numbers round alike */
		uint64_t bits;
		number = number == 0 ? 0 : number; /* -0 equals 0 */
		memcpy(&bits, &number, sizeof bits);
		return mix(JSON_REAL, bits);
	}
	if (json_is_string(value) && aj_spend(b, aj_text_steps(json_string_length(value))))
		return mix(hash, hash_text(json_string_value(value), json_string_length(value)));
	if (json_is_array(value)) {
		for (size_t i = 0; i < json_array_size(value) && !b->spent; i++)
			hash = mix(hash, hash_of(b, json_array_get(value, i), depth + 1));
	} else if (json_is_object(value)) {
		const char *key;
		json_t *item;
		json_object_foreach((json_t *)value, key, item) {
			if (!aj_spend(b, aj_text_steps(strlen(key))))
				break;
			sum += mix(hash_text(key, strlen(key)), hash_of(b, item, depth + 1)); /* independent of the keys' order */
		}
		hash = mix(hash, sum);
	}
	return hash;
}

struct hashed {
	uint64_t hash;
	size_t index;
};

static int by_hash(const void *a, const void *b)
{
	const struct hashed *one = a, *other = b;
	if (one->hash != other->hash)
		return one->hash < other->hash ? -1 : 1;
	return one->index < other->index ? -1 : one->index > other->index;
}

bool aj_json_unique(struct aj_budget *b, const json_t *array, size_t *ret_first, size_t *ret_second)
{
	size_t count = json_array_size(array);
	if (count < 2 || !aj_spend(b, count))
		return true;
	struct hashed *all = calloc(count, sizeof *all);
	bool unique = true;
	if (!all)
		b->spent = true;
	for (size_t i = 0; i < count && !b->spent; i++)
		all[i] = (struct hashed){ hash_of(b, json_array_get(array, i), 0), i };
	if (!b->spent)
		qsort(all, count, sizeof *all, by_hash);
	for (size_t i = 0; unique && i < count && !b->spent; i++)
		for (size_t j = i + 1; unique && j < count && all[j].hash == all[i].hash && !b->spent; j++) {
			unique = !equal_at(b, json_array_get(array, all[i].index), json_array_get(array, all[j].index), 0);
			*ret_first = all[i].index;
			*ret_second = all[j].index;
		}
	free(all);
	return unique;
}
