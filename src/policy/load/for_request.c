/* The last layer of a served policy: what one request asks of the Python layer, checked as an option is, and against [requests]
 * too. It handles six keys, all of the rail, and no wall: a jail that was started before the request arrived serves it. */
#include "policy/load/for_request.h"

#include <string.h>

enum { SHOWN_BYTES = 300 };

static const struct row {
	const char *member, *key, *ceiling; /* ceiling: the key of [requests]; NULL: any value may be requested */
} rows[] = {
	{ "imports", "python.imports", "requests.imports" },
	{ "imports_checked", "python.imports_checked", NULL },
	{ "builtins", "python.builtins", "requests.builtins" },
	{ "layer", "python.layer", "requests.layer" },
	{ "clock", "python.clock", NULL },
	{ "sleep_max", "python.sleep_max", "a longer python.sleep_max" },
};
enum { IMPORTS, IMPORTS_CHECKED, BUILTINS, LAYER, CLOCK, SLEEP_MAX, ROWS };
_Static_assert(sizeof rows / sizeof *rows == ROWS, "a row for each member");

struct aj_python_ask aj_python_ask_copy(const struct aj_python_ask *ask, struct aj_arena *arena)
{
	AJ_LIST(const char *) imports = { 0 };
	for (size_t i = 0; i < ask->imports_count; i++)
		*AJ_PUSH(arena, &imports) = aj_strdup(arena, ask->imports[i]);
	static const char *const none[1];
	return (struct aj_python_ask){
		.imports = !ask->imports ? NULL
		         : imports.count ? imports.items
		                         : none,
		.imports_count = ask->imports_count,
		.imports_checked = ask->imports_checked ? aj_strdup(arena, ask->imports_checked) : NULL,
		.builtins = ask->builtins ? aj_strdup(arena, ask->builtins) : NULL,
		.layer = ask->layer ? aj_strdup(arena, ask->layer) : NULL,
		.clock = ask->clock ? aj_strdup(arena, ask->clock) : NULL,
		.sleep_max = ask->sleep_max ? aj_strdup(arena, ask->sleep_max) : NULL,
	};
}

/* Set the row's key of `policy`. False: it was not requested. */
static bool set_value(struct aj_policy *policy, int row, const struct aj_python_ask *ask, struct aj_arena *arena,
                      struct aj_error *err)
{
	const struct aj_key *key = aj_key_find(aj_policy_keys, rows[row].key);
	const char *const texts[ROWS] = { [IMPORTS_CHECKED] = ask->imports_checked,
		                          [BUILTINS] = ask->builtins,
		                          [LAYER] = ask->layer,
		                          [CLOCK] = ask->clock,
		                          [SLEEP_MAX] = ask->sleep_max };
	const char *const *words = row == IMPORTS ? ask->imports : &texts[row];
	size_t count = row == IMPORTS ? ask->imports_count : 1;
	if (row == IMPORTS ? !ask->imports : !texts[row])
		return false;
	if (row == IMPORTS)
		memset(&policy->imports, 0, sizeof policy->imports);
	for (size_t i = 0; i < count; i++) {
		const char *wrong = aj_key_set_text(key, policy, arena, words[i]);
		if (wrong) {
			aj_fail(err, AJ_EXIT_USAGE, rows[row].member, 0, "`%.100s`: %s", words[i], wrong);
			break;
		}
	}
	return true;
}

/* The loosest policy that requests may ask for. */
static struct aj_policy widest(const struct aj_policy *policy, const struct aj_policy *next, struct aj_arena *arena)
{
	struct aj_policy wide = *policy;
	memset(&wide.imports, 0, sizeof wide.imports);
	for (size_t i = 0; i < policy->imports.count; i++)
		*AJ_PUSH(arena, &wide.imports) = policy->imports.items[i];
	for (size_t i = 0; i < policy->request_imports.count; i++)
		*AJ_PUSH(arena, &wide.imports) = policy->request_imports.items[i];
	wide.imports_checked = AJ_CHECKED_AT_RUN;
	wide.clock = next->clock; /* no clock is looser than another */
	if (policy->request_builtins > policy->builtins)
		wide.builtins = policy->request_builtins;
	wide.layer = policy->layer && policy->request_layer;
	return wide;
}

