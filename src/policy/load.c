/* Stacks layers into a policy: defaults, what it extends, itself, the working directory's, the command line; each may
 * loosen only what nobody below it locked, and nothing passes the site's ceilings. It ignores nothing: a key that it does not know is an error. */
#include "policy/load.h"

#include <ctype.h>
#include <string.h>

#include "policy/bind.h"
#include "policy/source.h"

enum { CHAIN_MAX = 16 };

/* Who says it decides what it may say. */
enum trust {
	OF_SITE, /* built-in, or on the site's path */
	OF_USER, /* a file that the caller named, an option: bound by the site's locks */
	LOCAL,   /* lay in the working directory: may only tighten */
};

struct stack {
	struct aj_loaded *loaded;
	const struct aj_site *site;
	struct aj_diags *diags;
	bool explicit_file[AJ_KEYS_MAX];  /* by a file or an option, not by a built-in policy or a default */
	const char *chain[CHAIN_MAX];     /* being loaded, to see cycles */
	size_t depth;
	unsigned layers;
};

/* --- one file's keys into a copy of the policy --- */

static void take_items(struct stack *s, const struct aj_key *key, size_t k, const struct aj_toml *value, bool extend, const char *file)
{
	if (key->type != AJ_KEY_LIST)
		return;
	if (!extend)
		memset(&s->loaded->items_at[k], 0, sizeof s->loaded->items_at[k]);
	for (size_t i = 0; i < value->count; i++)
		*AJ_PUSH(s->diags->arena, &s->loaded->items_at[k]) = (struct aj_origin){ file, value->children[i].line, value->children[i].column };
}

static int unknown(struct stack *s, const char *name, const struct aj_origin *at)
{
	aj_diag_error(s->diags, at, AJ_E_UNKNOWN, "there is no key `%s`", name);
	if (s->diags->errors + s->diags->warnings > s->diags->list.count)
		return -1; /* it was not kept: no advice to look for */
	const char *meant = strchr(name, '.') ? NULL : aj_section_suggest(aj_policy_keys, name, s->diags->arena);
	if (!meant)
		meant = aj_key_suggest(aj_policy_keys, name);
	if (meant)
		aj_diag_advise(s->diags, "did you mean `%s`?", meant);
	else
		aj_diag_advise(s->diags, "agentjail.toml(5) lists the keys");
	return -1;
}

static int take_value(struct stack *s, struct aj_policy *next, const char *section, const struct aj_toml *value, const char *file, bool *set)
{
	struct aj_origin at = { file, value->line, value->column };
	bool extend = strncmp(value->key, "extend_", 7) == 0;
	const char *name = value->key + (extend ? 7 : 0);
	if (*section)
		name = aj_printf(s->diags->arena, "%s.%s", section, name);
	/* A dot within a quoted key is a letter of it: "limits.wall" is not limits.wall. */
	const struct aj_key *key = strchr(value->key, '.') ? NULL : aj_key_find(aj_policy_keys, name);
	if (!key)
		return unknown(s, *section ? aj_printf(s->diags->arena, "%s.%s", section, value->key) : value->key, &at);
	size_t k = (size_t)(key - aj_policy_keys);
	if (extend && !aj_key_is_list(key))
		return aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "`%s` is no list, so there is nothing to extend", key->name);
	if (set[k])
		return aj_diag_error(s->diags, &at, AJ_E_CONTRADICTION, "`%s` is both replaced and extended in one file", key->name);
	set[k] = true;
	s->loaded->at[k] = at; /* also of a bad value: what follows from it is placed here */
	if (aj_key_set_toml(key, next, value, extend, file, s->diags) < 0)
		return -1;
	take_items(s, key, k, value, extend, file);
	return 0;
}

bool aj_policy_lock(const char *what, bool lock[AJ_KEYS_MAX])
{
	size_t bytes = strlen(what);
	bool found = false;
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const char *name = aj_policy_keys[k].name;
		bool section = strncmp(name, what, bytes) == 0 && name[bytes] == '.';
		if (strcmp(what, "*") != 0 && strcmp(what, name) != 0 && !section)
			continue;
		found = lock[k] = true;
	}
	return found;
}

