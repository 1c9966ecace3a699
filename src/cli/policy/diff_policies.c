/* `agentjail policy diff A B`: prints where B is looser than A, where tighter, and where merely different.
 * It compares the policies' values, not their enforcement on a host; a change without an order counts as one to review. */
#include <stdio.h>
#include <string.h>

#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "jail/result/result.h"

struct diff_side {
	struct aj_loaded loaded;
	struct aj_diags diags;
};

struct change {
	const struct aj_key *key;
	enum aj_order order;
	AJ_LIST(const char *) added, removed;
	bool locked, unlocked;
};

typedef AJ_LIST(struct change) change_list;
typedef AJ_LIST(const char *) text_list;

static const char *const words[] = {
	[AJ_SAME] = "same", [AJ_TIGHTER] = "tighter", [AJ_LOOSER] = "looser", [AJ_DIFFERENT] = "different"
};

static void items_of(const struct aj_key *key, const struct aj_policy *policy, struct aj_arena *arena, text_list *ret)
{
	const char *field = (const char *)policy + key->offset;
	if (key->type == AJ_KEY_LIST)
		*ret = *(const text_list *)(const void *)field;
	for (size_t i = 0; key->type == AJ_KEY_FLAGS && key->names[i]; i++)
		if (*(const uint64_t *)(const void *)field & (uint64_t)1 << i)
			*AJ_PUSH(arena, ret) = key->names[i];
}

static bool list_contains(const text_list *list, const char *item)
{
	for (size_t i = 0; i < list->count; i++)
		if (strcmp(list->items[i], item) == 0)
			return true;
	return false;
}

static void compare_key(size_t k, const struct diff_side sides[2], struct aj_arena *arena, change_list *ret)
{
	const struct aj_key *key = &aj_policy_keys[k];
	const struct aj_policy *a = &sides[0].loaded.policy, *b = &sides[1].loaded.policy;
	struct change c = { .key = key, .order = aj_key_compare(key, a, b, arena) };
	text_list from = { 0 }, to = { 0 };
	items_of(key, a, arena, &from);
	items_of(key, b, arena, &to);
	for (size_t i = 0; i < to.count; i++)
		if (!list_contains(&from, to.items[i]))
			*AJ_PUSH(arena, &c.added) = to.items[i];
	for (size_t i = 0; i < from.count; i++)
		if (!list_contains(&to, from.items[i]))
			*AJ_PUSH(arena, &c.removed) = from.items[i];
	bool was = sides[0].loaded.locked[k], is = sides[1].loaded.locked[k];
	c.locked = is && !was;
	c.unlocked = was && !is;
	if (c.order != AJ_SAME || c.locked || c.unlocked)
		*AJ_PUSH(arena, ret) = c;
}

/* Does the change need a review? A removed lock lets other policies loosen the key; the description has no effect. */
static bool needs_review(const struct change *c)
{
	return c->unlocked || c->order == AJ_LOOSER || (c->order == AJ_DIFFERENT && c->key->looser != AJ_LOOSER_NEVER);
}

/* --- for people --- */

static void print_items(char sign, const char *const *items, size_t count, struct aj_arena *arena)
{
	for (size_t i = 0; i < count; i++)
		printf("    %c %s\n", sign, aj_line(arena, items[i]));
}

static void print_change(const struct change *c, const struct diff_side sides[2], struct aj_arena *arena)
{
	const char *from = aj_key_value(c->key, &sides[0].loaded.policy, arena),
		   *to = aj_key_value(c->key, &sides[1].loaded.policy, arena);
	const char *standing = aj_key_status(c->key, &sides[1].loaded.policy);
	if (!aj_key_is_list(c->key))
		printf("  %s: %s -> %s", c->key->name, aj_line(arena, from), aj_line(arena, to));
	else
		printf("  %s%s", c->key->name, c->order == AJ_DIFFERENT ? " (looser in one way, tighter in another)" : "");
	printf("  [%s%s%s]\n", aj_key_kind(c->key, &sides[1].loaded.policy), standing ? "; " : "", standing ? standing : "");
	if (!aj_key_is_list(c->key))
		return;
	print_items('+', c->added.items, c->added.count, arena);
	print_items('-', c->removed.items, c->removed.count, arena);
}

