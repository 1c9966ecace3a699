/* Finds keys by name, suggests names for misspelt ones, and names the enforcers.
 * It reads the tables and nothing else. */
#include <string.h>

#include "policy/keys.h"

const struct aj_key *aj_key_find(const struct aj_key *keys, const char *name)
{
	for (; keys->name; keys++)
		if (strcmp(keys->name, name) == 0)
			return keys;
	return NULL;
}

size_t aj_key_index(const char *name)
{
	return (size_t)(aj_key_find(aj_policy_keys, name) - aj_policy_keys);
}

static const char *key_name_at(size_t i, const void *keys)
{
	return ((const struct aj_key *)keys)[i].name;
}

static const char *last_part(size_t i, const void *keys)
{
	const char *name = key_name_at(i, keys), *dot = strchr(name, '.');
	return dot ? dot + 1 : name;
}

const char *aj_key_suggest(const struct aj_key *keys, const char *name)
{
	size_t count = 0;
	while (keys[count].name)
		count++;
	const char *part = strrchr(name, '.'), *best;
	/* The right key in a wrong or missing section? Else a misspelling of the whole name, or of the key. */
	for (size_t i = 0; i < count; i++)
		if (strcmp(last_part(i, keys), part ? part + 1 : name) == 0)
			return keys[i].name;
	if ((best = aj_suggest(name, key_name_at, keys, count)))
		return best;
	best = aj_suggest(part ? part + 1 : name, last_part, keys, count);
	for (size_t i = 0; best && i < count; i++)
		if (strcmp(last_part(i, keys), best) == 0)
			return keys[i].name;
	return NULL;
}

static size_t section_bytes(const struct aj_key *key)
{
	const char *dot = strchr(key->name, '.');
	return dot ? (size_t)(dot - key->name) : 0;
}

bool aj_section_known(const struct aj_key *keys, const char *section)
{
	for (; keys->name; keys++)
		if (section_bytes(keys) == strlen(section) && strncmp(keys->name, section, strlen(section)) == 0 && *section)
			return true;
	return false;
}

const char *aj_section_suggest(const struct aj_key *keys, const char *section, struct aj_arena *arena)
{
	AJ_LIST(const char *) sections = { 0 };
	for (; keys->name; keys++)
		if (section_bytes(keys))
			*AJ_PUSH(arena, &sections) = aj_strndup(arena, keys->name, section_bytes(keys));
	return sections.count ? aj_suggest_name(section, sections.items, sections.count) : NULL;
}

bool aj_key_is_list(const struct aj_key *key)
{
	return key->type == AJ_KEY_LIST || key->type == AJ_KEY_FLAGS;
}

static const struct {
	const char *kind, *name;
} enforcers[] = {
	[AJ_BY_NOBODY] = { "no wall", "no wall" },
	[AJ_BY_RAIL] = { "rail", "the Python layer (a rail, not a wall)" },
	[AJ_BY_LAUNCHER] = { "launcher", "the launcher, before anything runs" },
	[AJ_BY_NAMESPACE] = { "kernel wall", "kernel: namespaces" },
	[AJ_BY_MOUNTS] = { "kernel wall", "kernel: the jail's own mounts" },
	[AJ_BY_SECCOMP] = { "kernel wall", "kernel: system call filter" },
	[AJ_BY_CGROUP] = { "kernel wall", "kernel: cgroup v2, or rlimits where there is none" },
	[AJ_BY_RLIMIT] = { "kernel wall", "kernel: rlimit" },
	[AJ_BY_SUPERVISOR] = { "supervisor", "the supervisor, outside the jail" },
};

const char *aj_enforcer_kind(enum aj_enforcer by)
{
	return enforcers[by].kind;
}

const char *aj_enforcer_name(enum aj_enforcer by)
{
	return enforcers[by].name;
}

const char *aj_network_name(enum aj_network network)
{
	return aj_key_find(aj_policy_keys, "network.mode")->names[network];
}

const char *aj_builtins_name(enum aj_builtins builtins)
{
	return aj_key_find(aj_policy_keys, "python.builtins")->names[builtins];
}