static int take_locks(struct stack *s, const struct aj_toml *value, const char *file, bool *lock)
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
			r = aj_diag_error(s->diags, &at, AJ_E_TYPE, "an item of `lock` is %s and must be a string", aj_toml_kind_name(item->kind));
		else if (strlen(item->text) != item->text_bytes)
			r = aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "an item of `lock` holds a NUL");
		else if (!aj_policy_lock(item->text, lock)) {
			const char *meant = aj_section_suggest(aj_policy_keys, item->text, s->diags->arena);
			if (!meant)
				meant = aj_key_suggest(aj_policy_keys, item->text);
			r = aj_diag_error(s->diags, &at, AJ_E_UNKNOWN, "`lock`: there is no key or section `%s`", item->text);
			if (meant)
				aj_diag_advise(s->diags, "did you mean `%s`?", meant);
		}
	}
	return r;
}

/* --- may the copy take the policy's place? --- */

static bool bound(const struct stack *s, size_t k, enum trust trust, struct aj_origin *ret_by)
{
	if (s->loaded->locked[k]) {
		*ret_by = s->loaded->locked_at[k];
		return true;
	}
	if (trust != OF_SITE && s->site->locked[k]) {
		*ret_by = s->site->locked_at;
		return true;
	}
	return false;
}

/* limits.cpu = "wall" moves with the clock. */
static size_t cpu_key(void)
{
	return (size_t)(aj_key_find(aj_policy_keys, "limits.cpu") - aj_policy_keys);
}

static bool follows_wall(size_t k)
{
	return strcmp(aj_policy_keys[k].name, "limits.wall") == 0;
}

/* A bind inside another one hides what the other has there: without it that would be seen. */
static bool uncovers(const struct aj_policy *old, const struct aj_policy *new, struct aj_arena *arena)
{
	struct aj_bind gone, kept;
	for (size_t i = 0; i < old->binds.count; i++) {
		bool there = false, inside = false;
		if (aj_bind_parse(arena, old->binds.items[i], &gone))
			continue;
		for (size_t j = 0; j < new->binds.count; j++) {
			if (aj_bind_parse(arena, new->binds.items[j], &kept))
				continue;
			size_t bytes = strlen(kept.target);
			there |= strcmp(kept.target, gone.target) == 0;
			inside |= strncmp(gone.target, kept.target, bytes) == 0 && gone.target[bytes] == '/';
		}
		if (inside && !there)
			return true;
	}
	return false;
}

/* A time that follows the clock is told with the clock's. */
static const char *value_text(const struct aj_key *key, const struct aj_policy *policy, struct aj_arena *arena)
{
	const char *text = aj_key_value(key, policy, arena);
	if (strcmp(text, "\"wall\"") != 0 || key->type != AJ_KEY_DURATION)
		return text;
	return aj_printf(arena, "%s (%s)", text, aj_key_value(aj_key_find(aj_policy_keys, "limits.wall"), policy, arena));
}

static int loosened(struct stack *s, size_t k, const struct aj_policy *next, enum trust trust, const struct aj_origin *at,
                    const struct aj_origin *before)
{
	const struct aj_key *key = &aj_policy_keys[k];
	struct aj_arena *arena = s->diags->arena;
	struct aj_origin by;
	enum aj_order order = aj_key_compare(key, &s->loaded->policy, next, arena);
	if (order == AJ_TIGHTER && key->items == &aj_item_bind && uncovers(&s->loaded->policy, next, arena))
		order = AJ_DIFFERENT;
	if (order == AJ_SAME || order == AJ_TIGHTER || key->looser == AJ_LOOSER_NEVER)
		return 0;
	const char *old = value_text(key, &s->loaded->policy, arena), *new = value_text(key, next, arena);
	if (trust == LOCAL) {
		aj_diag_error(s->diags, at, AJ_E_TIGHTEN_ONLY, "`%s` = %.150s %s than %.150s (%s), and a policy of the working directory may only tighten",
		              key->name, new, order == AJ_LOOSER ? "is looser" : "is not tighter", old, aj_origin_text(before, arena));
		aj_diag_advise(s->diags, "name the file with --policy-file if you trust it, or remove it");
		return -1;
	}
	if (!bound(s, k, trust, &by))
		return 0;
	aj_diag_error(s->diags, at, AJ_E_LOCKED, "`%s` = %.150s %s than %.150s (%s), and %s locks it", key->name, new,
	              order == AJ_LOOSER ? "is looser" : "is not tighter", old, aj_origin_text(before, arena), aj_origin_text(&by, arena));
	aj_diag_advise(s->diags, "keep it, make it tighter, or ask whoever owns %s", by.file);
	return -1;
}