/* The part of the request that is too loose, for an error: of a list only the items. */
static const char *excess(const struct aj_key *key, const struct aj_policy *limit, const struct aj_policy *next,
                          struct aj_arena *arena)
{
	return aj_key_is_list(key) ? aj_key_excess(key, limit, next, arena) : aj_key_value(key, next, arena);
}

static int deny(struct aj_error *err, const char *member, const char *what, const char *why)
{
	return aj_fail_because(err, AJ_REASON_DENIED, AJ_EXIT_USAGE, member, 0, "%.150s %s", what, why);
}

/* Is the value tighter than the policy's, or one to which the policy, the locks and the site let a request loosen it? */
static int check_value(int row, const struct aj_loaded *loaded, const struct aj_site *site, const struct aj_policy *next,
                       struct aj_arena *arena, struct aj_error *err)
{
	const struct aj_key *key = aj_key_find(aj_policy_keys, rows[row].key);
	size_t k = (size_t)(key - aj_policy_keys);
	const struct aj_policy *policy = &loaded->policy;
	if (aj_key_within(key, policy, next, arena))
		return 0;
	struct aj_policy wide = widest(policy, next, arena);
	const char *name = rows[row].member;
	if (!aj_key_within(key, &wide, next, arena)) {
		deny(err, name, excess(key, &wide, next, arena),
		     aj_printf(arena, "is looser than policy `%.60s` lets a request ask for", policy->name));
		const char *most = aj_key_value(key, &wide, arena);
		aj_advise(err, "ask for %.300s or less, or set %s in the policy", most, rows[row].ceiling);
	} else if (loaded->locked[k] || site->locked[k]) {
		const struct aj_origin *by = loaded->locked[k] ? &loaded->locked_at[k] : &site->locked_at;
		deny(err, name, excess(key, policy, next, arena),
		     aj_printf(arena, "is looser than policy `%.60s`, and %.100s locks %s", policy->name,
		               aj_origin_text(by, arena), key->name));
		aj_advise(err, "ask for %.300s or less", aj_key_value(key, policy, arena));
	} else if (site->ceiling_at[k].file && !aj_key_within(key, &site->ceilings, next, arena)) {
		deny(err, name, excess(key, &site->ceilings, next, arena),
		     aj_printf(arena, "exceeds the site's ceiling (%.100s)", aj_origin_text(&site->ceiling_at[k], arena)));
		aj_advise(err, "ask for %.300s or less", aj_key_value(key, &site->ceilings, arena));
	}
	return err->exit_code ? -1 : 0;
}

int aj_policy_for_request(struct aj_policy *ret, const struct aj_loaded *loaded, const struct aj_site *site,
                          const struct aj_python_ask *ask, struct aj_arena *arena, struct aj_error *err)
{
	struct aj_policy next = loaded->policy;
	memset(&next.options, 0, sizeof next.options);
	for (size_t i = 0; i < loaded->policy.options.count; i++)
		*AJ_PUSH(arena, &next.options) = loaded->policy.options.items[i];
	for (int row = 0; row < ROWS; row++) {
		if (!set_value(&next, row, ask, arena, err))
			continue;
		if (err->exit_code || check_value(row, loaded, site, &next, arena, err) < 0)
			return -1;
		const char *value = aj_key_value(aj_key_find(aj_policy_keys, rows[row].key), &next, arena);
		*AJ_PUSH(arena, &next.options) = aj_printf(arena, "request: %s = %.*s%s", rows[row].member, SHOWN_BYTES, value,
		                                           strlen(value) > SHOWN_BYTES ? "..." : "");
	}
	if (!next.layer && (ask->imports || ask->imports_checked || ask->builtins)) {
		const char *name = ask->imports ? "imports" : ask->builtins ? "builtins" : "imports_checked";
		aj_fail(err, AJ_EXIT_USAGE, name, 0, "without the Python layer this has no effect");
		const char *on = ask->layer ? "leave it out, or switch the layer on"
		                            : "the policy has no layer: ask for `layer` on, too";
		aj_advise(err, "%s", on);
		return -1;
	}
	*ret = next;
	return 0;
}
