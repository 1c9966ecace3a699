/* Merges one layer into a policy. A layer may loosen only keys that no layer below has locked and that the site's locks and
 * ceilings leave open, and nothing at all if it came from the working directory; an unknown key is an error, never ignored. */
#include "policy/load/merge.h"

#include <limits.h>
#include <string.h>

#include "policy/bind.h"
#include "policy/field.h"

/* --- one file's keys into a copy of the policy --- */

static void merge_items(struct aj_stack *s, const struct aj_key *key, size_t k, const struct aj_toml *value, bool extend,
                        const char *file)
{
	if (key->type != AJ_KEY_LIST)
		return;
	if (!extend)
		memset(&s->loaded->items_at[k], 0, sizeof s->loaded->items_at[k]);
	for (size_t i = 0; i < value->count; i++)
		*AJ_PUSH(s->diags->arena, &s->loaded->items_at[k]) = (struct aj_origin){ file, value->children[i].line,
			                                                                 value->children[i].column };
}

/* The key or section that the name in the last finding probably misspells. */
static const char *meant_by(struct aj_stack *s, const char *name)
{
	if (s->diags->errors + s->diags->warnings > s->diags->list.count)
		return NULL; /* the finding was not kept: suggestions for thousands of names would take seconds */
	const char *meant = strchr(name, '.') ? NULL : aj_section_suggest(aj_policy_keys, name, s->diags->arena);
	return meant ? meant : aj_key_suggest(aj_policy_keys, name);
}

static int unknown_key(struct aj_stack *s, const char *name, const struct aj_origin *at)
{
	aj_diag_error(s->diags, at, AJ_E_UNKNOWN, "there is no key `%s`", name);
	const char *meant = meant_by(s, name);
	if (meant)
		aj_diag_advise(s->diags, "did you mean `%s`?", meant);
	else
		aj_diag_advise(s->diags, "agentjail.toml(5) lists the keys");
	return -1;
}

/* Make relative items and those that start with `~` absolute, so that every later comparison is of the paths that are meant. */
static int locate_items(struct aj_stack *s, const struct aj_key *key, const struct aj_source *source, struct aj_toml *list)
{
	struct aj_arena *arena = s->diags->arena;
	struct aj_toml *items = aj_alloc(arena, (list->count + 1) * sizeof *items);
	const char *folder = NULL;
	int r = 0;
	for (size_t i = 0; i < list->count; i++) {
		items[i] = list->children[i];
		const char *text = items[i].text, *wrong;
		bool whole = items[i].kind == AJ_TOML_STRING && strlen(text) == items[i].text_bytes;
		if (!whole || strchr("/@", *text) || strchr(text, '$'))
			continue; /* absolute, a word, or refused by the item's own check */
		if (source->built_in && *text != '~') {
			wrong = "relative, and a built-in policy has no folder";
		} else {
			folder = folder ? folder : aj_source_folder(source, arena);
			wrong = aj_host_path(arena, text, s->home, folder, &text);
		}
		if (wrong) {
			struct aj_origin at = { source->file, items[i].line, items[i].column };
			r = aj_diag_error(s->diags, &at, AJ_E_VALUE, "`%s`: %s: %s", key->name,
			                  aj_toml_quote(items[i].text, arena), wrong);
		}
		items[i].text = text;
		items[i].text_bytes = strlen(text);
	}
	list->children = items;
	return r;
}

static int merge_value(struct aj_stack *s, struct aj_policy *next, const char *section, const struct aj_toml *value,
                       const struct aj_source *source, bool *set)
{
	const char *file = source->file;
	struct aj_origin at = { file, value->line, value->column };
	bool extend = strncmp(value->key, "extend_", 7) == 0;
	const char *name = value->key + (extend ? 7 : 0);
	if (*section)
		name = aj_printf(s->diags->arena, "%s.%s", section, name);
	/* A dot within a quoted key is part of the name: "limits.wall" is not limits.wall. */
	const struct aj_key *key = strchr(value->key, '.') ? NULL : aj_key_find(aj_policy_keys, name);
	if (!key)
		return unknown_key(s, *section ? aj_printf(s->diags->arena, "%s.%s", section, value->key) : value->key, &at);
	size_t k = (size_t)(key - aj_policy_keys);
	if (extend && !aj_key_is_list(key))
		return aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "`%s` is not a list, so it cannot be extended", key->name);
	if (set[k])
		return aj_diag_error(s->diags, &at, AJ_E_CONTRADICTION, "`%s` is both replaced and extended in one file",
		                     key->name);
	set[k] = true;
	s->loaded->at[k] = at; /* also for a bad value: later findings about the key are placed here */
	struct aj_toml located = *value;
	if (key->host_paths && value->kind == AJ_TOML_ARRAY && locate_items(s, key, source, &located) < 0)
		return -1;
	if (aj_key_set_toml(key, next, &located, extend, file, s->diags) < 0)
		return -1;
	merge_items(s, key, k, value, extend, file);
	return 0;
}