static void commit(struct stack *s, size_t k, const struct aj_policy *next, bool built_in)
{
	aj_key_copy(&aj_policy_keys[k], &s->loaded->policy, next);
	s->explicit_file[k] = !built_in;
	s->loaded->layer[k] = s->layers;
}

static int take_tables(struct stack *s, struct aj_policy *next, const struct aj_source *source, enum trust trust, bool *set, bool *lock)
{
	int r = 0;
	for (size_t i = 0; i < source->root.count; i++) {
		const struct aj_toml *entry = &source->root.children[i];
		struct aj_origin at = { source->file, entry->line, entry->column };
		if (strcmp(entry->key, "extends") == 0) {
			if (trust == LOCAL) {
				r = aj_diag_error(s->diags, &at, AJ_E_TIGHTEN_ONLY, "a policy of the working directory tightens the policy that is used; it extends none");
				aj_diag_advise(s->diags, "remove `extends`, or name the file with --policy-file");
			}
		} else if (strcmp(entry->key, "lock") == 0) {
			r |= take_locks(s, entry, source->file, lock);
		} else if (!aj_section_known(aj_policy_keys, entry->key)) {
			r |= take_value(s, next, "", entry, source->file, set);
		} else if (entry->kind != AJ_TOML_TABLE) {
			r = aj_diag_error(s->diags, &at, AJ_E_TYPE, "`%s` is a section: [%s], and its keys below", entry->key, entry->key);
		} else {
			for (size_t j = 0; j < entry->count; j++)
				r |= take_value(s, next, entry->key, &entry->children[j], source->file, set);
		}
	}
	return r;
}

/* What a built-in policy or a default has too much is lowered, before anybody builds on it. */
static void lower(struct stack *s)
{
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const struct aj_key *key = &aj_policy_keys[k];
		if (!s->site->ceiling_at[k].file || s->explicit_file[k] ||
		    aj_key_within(key, &s->site->ceilings, &s->loaded->policy, s->diags->arena))
			continue;
		aj_key_lower(key, &s->loaded->policy, &s->site->ceilings, s->diags->arena);
		s->loaded->at[k] = s->site->ceiling_at[k];
		memset(&s->loaded->items_at[k], 0, sizeof s->loaded->items_at[k]);
	}
}

static int apply(struct stack *s, const struct aj_source *source, enum trust trust)
{
	struct aj_policy next = s->loaded->policy;
	struct aj_origin before[AJ_KEYS_MAX];
	bool set[AJ_KEYS_MAX] = { false }, lock[AJ_KEYS_MAX] = { false };
	memcpy(before, s->loaded->at, sizeof before);
	s->layers++;
	for (size_t k = 0; k < aj_policy_key_count; k++)
		aj_key_copy(&aj_policy_keys[k], &next, &s->loaded->policy);
	int r = take_tables(s, &next, source, trust, set, lock);
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
	lower(s);
	*AJ_PUSH(s->diags->arena, &s->loaded->policy.files) =
	    (struct aj_policy_file){ source->file, aj_strdup(s->diags->arena, source->sha256), source->built_in };
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		if (!lock[k] || s->loaded->locked[k])
			continue;
		s->loaded->locked[k] = true;
		s->loaded->locked_at[k] = (struct aj_origin){ source->file, 0, 0 };
	}
	return r;
}

/* --- chains --- */

static const char *builtin_name_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_builtins[i].name;
}

