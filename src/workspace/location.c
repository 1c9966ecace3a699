/* Checks which folders of the host may be a workspace, before a jail exists that could write to them.
 * It opens nothing: it compares paths without symlinks, and device and inode of the folders. */
#include "workspace/location.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/path.h"
#include "base/toml/source.h"
#include "policy/bind.h"
#include "policy/host/home.h"
#include "policy/host/own_folders.h"
#include "policy/host/paths.h"
#include "policy/host/python_env.h"
#include "sandbox/mounts/mount.h"

/* System folders: a workspace at or below one of them must be named, as must a folder at or below it that contains the
 * workspace. */
static const char *const systems[] = { "/etc",     "/usr", "/boot", "/proc", "/sys",   "/dev",  "/run",
	                               "/var/run", "/bin", "/sbin", "/lib",  "/lib32", "/lib64" };

struct asked_place {
	const struct aj_loaded *loaded;
	const struct aj_site *site;
	struct aj_request *request;
	struct aj_arena *arena;
	const char *path;   /* the workspace, without symlinks */
	const char *home;   /* $HOME of the caller; NULL when it cannot be a home */
	const char *listed; /* the caller's, by /etc/passwd; NULL as above */
};

static const char *real(const char *path, struct aj_arena *arena)
{
	char *found = realpath(path, NULL);
	const char *copy = found ? aj_strdup(arena, found) : NULL;
	free(found);
	return copy;
}