static int merge_locks(struct aj_stack *s, const struct aj_toml *value, const char *file, bool *lock)
{
	struct aj_origin at = { file, value->line, value->column };
	int r = 0;
	if (value->kind != AJ_TOML_ARRAY) {
		aj_diag_error(s->diags, &at, AJ_E_TYPE, "`lock` must be an array of keys or sections");
		return -1;
	}
	for (size_t i = 0; i < value->count; i++) {
		const struct aj_toml *item = &value->children[i];
		at = (struct aj_origin){ file, item->line, item->column };
		if (item->kind != AJ_TOML_STRING)
			r = aj_diag_error(s->diags, &at, AJ_E_TYPE, "an item of `lock` is %s and must be a string",
			                  aj_toml_kind_name(item->kind));
		else if (strlen(item->text) != item->text_bytes)
			r = aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "an item of `lock` holds a NUL");
		else if (!aj_policy_lock(item->text, lock)) {
			r = aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "`lock`: there is no key or section `%s`", item->text);
			const char *meant = meant_by(s, item->text);
			if (meant)
				aj_diag_advise(s->diags, "did you mean `%s`?", meant);
		}
	}
	return r;
}

/* --- may the copy replace the policy? --- */

static bool is_bound(const struct aj_stack *s, size_t k, enum aj_trust trust, struct aj_origin *ret_by)
{
	if (s->loaded->locked[k]) {
		*ret_by = s->loaded->locked_at[k];
		return true;
	}
	if (trust != AJ_OF_SITE && s->site->locked[k]) {
		*ret_by = s->site->locked_at;
		return true;
	}
	return false;
}

/* limits.cpu = "wall" follows limits.wall. */
static size_t cpu_key(void)
{
	return aj_key_index("limits.cpu");
}

static bool follows_wall(size_t k)
{
	return strcmp(aj_policy_keys[k].name, "limits.wall") == 0;
}

/* A time that follows limits.wall is reported together with it. */
static const char *value_text(const struct aj_key *key, const struct aj_policy *policy, struct aj_arena *arena)
{
	const char *text = aj_key_value(key, policy, arena);
	if (!key->as_wall || aj_number(key, policy) != AJ_AS_WALL)
		return text;
	return aj_printf(arena, "%s (%s)", text, aj_key_value(aj_key_find(aj_policy_keys, "limits.wall"), policy, arena));
}

/* "`limits.memory` = "1G" is looser than "512M" (snippet.toml:17:1)"; of a list only the items that differ. */
static const char *comparison(const struct aj_key *key, const struct aj_policy *old, const struct aj_policy *new,
                              enum aj_order order, const struct aj_origin *before, struct aj_arena *arena)
{
	const char *place = aj_origin_text(before, arena);
	if (aj_key_is_list(key) && order != AJ_TIGHTER) {
		const char *excess = aj_key_excess(key, old, new, arena);
		bool less = key->looser == AJ_LOOSER_LESS;
		if (strcmp(excess, "[]") != 0)
			return aj_printf(arena, "`%s` %s %.200s is looser than %s says", key->name, less ? "without" : "with",
			                 excess, place);
	}
	return aj_printf(arena, "`%s` = %.150s %s than %.150s (%s)", key->name, value_text(key, new, arena),
	                 order == AJ_LOOSER ? "is looser" : "is not tighter", value_text(key, old, arena), place);
}