/* Names never are paths: they are looked up in the site's folders, then among the built-in policies, and nowhere else. */
static int find_named(struct stack *s, const char *name, const struct aj_origin *at, struct aj_source *ret)
{
	if (!aj_policy_name_valid(name)) {
		aj_diag_error(s->diags, at, AJ_E_EXTENDS, "`%s` is no policy's name (letters, digits, - and _)", name);
		aj_diag_advise(s->diags, at->line ? "a file starts with ./ or /: \"./%s\"" : "a file is named with --policy-file", name);
		return -1;
	}
	size_t first = 0; /* a policy that extends its own name extends the next of that name, which it hides */
	for (size_t i = 0; at->line && i < s->site->path.count; i++)
		if (strcmp(aj_printf(s->diags->arena, "%s/%s.toml", s->site->path.items[i], name), at->file) == 0)
			first = i + 1;
	for (size_t i = first; i < s->site->path.count; i++) {
		const char *path = aj_printf(s->diags->arena, "%s/%s.toml", s->site->path.items[i], name);
		int r = aj_source_read(ret, path, true, at, s->diags);
		if (r <= 0)
			return r;
	}
	if (aj_source_builtin(ret, name, s->diags->arena) == 0)
		return 0;
	size_t count = 0;
	while (aj_builtins[count].name)
		count++;
	aj_diag_error(s->diags, at, AJ_E_EXTENDS, "there is no policy `%s`", name);
	const char *meant = aj_suggest(name, builtin_name_at, NULL, count);
	if (meant)
		aj_diag_advise(s->diags, "did you mean `%s`? `agentjail policy list` shows all", meant);
	else
		aj_diag_advise(s->diags, "`agentjail policy list` shows all");
	return -1;
}

static int load_chain(struct stack *s, const struct aj_source *source, enum trust trust);

static int load_parent(struct stack *s, const struct aj_source *source, const struct aj_toml *extends, enum trust trust)
{
	struct aj_origin at = { source->file, extends->line, extends->column };
	const char *what = extends->kind == AJ_TOML_STRING ? extends->text : "";
	struct aj_source parent;
	if (extends->kind != AJ_TOML_STRING || strlen(what) != extends->text_bytes)
		return aj_diag_error(s->diags, &at, AJ_E_TYPE, "`extends` must be a string: one policy's name, or a file that starts with ./ or /");
	bool relative = strncmp(what, "./", 2) == 0, absolute = what[0] == '/';
	if (strncmp(what, "../", 3) == 0)
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "`extends` leads out of the policy's folder: name the policy, or write the whole path");
	if (relative && !source->folder)
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "a built-in policy extends names only");
	if (!relative && !absolute)
		return find_named(s, what, &at, &parent) < 0 ? -1 : load_chain(s, &parent, OF_SITE);
	if (!aj_jail_path_valid(absolute ? what : what + 1))
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "`extends`: not a plain path (no `.`, `..` or `//` in it)");
	const char *path = absolute ? what : aj_printf(s->diags->arena, "%s/%s", source->folder, what + 2);
	return aj_source_read(&parent, path, false, &at, s->diags) < 0 ? -1 : load_chain(s, &parent, trust);
}

static int load_chain(struct stack *s, const struct aj_source *source, enum trust trust)
{
	int r = 0;
	for (size_t i = 0; i < source->root.count; i++) {
		const struct aj_toml *entry = &source->root.children[i];
		struct aj_origin at = { source->file, entry->line, entry->column };
		if (strcmp(entry->key, "extends") != 0)
			continue;
		for (size_t j = 0; j < s->depth; j++)
			if (strcmp(s->chain[j], source->sha256) == 0)
				return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "`extends` runs in a circle: %s extends itself", source->file);
		if (s->depth == CHAIN_MAX)
			return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "more than %d policies extend one another", CHAIN_MAX);
		s->chain[s->depth++] = aj_strdup(s->diags->arena, source->sha256);
		r |= load_parent(s, source, entry, trust); /* if it fails: this file's own errors are shown as well */
	}
	s->loaded->policy.description = ""; /* the one thing that is not inherited */
	return apply(s, source, trust) | r;
}

