/* `agentjail doctor`: what this host can enforce, each line with the way to get what is missing.
 * It tries real jails instead of guessing from versions, and changes nothing. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/paths.h"
#include "run/once.h"

struct doctor {
	struct aj_arena arena;
	struct aj_host host;
	bool failed;
};

static void line(struct doctor *d, const char *mark, const char *what, const char *state, const char *fix)
{
	printf("%-4s  %-18s %s\n", mark, what, state);
	if (fix && *fix)
		printf("      %-18s fix: %s\n", "", fix);
	d->failed |= strcmp(mark, "FAIL") == 0;
}

/* Run a real jail under `preset` with one change; the line says whether its walls stood. */
static bool try_jail(struct doctor *d, const char *what, bool snippet, enum aj_network network, bool proc)
{
	static char *true_argv[] = { "true", NULL };
	struct aj_error err = { 0 };
	struct aj_policy policy;
	struct aj_plan plan;
	struct aj_result result;
	struct aj_request request = {
		.snippet = snippet, .id = "doctor", .code = "6 * 7", .code_bytes = 5, .filename = "<doctor>", .argv = true_argv, .capture = true
	};
	aj_policy_preset(&policy, &d->arena, snippet ? "snippet" : "command");
	policy.network = network;
	policy.proc = proc;
	policy.wall_ms = 20000;
	if ((snippet && aj_find_rootfs(&request, "default", "", &d->arena, &err) < 0) ||
	    aj_plan_build(&plan, &d->arena, &policy, &request, &d->host, &err) < 0) {
		char text[600];
		line(d, "FAIL", what, aj_error_text(&err, text, sizeof text), err.fix);
		return false;
	}
	aj_run_once(&plan, &policy, &request, NULL, NULL, &result);
	bool ok = result.status == AJ_STATUS_OK;
	aj_host_advise(&result.setup);
	line(d, ok ? "ok" : "FAIL", what, ok ? "works" : result.reason, ok ? "" : result.setup.fix);
	aj_result_free(&result);
	return ok;
}

static void kernel(struct doctor *d)
{
	struct utsname u;
	uname(&u);
	bool enough = d->host.kernel_major > 5 || (d->host.kernel_major == 5 && d->host.kernel_minor >= 14);
	line(d, enough ? "ok" : "FAIL", "kernel", aj_printf(&d->arena, "%s %s", u.sysname, u.release),
	     enough ? "" : "Linux 5.14 or newer is needed (mount_setattr, clone3, process limits per user namespace)");
}

static void landlock(struct doctor *d)
{
	if (d->host.landlock_abi)
		line(d, "ok", "landlock", aj_printf(&d->arena, "ABI %d", d->host.landlock_abi), "");
	else
		line(d, "--", "landlock", "not in this kernel; the mounts still hold",
		     "boot with `lsm=landlock,...` on a kernel that has it (5.13)");
}

static void cgroup(struct doctor *d)
{
	const char *fix = "systemd-run --user --scope -p Delegate=yes agentjail ..., or --cgroup DIR";
	if (!d->host.cgroup) {
		line(d, "--", "cgroup v2", d->host.cgroup_why, fix);
		line(d, "--", "memory limit", "rlimits only: RLIMIT_AS for a snippet, RLIMIT_DATA for each process of a command", "");
		line(d, "--", "process limit", "RLIMIT_NPROC, counted per jail", "");
		return;
	}
	unsigned c = d->host.cgroup_controllers;
	line(d, "ok", "cgroup v2", d->host.cgroup, "");
	line(d, c & AJ_CGROUP_MEMORY ? "ok" : "--", "memory limit", c & AJ_CGROUP_MEMORY ? "memory.max" : "rlimits only",
	     c & AJ_CGROUP_MEMORY ? "" : fix);
	line(d, c & AJ_CGROUP_PIDS ? "ok" : "--", "process limit", c & AJ_CGROUP_PIDS ? "pids.max" : "RLIMIT_NPROC",
	     c & AJ_CGROUP_PIDS ? "" : fix);
}

static void apparmor_profile(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	if (n <= 0 || access("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", F_OK) < 0)
		return;
	path[n] = '\0';
	printf("\nAppArmor profile for this host (save as /etc/apparmor.d/agentjail, then `sudo apparmor_parser -r` it):\n\n"
	       "  abi <abi/4.0>,\n  include <tunables/global>\n  profile agentjail %s flags=(unconfined) {\n    userns,\n  }\n",
	       path);
}

int aj_cmd_doctor(int argc, char **argv)
{
	struct doctor d = { 0 };
	struct aj_error err = { 0 };
	if (argc > 1) {
		aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "doctor takes no argument, but got `%s`", argv[1]);
		return aj_print_error(&err);
	}
	aj_host_gather(&d.host, &d.arena, NULL, &err);
	kernel(&d);
	if (try_jail(&d, "command jail", false, AJ_NET_NONE, true)) {
		try_jail(&d, "loopback network", false, AJ_NET_LOOPBACK, true);
	} else {
		try_jail(&d, "without /proc", false, AJ_NET_NONE, false);
	}
	try_jail(&d, "snippet jail", true, AJ_NET_NONE, false);
	landlock(&d);
	cgroup(&d);
	line(&d, d.host.uid == 0 ? "--" : "ok", "identity",
	     d.host.uid != 0      ? "an ordinary user; jails run as that user"
	     : d.host.may_map_ids ? "root; jails run as host id 65534"
	                          : "root without CAP_SETUID; jails keep host id 0, which RLIMIT_NPROC does not bind",
	     d.host.uid == 0 ? "run it as an ordinary user: root is not needed" : "");
	apparmor_profile();
	aj_arena_free(&d.arena);
	return d.failed ? AJ_EXIT_SETUP : 0;
}