static void print_order(const change_list *changes, const struct diff_side sides[2], struct aj_arena *arena, enum aj_order order)
{
	bool any = false;
	for (size_t i = 0; i < changes->count; i++) {
		if (changes->items[i].order != order)
			continue;
		if (!any)
			printf("%s:\n", words[order]);
		any = true;
		print_change(&changes->items[i], sides, arena);
	}
}

static void print_locks(const change_list *changes, bool added)
{
	bool any = false;
	size_t count = 0;
	for (size_t i = 0; i < changes->count; i++)
		count += added ? changes->items[i].locked : changes->items[i].unlocked;
	if (count == aj_policy_key_count) {
		printf("%s everything\n", added ? "tighter, now locked:" : "looser, no longer locked:");
		return;
	}
	for (size_t i = 0; i < changes->count; i++) {
		if (!(added ? changes->items[i].locked : changes->items[i].unlocked))
			continue;
		printf("%s %s",
		       any     ? ","
		       : added ? "tighter, now locked:"
		               : "looser, no longer locked:",
		       changes->items[i].key->name);
		any = true;
	}
	if (any)
		printf("\n");
}

static void print_text(const change_list *changes, const struct diff_side sides[2], struct aj_arena *arena)
{
	print_order(changes, sides, arena, AJ_LOOSER);
	print_locks(changes, false);
	print_order(changes, sides, arena, AJ_TIGHTER);
	print_locks(changes, true);
	print_order(changes, sides, arena, AJ_DIFFERENT);
	if (!changes->count)
		printf("no difference\n");
}

/* --- for programs --- */

static json_t *texts_json(const char *const *items, size_t count)
{
	json_t *all = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(all, json_string(items[i]));
	return all;
}

static json_t *change_json(const struct change *c, const struct diff_side sides[2], struct aj_arena *arena)
{
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o, s:s*}", "key", c->key->name, "change", words[c->order], "kind",
	                        aj_key_kind(c->key, &sides[1].loaded.policy), "enforced_by", aj_enforcer_name(c->key->by), "from",
	                        aj_key_json(c->key, &sides[0].loaded.policy, arena), "to",
	                        aj_key_json(c->key, &sides[1].loaded.policy, arena), "standing",
	                        aj_key_status(c->key, &sides[1].loaded.policy));
	if (aj_key_is_list(c->key)) {
		json_object_set_new(doc, "added", texts_json(c->added.items, c->added.count));
		json_object_set_new(doc, "removed", texts_json(c->removed.items, c->removed.count));
	}
	if (c->locked || c->unlocked)
		json_object_set_new(doc, "lock", json_string(c->locked ? "added" : "removed"));
	return doc;
}

static void print_json(const change_list *changes, const struct diff_side sides[2], bool looser, struct aj_arena *arena)
{
	json_t *list = json_array(), *ends[2];
	for (size_t i = 0; i < changes->count; i++)
		json_array_append_new(list, change_json(&changes->items[i], sides, arena));
	for (int i = 0; i < 2; i++)
		ends[i] = json_pack("{s:s, s:o}", "name", sides[i].loaded.policy.name, "files",
		                    aj_files_json(&sides[i].loaded.policy));
	aj_json_print(json_pack("{s:o, s:o, s:b, s:o}", "from", ends[0], "to", ends[1], "looser", looser, "changes", list));
}

int aj_policy_diff(struct aj_policy_args *args, struct aj_error *err)
{
	struct diff_side *sides = aj_alloc(args->arena, 2 * sizeof *sides);
	change_list changes = { 0 };
	bool looser = false;
	if (aj_policy_site(args, err) < 0)
		return -1;
	for (int i = 0; i < 2; i++) {
		sides[i].diags.arena = args->arena;
		if (aj_policy_alone(args, &args->policies.items[i], &sides[i].loaded, &sides[i].diags) < 0)
			return aj_policy_failed(&sides[i].diags, err);
	}
	for (size_t k = 0; k < aj_policy_key_count; k++)
		compare_key(k, sides, args->arena, &changes);
	for (size_t i = 0; i < changes.count; i++)
		looser |= needs_review(&changes.items[i]);
	if (args->options.json)
		print_json(&changes, sides, looser, args->arena);
	else
		print_text(&changes, sides, args->arena);
	return looser;
}
