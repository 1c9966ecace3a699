/* Finds a cgroup v2 directory below which this user may create leaves: the supervisor's own, or its nearest ancestor.
 * It changes nothing, and chooses no directory that belongs to systemd or contains foreign processes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/host/host.h"

int aj_host_controllers(const char *dir, unsigned *ret)
{
	static const struct {
		const char *name;
		unsigned bit;
	} known[] = { { "memory", AJ_CGROUP_MEMORY }, { "pids", AJ_CGROUP_PIDS }, { "cpu", AJ_CGROUP_CPU } };
	char path[4200], text[512];
	snprintf(path, sizeof path, "%s/cgroup.controllers", dir);
	*ret = 0;
	if (aj_read_text(path, text, sizeof text) < 0)
		return -1;
	for (char *save = NULL, *word = strtok_r(text, " \n", &save); word; word = strtok_r(NULL, " \n", &save))
		for (size_t i = 0; i < sizeof known / sizeof *known; i++)
			if (strcmp(word, known[i].name) == 0)
				*ret |= known[i].bit;
	return 0;
}

static bool is_permanent(int errnum)
{
	static const int permanent[] = { EACCES,  EPERM,        EBUSY,  EROFS,      ENOENT, ENODEV,
		                         ENOTDIR, ENAMETOOLONG, EINVAL, EOPNOTSUPP, ENOSYS };
	for (size_t i = 0; i < sizeof permanent / sizeof *permanent; i++)
		if (permanent[i] == errnum)
			return true;
	return false;
}

bool aj_host_drop_cgroup(struct aj_host *host, struct aj_arena *arena, const struct aj_error *err)
{
	if (err->reason != AJ_REASON_CGROUP || host->cgroup_given || !is_permanent(err->errnum))
		return false;
	host->cgroup = NULL;
	host->cgroup_why = aj_strdup(arena, err->cause);
	return true;
}

static bool may_write(struct aj_arena *arena, const char *dir)
{
	/* cgroup.procs: the kernel requires write permission on the common ancestor's for a birth into a sibling leaf. */
	return access(dir, W_OK) == 0 && access(aj_printf(arena, "%s/cgroup.procs", dir), W_OK) == 0 &&
	       access(aj_printf(arena, "%s/cgroup.subtree_control", dir), W_OK) == 0;
}

/* The obstacle to creating leaves in `dir`, NULL for none. `own`: the supervisor itself is in `dir`. */
static const char *obstacle(struct aj_arena *arena, const char *dir, bool own)
{
	char type[32], procs[64], self[16] = "";
	const char *name = own ? aj_printf(arena, "agentjail's cgroup %s", dir) : dir;
	unsigned bits;
	if (aj_host_controllers(dir, &bits) < 0 || !(bits & (AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS)))
		return aj_printf(arena,
		                 "%s has neither the memory nor the pids controller (cgroup v1 or hybrid host, or not delegated)",
		                 own ? "agentjail's cgroup" : dir);
	if (!may_write(arena, dir))
		return aj_printf(arena, "%s is not delegated to this user", name);
	/* A cgroup with controllers for its children may contain no process. The supervisor can move itself to a leaf, but no
	 * foreign process. Only the root of the hierarchy, without cgroup.type, is exempt; it belongs to the system. */
	if (aj_read_text(aj_printf(arena, "%s/cgroup.type", dir), type, sizeof type) < 0)
		return own ? NULL : "the root of the hierarchy belongs to the system";
	if (strcmp(type, "domain\n") != 0)
		return aj_printf(arena, "%s is a threaded cgroup, in which no jail can be created", name);
	if (own)
		snprintf(self, sizeof self, "%d\n", getpid());
	if (aj_read_text(aj_printf(arena, "%s/cgroup.procs", dir), procs, sizeof procs) < 0 || strcmp(procs, self) != 0)
		return aj_printf(arena, "other processes are in %s, so its child cgroups can have no controllers", name);
	return NULL;
}

/* systemd delegates services and scopes, never slices: in a slice that it may write, a user's systemd enables and disables
 * controllers at will, and a limit would vanish silently. No ancestor of a slice is delegated either. */
static bool is_slice(const char *dir)
{
	size_t bytes = strlen(dir);
	return bytes > 6 && strcmp(dir + bytes - 6, ".slice") == 0;
}

/* The path in the v2 hierarchy's line of /proc/self/cgroup, cut at its end; NULL without such a line. */
static const char *own_path(char *text)
{
	char *line = strncmp(text, "0::", 3) == 0 ? text : strstr(text, "\n0::");
	if (!line)
		return NULL;
	line += *line == '\n';
	line[strcspn(line, "\n")] = '\0';
	return line + 3;
}

void aj_host_find_cgroup(struct aj_host *host, struct aj_arena *arena, const char *root, const char *path)
{
	char text[4096];
	host->cgroup = NULL;
	host->cgroup_controllers = 0;
	host->cgroup_why = "this process is in no cgroup v2 (the host uses cgroup v1)";
	if (!path && (aj_read_text("/proc/self/cgroup", text, sizeof text) < 0 || !(path = own_path(text))))
		return;
	if (!root)
		root = access("/sys/fs/cgroup/cgroup.procs", F_OK) == 0 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/unified";
	if (strncmp(path, "/..", 3) == 0) {
		host->cgroup_why = "agentjail's cgroup is outside the part of the hierarchy that is mounted here";
		return;
	}
	char *dir = aj_printf(arena, "%s%s", root, strcmp(path, "/") == 0 ? "" : path);
	for (bool own = true;; own = false) {
		const char *why = obstacle(arena, dir, own);
		if (!why) {
			host->cgroup = aj_strdup(arena, dir);
			aj_host_controllers(dir, &host->cgroup_controllers);
			host->cgroup_why = NULL;
			return;
		}
		if (own)
			host->cgroup_why = why;
		if (strlen(dir) <= strlen(root))
			return;
		*strrchr(dir, '/') = '\0';
		if (is_slice(dir))
			return;
	}
}
