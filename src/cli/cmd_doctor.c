/* `agentjail doctor`: reports what this host can enforce, and a fix for each missing feature.
 * It tries real jails instead of guessing from versions, and changes nothing. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/command.h"
#include "cli/terminal/findings.h"
#include "jail/audit/audit.h"
#include "jail/once.h"
#include "policy/host/home.h"
#include "policy/host/paths.h"
#include "policy/load/load.h"

enum mark { OK, PART, FAIL };
static const char *const mark_names[] = { [OK] = "ok", [PART] = "part", [FAIL] = "FAIL" };

struct line {
	enum mark mark;
	const char *check, *state, *fix; /* fix: NULL for none */
};

struct doctor {
	struct aj_arena arena;
	struct aj_host host;
	struct aj_site site;
	bool site_fits;
	bool recorded; /* runs of this user can be recorded */
	AJ_LIST(struct line) lines;
};

static void add_check(struct doctor *d, enum mark mark, const char *check, const char *state, const char *fix)
{
	*AJ_PUSH(&d->arena, &d->lines) = (struct line){ mark, check, aj_strdup(&d->arena, state),
		                                        fix && *fix ? aj_strdup(&d->arena, fix) : NULL };
}

static bool read_line(const char *path, char *out, size_t out_bytes)
{
	if (aj_read_text(path, out, out_bytes) < 0)
		return false;
	out[strcspn(out, "\n")] = '\0';
	return true;
}

/* --- the kernel --- */

static void check_kernel(struct doctor *d)
{
	struct utsname u;
	uname(&u);
	bool enough = d->host.kernel_major > 5 || (d->host.kernel_major == 5 && d->host.kernel_minor >= 14);
	add_check(d, enough ? OK : FAIL, "kernel", aj_printf(&d->arena, "%s %s", u.sysname, u.release),
	          enough ? NULL : "Linux 5.14 or newer is needed (mount_setattr, clone3, process limits per user namespace)");
}

static void check_user_namespaces(struct doctor *d)
{
	static const struct {
		const char *path, *bad, *state, *fix;
	} switches[] = {
		{ "/proc/sys/user/max_user_namespaces", "0", "switched off", "sudo sysctl user.max_user_namespaces=15000" },
		{ "/proc/sys/kernel/unprivileged_userns_clone", "0", "switched off for ordinary users",
		  "sudo sysctl kernel.unprivileged_userns_clone=1" },
		{ "/proc/sys/kernel/apparmor_restrict_unprivileged_userns", "1",
		  "AppArmor removes the capabilities of ordinary users' namespaces",
		  "save what `agentjail doctor --apparmor` prints as /etc/apparmor.d/agentjail, then sudo apparmor_parser -r /etc/apparmor.d/agentjail" },
	};
	char text[64];
	for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
		if (read_line(switches[i].path, text, sizeof text) && strcmp(text, switches[i].bad) == 0) {
			/* try_jail() shows whether the switch stops us: an AppArmor profile may allow us already. */
			add_check(d, d->host.uid == 0 && i > 0 ? OK : PART, "user namespaces", switches[i].state,
			          switches[i].fix);
			return;
		}
	add_check(d, OK, "user namespaces", "allowed by the sysctls", NULL);
}

static void check_seccomp(struct doctor *d)
{
	char text[256];
	bool known = read_line("/proc/sys/kernel/seccomp/actions_avail", text, sizeof text);
	if (!known)
		add_check(d, FAIL, "seccomp", "not in this kernel", "use a kernel with CONFIG_SECCOMP_FILTER");
	else if (!strstr(text, "user_notif"))
		add_check(d, PART, "seccomp", "filters without notifications: refused calls are not reported",
		          "use Linux 5.0 or newer");
	else
		add_check(d, OK, "seccomp", "filters and notifications", NULL);
}

static void check_landlock(struct doctor *d)
{
	if (d->host.landlock_abi)
		add_check(d, OK, "landlock", aj_printf(&d->arena, "ABI %d", d->host.landlock_abi), NULL);
	else
		add_check(d, PART, "landlock", "not in this kernel; the mounts still enforce the file rules",
		          "boot with `lsm=landlock,...` on a kernel with Landlock (5.13 or newer)");
}

