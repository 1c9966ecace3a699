/* The refusals of a run as one list: the kernel's, the relay's, and those of the layer, which are the jail's claims.
 * Observed refusals come first, so that claims use up no room of theirs. */
#include "jail/audit/denials.h"

#include <string.h>

enum {
	DENIALS_BYTES = 10 << 10,
	DENIAL_BYTES = 1 << 10, /* each text of one denial */
};

/* Add a refusal by the layer: a claim from inside the jail, and so of any shape. False: the budget is spent. */
static bool add_denial(struct aj_composer *c, json_t *list, const json_t *error, size_t *budget)
{
	static const char *const keys[] = { "rule", "message" };
	const json_t *line = json_object_get(error, "line");
	if (!json_is_string(json_object_get(error, "rule")))
		return true;
	if (*budget < 256) {
		c->truncated = true;
		return false;
	}
	*budget -= 100; /* for keys, quotes and a number */
	json_t *denial = json_pack("{s:s}", "by", "layer");
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const json_t *value = json_object_get(error, keys[i]);
		size_t room = *budget < DENIAL_BYTES ? *budget : DENIAL_BYTES, left = room;
		if (json_is_string(value))
			json_object_set_new(denial, keys[i],
			                    aj_composer_text(c, json_string_value(value), json_string_length(value), &left));
		*budget -= room - left;
	}
	if (json_is_integer(line))
		json_object_set_new(denial, "line", json_integer(json_integer_value(line)));
	json_array_append_new(list, denial);
	return true;
}

/* The kernel's refusals are few and short, and come first, so that claims cannot use up their budget. */
static void add_violations(json_t *list, const struct aj_violations *v, size_t *budget)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct aj_violation *one = &v->items[i];
		json_t *denial = json_pack("{s:s, s:s, s:s, s:I}", "by", "kernel", "rule", one->row->name, "message",
		                           one->row->why, "count", (json_int_t)one->count);
		*budget -= json_dumpb(denial, NULL, 0, JSON_COMPACT) + 1;
		json_array_append_new(list, denial);
	}
}

static bool add_refused_host(struct aj_composer *c, json_t *list, const struct aj_network_trouble *one, size_t *budget)
{
	json_t *denial = json_pack("{s:s, s:o, s:s, s:I}", "by", "relay", "rule",
	                           one->port ? json_sprintf("%s:%u", one->host, one->port) : json_string(one->host), "message",
	                           one->why, "count", (json_int_t)one->count);
	size_t bytes = json_dumpb(denial, NULL, 0, JSON_COMPACT) + 1;
	if (bytes > *budget) {
		c->truncated = true;
		json_decref(denial);
		return false;
	}
	*budget -= bytes;
	json_array_append_new(list, denial);
	return true;
}

/* Imports that were tried and refused while the code ran, whether or not it coped with that. */
static void add_imports_refused(struct aj_composer *c, json_t *list, const json_t *refused, size_t *budget)
{
	size_t i;
	json_t *one;
	bool room = true;
	json_array_foreach(refused, i, one) {
		const char *module = json_string_value(json_object_get(one, "module"));
		json_t *message = json_sprintf("Import of %s is not allowed", module);
		json_t *denial = json_pack("{s:s, s:o, s:O}", "rule", "PY-IMPORT", "message", message, "line",
		                           json_object_get(one, "line"));
		room = room && add_denial(c, list, denial, budget);
		json_decref(denial);
	}
}

json_t *aj_record_denials(struct aj_composer *c, const struct aj_result *r)
{
	size_t i, budget = DENIALS_BYTES;
	json_t *list = json_array(), *errors = json_object_get(r->claim, "errors"), *one;
	const json_t *refused = json_object_get(r->claim, "imports_refused"), *error = json_object_get(r->claim, "error");
	const char *rule = json_string_value(json_object_get(error, "rule"));
	add_violations(list, &r->violations, &budget);
	for (i = 0; i < r->network.refused.count && add_refused_host(c, list, &r->network.refused.items[i], &budget); i++)
		;
	add_imports_refused(c, list, refused, &budget);
	/* A guard's refusal at run time; an import's is in the list above already. */
	if (json_array_size(errors) == 0 && !(json_array_size(refused) && rule && strcmp(rule, "PY-IMPORT") == 0))
		add_denial(c, list, error, &budget);
	json_array_foreach(errors, i, one)
		if (!add_denial(c, list, one, &budget))
			break;
	return list;
}