static int loosened(struct aj_stack *s, size_t k, const struct aj_policy *next, enum aj_trust trust, const struct aj_origin *at,
                    const struct aj_origin *before)
{
	const struct aj_key *key = &aj_policy_keys[k];
	struct aj_arena *arena = s->diags->arena;
	struct aj_origin by;
	enum aj_order order = aj_key_compare(key, &s->loaded->policy, next, arena);
	bool hides = trust == AJ_LOCAL && key->seen && order != AJ_SAME;
	if (!hides && (order == AJ_SAME || order == AJ_TIGHTER || key->looser == AJ_LOOSER_NEVER))
		return 0;
	if (hides) {
		aj_diag_error(s->diags, at, AJ_E_TIGHTEN_ONLY,
		              "`%s` decides what programs in the jail see, and a policy of the working directory may not decide that: "
		              "it could hide a test",
		              key->name);
		aj_diag_advise(s->diags, "name the file with --policy-file if you trust it, or remove it");
		return -1;
	}
	const char *what = comparison(key, &s->loaded->policy, next, order, before, arena);
	if (trust == AJ_LOCAL) {
		aj_diag_error(s->diags, at, AJ_E_TIGHTEN_ONLY, "%s, and a policy of the working directory may only tighten",
		              what);
		aj_diag_advise(s->diags, "name the file with --policy-file if you trust it, or remove it");
		return -1;
	}
	if (!is_bound(s, k, trust, &by))
		return 0;
	aj_diag_error(s->diags, at, AJ_E_LOCKED, "%s, and %s locks that key", what, aj_origin_text(&by, arena));
	aj_diag_advise(s->diags, "keep the value, tighten it, or ask the owner of %s", by.file);
	return -1;
}

static void commit(struct aj_stack *s, size_t k, const struct aj_policy *next, bool built_in)
{
	aj_key_copy(&aj_policy_keys[k], &s->loaded->policy, next);
	s->explicit_file[k] = !built_in;
	s->loaded->layer[k] = s->layers;
}

static int merge_tables(struct aj_stack *s, struct aj_policy *next, const struct aj_source *source, enum aj_trust trust,
                        bool *set, bool *lock)
{
	int r = 0;
	for (size_t i = 0; i < source->root.count; i++) {
		const struct aj_toml *entry = &source->root.children[i];
		struct aj_origin at = { source->file, entry->line, entry->column };
		if (strcmp(entry->key, "extends") == 0) {
			if (trust == AJ_LOCAL) {
				r = aj_diag_error(s->diags, &at, AJ_E_TIGHTEN_ONLY,
				                  "a policy of the working directory tightens the policy that is used; it extends none");
				aj_diag_advise(s->diags, "remove `extends`, or name the file with --policy-file");
			}
		} else if (strcmp(entry->key, "lock") == 0) {
			r |= merge_locks(s, entry, source->file, lock);
		} else if (!aj_section_known(aj_policy_keys, entry->key)) {
			r |= merge_value(s, next, "", entry, source, set);
		} else if (entry->kind != AJ_TOML_TABLE) {
			r = aj_diag_error(s->diags, &at, AJ_E_TYPE, "`%s` is a section: [%s], and its keys below", entry->key,
			                  entry->key);
		} else {
			for (size_t j = 0; j < entry->count; j++)
				r |= merge_value(s, next, entry->key, &entry->children[j], source, set);
		}
	}
	return r;
}

/* Lower a built-in policy's or default's values to the ceilings, before another layer extends them. */
void aj_merge_lower(struct aj_stack *s)
{
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const struct aj_key *key = &aj_policy_keys[k];
		if (!s->site->ceiling_at[k].file || s->explicit_file[k] ||
		    aj_key_within(key, &s->site->ceilings, &s->loaded->policy, s->diags->arena))
			continue;
		aj_key_lower(key, &s->loaded->policy, &s->site->ceilings, s->diags->arena);
		s->loaded->at[k] = s->site->ceiling_at[k];
		s->loaded->layer[k] = UINT_MAX; /* no later layer overrides a ceiling */
		memset(&s->loaded->items_at[k], 0, sizeof s->loaded->items_at[k]);
	}
}

int aj_merge_file(struct aj_stack *s, const struct aj_source *source, enum aj_trust trust)
{
	struct aj_policy next = s->loaded->policy;
	struct aj_origin before[AJ_KEYS_MAX];
	bool set[AJ_KEYS_MAX] = { false }, lock[AJ_KEYS_MAX] = { false };
	memcpy(before, s->loaded->at, sizeof before);
	s->layers++;
	for (size_t k = 0; k < aj_policy_key_count; k++)
		aj_key_copy(&aj_policy_keys[k], &next, &s->loaded->policy);
	int r = merge_tables(s, &next, source, trust, set, lock);
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		if (!set[k])
			continue;
		int worse = loosened(s, k, &next, trust, &s->loaded->at[k], &before[k]);
		if (worse == 0 && follows_wall(k) && !set[cpu_key()])
			worse = loosened(s, cpu_key(), &next, trust, &s->loaded->at[k], &before[cpu_key()]);
		r |= worse;
	}
	for (size_t k = 0; k < aj_policy_key_count; k++)
		if (set[k])
			commit(s, k, &next, source->built_in);
	aj_merge_lower(s);
	*AJ_PUSH(s->diags->arena, &s->loaded->policy.files) = (struct aj_policy_file){ source->file,
		                                                                       aj_strdup(s->diags->arena, source->sha256),
		                                                                       source->built_in };
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		if (!lock[k] || s->loaded->locked[k])
			continue;
		s->loaded->locked[k] = true;
		s->loaded->locked_at[k] = (struct aj_origin){ source->file, 0, 0 };
	}
	return r;
}

