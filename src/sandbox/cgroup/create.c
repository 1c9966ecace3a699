/* Creates a jail's cgroup v2 leaf, and prepares its parent: enables controllers, and moves the supervisor to a leaf.
 * It never touches a cgroup that it did not make, except to enable controllers for its children. */
#include "sandbox/cgroup/create.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/text.h"
#include "sandbox/cgroup/leaf.h"

/* Other supervisors may be leaving the parent, or switching its controllers, for this many milliseconds. */
enum { PATIENCE_MS = 200, ATTEMPTS = 3 };

static int fail(struct aj_error *err, int errnum, const char *what, const char *path)
{
	aj_fail_because(err, AJ_REASON_CGROUP, AJ_EXIT_SETUP, "cgroup", errnum, "%s `%s`", what, path);
	aj_advise(err, "the directory must be a delegated cgroup v2: systemd-run --user --scope -p Delegate=yes agentjail ..., "
	               "or --cgroup DIR");
	return -1;
}

static void read_list(const char *dir, const char *file, char *out, size_t out_bytes)
{
	char path[600];
	int n = snprintf(path, sizeof path, "%s/%s", dir, file);
	if (n < 0 || (size_t)n >= sizeof path || aj_read_text(path, out, out_bytes) < 0)
		out[0] = '\0';
}

struct control_rows {
	const struct aj_cgroup_row *items;
	size_t count;
};

/* Is the controller needed by the rows? A zygote's own leaf and its jails' leaves share one folder. */
static bool is_wanted(const struct aj_plan *plan, const char *controller, const char *available)
{
	size_t bytes = strlen(controller);
	const struct control_rows lists[] = { { plan->cgroup_rows.items, plan->cgroup_rows.count },
		                              { plan->zygote_rows.items, plan->zygote ? plan->zygote_rows.count : 0 } };
	/* Memory is always enabled with the others: beside foreign processes the kernel refuses it, and with it the whole write;
	 * pids or cpu alone it accepts, and the cgroup becomes a threaded domain, where no jail can be born. */
	if ((lists[0].count || lists[1].count) && strcmp(controller, "memory") == 0 && aj_has_word(available, controller))
		return true;
	for (const struct control_rows *list = lists; list < lists + sizeof lists / sizeof *lists; list++)
		for (size_t i = 0; i < list->count; i++)
			if (strncmp(list->items[i].file, controller, bytes) == 0 && list->items[i].file[bytes] == '.')
				return true;
	return false;
}

/* A cgroup with processes may have no controllers for its children, so the supervisor moves from it to a leaf. Trying the
 * controllers first would be too late: see is_wanted(). The leaf's name lets the next start sweep it. */
static int move_supervisor_to_leaf(int dir, const char *path, struct aj_error *err)
{
	char procs[4096], self[16], leaf[64], file[80];
	snprintf(self, sizeof self, "%d", getpid());
	read_list(path, "cgroup.procs", procs, sizeof procs);
	if (faccessat(dir, "cgroup.type", F_OK, 0) < 0 || !aj_has_word(procs, self))
		return 0;
	snprintf(leaf, sizeof leaf, "agentjail-%s-supervisor", self);
	snprintf(file, sizeof file, "%s/cgroup.procs", leaf);
	if (mkdirat(dir, leaf, 0755) < 0 && errno != EEXIST)
		return fail(err, errno, "create a leaf for the supervisor in", path);
	if (aj_write_text(dir, file, self) < 0)
		return fail(err, errno, "move the supervisor to a leaf of", path);
	return 0;
}

int aj_cgroup_make_way(const char *path, struct aj_error *err)
{
	cleanup_fd int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return dir < 0 ? fail(err, errno, "open", path) : move_supervisor_to_leaf(dir, path, err);
}

/* Enable the controllers of the rows for the children of `dir`, in one write, which the kernel accepts or refuses as a whole. */
static int enable_controllers(int dir, const char *path, const struct aj_plan *plan, struct aj_error *err)
{
	static const char *const controllers[] = { "memory", "pids", "cpu" };
	char want[64] = "", available[256], enabled[256];
	size_t at = 0;
	read_list(path, "cgroup.controllers", available, sizeof available);
	read_list(path, "cgroup.subtree_control", enabled, sizeof enabled);
	bool missing = false;
	for (size_t i = 0; i < sizeof controllers / sizeof *controllers; i++) {
		if (!is_wanted(plan, controllers[i], available))
			continue;
		missing |= !aj_has_word(enabled, controllers[i]);
		at += (size_t)snprintf(want + at, sizeof want - at, "+%s ", controllers[i]);
	}
	if (missing && move_supervisor_to_leaf(dir, path, err) < 0)
		return -1;
	/* The processes in the way may be other supervisors that are moving to their leaves as well. */
	for (int tries = 0; missing && aj_write_text(dir, "cgroup.subtree_control", want) < 0; tries++) {
		if ((errno == EBUSY || errno == ENOENT) && tries < PATIENCE_MS && usleep(1000) == 0)
			continue;
		bool busy = errno == EBUSY;
		const char *what = busy ? "other processes are in the cgroup; enable controllers in" : "enable controllers in";
		return fail(err, errno, what, path);
	}
	/* Only for the counts of reads and writes: this may fail. */
	if (at && aj_has_word(available, "io") && !aj_has_word(enabled, "io"))
		aj_write_text(dir, "cgroup.subtree_control", "+io");
	return 0;
}

