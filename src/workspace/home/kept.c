/* Makes a home that is kept, and locks it while a run lasts.
 * A home is below the caller's state folder and is bound into jails alone: nothing of the host is started from it, and it never
 * replaces the caller's own. */
#include "workspace/home/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/json.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/sha256.h"
#include "policy/host/home.h"
#include "policy/host/own_folders.h"
#include "policy/item_types.h"
#include "workspace/home/folders.h"

enum { HASH_CHARS = 12 };

const char *aj_kept_root(struct aj_arena *arena, struct aj_error *err)
{
	const char *ours = aj_state_path(arena);
	if (ours)
		return aj_printf(arena, "%s/" AJ_KEPT_FOLDER, ours);
	aj_fail(err, AJ_EXIT_SETUP, "home", 0,
	        "there is no place for homes that are kept: neither HOME nor /etc/passwd names a home of this user");
	aj_advise(err, "set HOME or XDG_STATE_HOME, or use --home empty");
	return NULL;
}

int aj_kept_go_down(int *dir, const char *name, bool make, struct aj_error *err)
{
	int code = aj_state_go_down(dir, name, make);
	if (code == 0 || (errno == ENOENT && !make))
		return code;
	if (errno != EPERM)
		return aj_fail(err, AJ_EXIT_SETUP, "home", errno, "open the folder `%s` for homes that are kept", name);
	aj_fail(err, AJ_EXIT_SETUP, "home", 0,
	        "the folder `%s` for homes that are kept belongs to another user, or others may write it", name);
	aj_advise(err, "`chmod go-w` that folder, or remove it");
	return -1;
}

/* A name that a person recognises, and that two workspaces do not share. */
static const char *name_of(const struct aj_policy *policy, const char *workspace, struct aj_arena *arena)
{
	char hex[AJ_SHA256_HEX];
	const char *both = aj_printf(arena, "%s\n%s", policy->name, workspace);
	aj_sha256(both, strlen(both), hex);
	const char *name = aj_policy_name_valid(policy->name) ? policy->name : "policy";
	return aj_printf(arena, "%s-%.*s", name, HASH_CHARS, hex);
}

/* The caller's own home path, where the jail can show a folder there; else a path that no host's folder is at. */
static const char *place_of(struct aj_arena *arena)
{
	static const char *const taken[] = { "/usr",   "/etc", "/proc", "/dev",   "/lib",    "/lib64",
		                             "/lib32", "/bin", "/sbin", "/input", "/output", "/workspace" };
	const char *home = aj_home_of_caller(arena);
	bool fits = home && strcmp(home, "/tmp") != 0;
	for (size_t i = 0; i < sizeof taken / sizeof *taken && fits; i++)
		fits = !aj_path_within(home, taken[i]);
	return fits ? home : "/home/agent";
}

int aj_kept_choose(struct aj_request *request, const struct aj_policy *policy, struct aj_arena *arena, struct aj_error *err)
{
	if (policy->home != AJ_HOME_KEPT || request->is_snippet)
		return 0;
	const char *root = aj_kept_root(arena, err);
	if (!root)
		return -1;
	const char *workspace = policy->home_scope == AJ_HOME_OF_POLICY ? "*" : request->workspace ? request->workspace : "";
	request->home_for = workspace;
	request->home_source = aj_printf(arena, "%s/%s/%s", root, name_of(policy, workspace, arena), AJ_KEPT_HOME);
	request->home_at = place_of(arena);
	return 0;
}

static int write_record(int folder, const struct aj_plan *plan, const struct aj_request *request, struct aj_error *err)
{
	static const char next[] = AJ_KEPT_RECORD ".new";
	char made[32];
	time_t now = time(NULL);
	struct tm utc;
	if (faccessat(folder, AJ_KEPT_RECORD, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	strftime(made, sizeof made, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
	json_t *doc = json_pack("{s:i, s:s, s:s, s:s}", "version", 1, "policy", plan->policy_name, "workspace", request->home_for,
	                        "made", made);
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	json_decref(doc);
	if (!text) /* a path that is not UTF-8: the list shows the home without it */
		return 0;
	unlinkat(folder, next, 0);
	cleanup_fd int fd = openat(folder, next, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	bool written = fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0 &&
	               renameat(folder, next, folder, AJ_KEPT_RECORD) == 0;
	int errnum = errno;
	free(text);
	/* Another run, which makes the same home, may have been quicker. */
	return written || faccessat(folder, AJ_KEPT_RECORD, F_OK, AT_SYMLINK_NOFOLLOW) == 0
	         ? 0
	         : aj_fail(err, AJ_EXIT_SETUP, "home", errnum, "write the record of `%s`", plan->home_source);
}

/* The home itself belongs to the jail's id, which for root's jails is another one. */
static int make_home(int folder, const struct aj_plan *plan, struct aj_error *err)
{
	struct stat st;
	bool made = mkdirat(folder, AJ_KEPT_HOME, 0700) == 0;
	cleanup_fd int home = openat(folder, AJ_KEPT_HOME, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (home < 0 ||
	    (made && plan->host_uid != geteuid() && fchownat(home, "", plan->host_uid, plan->host_gid, AT_EMPTY_PATH) < 0) ||
	    fstat(home, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "home", errno, "make `%s`", plan->home_source);
	if (st.st_uid == plan->host_uid)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "home", 0, "`%s` belongs to user id %u, and the jail writes as user id %u", plan->home_source,
	        st.st_uid, plan->host_uid);
	aj_advise(err, "`agentjail homes remove` removes it");
	return -1;
}

/* The folder of this home, made where it is missing. */
static int open_kept(const char *kept, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	const char *homes = aj_path_folder(kept, &arena), *ours = aj_path_folder(homes, &arena);
	const char *const names[] = { strrchr(ours, '/') + 1, strrchr(homes, '/') + 1, strrchr(kept, '/') + 1 };
	cleanup_fd int dir = aj_state_open_above(ours, true);
	if (dir < 0)
		aj_fail(err, AJ_EXIT_SETUP, "home", errno, "open the folder around `%s`, for homes that are kept", ours);
	for (size_t i = 0; i < sizeof names / sizeof *names && dir >= 0; i++)
		aj_kept_go_down(&dir, names[i], true, err);
	aj_arena_free(&arena);
	return aj_steal(&dir);
}

int aj_kept_open(const struct aj_plan *plan, const struct aj_request *request, struct aj_error *err)
{
	struct aj_arena arena = { 0 };
	if (!plan->home_source)
		return -1;
	cleanup_fd int folder = open_kept(aj_path_folder(plan->home_source, &arena), err);
	aj_arena_free(&arena);
	if (folder < 0)
		return -1;
	cleanup_fd int lock = openat(folder, AJ_KEPT_LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0 || aj_lock_take(lock, false) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "home", errno, "hold `%s`", plan->home_source);
		aj_advise(err, "another program removes it: try again");
		return -1;
	}
	if (write_record(folder, plan, request, err) < 0 || make_home(folder, plan, err) < 0)
		return -1;
	futimens(lock, NULL);
	return aj_steal(&lock);
}
