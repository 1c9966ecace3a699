/* Finds the environment that a policy names, and allows the imports of its packages.
 * It runs nothing; the files of packages are read in the jail alone. */
#include "policy/host/python_env.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/host/home.h"
#include "policy/item_types.h"

enum { FILE_BYTES = 8 << 20 };

const char *aj_python_envs(struct aj_arena *arena)
{
	const char *data = aj_home_data(arena);
	return data ? aj_printf(arena, "%s/agentjail/envs", strcmp(data, "/") == 0 ? "" : data) : NULL;
}

/* Packages run in jails, and their names become imports that are allowed: nobody else may have written them. */
static bool is_trusted(int folder)
{
	struct stat st;
	return fstat(folder, &st) == 0 && (st.st_uid == geteuid() || st.st_uid == 0) && !(st.st_mode & 022);
}

json_t *aj_python_env_read(const char *folder, struct aj_error *err)
{
	struct stat st;
	json_error_t at;
	cleanup_fd int dir = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir >= 0 && !is_trusted(dir)) {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0, "`%.300s` belongs to another user, or others may write it", folder);
		return NULL;
	}
	cleanup_fd int fd = dir < 0 ? -1 : openat(dir, AJ_PYTHON_ENV_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "env", errno, "open `%.300s/" AJ_PYTHON_ENV_FILE "`", folder);
		return NULL;
	}
	json_t *env = S_ISREG(st.st_mode) && st.st_size <= FILE_BYTES ? json_loadfd(fd, JSON_REJECT_DUPLICATES, &at) : NULL;
	if (!env || json_integer_value(json_object_get(env, "format")) != AJ_PYTHON_ENV_FORMAT ||
	    !json_is_array(json_object_get(env, "imports"))) {
		aj_fail(err, AJ_EXIT_SETUP, "env", 0, "`%.300s/" AJ_PYTHON_ENV_FILE "` is not of the format %d", folder,
		        AJ_PYTHON_ENV_FORMAT);
		aj_advise(err, "remove the environment and create it again");
		json_decref(env);
		return NULL;
	}
	return env;
}

static void allow_imports(struct aj_loaded *loaded, const struct aj_site *site, const json_t *env, const struct aj_origin *at,
                          struct aj_arena *arena)
{
	const struct aj_key *key = aj_key_find(aj_policy_keys, "python.imports");
	size_t k = (size_t)(key - aj_policy_keys), i;
	const json_t *name;
	if (loaded->locked[k] || site->locked[k])
		return;
	json_array_foreach(json_object_get(env, "imports"), i, name) {
		const char *module = json_string_value(name);
		if (!module || strchr(module, '.') || !aj_import_pattern_valid(module))
			continue;
		struct aj_policy next = { 0 };
		const char *pattern = aj_printf(arena, "%s.*", module);
		*AJ_PUSH(arena, &next.imports) = pattern;
		if (site->ceiling_at[k].file && !aj_key_within(key, &site->ceilings, &next, arena))
			continue;
		*AJ_PUSH(arena, &loaded->policy.imports) = pattern;
		*AJ_PUSH(arena, &loaded->items_at[k]) = *at;
	}
}

/* Packages load extension modules when they need them. Where the site or a policy holds the key, those that are imported at the
 * start have to do. */
static void map_late(struct aj_loaded *loaded, const struct aj_site *site)
{
	const struct aj_key *key = aj_key_find(aj_policy_keys, "python.native");
	size_t k = (size_t)(key - aj_policy_keys);
	bool low = site->ceiling_at[k].file && site->ceilings.native < AJ_NATIVE_TREE;
	if (!low && !loaded->locked[k] && !site->locked[k])
		loaded->policy.native = AJ_NATIVE_TREE;
}

int aj_python_env_use(struct aj_loaded *loaded, const struct aj_site *site, struct aj_diags *diags)
{
	struct aj_policy *policy = &loaded->policy;
	struct aj_origin at = loaded->at[aj_key_index("python.env")];
	struct aj_error err = { 0 };
	char why[sizeof err.cause + 100];
	if (!*policy->python_env)
		return 0;
	const char *envs = aj_python_envs(diags->arena);
	const char *folder = envs ? aj_printf(diags->arena, "%s/%s", envs, policy->python_env) : NULL;
	if (!folder || faccessat(AT_FDCWD, folder, F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
		aj_diag_error(diags, &at, AJ_E_VALUE, "there is no environment `%s` in %s", policy->python_env,
		              envs ? envs : "$XDG_DATA_HOME/agentjail/envs: no home is known");
		aj_diag_advise(diags,
		               "`agentjail env create %s --packages ...` makes it, and `agentjail env list` shows those that are there%s",
		               policy->python_env,
		               strcmp(at.file, "--env") == 0
		                   ? aj_printf(diags->arena, "; a variable is given with its value: --env %s=VALUE",
		                               policy->python_env)
		                   : "");
		return -1;
	}
	json_t *env = aj_python_env_read(folder, &err);
	if (!env)
		return aj_diag_error(diags, &at, AJ_E_VALUE, "environment `%s`: %s", policy->python_env,
		                     aj_error_cause(&err, why, sizeof why));
	policy->python_env_site = aj_printf(diags->arena, "%s/site", folder);
	allow_imports(loaded, site, env, &at, diags->arena);
	map_late(loaded, site);
	json_decref(env);
	return 0;
}