/* Remove leaves of killed supervisors, and folders of zygotes: both are empty by then, and rmdir() removes only empty ones. */
static void sweep_leaves(int dir, int depth)
{
	cleanup_listing struct aj_listing entries = aj_listing_take(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int pid;
	for (const struct dirent *e; (e = aj_listing_next(&entries));) {
		if (sscanf(e->d_name, "agentjail-%d-", &pid) != 1 || pid <= 0 || kill(pid, 0) == 0 || errno != ESRCH ||
		    unlinkat(dir, e->d_name, AT_REMOVEDIR) == 0 || errno != EBUSY || depth == 0)
			continue;
		cleanup_fd int below = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (below < 0)
			continue;
		sweep_leaves(below, depth - 1);
		unlinkat(dir, e->d_name, AT_REMOVEDIR);
	}
}

/* 0, or -1 with errno. */
static int write_rows(int leaf, struct control_rows rows)
{
	for (size_t i = 0; i < rows.count; i++) {
		const struct aj_cgroup_row *row = &rows.items[i];
		if (aj_write_text(leaf, row->file, row->value) == 0)
			continue;
		/* Without swap accounting there is no swap limit to write. */
		if (errno != ENOENT || strcmp(row->file, "memory.swap.max") != 0)
			return -1;
	}
	return 0;
}

/* Create a folder in `in` with these rows, whose name lets the next start sweep it; returns its descriptor, or -1. */
static int create_leaf(const struct aj_plan *plan, const char *in, struct control_rows rows, char *ret_path, size_t path_bytes,
                       struct aj_error *err)
{
	cleanup_fd int dir = open(in, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	char path[600];
	if (dir < 0)
		return fail(err, errno, "open", in);
	int n = snprintf(path, sizeof path, "%s/agentjail-%d-%llx", in, getpid(), (unsigned long long)aj_now_us());
	if (n < 0 || (size_t)n >= path_bytes || (size_t)n >= sizeof path)
		return fail(err, ENAMETOOLONG, "create a leaf in", in);
	for (int attempt = 1;; attempt++) {
		if (enable_controllers(dir, in, plan, err) < 0)
			return -1;
		if (attempt == 1)
			sweep_leaves(dir, 1);
		if (mkdir(path, 0755) < 0)
			return fail(err, errno, "create", path);
		cleanup_fd int leaf = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (leaf >= 0 && write_rows(leaf, rows) == 0) {
			memcpy(ret_path, path, (size_t)n + 1);
			return aj_steal(&leaf);
		}
		int errnum = errno;
		aj_leaf_remove(path);
		/* ENOENT: another process disabled a controller meanwhile, or swept the empty folder. */
		if (errnum != ENOENT || attempt == ATTEMPTS)
			return fail(err, errnum, leaf < 0 ? "open" : "set a limit in", path);
	}
}

int aj_cgroup_create(const struct aj_plan *plan, const char *in, char *ret_path, size_t path_bytes, struct aj_error *err)
{
	return create_leaf(plan, in, (struct control_rows){ plan->cgroup_rows.items, plan->cgroup_rows.count }, ret_path,
	                   path_bytes, err);
}

int aj_zygote_cgroups_create(const struct aj_plan *plan, struct aj_zygote_cgroups *ret, struct aj_error *err)
{
	*ret = (struct aj_zygote_cgroups){ .jails = AJ_ZYGOTE_JAILS_STEP };
	int folder = create_leaf(plan, plan->cgroup, (struct control_rows){ 0 }, ret->folder, sizeof ret->folder, err);
	aj_close(&folder);
	if (err->exit_code)
		return -1;
	int leaf = create_leaf(plan, ret->folder, (struct control_rows){ plan->zygote_rows.items, plan->zygote_rows.count },
	                       ret->leaf, sizeof ret->leaf, err);
	if (leaf < 0)
		aj_zygote_cgroups_remove(ret);
	return leaf;
}

int aj_zygote_cgroups_make_room(const struct aj_plan *plan, struct aj_zygote_cgroups *cgroups, size_t jails, struct aj_error *err)
{
	char path[600], value[32];
	const struct {
		const char *file;
		uint64_t base, value;
	} rows[] = { { "memory.max", plan->zygote_memory_bytes, aj_zygote_memory(plan, jails + AJ_ZYGOTE_JAILS_STEP) },
		     { "pids.max", plan->zygote_pids, aj_zygote_pids(plan, jails + AJ_ZYGOTE_JAILS_STEP) } };
	if (!cgroups->leaf[0] || jails <= cgroups->jails)
		return 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(path, sizeof path, "%s/%s", cgroups->leaf, rows[i].file);
		snprintf(value, sizeof value, "%llu", (unsigned long long)rows[i].value);
		if (rows[i].base && aj_write_text(AT_FDCWD, path, value) < 0)
			return fail(err, errno, "raise the limits for one more jail in", path);
	}
	cgroups->jails = jails + AJ_ZYGOTE_JAILS_STEP;
	return 0;
}

void aj_zygote_cgroups_remove(struct aj_zygote_cgroups *cgroups)
{
	aj_leaf_remove(cgroups->leaf);
	aj_leaf_remove(cgroups->folder);
	cgroups->leaf[0] = cgroups->folder[0] = '\0';
}