/* --- the command line --- */

/* As results and the audit trail name it: of a variable its name alone, since its value may be a secret. */
static const char *option_text(const struct aj_setting *setting, const struct aj_key *key, struct aj_arena *arena)
{
	int shown = (int)(key->items == &aj_item_env ? strcspn(setting->value, "=") : strlen(setting->value));
	return aj_printf(arena, "%s=%.*s", setting->option, shown, setting->value);
}

static int apply_settings(struct stack *s, const struct aj_ask *ask)
{
	int r = 0;
	s->layers++;
	for (size_t i = 0; i < ask->settings.count; i++) {
		const struct aj_setting *setting = &ask->settings.items[i];
		const struct aj_key *key = aj_key_find(aj_policy_keys, setting->key);
		size_t k = (size_t)(key - aj_policy_keys);
		struct aj_origin at = { setting->option, 0, 0 }, before = s->loaded->at[k];
		struct aj_policy next = s->loaded->policy;
		aj_key_copy(key, &next, &s->loaded->policy); /* not in place: its items belong to the policy */
		const char *wrong = NULL;
		if (setting->request_only && key->type == AJ_KEY_TEXT)
			*(const char **)((char *)&next + key->offset) = setting->value;
		else if (setting->request_only)
			aj_key_push(key, &next, s->diags->arena, setting->value);
		else
			wrong = aj_key_set_text(key, &next, s->diags->arena, setting->value);
		*AJ_PUSH(s->diags->arena, &s->loaded->policy.options) = option_text(setting, key, s->diags->arena);
		if (wrong) {
			r = aj_diag_error(s->diags, &at, AJ_E_VALUE, "`%s`: %s", setting->value, wrong);
			continue;
		}
		int worse = loosened(s, k, &next, OF_USER, &at, &before);
		if (worse == 0 && follows_wall(k))
			worse = loosened(s, cpu_key(), &next, OF_USER, &at, &s->loaded->at[cpu_key()]);
		r |= worse;
		if (s->site->ceiling_at[k].file && !aj_key_within(key, &s->site->ceilings, &next, s->diags->arena)) {
			aj_diag_error(s->diags, &at, AJ_E_CEILING, "`%s` passes the site's ceiling of %.200s (%s)", setting->value,
			              aj_key_value(key, &s->site->ceilings, s->diags->arena),
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

/* A file that asks for too much is told. */
static int apply_ceilings(struct stack *s)
{
	int r = 0;
	lower(s); /* a processor limit that follows the clock has moved with it */
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const struct aj_key *key = &aj_policy_keys[k];
		const struct aj_origin *ceiling = &s->site->ceiling_at[k];
		if (!ceiling->file || aj_key_within(key, &s->site->ceilings, &s->loaded->policy, s->diags->arena))
			continue;
		r = aj_diag_error(s->diags, &s->loaded->at[k], AJ_E_CEILING, "`%s` = %.200s passes the site's ceiling of %.200s (%s)", key->name,
		                  aj_key_value(key, &s->loaded->policy, s->diags->arena),
		                  aj_key_value(key, &s->site->ceilings, s->diags->arena), aj_origin_text(ceiling, s->diags->arena));
	}
	return r;
}

static int find_asked(struct stack *s, const struct aj_ask *ask, struct aj_source *ret)
{
	struct aj_origin asked = { ask->file ? "--policy-file" : "--policy", 0, 0 };
	if (ask->file && !s->site->files) {
		aj_diag_error(s->diags, &asked, AJ_E_LOCKED, "%s lets nobody name a policy by its path (policies.files = false)", s->site->file);
		aj_diag_advise(s->diags, "put it on the site's path, or use one of `agentjail policy list`");
		return -1;
	}
	return ask->file ? aj_source_read(ret, ask->file, false, &asked, s->diags) : find_named(s, ask->name, &asked, ret);
}

int aj_policy_source(struct aj_source *source, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct stack s = { .site = site, .diags = diags };
	return find_asked(&s, ask, source);
}

static int base_policy(struct stack *s, const struct aj_ask *ask)
{
	struct aj_source source;
	s->loaded->policy.name = ask->name ? ask->name : ask->file;
	if (find_asked(s, ask, &source) < 0)
		return -1;
	const char *slash = strrchr(source.file, '/'), *name = slash ? slash + 1 : source.file, *dot = strrchr(name, '.');
	s->loaded->policy.name = ask->name ? ask->name : dot && dot > name ? aj_strndup(s->diags->arena, name, (size_t)(dot - name)) : name;
	return load_chain(s, &source, ask->file ? OF_USER : OF_SITE);
}

static int local_policy(struct stack *s, const struct aj_ask *ask)
{
	struct aj_source source;
	struct aj_origin asked = { ask->local, 0, 0 };
	int r = aj_source_read(&source, ask->local, true, &asked, s->diags);
	if (r != 0)
		return r < 0 ? -1 : 0;
	return apply(s, &source, LOCAL);
}

/* Where the file stands among those that made the policy: the further on, the later it had its say. Options and the site's
 * ceilings come after all files, a default before them. The list is in order of reading here: parents first. */
static size_t rank(const struct stack *s, const struct aj_origin *at)
{
	if (!at->file)
		return 0;
	for (size_t i = 0; i < s->loaded->policy.files.count; i++)
		if (at->line && strcmp(s->loaded->policy.files.items[i].file, at->file) == 0)
			return i + 1;
	return SIZE_MAX;
}

/* A network that a later layer closed leaves hosts without a meaning; hosts that come later than the closed network are a
 * mistake, and stay to be named as one. */
static void drop_hosts(struct stack *s)
{
	size_t mode = (size_t)(aj_key_find(aj_policy_keys, "network.mode") - aj_policy_keys);
	size_t hosts = (size_t)(aj_key_find(aj_policy_keys, "network.allow") - aj_policy_keys);
	struct aj_policy *p = &s->loaded->policy;
	if (p->network == AJ_NET_ALLOW || !p->allow.count || rank(s, &s->loaded->at[mode]) <= rank(s, &s->loaded->at[hosts]))
		return;
	memset(&p->allow, 0, sizeof p->allow);
	memset(&s->loaded->items_at[hosts], 0, sizeof s->loaded->items_at[hosts]);
	s->loaded->at[hosts] = s->loaded->at[mode];
}

/* The first `count` in reverse; the working directory's stays behind them. */
static void own_file_first(struct aj_policy *policy, size_t count)
{
	struct aj_policy_file *files = policy->files.items;
	for (size_t i = 0, j = count; i + 1 < j; i++) {
		struct aj_policy_file swap = files[i];
		files[i] = files[--j];
		files[j] = swap;
	}
}

int aj_policy_load(struct aj_loaded *loaded, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct stack s = { .loaded = loaded, .site = site, .diags = diags };
	*loaded = (struct aj_loaded){ 0 };
	aj_keys_default(aj_policy_keys, &loaded->policy, diags->arena);
	lower(&s);
	int r = base_policy(&s, ask);
	size_t chain = loaded->policy.files.count;
	if (r == 0 && site->local && ask->local)
		r = local_policy(&s, ask);
	if (r == 0) /* what it builds on is sound */
		r = apply_settings(&s, ask);
	r |= apply_ceilings(&s);
	drop_hosts(&s);
	own_file_first(&loaded->policy, chain);
	if (loaded->policy.cpu_ms == AJ_AS_WALL)
		loaded->policy.cpu_ms = loaded->policy.wall_ms;
	aj_policy_contradictions(loaded, diags);
	return diags->errors ? -1 : r;
}

bool aj_policy_preset(struct aj_policy *policy, struct aj_arena *arena, const char *name)
{
	struct aj_diags diags = { .arena = arena };
	static const struct aj_site no_site = { .file = "no site" };
	struct aj_loaded loaded;
	int r = aj_policy_load(&loaded, &no_site, &(struct aj_ask){ .name = name }, &diags);
	if (r == 0)
		*policy = loaded.policy;
	return r == 0;
}