static void check_cgroup(struct doctor *d)
{
	static const struct {
		unsigned bit;
		const char *check, *with, *without;
	} rows[] = {
		{ AJ_CGROUP_MEMORY, "memory limit", "memory.max",
		  "rlimits only: RLIMIT_AS for a snippet, RLIMIT_DATA for each process of a command" },
		{ AJ_CGROUP_PIDS, "process limit", "pids.max", "RLIMIT_NPROC, counted per jail" },
		{ AJ_CGROUP_CPU, "processor share", "cpu.max", "none" },
	};
	const char *fix = "systemd-run --user --scope -p Delegate=yes agentjail ..., or --cgroup DIR";
	add_check(d, d->host.cgroup ? OK : PART, "cgroup v2", d->host.cgroup ? d->host.cgroup : d->host.cgroup_why,
	          d->host.cgroup ? NULL : fix);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool there = d->host.cgroup && (d->host.cgroup_controllers & rows[i].bit);
		add_check(d, there ? OK : PART, rows[i].check, there ? rows[i].with : rows[i].without,
		          d->host.cgroup && !there ? fix : NULL);
	}
}

static void check_identity(struct doctor *d)
{
	if (d->host.uid != 0)
		add_check(d, OK, "identity", "an ordinary user; jails run as that user", NULL);
	else if (d->host.may_map_ids)
		add_check(d, OK, "identity",
		          d->site_fits && *d->site.uids ? "root; jails run as host ids of the site's range (root is not needed)"
		                                        : "root; jails run as host id 65534 (root is not needed)",
		          NULL);
	else
		add_check(d, PART, "identity", "root without CAP_SETUID; jails keep host id 0, which RLIMIT_NPROC does not limit",
		          "run agentjail as an ordinary user");
}

/* --- jails --- */

/* Run a real jail under a built-in policy with one change; its line says whether it worked. `lacking`: the mark if it did not. */
static bool try_jail(struct doctor *d, const char *check, bool snippet, enum aj_network network, bool proc, enum mark lacking)
{
	static char *true_argv[] = { "true", NULL };
	struct aj_error err = { 0 };
	struct aj_policy policy;
	struct aj_plan plan;
	struct aj_result result;
	struct aj_request request = { .is_snippet = snippet,
		                      .id = "doctor",
		                      .snippet = { .code = "6 * 7", .code_bytes = 5, .filename = "<doctor>" },
		                      .command = { .argv = true_argv, .no_input = true, .terminal_fd = -1 },
		                      .capture = true };
	aj_policy_preset(&policy, &d->arena, snippet ? "snippet" : "command");
	policy.network = network;
	if (network == AJ_NET_ALLOW)
		*AJ_PUSH(&d->arena, &policy.allow) = "example.org:443";
	policy.proc = proc;
	policy.wall_ms = 20000;
	if ((snippet &&
	     aj_find_rootfs(&request.rootfs, policy.rootfs, d->site_fits ? d->site.rootfs : "", &d->arena, &err) < 0) ||
	    aj_plan_build(&plan, &d->arena, &policy, &request, &d->host, &err) < 0) {
		char text[600];
		add_check(d, lacking, check, aj_error_text(&err, text, sizeof text), err.fix);
		return false;
	}
	aj_run_once(&plan, &policy, &request, NULL, &result);
	bool ok = result.status == AJ_STATUS_OK;
	aj_host_advise(&result.setup);
	bool nat = ok && network == AJ_NET_ALLOW && !result.network.transparent;
	add_check(d, ok ? OK : lacking, check,
	          nat  ? "works, by NAT"
	          : ok ? "works"
	               : result.reason,
	          nat  ? "for faster connections: sudo modprobe -a nft_tproxy nft_reject_inet"
	          : ok ? NULL
	               : result.setup.fix);
	aj_result_free(&result);
	return ok;
}

