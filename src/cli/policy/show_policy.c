/* `agentjail policy show`: prints a policy as it takes effect here, as one complete file.
 * Its output loads to the same values again; it prints no value that a run would not have. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "cli/policy/policycmd.h"
#include "cli/terminal/findings.h"
#include "jail/result/result.h"

enum { LINE = 100 };

static bool one_file(const struct aj_loaded *loaded, size_t k)
{
	for (size_t i = 1; i < loaded->items_at[k].count; i++) {
		const char *a = loaded->items_at[k].items[0].file, *b = loaded->items_at[k].items[i].file;
		if (!a || !b || strcmp(a, b) != 0)
			return false;
	}
	return true;
}

/* Print a list too long for one line: in filled lines, or one item a line where items have origins of their own. */
static void print_list(const struct aj_loaded *loaded, size_t k, const char *name, struct aj_arena *arena)
{
	const AJ_LIST(const char *) *list = (const void *)((const char *)&loaded->policy + aj_policy_keys[k].offset);
	bool together = one_file(loaded, k);
	int used = 0;
	printf("%s = [ # %s\n", name, aj_where(&loaded->at[k], arena));
	for (size_t i = 0; i < list->count; i++) {
		const char *item = aj_toml_quote(list->items[i], arena);
		if (!together) {
			printf("  %s, # %s\n", item, aj_where(aj_loaded_item_at(loaded, k, i), arena));
			continue;
		}
		if (used && used + (int)strlen(item) > LINE) {
			printf("\n");
			used = 0;
		}
		used += printf("%s %s,", used ? "" : " ", item);
	}
	printf(used ? "\n]\n" : "]\n");
}

static void print_key(const struct aj_loaded *loaded, size_t k, const char *name, struct aj_arena *arena)
{
	const struct aj_key *key = &aj_policy_keys[k];
	const char *value = aj_key_value(key, &loaded->policy, arena);
	if (key->type == AJ_KEY_LIST && (strlen(value) > LINE || !one_file(loaded, k)))
		print_list(loaded, k, name, arena);
	else
		printf("%s = %s # %s\n", name, value, aj_where(&loaded->at[k], arena));
}

static void print_locks(const struct aj_loaded *loaded, struct aj_arena *arena)
{
	bool any = false, same = loaded->locked[0];
	for (size_t k = 0; k < aj_policy_key_count && same; k++)
		same = loaded->locked[k] && strcmp(loaded->locked_at[k].file, loaded->locked_at[0].file) == 0;
	if (same) {
		printf("lock = [\"*\"] # %s\n", aj_where(&loaded->locked_at[0], arena));
		return;
	}
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		if (!loaded->locked[k])
			continue;
		printf("%s  \"%s\", # %s\n", any ? "" : "lock = [\n", aj_policy_keys[k].name,
		       aj_where(&loaded->locked_at[k], arena));
		any = true;
	}
	if (any)
		printf("]\n");
}

static void print_toml(const struct aj_loaded *loaded, struct aj_arena *arena)
{
	const char *section = "";
	printf("# The policy `%s` as it takes effect.\n", aj_line(arena, loaded->policy.name));
	for (size_t i = 0; i < loaded->policy.files.count; i++)
		printf("# made of %s, sha256 %s\n", aj_line(arena, loaded->policy.files.items[i].file),
		       loaded->policy.files.items[i].sha256);
	for (size_t i = 0; i < loaded->policy.options.count; i++)
		printf("# and of %s\n", aj_line(arena, loaded->policy.options.items[i]));
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const char *name = aj_policy_keys[k].name, *dot = strchr(name, '.');
		const char *mine = dot ? aj_strndup(arena, name, (size_t)(dot - name)) : "";
		if (strcmp(mine, section) != 0) {
			if (!*section)
				print_locks(loaded, arena); /* above all sections */
			printf("\n[%s]\n", mine);
			section = mine;
		}
		print_key(loaded, k, dot ? dot + 1 : name, arena);
	}
}

static json_t *policy_json(const struct aj_loaded *loaded, struct aj_arena *arena)
{
	json_t *policy = json_object(), *origins = json_object(), *locks = json_array();
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const char *name = aj_policy_keys[k].name, *dot = strchr(name, '.');
		json_t *into = policy;
		if (dot) {
			const char *section = aj_strndup(arena, name, (size_t)(dot - name));
			if (!json_object_get(policy, section))
				json_object_set_new(policy, section, json_object());
			into = json_object_get(policy, section);
		}
		json_object_set_new(into, dot ? dot + 1 : name, aj_key_json(&aj_policy_keys[k], &loaded->policy, arena));
		json_object_set_new(origins, name, aj_origin_json(&loaded->at[k]));
		if (loaded->locked[k])
			json_array_append_new(locks, json_string(name));
	}
	json_object_set_new(policy, "lock", locks);
	return json_pack("{s:s, s:o, s:o, s:o}", "name", loaded->policy.name, "files", aj_files_json(&loaded->policy), "policy",
	                 policy, "origins", origins);
}

static int print_source(struct aj_policy_args *args, const struct aj_policy_word *word, struct aj_error *err)
{
	struct aj_diags diags = { .arena = args->arena };
	struct aj_source source;
	struct aj_ask ask = { .name = word ? word->name : args->options.site.default_exec, .file = word ? word->file : NULL };
	if (aj_policy_source(&source, &args->options.site, &ask, &diags) < 0)
		return aj_policy_failed(&diags, err);
	const char *text = source.text;
	size_t bytes = source.bytes;
	if (isatty(1)) {
		char *safe = aj_alloc(args->arena, 4 * bytes + 1);
		bytes = aj_printable(safe, text, bytes);
		text = safe;
	}
	fwrite(text, 1, bytes, stdout);
	return 0;
}

int aj_policy_show(struct aj_policy_args *args, struct aj_error *err)
{
	const struct aj_policy_word *word = args->policies.count ? args->policies.items : NULL;
	struct aj_loaded loaded;
	if (aj_policy_site(args, err) < 0)
		return -1;
	if (args->source)
		return print_source(args, word, err);
	if (aj_policy_effective(args, word, &loaded, err) < 0)
		return -1;
	if (args->options.json)
		aj_json_print(policy_json(&loaded, args->arena));
	else
		print_toml(&loaded, args->arena);
	return 0;
}
