/* Fuzzes policies: any bytes, loaded as a policy, as a child of a locked one, as the working directory's and as a site's configuration.
 * It reads no file: what would be read is served from memory. Beyond not crashing, what was accepted must obey the rules. */
#include <string.h>

#include "base/text.h"
#include "base/toml/source.h"
#include "must.h"
#include "policy/load/load.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);
int __wrap_aj_source_read(struct aj_source *source, const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags);

static struct file {
	const char *path, *text;
	size_t bytes;
} files[6];
static size_t file_count;

static void serve(const char *path, const char *text, size_t bytes)
{
	files[file_count++] = (struct file){ path, text, bytes };
}

/* In place of the real one (-Wl,--wrap): what was served, and nothing else. */
int __wrap_aj_source_read(struct aj_source *source, const char *path, bool optional, const struct aj_origin *at, struct aj_diags *diags)
{
	for (size_t i = 0; i < file_count; i++)
		if (strcmp(files[i].path, path) == 0)
			return aj_source_parse(source, files[i].path, "/f", files[i].text, files[i].bytes, diags);
	return optional ? 1 : aj_diag_error(diags, at, AJ_E_TRUST, "`%s` is not there", path);
}

static void findings(const struct aj_diags *diags)
{
	for (size_t i = 0; i < diags->list.count; i++) {
		const struct aj_diag *d = &diags->list.items[i];
		must_of(d->at.file != NULL, "a finding has a place", d->message);
		must_of(aj_utf8_valid_prefix(d->message, strlen(d->message)) == strlen(d->message), "a finding is UTF-8", d->code);
		must_of(!d->advice || aj_utf8_valid_prefix(d->advice, strlen(d->advice)) == strlen(d->advice), "advice is UTF-8", d->code);
	}
}

/* Does the value that is printed mean the same when it is read? */
static void print_and_parse(const struct aj_policy *policy, struct aj_arena *arena)
{
	for (const struct aj_key *key = aj_policy_keys; key->name; key++) {
		struct aj_diags diags = { .arena = arena };
		struct aj_policy back = *policy;
		struct aj_toml root;
		struct aj_toml_error err;
		const char *text = aj_key_value(key, policy, arena), *line = aj_printf(arena, "x = %s", text);
		if (strlen(line) > AJ_TOML_MAX_BYTES)
			continue; /* escapes make it longer than it was */
		must_of(aj_toml_parse(&root, arena, line, strlen(line), &err) == 0, "a printed value is TOML", key->name);
		must_of(aj_key_set_toml(key, &back, root.children, false, "printed", &diags) == 0, "a printed value is accepted", line);
		must_of(strcmp(aj_key_value(key, &back, arena), text) == 0, "a printed value is the value", line);
		must_of(aj_key_compare(key, policy, &back, arena) == AJ_SAME, "a printed value is as loose", line);
	}
}

static void within(const struct aj_site *site, const struct aj_policy *policy, struct aj_arena *arena)
{
	for (size_t k = 0; k < aj_policy_key_count; k++)
		must_of(!site->ceiling_at[k].file || aj_key_within(&aj_policy_keys[k], &site->ceilings, policy, arena),
		        "nothing passes a ceiling", aj_policy_keys[k].name);
}

/* `only`: of these keys, or of all. */
static void not_looser(const struct aj_policy *from, const struct aj_policy *to, const bool *only, struct aj_arena *arena, const char *rule)
{
	for (size_t k = 0; k < aj_policy_key_count; k++) {
		const struct aj_key *key = &aj_policy_keys[k];
		enum aj_order order = aj_key_compare(key, from, to, arena);
		must_of((only && !only[k]) || key->looser == AJ_LOOSER_NEVER || order == AJ_SAME || order == AJ_TIGHTER, rule, key->name);
	}
}

static int load(struct aj_loaded *loaded, const struct aj_site *site, const char *name, const char *file, const char *local,
                struct aj_arena *arena)
{
	struct aj_diags diags = { .arena = arena };
	struct aj_ask ask = { .name = name, .file = file, .local = local, .local_asked = true };
	int r = aj_policy_load(loaded, site, &ask, &diags);
	must_of(r == 0 ? diags.errors == 0 : diags.errors != 0, "an error is a finding, and a finding an error", "load");
	if (r == 0) {
		within(site, &loaded->policy, arena);
		print_and_parse(&loaded->policy, arena);
		aj_policy_lint(loaded, &diags);
		must_of(diags.errors == 0, "lint only warns", "load");
	}
	findings(&diags);
	return r;
}

