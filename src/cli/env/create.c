/* Makes an environment in a folder beside its place, and renames it there once it is complete.
 * Interrupted or failed, it leaves nothing; what a killed process left, the next one removes, since it holds the lock. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/tree/remove.h"
#include "cli/env/envcmd.h"
#include "policy/host/python_env.h"

/* What was asked for, to compare and to make it again. */
static json_t *request_of(const struct aj_env_args *args)
{
	json_t *request = json_object(), *packages = json_array(), *files = json_array();
	for (size_t i = 0; i < args->packages.count; i++)
		json_array_append_new(packages, json_string(args->packages.items[i]));
	for (size_t i = 0; i < args->files.count; i++)
		json_array_append_new(files, json_string(args->files.items[i]));
	json_object_set_new(request, "packages", packages);
	json_object_set_new(request, "files", files);
	if (args->lock)
		json_object_set_new(request, "lock", json_string(args->lock));
	return request;
}

static void remove_left(int all, const char *name, struct aj_arena *arena)
{
	const char *begin = aj_printf(arena, ".%s.new-", name);
	AJ_LIST(const char *) left = { 0 };
	cleanup_listing struct aj_listing entries = aj_listing_take(fcntl(all, F_DUPFD_CLOEXEC, 10));
	for (const struct dirent *e; (e = aj_listing_next(&entries));)
		if (strncmp(e->d_name, begin, strlen(begin)) == 0)
			*AJ_PUSH(arena, &left) = aj_strdup(arena, e->d_name);
	for (size_t i = 0; i < left.count; i++)
		aj_tree_remove(all, left.items[i]);
}

static int write_json(const json_t *env, const char *path, struct aj_error *err)
{
	FILE *out = fopen(path, "we");
	int r = out ? json_dumpf(env, out, JSON_INDENT(2)) : -1;
	if (out)
		r |= fputc('\n', out) == EOF || fclose(out) != 0;
	return r ? aj_fail(err, AJ_EXIT_SETUP, "env", errno, "write `%.300s`", path) : 0;
}

/* Fill `folder`. */
static int make(const struct aj_env_args *args, const struct aj_env_target *target, const char *folder, json_t *env,
                struct aj_error *err)
{
	struct aj_arena *arena = args->arena;
	const char *site = aj_printf(arena, "%s/site", folder), *tool;
	uint64_t bytes = 0;
	char now[32];
	time_t seconds = time(NULL);
	struct tm utc;
	const char *temporary = aj_printf(arena, "%s/tmp", folder);
	if (mkdir(site, 0755) < 0 || mkdir(temporary, 0700) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "make `%.300s`", site);
	/* What a killed installer leaves goes with the folder, and pip moves files within one file system. */
	setenv("TMPDIR", temporary, 1);
	fprintf(stderr, "agentjail: environment `%s`: downloading packages for Python %s\n", args->name, target->python);
	if (aj_env_download(args, target, site, &tool, err) < 0 || aj_env_inventory(site, env, arena, err) < 0)
		return -1;
	fprintf(stderr, "agentjail: compiling %zu packages in jails\n", json_array_size(json_object_get(env, "packages")));
	if (!aj_env_compile(folder, target, arena) && !aj_env_interrupted())
		fprintf(stderr,
		        "agentjail: no bytecode was made, since no jail starts here: imports compile the source each time; "
		        "`agentjail doctor` says why\n");
	if (aj_env_interrupted())
		return aj_fail(err, AJ_EXIT_SETUP, "env", 0, "interrupted");
	cleanup_fd int around = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	aj_tree_remove(around, "tmp");
	if (aj_env_seal(folder, aj_env_store(arena), &bytes, arena, err) < 0)
		return -1;
	strftime(now, sizeof now, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &utc));
	json_object_set_new(env, "format", json_integer(AJ_PYTHON_ENV_FORMAT));
	json_object_set_new(env, "name", json_string(args->name));
	json_object_set_new(env, "python", json_string(target->python));
	json_object_set_new(env, "tree", json_string(target->rootfs));
	json_object_set_new(env, "request", request_of(args));
	json_object_set_new(env, "installer", json_string(tool));
	json_object_set_new(env, "created", json_string(now));
	json_object_set_new(env, "size", json_integer((json_int_t)bytes));
	return write_json(env, aj_printf(arena, "%s/" AJ_PYTHON_ENV_FILE, folder), err);
}

static void print_made(const struct aj_env_args *args, const json_t *env, const char *path, bool found)
{
	json_t *ignored = json_object_get(env, "pth_files_ignored"), *file;
	size_t i;
	json_array_foreach(ignored, i, file)
		fprintf(stderr, "agentjail: %s is not executed: files *.pth run code at the start of Python\n",
		        json_string_value(file));
	if (args->json) {
		json_dumpf(env, stdout, JSON_COMPACT);
		putchar('\n');
		return;
	}
	printf("%s: %zu packages, %.1f MiB%s\n", path, json_array_size(json_object_get(env, "packages")),
	       (double)json_integer_value(json_object_get(env, "size")) / (1 << 20), found ? ", as it was there" : "");
	printf("use it: agentjail exec --env %s -c 'import ...'\n", args->name);
}

