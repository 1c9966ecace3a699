/* Creates, kills and removes the jail's cgroup v2 leaf.
 * It never touches a cgroup that it did not make, except to enable controllers for its children. */
#include "sandbox/cgroup.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

static int fail(struct aj_error *err, int errnum, const char *what, const char *path)
{
	aj_fail(err, AJ_EXIT_SETUP, "cgroup", errnum, "%s `%s`", what, path);
	aj_advise(err, "the directory must be a delegated cgroup v2: systemd-run --user --scope -p Delegate=yes agentjail ..., "
	               "or --cgroup DIR");
	return -1;
}

/* Is `pid` in the list of processes of `dir`? */
static bool holds(const char *dir, const char *pid)
{
	char path[600], procs[4096];
	snprintf(path, sizeof path, "%s/cgroup.procs", dir);
	ssize_t bytes = aj_read_text(path, procs, sizeof procs);
	size_t pid_bytes = strlen(pid);
	for (char *at = procs; bytes > 0 && *at; at += strcspn(at, "\n") + 1)
		if (strncmp(at, pid, pid_bytes) == 0 && at[pid_bytes] == '\n')
			return true;
	return false;
}

/* Enable what the rows need for the children of `dir`. A cgroup with processes in it may not have controllers for its
 * children, so if we are in it we move to a leaf first: asking first would be too late, as `pids` alone is accepted and turns
 * the cgroup into a thread root, where no jail can be born. */
static int enable_controllers(int dir, const struct aj_plan *plan, struct aj_error *err)
{
	char want[64] = "", have[256] = "", path[600], self[16];
	/* Memory always comes with pids: beside processes that are not ours the kernel refuses the two, but not pids alone. */
	snprintf(path, sizeof path, "%s/cgroup.controllers", plan->cgroup);
	if (plan->cgroup_rows.count && aj_read_text(path, have, sizeof have) > 0 && strstr(have, "memory"))
		strcpy(want, "+memory ");
	for (size_t i = 0; i < plan->cgroup_rows.count; i++) {
		const char *name = strncmp(plan->cgroup_rows.items[i].file, "memory", 6) == 0 ? "+memory " : "+pids ";
		if (!strstr(want, name))
			strncat(want, name, sizeof want - strlen(want) - 1);
	}
	snprintf(path, sizeof path, "%s/cgroup.subtree_control", plan->cgroup);
	if (aj_read_text(path, have, sizeof have) < 0)
		have[0] = '\0';
	bool enabled = true;
	for (const char *w = want; *w; w = strchr(w, ' ') + 1)
		enabled = enabled && memmem(have, strlen(have), w + 1, strcspn(w + 1, " "));
	if (enabled)
		return 0;
	snprintf(self, sizeof self, "%d", getpid());
	if (faccessat(dir, "cgroup.type", F_OK, 0) == 0 && holds(plan->cgroup, self)) {
		if (mkdirat(dir, "agentjail-supervisor", 0755) < 0 && errno != EEXIST)
			return fail(err, errno, "create a leaf for ourselves in", plan->cgroup);
		if (aj_write_text(dir, "agentjail-supervisor/cgroup.procs", self) < 0)
			return fail(err, errno, "move ourselves to a leaf of", plan->cgroup);
	}
	int tries = 0;
	/* Those in the way may be other supervisors, on their way to the leaf as well. */
	while (aj_write_text(dir, "cgroup.subtree_control", want) < 0) {
		if (errno == EBUSY && tries++ < 200 && usleep(1000) == 0)
			continue;
		return fail(err, errno, errno == EBUSY ? "other processes are in the way; enable controllers in" : "enable controllers in",
		            plan->cgroup);
	}
	return 0;
}

/* Leaves of supervisors that were killed: theirs are empty by then, and an empty one is all that rmdir() takes. */
static void sweep(int dir)
{
	DIR *entries = fdopendir(openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
	int pid;
	for (struct dirent *e; entries && (e = readdir(entries));)
		if (sscanf(e->d_name, "agentjail-%d-", &pid) == 1 && pid > 0 && kill(pid, 0) < 0 && errno == ESRCH)
			unlinkat(dir, e->d_name, AT_REMOVEDIR);
	if (entries)
		closedir(entries);
}

int aj_cgroup_create(const struct aj_plan *plan, char *ret_path, size_t path_bytes, struct aj_error *err)
{
	cleanup_fd int dir = open(plan->cgroup, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fail(err, errno, "open", plan->cgroup);
	if (enable_controllers(dir, plan, err) < 0)
		return -1;
	sweep(dir);
	int n = snprintf(ret_path, path_bytes, "%s/agentjail-%d-%llx", plan->cgroup, getpid(), (unsigned long long)aj_now_us());
	if (n < 0 || (size_t)n >= path_bytes)
		return fail(err, ENAMETOOLONG, "create a leaf in", plan->cgroup);
	if (mkdir(ret_path, 0755) < 0) {
		fail(err, errno, "create", ret_path);
		ret_path[0] = '\0';
		return -1;
	}
	cleanup_fd int leaf = open(ret_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	for (size_t i = 0; leaf >= 0 && i < plan->cgroup_rows.count; i++) {
		const struct aj_cgroup_row *row = &plan->cgroup_rows.items[i];
		/* Without swap accounting there is no swap to forbid. */
		if (aj_write_text(leaf, row->file, row->value) < 0 && !(errno == ENOENT && strcmp(row->file, "memory.swap.max") == 0)) {
			fail(err, errno, "set a limit in", ret_path);
			aj_cgroup_remove(ret_path);
			ret_path[0] = '\0';
			return -1;
		}
	}
	if (leaf < 0)
		return fail(err, errno, "open", ret_path);
	return aj_steal(&leaf);
}

void aj_cgroup_kill(const char *path)
{
	char file[600];
	if (!path[0])
		return;
	snprintf(file, sizeof file, "%s/cgroup.kill", path);
	aj_write_text(AT_FDCWD, file, "1");
}

void aj_cgroup_remove(const char *path)
{
	/* Emptying a cgroup is asynchronous in the kernel: the last exit may still be on its way. */
	for (int tries = 0; path[0] && rmdir(path) < 0 && errno == EBUSY && tries < 200; tries++)
		usleep(1000);
}

void aj_cgroup_usage(const char *path, uint64_t *ret_peak_bytes, uint64_t *ret_oom_kills)
{
	char file[600], text[512];
	*ret_peak_bytes = *ret_oom_kills = 0;
	if (!path[0])
		return;
	snprintf(file, sizeof file, "%s/memory.peak", path);
	if (aj_read_text(file, text, sizeof text) > 0)
		*ret_peak_bytes = strtoull(text, NULL, 10);
	snprintf(file, sizeof file, "%s/memory.events", path);
	if (aj_read_text(file, text, sizeof text) > 0) {
		const char *line = strstr(text, "oom_kill ");
		*ret_oom_kills = line ? strtoull(line + strlen("oom_kill "), NULL, 10) : 0;
	}
}
