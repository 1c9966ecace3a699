/* Gathers facts about this kernel and this user: ids, Landlock, the layout of /; cgroup v2 is in cgroup.c.
 * It changes nothing on the host and treats every missing feature as a fact, not as an error. */
#include "policy/host/host.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/capset.h"
#include "base/fd.h"

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#endif

const char *const aj_top_links[6] = { "bin", "sbin", "lib", "lib64", "lib32", NULL };

static int top_links(struct aj_host *host, struct aj_arena *arena, struct aj_error *err)
{
	for (int i = 0; aj_top_links[i]; i++) {
		char path[16], target[256];
		snprintf(path, sizeof path, "/%s", aj_top_links[i]);
		ssize_t n = readlink(path, target, sizeof target);
		if (n > 0 && (size_t)n < sizeof target)
			host->top_links[i] = aj_strndup(arena, target, (size_t)n);
		else if (n < 0 && errno == EINVAL)
			host->top_links[i] = "";
		else if (n > 0 || errno != ENOENT)
			return aj_fail(err, AJ_EXIT_SETUP, "host", n > 0 ? ENAMETOOLONG : errno, "examine `%s`", path);
	}
	return 0;
}

/* Does a map of the supervisor's user namespace contain `id`? *ret_initial: is the map the initial namespace's identity map? */
static int id_exists(const char *map_path, unsigned long id, bool *ret, bool *ret_initial, struct aj_error *err)
{
	char map[16384]; /* enough for the kernel's maximum of 340 lines */
	unsigned long inside, outside, count;
	bool found = false;
	int used;
	*ret_initial = false;
	if (aj_read_text(map_path, map, sizeof map) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "host", errno, "read `%s`", map_path);
	for (char *at = map; sscanf(at, "%lu %lu %lu%n", &inside, &outside, &count, &used) == 3; at += used) {
		found |= id >= inside && id - inside < count;
		*ret_initial |= inside == 0 && outside == 0 && count == 4294967295;
	}
	*ret = found;
	return 0;
}

bool aj_host_has_id(uid_t id)
{
	bool uid = false, gid = false, initial;
	struct aj_error unknown = { 0 };
	return id_exists("/proc/self/uid_map", id, &uid, &initial, &unknown) == 0 &&
	       id_exists("/proc/self/gid_map", id, &gid, &initial, &unknown) == 0 && uid && gid;
}

/* An unreadable map is an error: a jail may run as root's own id only where the namespace has no other id. */
static int root_rights(struct aj_host *host, struct aj_error *err)
{
	enum { NOBODY = 65534, SETGID_AND_SETUID = 1 << 6 | 1 << 7 };
	struct aj_capset caps;
	bool initial, gid = false, uid = false;
	if (host->uid != 0)
		return 0;
	if (id_exists("/proc/self/gid_map", NOBODY, &gid, &initial, err) < 0 ||
	    id_exists("/proc/self/uid_map", NOBODY, &uid, &host->init_root, err) < 0)
		return -1;
	if (aj_capset_get(&caps) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "host", errno, "read agentjail's own capabilities");
	host->may_map_ids = gid && uid && (caps.half[0].effective & SETGID_AND_SETUID) == SETGID_AND_SETUID;
	return 0;
}

int aj_host_landlock_abi(void)
{
	enum { VERSION = 1 }; /* LANDLOCK_CREATE_RULESET_VERSION */
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, VERSION);
	return abi > 0 ? (int)abi : 0;
}

int aj_host_gather(struct aj_host *host, struct aj_arena *arena, const char *given_cgroup, struct aj_error *err)
{
	*host = (struct aj_host){ .uid = geteuid(), .gid = getegid() };
	if (root_rights(host, err) < 0)
		return -1;
	struct utsname u;
	if (uname(&u) == 0)
		sscanf(u.release, "%d.%d", &host->kernel_major, &host->kernel_minor);
	host->landlock_abi = aj_host_landlock_abi();
	cpu_set_t processors;
	host->processors = sched_getaffinity(0, sizeof processors, &processors) == 0 ? (unsigned)CPU_COUNT(&processors) : 0;
	if (top_links(host, arena, err) < 0 || aj_etc_find(&host->etc, arena, err) < 0)
		return -1;
	if (!given_cgroup) {
		aj_host_find_cgroup(host, arena, NULL, NULL);
		return 0;
	}
	if (access(aj_printf(arena, "%s/cgroup.procs", given_cgroup), W_OK) < 0)
		return aj_fail_because(err, AJ_REASON_CGROUP, AJ_EXIT_SETUP, "cgroup", errno,
		                       "`%s` is not a cgroup v2 directory that this user may write", given_cgroup);
	/* Unreadable is not empty: a silent fallback to rlimits would surprise a caller who provided a cgroup for limits. */
	if (aj_host_controllers(given_cgroup, &host->cgroup_controllers) < 0)
		return aj_fail_because(err, AJ_REASON_CGROUP, AJ_EXIT_SETUP, "cgroup", errno, "read the controllers of `%s`",
		                       given_cgroup);
	host->cgroup = given_cgroup;
	host->cgroup_given = true;
	return 0;
}

static bool sysctl_is(const char *path, const char *value)
{
	char text[64];
	if (aj_read_text(path, text, sizeof text) < 0)
		return false;
	text[strcspn(text, "\n")] = '\0';
	return strcmp(text, value) == 0;
}

