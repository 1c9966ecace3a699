/* Answers the questions of `agentjail policy explain`: one line each, with the rule, its origin and its enforcer.
 * It never calls a rail a wall; an access that a wall forbids is denied whether or not a rail forbids it too. */
#include <stdio.h>
#include <string.h>

#include "cli/policy/explain.h"
#include "cli/terminal/findings.h"
#include "jail/result/result.h"

static const char *const kinds[] = {
	[AJ_ASK_PATH] = "path", [AJ_ASK_HOST] = "host", [AJ_ASK_IMPORT] = "import", [AJ_ASK_SYSCALL] = "syscall"
};
static const char *const verdicts[] = { [AJ_ALLOWED] = "allowed", [AJ_DENIED] = "denied", [AJ_ASKED] = "asks" };

static struct aj_answer import_answer(const struct aj_explained *e, const char *module)
{
	struct aj_answer a = aj_answer_import(&e->loaded.policy, module, e->arena);
	bool tree = strcmp(e->loaded.policy.rootfs, "host") != 0 && e->rootfs;
	if (a.verdict == AJ_ALLOWED && tree && !aj_tree_has_module(e->rootfs, module, e->arena))
		a.why = aj_printf(e->arena, "%s, but the tree does not have it", a.why);
	else if (a.verdict == AJ_ALLOWED && !e->rootfs && strcmp(e->loaded.policy.rootfs, "host") != 0)
		a.why = aj_printf(e->arena, "%s, if the tree has it", a.why);
	return a;
}

static struct aj_answer answer_question(const struct aj_explained *e, const struct aj_policy_question *q, bool write)
{
	const struct aj_policy *policy = &e->loaded.policy;
	struct aj_answer a;
	switch (q->kind) {
	case AJ_ASK_PATH:
		a = aj_answer_path(&e->plan, policy, q->text, write, e->arena);
		if (a.verdict == AJ_ALLOWED && e->plan.snippet && policy->layer && policy->builtins != AJ_BUILTINS_FULL)
			a.why = aj_printf(e->arena, "%s; in front of that a rail: the builtins have no open()", a.why);
		return a;
	case AJ_ASK_HOST:
		return aj_answer_host(&e->plan, &e->loaded.policy, q->text, e->arena);
	case AJ_ASK_IMPORT:
		return import_answer(e, q->text);
	default:
		return aj_answer_syscall(&e->plan, &e->loaded.policy, q->text, e->arena);
	}
}

static const struct aj_origin *answer_origin(const struct aj_explained *e, const struct aj_answer *a)
{
	if (!a->key)
		return NULL;
	size_t k = aj_key_index(a->key);
	return a->item < e->loaded.items_at[k].count ? &e->loaded.items_at[k].items[a->item] : &e->loaded.at[k];
}

/* The rule's text: `key`, `key = value`, or the item of a list that decided. */
static const char *rule_text(const struct aj_explained *e, const struct aj_answer *a)
{
	if (!a->key)
		return "every jail";
	const struct aj_key *key = aj_key_find(aj_policy_keys, a->key);
	if (key->type == AJ_KEY_LIST && a->item != AJ_NO_ITEM) {
		const AJ_LIST(const char *) *list = (const void *)((const char *)&e->loaded.policy + key->offset);
		return a->item < list->count ? aj_printf(e->arena, "%s: \"%s\"", key->name, list->items[a->item]) : key->name;
	}
	return key->type == AJ_KEY_LIST
	         ? key->name
	         : aj_printf(e->arena, "%s = %s", key->name, aj_key_value(key, &e->loaded.policy, e->arena));
}

static const char *enforcer_text(const struct aj_answer *a)
{
	return a->enforcer ? a->enforcer : a->by == AJ_BY_NOBODY ? "no wall enforces it" : aj_enforcer_name(a->by);
}

static json_t *answer_json(const struct aj_explained *e, const struct aj_policy_question *q, bool write,
                           const struct aj_answer *a)
{
	const struct aj_origin *at = answer_origin(e, a);
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s, s:s*, s:s, s:s, s:s}", "kind", kinds[q->kind], "question", q->text,
	                        "verdict", verdicts[a->verdict], "why", a->why, "key", a->key, "rule", rule_text(e, a),
	                        "enforcer_kind", aj_enforcer_kind(a->by), "enforced_by", enforcer_text(a));
	if (q->kind == AJ_ASK_PATH)
		json_object_set_new(doc, "access", json_string(write ? "write" : "read"));
	if (at)
		json_object_set_new(doc, "from", aj_origin_json(at));
	return doc;
}

int aj_explain_questions(const struct aj_explained *e, const struct aj_policy_args *args)
{
	bool denied = false;
	json_t *all = args->options.json ? json_array() : NULL;
	for (size_t i = 0; i < args->questions.count; i++) {
		const struct aj_policy_question *q = &args->questions.items[i];
		struct aj_answer a = answer_question(e, q, args->write);
		const struct aj_origin *at = answer_origin(e, &a);
		denied |= a.verdict != AJ_ALLOWED;
		if (all) {
			json_array_append_new(all, answer_json(e, q, args->write, &a));
			continue;
		}
		printf("%-7s  %s %s%s: %s", verdicts[a.verdict], kinds[q->kind], aj_line(e->arena, q->text),
		       q->kind != AJ_ASK_PATH ? ""
		       : args->write          ? " (write)"
		                              : " (read)",
		       aj_line(e->arena, a.why));
		printf(" [%s%s%s; %s]\n", aj_line(e->arena, rule_text(e, &a)), at ? ", " : "", at ? aj_where(at, e->arena) : "",
		       enforcer_text(&a));
	}
	if (all)
		aj_json_print(json_pack("{s:s, s:o, s:o}", "policy", e->loaded.policy.name, "files",
		                        aj_files_json(&e->loaded.policy), "answers", all));
	return denied;
}
