/* Reads agentjail.toml: defaults, the policy path, locks, ceilings, the audit destination.
 * It reads no other file where AJ_SITE_FILE exists, and no environment variable. */
#include "policy/load/site.h"

#include <string.h>

#include "base/toml/source.h"
#include "policy/bind.h"

static int unknown_key(struct aj_diags *diags, const struct aj_origin *at, const char *name)
{
	aj_diag_error(diags, at, AJ_E_UNKNOWN, "there is no key `%s` in a site's configuration", name);
	const char *meant = aj_key_suggest(aj_site_keys, name);
	bool of_policies = aj_key_find(aj_policy_keys, name);
	if (!meant)
		meant = aj_section_suggest(aj_site_keys, name, diags->arena);
	if (meant && !of_policies)
		aj_diag_advise(diags, "did you mean `%s`?", meant);
	else if (of_policies || aj_section_known(aj_policy_keys, name))
		aj_diag_advise(diags, "`%s` is a key of policies: set it in a policy, or below [ceilings]", name);
	return -1;
}

static int read_ceiling(struct aj_site *site, const char *section, const struct aj_toml *value, struct aj_diags *diags)
{
	struct aj_origin at = { site->file, value->line, value->column };
	const char *name = aj_printf(diags->arena, "%s.%s", section, value->key);
	const struct aj_key *key = aj_key_find(aj_policy_keys, name);
	if (!key) {
		aj_diag_error(diags, &at, AJ_E_UNKNOWN, "there is no key `ceilings.%s`", name);
		const char *meant = aj_key_suggest(aj_policy_keys, name);
		if (meant)
			aj_diag_advise(diags, "did you mean `ceilings.%s`?", meant);
		return -1;
	}
	if (key->looser == AJ_LOOSER_ANY || key->looser == AJ_LOOSER_NEVER)
		return aj_diag_error(diags, &at, AJ_E_VALUE,
		                     "the values of `%s` have no order, so this key can have no ceiling; policies.lock can lock it",
		                     name);
	if (aj_key_set_toml(key, &site->ceilings, value, false, site->file, diags) < 0)
		return -1;
	if (key->type == AJ_KEY_DURATION && *(uint64_t *)((char *)&site->ceilings + key->offset) == AJ_AS_WALL)
		return aj_diag_error(diags, &at, AJ_E_VALUE,
		                     "`%s`: \"wall\" is not a ceiling: write a duration, or rely on the ceiling of limits.wall",
		                     key->name);
	site->ceiling_at[key - aj_policy_keys] = at;
	return 0;
}

static int read_ceilings(struct aj_site *site, const struct aj_toml *table, struct aj_diags *diags)
{
	int r = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct aj_toml *section = &table->children[i];
		struct aj_origin at = { site->file, section->line, section->column };
		if (section->kind != AJ_TOML_TABLE) {
			r = aj_diag_error(diags, &at, AJ_E_TYPE,
			                  "[ceilings] holds sections of a policy: [ceilings.limits], [ceilings.network]...");
			continue;
		}
		for (size_t j = 0; j < section->count; j++)
			r |= read_ceiling(site, section->key, &section->children[j], diags);
	}
	return r;
}

static int read_section(struct aj_site *site, const struct aj_toml *table, struct aj_diags *diags)
{
	int r = 0;
	for (size_t i = 0; i < table->count; i++) {
		const struct aj_toml *value = &table->children[i];
		struct aj_origin at = { site->file, value->line, value->column };
		const char *name = aj_printf(diags->arena, "%s.%s", table->key, value->key);
		const struct aj_key *key = aj_key_find(aj_site_keys, name);
		r |= key ? aj_key_set_toml(key, site, value, false, site->file, diags) : unknown_key(diags, &at, name);
		if (key && strcmp(name, "policies.lock") == 0)
			site->locked_at = at;
		if (key && strcmp(name, "rootfs.path") == 0 && r == 0 && *site->rootfs && !aj_jail_path_valid(site->rootfs))
			r = aj_diag_error(diags, &at, AJ_E_VALUE, "`rootfs.path` is not an absolute path");
	}
	return r;
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

static int read_table(struct aj_site *site, const struct aj_toml *root, struct aj_diags *diags)
{
	int r = 0;
	for (size_t i = 0; i < root->count; i++) {
		const struct aj_toml *entry = &root->children[i];
		struct aj_origin at = { site->file, entry->line, entry->column };
		bool ceilings = strcmp(entry->key, "ceilings") == 0;
		if (!ceilings && !aj_section_known(aj_site_keys, entry->key))
			r |= unknown_key(diags, &at, entry->key);
		else if (entry->kind != AJ_TOML_TABLE)
			r = aj_diag_error(diags, &at, AJ_E_TYPE, "`%s` is a section: [%s], and its keys below", entry->key,
			                  entry->key);
		else
			r |= ceilings ? read_ceilings(site, entry, diags) : read_section(site, entry, diags);
	}
	for (size_t i = 0; i < site->lock.count; i++)
		if (!aj_policy_lock(site->lock.items[i], site->locked)) {
			r = aj_diag_error(diags, &site->locked_at, AJ_E_UNKNOWN,
			                  "`policies.lock`: there is no key or section `%s`", site->lock.items[i]);
			const char *meant = aj_section_suggest(aj_policy_keys, site->lock.items[i], diags->arena);
			if (!meant)
				meant = aj_key_suggest(aj_policy_keys, site->lock.items[i]);
			if (meant)
				aj_diag_advise(diags, "did you mean `%s`?", meant);
		}
	return r;
}

int aj_site_load(struct aj_site *site, const char *path, struct aj_diags *diags)
{
	struct aj_source source;
	struct aj_origin asked = { path ? "--config" : AJ_SITE_FILE, 0, 0 };
	*site = (struct aj_site){ 0 };
	aj_keys_default(aj_site_keys, site, diags->arena);
	aj_keys_default(aj_policy_keys, &site->ceilings, diags->arena);
	int found = aj_source_read(&source, AJ_SITE_FILE, true, &asked, diags);
	if (found < 0)
		return -1;
	if (found == 0 && path && strcmp(path, AJ_SITE_FILE) != 0) {
		aj_diag_error(diags, &asked, AJ_E_LOCKED, "this site's configuration is %s, and no option replaces that file",
		              AJ_SITE_FILE);
		return -1;
	}
	if (found == 1 && path && aj_source_read(&source, path, false, &asked, diags) < 0)
		return -1;
	if (found == 1 && !path && aj_source_builtin(&source, AJ_BUILTIN_SITE, diags->arena) < 0)
		return aj_diag_error(diags, &asked, AJ_E_TRUST, "the built-in configuration is missing");
	site->file = source.file;
	memcpy(site->sha256, source.sha256, sizeof site->sha256);
	return read_table(site, &source.root, diags);
}