/* The same folder, by whatever name. */
static bool same_folder(const char *a, const char *b)
{
	struct stat x, y;
	return strcmp(a, b) == 0 || (stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* --- folders that must be named --- */

static bool is_named(const struct asked_place *a)
{
	const struct aj_policy *p = &a->loaded->policy;
	for (size_t i = 0; i < p->workspace_under.count; i++)
		if (strcmp(p->workspace_under.items[i], a->path) == 0)
			return true;
	return false;
}

/* Does the policy name a folder within this system folder, and is the workspace below the named folder? */
static bool is_named_within(const struct asked_place *a, const char *system)
{
	const struct aj_policy *p = &a->loaded->policy;
	for (size_t i = 0; i < p->workspace_under.count; i++) {
		const char *item = p->workspace_under.items[i];
		if (item[0] == '/' && aj_path_within(item, system) && aj_path_within(a->path, item))
			return true;
	}
	return false;
}

/* Why the workspace must be named; NULL: no reason. */
static const char *system_place(const struct asked_place *a)
{
	for (size_t i = 0; i < sizeof systems / sizeof *systems; i++)
		if ((aj_path_within(a->path, systems[i]) || aj_source_within(a->path, systems[i], a->arena)) &&
		    !is_named_within(a, systems[i]))
			return aj_printf(a->arena, "belongs to the system (%s)", systems[i]);
	return NULL;
}

static const char *private_place(const struct asked_place *a)
{
	if (is_named(a))
		return NULL;
	if (same_folder(a->path, "/"))
		return "is the root folder";
	if (same_folder(a->path, "/root"))
		return "is a home folder";
	const char *const homes[] = { a->home, a->listed };
	for (size_t i = 0; i < sizeof homes / sizeof *homes; i++) {
		if (homes[i] && same_folder(a->path, homes[i]))
			return "is the caller's home folder";
		if (homes[i] && aj_source_within(homes[i], a->path, a->arena))
			return "contains the caller's home folder";
	}
	return NULL;
}

/* --- agentjail's own configuration and program --- */

typedef AJ_LIST(const char *) path_list;

static void add_path(path_list *list, const char *path, struct aj_arena *arena)
{
	const char *found = path && *path ? real(path, arena) : NULL;
	if (found)
		*AJ_PUSH(arena, list) = found;
}

/* A trail file that does not exist yet will be created in its parent folder. */
static void add_trail(path_list *list, const char *destination, struct aj_arena *arena)
{
	const char *path = strncmp(destination, "file:", 5) == 0 ? destination + 5 : NULL;
	if (path && access(path, F_OK) < 0)
		path = aj_path_folder(path, arena);
	add_path(list, path, arena);
}

static void own_paths(const struct asked_place *a, path_list *ret)
{
	const struct aj_policy *p = &a->loaded->policy;
	for (size_t i = 0; i < p->files.count; i++)
		if (!p->files.items[i].built_in)
			add_path(ret, p->files.items[i].file, a->arena);
	for (size_t i = 0; i < a->site->path.count; i++)
		add_path(ret, a->site->path.items[i], a->arena);
	if (a->site->file)
		add_path(ret, a->site->file, a->arena);
	add_trail(ret, a->site->audit, a->arena);
	add_path(ret, a->request->rootfs, a->arena);
	add_path(ret, aj_own_path(a->arena), a->arena);
	add_path(ret, aj_state_path(a->arena), a->arena);
	add_path(ret, aj_python_envs(a->arena), a->arena);
}

/* The first of agentjail's own paths at or below this folder, except those in `held`; or its state folder or the caller's
 * policies, if the folder is in them; else NULL. */
static const char *own_beside(const struct asked_place *a, const char *folder, const path_list *held)
{
	/* A jail could create a missing folder, with homes, changes and policies that the host would trust. */
	const char *const folders[] = { aj_state_path(a->arena), aj_home_policies(aj_home_of_caller(a->arena), a->arena),
		                        aj_python_envs(a->arena) };
	const char *found = real(folder, a->arena);
	path_list own = { 0 };
	for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
		if (folders[i] &&
		    (aj_source_within(folder, folders[i], a->arena) || (found && aj_path_within(folders[i], found))))
			return folders[i];
	own_paths(a, &own);
	for (size_t i = 0; i < own.count; i++) {
		bool is_held = false;
		for (size_t j = 0; j < held->count; j++)
			is_held |= aj_path_within(own.items[i], held->items[j]);
		if (!is_held && aj_source_within(own.items[i], folder, a->arena))
			return own.items[i];
	}
	return NULL;
}

/* --- where workspaces may lie --- */

/* The first component below the home is not hidden: keys and configurations are. */
static bool plain_in(const char *path, const char *home)
{
	const char *rest = aj_path_rest(path, home);
	return rest && rest[0] == '/' && rest[1] != '.';
}

static bool below_default(const struct asked_place *a)
{
	char *cwd = getcwd(NULL, 0);
	/* A working directory of / or of a home, as services have, names no project. */
	bool project = cwd && cwd[0] == '/' && !same_folder(cwd, "/") && !same_folder(cwd, "/root") &&
	               !(a->home && aj_source_within(a->home, cwd, a->arena)) &&
	               !(a->listed && aj_source_within(a->listed, cwd, a->arena));
	bool below = project && (aj_path_within(a->path, cwd) || (a->request->workspace_around && aj_path_within(cwd, a->path)));
	free(cwd);
	return below || (a->home && plain_in(a->path, a->home)) || aj_path_below(a->path, "/tmp") ||
	       aj_path_below(a->path, "/var/tmp");
}

static bool below_allowed(const struct asked_place *a)
{
	const struct aj_policy *p = &a->loaded->policy;
	for (size_t i = 0; i < p->workspace_under.count; i++) {
		const char *item = p->workspace_under.items[i], *found = item[0] == '/' ? real(item, a->arena) : NULL;
		if (item[0] == '@' ? strcmp(item, AJ_UNDER_ANYWHERE) == 0 || below_default(a)
		                   : aj_path_within(a->path, item) || (found && aj_path_within(a->path, found)))
			return true;
	}
	return false;
}

/* The absolute path, which must equal the given one except for `.` and `..`: an earlier run may have chosen the target of a
 * symlink. */
static const char *plain_path(const char *given, struct aj_arena *arena, struct aj_error *err)
{
	const char *found = real(given, arena), *whole = given;
	if (!found) {
		aj_mount_fail_source(given, err);
		return NULL;
	}
	if (given[0] != '/') {
		char *cwd = getcwd(NULL, 0);
		whole = cwd ? aj_printf(arena, "%s/%s", cwd, given) : given;
		free(cwd);
	}
	if (strcmp(aj_path_simplify(whole, arena), found) == 0)
		return found;
	errno = ELOOP;
	aj_mount_fail_source(given, err);
	return NULL;
}

/* The virtual environment in the workspace that contains this file of agentjail; NULL: none. */
static const char *environment_around(const struct asked_place *a, const char *own)
{
	for (const char *folder = own; aj_path_below(folder, a->path); folder = aj_path_folder(folder, a->arena))
		if (access(aj_printf(a->arena, "%s/pyvenv.cfg", folder), F_OK) == 0)
			return folder;
	return NULL;
}

/* agentjail installed in the project's virtual environment: the whole environment is read-only, since the host runs agentjail
 * with its interpreter and modules. */
static const char *own_in_workspace(struct asked_place *a)
{
	struct aj_request *request = a->request;
	const char *program = aj_own_path(a->arena);
	path_list held = { 0 };
	for (const char *own; (own = own_beside(a, a->path, &held));) {
		const char *folder = !request->may_hold ? NULL
		                   : (program && aj_path_within(own, program)) ||
		                             (a->request->rootfs && aj_path_within(own, a->request->rootfs))
		                       ? environment_around(a, own)
		                       : NULL;
		if (!folder)
			return own;
		*AJ_PUSH(a->arena, &held) = folder;
	}
	for (size_t i = 0; i < held.count; i++) {
		*AJ_PUSH(a->arena, &request->environments) = held.items[i];
		if (request->notice)
			request
			    ->notice(aj_printf(a->arena,
			                       "`%s` is read-only in the jail: agentjail is installed in this virtual environment",
			                       held.items[i]));
	}
	return NULL;
}

static int check_workspace(struct asked_place *a, struct aj_error *err)
{
	const struct aj_policy *p = &a->loaded->policy;
	size_t k = aj_key_index("filesystem.workspace_under");
	if (!(a->path = plain_path(a->request->workspace, a->arena, err)))
		return -1;
	a->home = aj_home_of_caller(a->arena);
	a->listed = aj_home_listed(a->arena);
	const char *why = system_place(a);
	if (!why)
		why = private_place(a);
	const char *own = why || p->workspace < AJ_WORKSPACE_OVERLAY || is_named(a) ? NULL : own_in_workspace(a);
	if (own)
		why = aj_printf(a->arena, "contains agentjail's configuration or program (%s)", own);
	if (why) {
		aj_fail(err, AJ_EXIT_USAGE, "workspace", 0, "`%s` cannot be a workspace: the folder %s", a->path, why);
		aj_advise(err,
		          "start in a project's folder, or name one with --workspace; a policy can allow this folder by naming it in filesystem.workspace_under");
		return -1;
	}
	if (below_allowed(a))
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "workspace", 0, "`%s` is not below %.200s (filesystem.workspace_under, %s)", a->path,
	        aj_key_value(&aj_policy_keys[k], p, a->arena), aj_origin_text(&a->loaded->at[k], a->arena));
	aj_advise(err,
	          "start agentjail in that folder if the folder is a project, or add it to filesystem.workspace_under of a policy");
	return -1;
}

static int check_bind(const struct asked_place *a, const struct aj_bind *bind, struct aj_error *err)
{
	const char *own = bind->writable ? own_beside(a, bind->source, &(path_list){ 0 }) : NULL;
	if (!own)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "bind", 0,
	        "`%s` cannot be bound writable: the folder contains agentjail's configuration or program (%s)", bind->source,
	        own);
	aj_advise(err, "bind a folder below it, or keep the configuration and the program elsewhere");
	return -1;
}

int aj_places_check(struct aj_request *request, const struct aj_loaded *loaded, const struct aj_site *site,
                    struct aj_arena *arena, struct aj_error *err)
{
	struct asked_place a = { .loaded = loaded, .site = site, .request = request, .arena = arena };
	const struct aj_policy *p = &loaded->policy;
	for (size_t i = 0; i < p->binds.count; i++) {
		struct aj_bind bind;
		if (!aj_bind_parse(arena, p->binds.items[i], &bind) && check_bind(&a, &bind, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < request->binds.count; i++)
		if (check_bind(&a, &request->binds.items[i], err) < 0)
			return -1;
	/* The request without a workspace reports that itself. */
	if (!request->workspace || p->workspace == AJ_WORKSPACE_NONE)
		return 0;
	if (check_workspace(&a, err) < 0)
		return -1;
	request->workspace = a.path;
	return 0;
}