static void check_jails(struct doctor *d)
{
	if (try_jail(d, "command jail", false, AJ_NET_NONE, true, FAIL)) {
		try_jail(d, "loopback network", false, AJ_NET_LOOPBACK, true, FAIL);
		try_jail(d, "network by list", false, AJ_NET_ALLOW, true, PART);
	} else {
		try_jail(d, "without /proc", false, AJ_NET_NONE, false, FAIL);
	}
	try_jail(d, "snippet jail", true, AJ_NET_NONE, false, FAIL);
}

/* --- policies --- */

static void check_site(struct doctor *d, const char *config)
{
	struct aj_diags diags = { .arena = &d->arena };
	d->site_fits = aj_site_load(&d->site, config, &diags) == 0;
	if (d->site_fits)
		add_check(d, OK, "site", d->site.file, NULL);
	else
		add_check(d, FAIL, "site", diags.list.count ? diags.list.items[0].message : "the site's configuration is broken",
		          "agentjail policy check");
}

/* If this fails, policies that require a record do not run. */
static void check_audit(struct doctor *d)
{
	struct aj_error err = { 0 };
	char text[600];
	d->recorded = aj_audit_probe(d->site.audit, &err) == 0;
	bool none = strcmp(d->site.audit, "none") == 0;
	add_check(d, d->recorded ? OK : PART, "audit trail",
	          none          ? "none: no run is recorded"
	          : d->recorded ? aj_printf(&d->arena, "`%s` (runs of this user can be recorded)", d->site.audit)
	                        : aj_error_text(&err, text, sizeof text),
	          err.fix);
}

/* Does this host enforce the default policy in full, or some limits by rlimits only? */
static void check_default_policy(struct doctor *d, bool snippet)
{
	struct aj_diags diags = { .arena = &d->arena };
	struct aj_ask ask = { .name = snippet ? d->site.default_exec : d->site.default_run,
		              .home = aj_home_of_caller(&d->arena) };
	const char *check = aj_printf(&d->arena, "policy of %s", snippet ? "exec" : "run");
	static char *true_argv[] = { "true", NULL };
	struct aj_request request = { .is_snippet = snippet, .snippet.code = "", .command.argv = true_argv, .workspace = "/" };
	struct aj_loaded loaded;
	struct aj_error err = { 0 };
	struct aj_plan plan;
	char text[600];
	if (aj_policy_load(&loaded, &d->site, &ask, &diags) < 0) {
		add_check(d, FAIL, check, diags.list.count ? diags.list.items[0].message : "the policy is broken",
		          aj_printf(&d->arena, "agentjail policy check %s", ask.name));
		return;
	}
	if (loaded.policy.workspace == AJ_WORKSPACE_NONE)
		request.workspace = NULL;
	if (!d->recorded && loaded.policy.audit_failure == AJ_AUDIT_REFUSE) {
		add_check(d, FAIL, check,
		          aj_printf(&d->arena, "`%s` requires a record of each run, and the audit trail cannot be written",
		                    ask.name),
		          NULL);
		return;
	}
	if (strcmp(loaded.policy.rootfs, "host") != 0 &&
	    aj_find_rootfs(&request.rootfs, loaded.policy.rootfs, d->site.rootfs, &d->arena, &err) < 0) {
		add_check(d, FAIL, check, aj_error_text(&err, text, sizeof text), err.fix);
	} else if (aj_plan_build(&plan, &d->arena, &loaded.policy, &request, &d->host, &err) < 0) {
		add_check(d, FAIL, check,
		          aj_printf(&d->arena, "`%s` cannot be enforced: %s", ask.name, aj_error_text(&err, text, sizeof text)),
		          err.fix);
	} else {
		loaded.policy.enforce = AJ_ENFORCE_STRICT;
		bool full = aj_plan_build(&plan, &d->arena, &loaded.policy, &request, &d->host, &err) == 0;
		add_check(d, full ? OK : PART, check,
		          aj_printf(&d->arena,
		                    full ? "`%s`: enforced in full" : "`%s`: memory and processes are limited by rlimits",
		                    ask.name),
		          full ? NULL : err.fix);
	}
}

