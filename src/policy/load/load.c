/* Finds policies and stacks them: defaults, the extended policies, the policy itself, the working directory's, the command line.
 * A name is never a path and a chain is bounded; merge.c decides which keys a layer may set. */
#include "policy/load/load.h"

#include <string.h>

#include "policy/bind.h"
#include "policy/load/merge.h"
#include "policy/load/policy_names.h"

/* --- chains --- */

static const char *builtin_name_at(size_t i, const void *arg)
{
	(void)arg;
	return aj_builtins[i].name;
}

/* A name is never a path: it is looked up in the site's folders, then among the built-in policies, and nowhere else. */
static int find_named(struct aj_stack *s, const char *name, const struct aj_origin *at, struct aj_source *ret)
{
	if (!aj_policy_name_valid(name)) {
		aj_diag_error(s->diags, at, AJ_E_EXTENDS, "`%s` is not a policy's name (letters, digits, - and _)", name);
		if (at->line)
			aj_diag_advise(s->diags, "a file's name starts with ./ or /: \"./%s\"", name);
		else
			aj_diag_advise(s->diags, "a file is named with --policy-file");
		return -1;
	}
	size_t first = 0; /* a policy that extends its own name extends the next policy of that name, which it hides */
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
	const char *slash = at->line ? strrchr(at->file, '/') : NULL, *own = slash ? slash + 1 : at->line ? at->file : "";
	if (strcmp(own, aj_printf(s->diags->arena, "%s.toml", name)) == 0) {
		aj_diag_error(s->diags, at, AJ_E_EXTENDS, "the policy `%s` extends itself: there is no other of that name", name);
		aj_diag_advise(s->diags, "name another policy, or remove `extends`");
		return -1;
	}
	size_t count = 0;
	while (aj_builtins[count].name)
		count++;
	aj_diag_error(s->diags, at, AJ_E_EXTENDS, "there is no policy `%s`", name);
	const char *meant = aj_suggest(name, builtin_name_at, NULL, count);
	if (meant)
		aj_diag_advise(s->diags, "did you mean `%s`? `agentjail policy list` shows all policies", meant);
	else
		aj_diag_advise(s->diags, "`agentjail policy list` shows all policies");
	return -1;
}

static int load_chain(struct aj_stack *s, const struct aj_source *source, enum aj_trust trust);

static int load_parent(struct aj_stack *s, const struct aj_source *source, const struct aj_toml *extends, enum aj_trust trust)
{
	struct aj_origin at = { source->file, extends->line, extends->column };
	const char *what = extends->kind == AJ_TOML_STRING ? extends->text : "";
	struct aj_source parent;
	if (extends->kind != AJ_TOML_STRING || strlen(what) != extends->text_bytes)
		return aj_diag_error(s->diags, &at, AJ_E_TYPE,
		                     "`extends` must be a string: one policy's name, or a file that starts with ./ or /");
	bool relative = strncmp(what, "./", 2) == 0, absolute = what[0] == '/';
	if (strncmp(what, "../", 3) == 0)
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS,
		                     "`extends` leads out of the policy's folder: name the policy, or write the absolute path");
	if (relative && !source->folder)
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "a built-in policy can extend named policies only");
	const char *own = NULL;
	if (!relative && !absolute && trust == AJ_OF_USER && s->site->files &&
	    aj_policy_names_own(s->own, what, s->site, s->diags, &own) < 0)
		return -1;
	if (own)
		return aj_source_read(&parent, own, false, &at, s->diags) < 0 ? -1 : load_chain(s, &parent, AJ_OF_USER);
	if (!relative && !absolute)
		return find_named(s, what, &at, &parent) < 0 ? -1 : load_chain(s, &parent, AJ_OF_SITE);
	if (!aj_jail_path_valid(absolute ? what : what + 1))
		return aj_diag_error(s->diags, &at, AJ_E_EXTENDS,
		                     "`extends` is not a plain path (it has a `.`, `..` or `//` in it)");
	const char *path = absolute ? what : aj_printf(s->diags->arena, "%s/%s", source->folder, what + 2);
	return aj_source_read(&parent, path, false, &at, s->diags) < 0 ? -1 : load_chain(s, &parent, trust);
}