/* --- the command line --- */

/* The option as results and the audit trail name it: of a variable only its name, since its value may be a secret. */
static const char *option_text(const struct aj_setting *setting, const struct aj_key *key, struct aj_arena *arena)
{
	int shown = (int)(key->items == &aj_item_env ? strcspn(setting->value, "=") : strlen(setting->value));
	return aj_printf(arena, "%s=%.*s", setting->option, shown, setting->value);
}

int aj_merge_options(struct aj_stack *s, const struct aj_ask *ask)
{
	int r = 0;
	s->layers++;
	for (size_t i = 0; i < ask->settings.count; i++) {
		const struct aj_setting *setting = &ask->settings.items[i];
		const struct aj_key *key = aj_key_find(aj_policy_keys, setting->key);
		size_t k = (size_t)(key - aj_policy_keys);
		struct aj_origin at = { setting->option, 0, 0 }, before = s->loaded->at[k];
		struct aj_policy next = s->loaded->policy;
		aj_key_copy(key, &next, &s->loaded->policy); /* a copy: the list's items belong to the policy */
		const char *wrong = NULL;
		if (setting->request_only && key->type == AJ_KEY_TEXT)
			*(const char **)((char *)&next + key->offset) = setting->value;
		else if (setting->request_only)
			aj_key_push(key, &next, s->diags->arena, setting->value);
		else
			wrong = aj_key_set_text(key, &next, s->diags->arena, setting->value);
		enum aj_order order = wrong ? AJ_SAME : aj_key_compare(key, &s->loaded->policy, &next, s->diags->arena);
		if (setting->at_least && !wrong && (order == AJ_SAME || order == AJ_TIGHTER))
			continue;
		*AJ_PUSH(s->diags->arena, &s->loaded->policy.options) = option_text(setting, key, s->diags->arena);
		if (wrong) {
			r = aj_diag_error(s->diags, &at, AJ_E_VALUE, "`%s`: %s", setting->value, wrong);
			continue;
		}
		int worse = loosened(s, k, &next, AJ_OF_USER, &at, &before);
		if (worse == 0 && follows_wall(k))
			worse = loosened(s, cpu_key(), &next, AJ_OF_USER, &at, &s->loaded->at[cpu_key()]);
		r |= worse;
		if (s->site->ceiling_at[k].file && !aj_key_within(key, &s->site->ceilings, &next, s->diags->arena)) {
			aj_diag_error(s->diags, &at, AJ_E_CEILING, "`%s` exceeds the site's ceiling of %.200s (%s)",
			              setting->value, aj_key_value(key, &s->site->ceilings, s->diags->arena),
			              aj_origin_text(&s->site->ceiling_at[k], s->diags->arena));
			r = -1;
		}
		if (setting->request_only || r < 0)
			continue;
		commit(s, k, &next, false);
		s->loaded->at[k] = at;
		if (key->type == AJ_KEY_LIST)
			*AJ_PUSH(s->diags->arena, &s->loaded->items_at[k]) = at;
	}
	return r;
}

/* Report a file's values beyond the ceilings. */
int aj_merge_ceilings(struct aj_stack *s)
{
	int r = 0;
	aj_merge_lower(s); /* a CPU limit that follows limits.wall has changed with it */
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const struct aj_key *key = &aj_policy_keys[k];
		const struct aj_origin *ceiling = &s->site->ceiling_at[k];
		if (!ceiling->file || aj_key_within(key, &s->site->ceilings, &s->loaded->policy, s->diags->arena))
			continue;
		const char *value = aj_key_value(key, &s->loaded->policy, s->diags->arena);
		const char *most = aj_key_value(key, &s->site->ceilings, s->diags->arena);
		const char *by = aj_origin_text(ceiling, s->diags->arena);
		r = aj_diag_error(s->diags, &s->loaded->at[k], AJ_E_CEILING,
		                  "`%s` = %.200s exceeds the site's ceiling of %.200s (%s)", key->name, value, most, by);
	}
	return r;
}