/* The AppArmor profile that confines this process, into `name`. */
static bool confined_by_apparmor(char *name, size_t bytes)
{
	if (aj_read_text("/proc/self/attr/apparmor/current", name, bytes) < 0)
		return false;
	name[strcspn(name, "\n")] = '\0';
	char *mode = strstr(name, " (");
	if (!mode || strcmp(mode, " (unconfined)") == 0)
		return false;
	*mode = '\0';
	return true;
}

static bool in_container(void)
{
	return access("/.dockerenv", F_OK) == 0 || access("/run/.containerenv", F_OK) == 0 || getenv("KUBERNETES_SERVICE_HOST");
}

bool aj_host_in_jail(void)
{
	char name[65];
	const char *hint = getenv(AJ_JAIL_VARIABLE); /* clients name the program by the same variable */
	return (hint && strcmp(hint, "1") == 0) ||
	       (geteuid() == 1000 && gethostname(name, sizeof name) == 0 && strcmp(name, "jail") == 0);
}

/* The files below /proc of a process that is not dumpable belong to root, and so do those of the children that it forks. */
static bool is_dumpable(void)
{
	struct stat st;
	return stat("/proc/self/setgroups", &st) < 0 || st.st_uid == geteuid();
}

void aj_host_advise(struct aj_error *err)
{
	struct rlimit files;
	if (err->errnum == EMFILE && getrlimit(RLIMIT_NOFILE, &files) == 0) {
		aj_advise(err,
		          "this process may have %lu open files, and each jail uses several: raise the limit (`ulimit -n`, or LimitNOFILE= of the "
		          "systemd unit), or keep fewer jails at a time",
		          (unsigned long)files.rlim_cur);
		return;
	}
	if (err->errnum == ENFILE) {
		aj_advise(err, "the host's limit on open files is reached: raise the sysctl fs.file-max");
		return;
	}
	if (err->reason == AJ_REASON_PROCESS && err->errnum == EAGAIN) {
		aj_advise(err,
		          "no more processes may be created: raise the limit (`ulimit -u`, or pids.max of agentjail's cgroup), or leave SCHED_DEADLINE");
		return;
	}
	if (err->reason == AJ_REASON_SOURCE && err->errnum == ENOSYS) {
		aj_advise(err,
		          "a seccomp filter on agentjail refuses openat2(): remove RestrictSUIDSGID= from the systemd unit, or let the container's "
		          "seccomp profile allow openat2");
		return;
	}
	if (err->reason == AJ_REASON_NAMESPACE && err->errnum == EACCES && !is_dumpable()) {
		aj_advise(err,
		          "this program is not dumpable, as after setuid() or prctl(PR_SET_DUMPABLE, 0), so it may not write the id map of a jail: call "
		          "prctl(PR_SET_DUMPABLE, 1), or let a program of its own run the jails, which execve() makes dumpable");
		return;
	}
	if (err->reason < AJ_REASON_PROCESS || (err->reason == AJ_REASON_SOURCE && !in_container()))
		return;
	if (err->errnum != EPERM && err->errnum != EACCES && err->errnum != ENOSPC && err->errnum != EUSERS &&
	    err->errnum != EINVAL && err->errnum != ENOSYS)
		return;
	char profile[256];
	if (aj_host_in_jail())
		aj_advise(err,
		          "this process seems to be in a jail already, and jails do not nest: start both jails from outside");
	else if (sysctl_is("/proc/sys/user/max_user_namespaces", "0"))
		aj_advise(err, "user namespaces are switched off: `sudo sysctl user.max_user_namespaces=15000`");
	else if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", "0"))
		aj_advise(err, "unprivileged user namespaces are switched off: `sudo sysctl kernel.unprivileged_userns_clone=1`");
	else if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1") && geteuid() != 0)
		aj_advise(err,
		          "AppArmor removes the capabilities of new user namespaces (Ubuntu 23.10 and later): install a profile that "
		          "gives this program `userns,` (`agentjail doctor` prints it), or "
		          "`sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`");
	else if (err->reason == AJ_REASON_PROC)
		aj_advise(err,
		          "the masked /proc of a container forbids mounting another /proc: use `--proc none`, or start the container with "
		          "`--security-opt systempaths=unconfined`");
	else if (in_container())
		aj_advise(err,
		          "agentjail runs in a container, whose seccomp or AppArmor profile forbids user namespaces and mounts: start the container with "
		          "`--security-opt seccomp=unconfined --security-opt apparmor=unconfined`, or with a profile that allows "
		          "clone, unshare, mount, umount2, pivot_root, open_tree, move_mount and mount_setattr");
	else if (err->errnum == ENOSPC || err->errnum == EUSERS)
		aj_advise(err,
		          "a limit on namespaces is reached: raise user.max_user_namespaces and the other limits in /proc/sys/user");
	else if (err->reason == AJ_REASON_PROCESS && err->errnum == EACCES && confined_by_apparmor(profile, sizeof profile))
		aj_advise(err,
		          "the AppArmor profile `%s`, which confines this process, forbids user namespaces: give this program a profile of its own "
		          "(`agentjail doctor --apparmor` prints it), or `%s` the rule `userns,`",
		          profile, profile);
	else if (err->reason == AJ_REASON_PROCESS)
		aj_advise(err, "the kernel refuses new user namespaces; `agentjail doctor` lists what this host allows");
}