/* Make the environment beside its place; `replaces`: there is an older one. */
static int make_and_place(const struct aj_env_args *args, int all, bool replaces, struct aj_error *err)
{
	struct aj_arena *arena = args->arena;
	struct aj_env_target target;
	if (aj_env_find_target(&target, args->python, arena, err) < 0)
		return -1;
	const char *envs = aj_python_envs(arena);
	char *folder = aj_printf(arena, "%s/.%s.new-XXXXXX", envs, args->name);
	umask(022);
	aj_env_note_signals();
	remove_left(all, args->name, arena);
	if (!mkdtemp(folder))
		return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "make a folder in `%.300s`", envs);
	const char *name = strrchr(folder, '/') + 1;
	json_t *env = json_object();
	int r = make(args, &target, folder, env, err);
	if (r == 0 &&
	    (chmod(folder, 0755) < 0 || renameat2(all, name, all, args->name, replaces ? RENAME_EXCHANGE : RENAME_NOREPLACE) < 0))
		r = aj_fail(err, AJ_EXIT_SETUP, "env", errno, "rename `%.300s` to `%s`", folder, args->name);
	if (r < 0 || replaces) {
		aj_tree_remove(all, name);
		aj_env_sweep_store(aj_env_store(arena));
	}
	if (r == 0)
		print_made(args, env, aj_printf(arena, "%s/%s", envs, args->name), false);
	json_decref(env);
	if (r < 0 && aj_env_interrupted()) {
		fprintf(stderr, "agentjail: interrupted: nothing of environment `%s` was kept\n", args->name);
		err->exit_code = 0;
		return AJ_EXIT_SIGNAL + aj_env_interrupted();
	}
	return r;
}

/* Exit code where the environment is there already; -1 with err. */
static int use_existing(const struct aj_env_args *args, struct aj_error *err)
{
	const char *path;
	json_t *env = aj_env_read(args->name, args->arena, &path, err), *request = request_of(args);
	bool same = env && json_equal(json_object_get(env, "request"), request);
	if (same) {
		print_made(args, env, path, true);
	} else if (env) {
		aj_fail(err, AJ_EXIT_USAGE, "env", 0, "environment `%s` exists, with other packages", args->name);
		aj_advise(err, "`agentjail env update %s --packages ...` makes it anew, `agentjail env remove %s` removes it",
		          args->name, args->name);
	}
	json_decref(env);
	json_decref(request);
	return same ? 0 : -1;
}

static bool exists(int all, const char *name)
{
	struct stat st;
	return fstatat(all, name, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

static int open_to_change(struct aj_error *err)
{
	int all = aj_env_open_all(true);
	return all >= 0
	         ? all
	         : aj_fail(err, AJ_EXIT_SETUP, "env", errno,
	                   "open the folder of environments, $XDG_DATA_HOME/agentjail/envs (~/.local/share without the variable)");
}

int aj_env_create(const struct aj_env_args *args, struct aj_error *err)
{
	if (!args->packages.count && !args->files.count && !args->lock) {
		aj_fail(err, AJ_EXIT_USAGE, "env", 0, "no packages are named");
		aj_advise(err, "agentjail env create %s --packages pandas", args->name);
		return -1;
	}
	cleanup_fd int all = open_to_change(err);
	cleanup_fd int lock = all < 0 ? -1 : aj_env_lock(all, args->name, err);
	if (lock < 0)
		return -1;
	return exists(all, args->name) ? use_existing(args, err) : make_and_place(args, all, false, err);
}

/* Without packages in `args`: the request that the environment was made by. */
int aj_env_update(const struct aj_env_args *args, struct aj_error *err)
{
	struct aj_env_args again = *args;
	const char *path;
	cleanup_fd int all = open_to_change(err);
	cleanup_fd int lock = all < 0 ? -1 : aj_env_lock(all, args->name, err);
	json_t *env = lock < 0 ? NULL : aj_env_read(args->name, args->arena, &path, err), *word;
	size_t i;
	if (!env)
		return -1;
	const json_t *request = json_object_get(env, "request");
	if (!args->packages.count && !args->files.count && !args->lock) {
		json_array_foreach(json_object_get(request, "packages"), i, word)
			*AJ_PUSH(args->arena, &again.packages) = aj_strdup(args->arena, json_string_value(word));
		json_array_foreach(json_object_get(request, "files"), i, word)
			*AJ_PUSH(args->arena, &again.files) = aj_strdup(args->arena, json_string_value(word));
		const char *file = json_string_value(json_object_get(request, "lock"));
		again.lock = file ? aj_strdup(args->arena, file) : NULL;
	}
	json_decref(env);
	return make_and_place(&again, all, true, err);
}

int aj_env_remove(const struct aj_env_args *args, struct aj_error *err)
{
	cleanup_fd int all = open_to_change(err);
	for (size_t i = 0; all >= 0 && i < args->names.count; i++) {
		const char *name = args->names.items[i], *path;
		cleanup_fd int lock = aj_env_lock(all, name, err);
		json_t *env = lock < 0 ? NULL : aj_env_read(name, args->arena, &path, err);
		json_decref(env);
		bool missing = !env && !exists(all, name);
		if (lock < 0 || missing) {
			if (missing)
				unlinkat(all, aj_printf(args->arena, ".%s.lock", name), 0);
			return -1;
		}
		*err = (struct aj_error){ 0 }; /* a damaged environment is removed, too */
		/* Renamed first: no policy finds half an environment. */
		const char *gone = aj_printf(args->arena, ".%s.new-removed", name);
		aj_tree_remove(all, gone);
		if (renameat(all, name, all, gone) < 0 || aj_tree_remove(all, gone) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "env", errno, "remove environment `%s`", name);
		unlinkat(all, aj_printf(args->arena, ".%s.lock", name), 0);
	}
	if (all >= 0)
		aj_env_sweep_store(aj_env_store(args->arena));
	return all < 0 ? -1 : 0;
}