static int load_chain(struct aj_stack *s, const struct aj_source *source, enum aj_trust trust)
{
	int r = 0;
	for (size_t i = 0; i < source->root.count; i++) {
		const struct aj_toml *entry = &source->root.children[i];
		struct aj_origin at = { source->file, entry->line, entry->column };
		if (strcmp(entry->key, "extends") != 0)
			continue;
		for (size_t j = 0; j < s->depth; j++)
			if (strcmp(s->chain[j], source->sha256) == 0)
				return aj_diag_error(s->diags, &at, AJ_E_EXTENDS, "`extends` is circular: %s extends itself",
				                     source->file);
		if (s->depth == AJ_CHAIN_MAX)
			return aj_diag_error(s->diags, &at, AJ_E_EXTENDS,
			                     "a chain of more than %d policies that extend one another", AJ_CHAIN_MAX);
		s->chain[s->depth++] = aj_strdup(s->diags->arena, source->sha256);
		r |= load_parent(s, source, entry, trust); /* on failure this file's own errors are reported as well */
	}
	s->loaded->policy.description = ""; /* the only key that is not inherited */
	return aj_merge_file(s, source, trust) | r;
}

static int find_asked(struct aj_stack *s, const struct aj_ask *ask, struct aj_source *ret)
{
	struct aj_origin asked = { ask->file ? "--policy-file" : "--policy", 0, 0 };
	if (ask->file && !s->site->files) {
		aj_diag_error(s->diags, &asked, AJ_E_LOCKED,
		              "%s allows no policy that is named by its path (policies.files = false)", s->site->file);
		aj_diag_advise(s->diags,
		               "put the file into a folder of the site's policies.path, or use a policy of `agentjail policy list`");
		return -1;
	}
	return ask->file ? aj_source_read(ret, ask->file, false, &asked, s->diags) : find_named(s, ask->name, &asked, ret);
}

int aj_policy_source(struct aj_source *source, const struct aj_site *site, const struct aj_ask *ask, struct aj_diags *diags)
{
	struct aj_stack s = { .site = site, .diags = diags };
	return find_asked(&s, ask, source);
}

static int base_policy(struct aj_stack *s, const struct aj_ask *ask)
{
	struct aj_source source;
	s->loaded->policy.name = ask->name ? ask->name : ask->file;
	if (find_asked(s, ask, &source) < 0)
		return -1;
	const char *slash = strrchr(source.file, '/'), *name = slash ? slash + 1 : source.file, *dot = strrchr(name, '.');
	s->loaded->policy.name = ask->name         ? ask->name
	                       : dot && dot > name ? aj_strndup(s->diags->arena, name, (size_t)(dot - name))
	                                           : name;
	return load_chain(s, &source, ask->file ? AJ_OF_USER : AJ_OF_SITE);
}

/* The folder around `path` that this run's jail may write, since an earlier jail may have written it; NULL: none. */
static const char *writable_around(const struct aj_stack *s, const struct aj_ask *ask, const char *path)
{
	const struct aj_policy *p = &s->loaded->policy;
	struct aj_arena *arena = s->diags->arena;
	AJ_LIST(const char *) binds = { 0 };
	for (size_t i = 0; i < p->binds.count; i++)
		*AJ_PUSH(arena, &binds) = p->binds.items[i];
	for (size_t i = 0; i < ask->settings.count; i++)
		if (strcmp(ask->settings.items[i].key, "filesystem.binds") == 0)
			*AJ_PUSH(arena, &binds) = ask->settings.items[i].value;
	for (size_t i = 0; i < binds.count; i++) {
		struct aj_bind bind;
		if (!aj_bind_parse(arena, binds.items[i], &bind) && bind.writable && aj_source_within(path, bind.source, arena))
			return bind.source;
	}
	const char *workspace = ask->workspace ? ask->workspace : p->workspace_here ? "." : NULL;
	bool shared = workspace && p->workspace >= AJ_WORKSPACE_OVERLAY;
	return shared && aj_source_within(path, workspace, arena) ? workspace : NULL;
}