static const char rules[] = "[policies]\npath = [\"/site\"]\nlock = [\"limits\", \"process\", \"require\", \"filesystem\"]\n"
			    "[ceilings.limits]\nwall = \"10m\"\ncpu = \"5m\"\nmemory = \"4G\"\npids = 256\n"
			    "[ceilings.network]\nmode = \"allow\"\nallow = [\"*.example.org:443\"]\n"
			    "[ceilings.python]\nimports = [\"json\", \"collections.*\", \"numpy\"]\n"
			    "[ceilings.filesystem]\nmasks = [\"/workspace/.git\"]\nbinds = [\"/srv/a:/a:rw\"]\nworkspace = \"read-write\"\n"
			    "[ceilings.process]\ndeny_syscalls = [\"ipc\"]\n[ceilings.audit]\non_failure = \"flag\"\n";

static bool extends_nothing(const char *text, size_t bytes, struct aj_arena *arena)
{
	struct aj_toml root;
	struct aj_toml_error err;
	if (aj_toml_parse(&root, arena, text, bytes, &err) < 0)
		return false;
	for (size_t i = 0; i < root.count; i++)
		if (strcmp(root.children[i].key, "extends") == 0)
			return false;
	return true;
}

/* A second file, /f/parent.toml, is what follows a line of its own. */
static const char cut[] = "\n#----\n";

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	struct aj_arena arena = { 0 };
	struct aj_diags diags = { .arena = &arena };
	struct aj_site site, theirs;
	struct aj_loaded loaded, base;
	const char *text = (const char *)data, *parent = bytes ? memmem(text, bytes, cut, strlen(cut)) : NULL;
	size_t own = parent ? (size_t)(parent - text) : bytes;

	file_count = 0;
	serve("/f/site.toml", rules, strlen(rules));
	must_of(aj_site_load(&site, "/f/site.toml", &diags) == 0, "the fuzzer's own site is sound", "site");

	serve("/f/p.toml", text, own);
	serve("/site/p.toml", text, own);
	if (parent)
		serve("/f/parent.toml", parent + strlen(cut), bytes - own - strlen(cut));
	const char *child = "extends = \"locked\"\n";
	char *below = aj_alloc(&arena, strlen(child) + own + 1);
	memcpy(stpcpy(below, child), text, own);
	serve("/f/child.toml", below, strlen(child) + own);

	/* as a file of the user, and as a policy of the site */
	if (load(&loaded, &site, NULL, "/f/p.toml", NULL, &arena) == 0 && extends_nothing(text, own, &arena)) {
		struct aj_policy fresh = { 0 };
		aj_keys_default(aj_policy_keys, &fresh, &arena);
		for (size_t k = 0; k < aj_policy_key_count; k++)
			if (site.ceiling_at[k].file && !aj_key_within(&aj_policy_keys[k], &site.ceilings, &fresh, &arena))
				aj_key_lower(&aj_policy_keys[k], &fresh, &site.ceilings, &arena);
		not_looser(&fresh, &loaded.policy, site.locked, &arena, "what the site locks is not loosened by a file");
	}
	load(&loaded, &site, "p", NULL, NULL, &arena);

	/* as a child of a locked policy */
	if (load(&loaded, &site, NULL, "/f/child.toml", NULL, &arena) == 0) {
		must_of(load(&base, &site, "locked", NULL, NULL, &arena) == 0, "the parent loads", "locked");
		not_looser(&base.policy, &loaded.policy, NULL, &arena, "a locked policy is not loosened by its child");
	}

	/* as the working directory's */
	static const char *const bases[] = { "snippet", "command" };
	for (size_t i = 0; i < 2; i++)
		if (load(&loaded, &site, bases[i], NULL, "/f/p.toml", &arena) == 0 &&
		    load(&base, &site, bases[i], NULL, NULL, &arena) == 0)
			not_looser(&base.policy, &loaded.policy, NULL, &arena, "the working directory's policy only tightens");

	/* as a site's configuration */
	if (aj_site_load(&theirs, "/f/p.toml", &diags) == 0) {
		must_of(diags.errors == 0, "a site with errors is none", "site");
		for (const struct aj_builtin *b = aj_builtins; b->name; b++)
			if (strcmp(b->name, AJ_BUILTIN_SITE) != 0)
				load(&loaded, &theirs, b->name, NULL, NULL, &arena);
	}
	findings(&diags);
	aj_arena_free(&arena);
	return 0;
}