/* --- the report --- */

static void print_text(const struct doctor *d)
{
	for (size_t i = 0; i < d->lines.count; i++) {
		const struct line *l = &d->lines.items[i];
		printf("%-4s  %-18s %s\n", mark_names[l->mark], l->check, l->state);
		if (l->fix)
			printf("      %-18s fix: %s\n", "", l->fix);
	}
}

static void print_json(const struct doctor *d, const char *verdict)
{
	json_t *lines = json_array();
	for (size_t i = 0; i < d->lines.count; i++) {
		const struct line *l = &d->lines.items[i];
		json_array_append_new(lines, json_pack("{s:s, s:s, s:s, s:s?}", "check", l->check, "mark", mark_names[l->mark],
		                                       "state", l->state, "fix", l->fix));
	}
	json_t *doc = json_pack("{s:s, s:o}", "verdict", verdict, "checks", lines);
	json_dumpf(doc, stdout, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(doc);
	putchar('\n');
}

static void print_apparmor(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	printf("# Allows agentjail to create user namespaces where AppArmor denies them to ordinary programs (Ubuntu 23.10 and later).\n"
	       "abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile agentjail %s flags=(unconfined) {\n  userns,\n\n"
	       "  include if exists <local/agentjail>\n}\n",
	       n > 0 ? path : "/usr/local/bin/agentjail");
}

static const char usage[] = "Usage: agentjail doctor [--json] [--config FILE]\n"
			    "       agentjail doctor --apparmor\n\n"
			    "Lists what this host can enforce. --apparmor: print the profile that Ubuntu\n"
			    "23.10 and later need.\n\n"
			    "Exit status: 0 the default policies are enforced in full, 1 in part, 125 no jail\n"
			    "can be made.\n";

int aj_cmd_doctor(int argc, char **argv)
{
	struct doctor d = { 0 };
	struct aj_error err = { 0 };
	const char *config = NULL;
	bool json = false;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else if (strcmp(argv[i], "--config") == 0 && argv[i + 1]) {
			config = argv[++i];
		} else if (strcmp(argv[i], "--apparmor") == 0 && argc == 2) {
			print_apparmor();
			return 0;
		} else if (strcmp(argv[i], "--help") == 0) {
			fputs(usage, stdout);
			return 0;
		} else {
			aj_fail(&err, AJ_EXIT_USAGE, "options", 0, "unexpected `%s`", argv[i]);
			aj_advise(&err, "agentjail doctor [--json] [--config FILE] | --apparmor");
			return aj_print_error(&err);
		}
	}
	aj_host_gather(&d.host, &d.arena, NULL, &err);
	check_site(&d, config);
	check_kernel(&d);
	check_user_namespaces(&d);
	check_seccomp(&d);
	check_landlock(&d);
	if (aj_host_in_jail())
		add_check(&d, PART, "in a jail", "this process seems to be in a jail of agentjail's, and jails do not nest",
		          "start both jails from outside");
	check_jails(&d);
	check_cgroup(&d);
	check_identity(&d);
	if (d.site_fits) {
		check_audit(&d);
		check_default_policy(&d, true);
		check_default_policy(&d, false);
	}
	/* The verdict is that of the default policies: a missing feature that they do not demand is no failure. */
	enum mark worst = d.site_fits ? OK : FAIL;
	for (size_t i = 0; i < d.lines.count; i++)
		if (d.lines.items[i].mark > worst &&
		    (d.lines.items[i].mark == FAIL || strncmp(d.lines.items[i].check, "policy of", 9) == 0))
			worst = d.lines.items[i].mark;
	static const char *const verdicts[] = { [OK] = "full", [PART] = "partial", [FAIL] = "broken" };
	if (json)
		print_json(&d, verdicts[worst]);
	else
		print_text(&d);
	aj_arena_free(&d.arena);
	return worst == FAIL ? AJ_EXIT_SETUP : worst == PART ? 1 : 0;
}