/* A jail can write such a file for the next caller in that folder. So it is read only if the caller or the site asks for it. */
static int local_policy(struct aj_stack *s, const struct aj_ask *ask)
{
	struct aj_source source;
	struct aj_loaded *loaded = s->loaded;
	struct aj_origin asked = { ask->local_asked ? "--local-policy" : ask->local, 0, 0 };
	loaded->local_path = aj_source_place(ask->local, s->diags->arena);
	if (!loaded->local_path && !ask->local_asked)
		return 0;
	loaded->local = AJ_LOCAL_LEFT;
	if (!ask->local_asked && !s->site->local)
		return 0;
	const char *within = loaded->local_path ? writable_around(s, ask, loaded->local_path) : NULL;
	if (within && ask->local_asked) {
		const char *path = loaded->local_path;
		aj_diag_error(s->diags, &asked, AJ_E_TRUST, "`%s` lies below `%s`, which the jail may write", path, within);
		aj_diag_advise(s->diags, "keep the file where no jail can write, and name it with --policy-file");
		return -1;
	}
	loaded->local = within ? AJ_LOCAL_WITHIN : AJ_LOCAL_USED;
	loaded->local_within = within;
	if (within)
		return 0;
	if (aj_source_read(&source, loaded->local_path ? loaded->local_path : ask->local, false, &asked, s->diags) < 0)
		return -1;
	return aj_merge_file(s, &source, AJ_LOCAL);
}

/* $AGENTJAIL_ROOTFS sets the folder of the tree `default`, unless an option or the site's file sets it. */
static int tree_variable(struct aj_stack *s, const struct aj_ask *ask)
{
	struct aj_ask variable = { 0 };
	bool decides = ask->tree_variable && !*s->site->rootfs && strcmp(s->loaded->policy.rootfs, "default") == 0;
	for (size_t i = 0; i < ask->settings.count; i++)
		decides = decides && strcmp(ask->settings.items[i].key, "filesystem.rootfs") != 0;
	if (!decides)
		return 0;
	*AJ_PUSH(s->diags->arena, &variable.settings) = (struct aj_setting){
		.option = AJ_TREE_VARIABLE, .key = "filesystem.rootfs", .value = ask->tree_variable, .request_only = true
	};
	int r = aj_merge_options(s, &variable);
	if (r < 0)
		aj_diag_advise(s->diags, "unset the variable; the site's key rootfs.path names the folder of its trees");
	return r;
}

/* When a later layer has closed the network, earlier hosts lose their meaning; hosts that a layer sets after the network was
 * closed are a mistake, and stay to be reported. */
static void drop_hosts(struct aj_loaded *loaded)
{
	size_t mode = aj_key_index("network.mode");
	size_t hosts = aj_key_index("network.allow");
	struct aj_policy *p = &loaded->policy;
	if (p->network == AJ_NET_ALLOW || !p->allow.count || loaded->layer[mode] <= loaded->layer[hosts])
		return;
	memset(&p->allow, 0, sizeof p->allow);
	memset(&loaded->items_at[hosts], 0, sizeof loaded->items_at[hosts]);
	loaded->at[hosts] = loaded->at[mode];
}

/* The files of an `extends` chain were read parents first; list the policy's own file first. The chain is the first
 * `count` files; agentjail.toml of the working directory, if any, stays last. */
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
	struct aj_stack s = { .loaded = loaded, .site = site, .diags = diags, .own = ask->own, .home = ask->home };
	*loaded = (struct aj_loaded){ 0 };
	aj_keys_default(aj_policy_keys, &loaded->policy, diags->arena);
	aj_merge_lower(&s);
	int r = base_policy(&s, ask);
	size_t chain = loaded->policy.files.count;
	if (r == 0 && ask->local)
		r = local_policy(&s, ask);
	if (r == 0) /* the layers below are valid */
		r = aj_merge_options(&s, ask) | tree_variable(&s, ask);
	r |= aj_merge_ceilings(&s);
	drop_hosts(loaded);
	loaded->policy.upstream_proxy = site->upstream_proxy;
	loaded->policy.upstream_credentials = site->upstream_credentials;
	own_file_first(&loaded->policy, chain);
	if (loaded->policy.cpu_ms == AJ_AS_WALL)
		loaded->policy.cpu_ms = loaded->policy.wall_ms;
	aj_policy_contradictions(loaded, diags);
	return diags->errors ? -1 : r;
}

const struct aj_origin *aj_loaded_item_at(const struct aj_loaded *loaded, size_t k, size_t i)
{
	return i < loaded->items_at[k].count ? &loaded->items_at[k].items[i] : &loaded->at[k];
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
