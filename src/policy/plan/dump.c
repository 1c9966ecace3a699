/* The plan as text, for --dry-run and the golden tests.
 * Of variables that may be secrets it prints the names; beside these its output differs between machines where the plan does. */
#include <sched.h>

#include "policy/plan/plan.h"
#include "policy/seccomp/syscalls.h"

static const char *const mount_names[] = {
	[AJ_MOUNT_TMPFS] = "tmpfs",     [AJ_MOUNT_BIND] = "bind", [AJ_MOUNT_PROC] = "proc", [AJ_MOUNT_DEVPTS] = "devpts",
	[AJ_MOUNT_SYMLINK] = "symlink", [AJ_MOUNT_FILE] = "file", [AJ_MOUNT_MASK] = "mask",
};

static const struct {
	unsigned long flag;
	const char *name;
} namespace_names[] = {
	{ CLONE_NEWUSER, "user" }, { CLONE_NEWPID, "pid" }, { CLONE_NEWNS, "mount" },      { CLONE_NEWNET, "net" },
	{ CLONE_NEWIPC, "ipc" },   { CLONE_NEWUTS, "uts" }, { CLONE_NEWCGROUP, "cgroup" },
};

static void dump_mount(const struct aj_mount *m, FILE *out)
{
	fprintf(out, "  %-7s %-22s", mount_names[m->kind], m->target);
	if (m->kind == AJ_MOUNT_TMPFS)
		fprintf(out, " mode=%04o size_bytes=%lu inodes=%lu", m->mode, m->size_bytes, m->inodes);
	else if (m->kind == AJ_MOUNT_BIND || m->kind == AJ_MOUNT_SYMLINK)
		fprintf(out, " <- %s", m->source);
	if (m->kind == AJ_MOUNT_BIND || m->kind == AJ_MOUNT_TMPFS || m->kind == AJ_MOUNT_PROC)
		fprintf(out, " %s,nosuid%s%s%s%s", m->flags & AJ_RO ? "ro" : "rw", m->flags & AJ_DEV ? "" : ",nodev",
		        m->flags & AJ_NOEXEC ? ",noexec" : "", m->flags & AJ_OPTIONAL ? ",if-present" : "",
		        m->flags & AJ_MASK      ? ",mask"
		        : m->flags & AJ_OVERLAY ? ",overlay"
		        : m->flags & AJ_LAYERED ? ",overlay,changes-apart"
		        : m->flags & AJ_COPIED  ? ",copy,changes-apart"
		                                : "");
	if (m->kind == AJ_MOUNT_MASK && (m->flags & AJ_OPTIONAL))
		fprintf(out, " if-present");
	fprintf(out, "  # %s\n", m->why);
}

static int dump_row(const struct aj_syscall *row, void *data)
{
	FILE *out = data;
	fprintf(out, "  %s", row->name);
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		if (row->arg[i].mask)
			fprintf(out, " arg%d&%#lx==%#lx", row->arg[i].index, row->arg[i].mask, row->arg[i].value);
	fprintf(out, *row->why ? "  # %s\n" : "\n", row->why);
	return 0;
}

static int dump_allowed(const struct aj_syscall *row, void *data)
{
	return row->errnum ? 0 : dump_row(row, data);
}

static void dump_denied(uint64_t deny, FILE *out)
{
	for (int i = 0; i < AJ_FILTER_GROUPS; i++) {
		if (!(deny & 1ULL << i))
			continue;
		fprintf(out, "%s: %s\n",
		        1 << i & AJ_ANSWERED          ? "not made, returns 0"
		        : 1 << i == AJ_DENY_CONNECT   ? "reported, and made for the jail if allowed, else refused"
		        : 1 << i == AJ_DENY_PTRACE    ? "denied without process.ptrace"
		        : 1 << i == AJ_BRANCH_STEPS   ? "reported, and passed for a branch"
		        : 1 << i == AJ_TCP_OPTIONS    ? "refused by their options"
		        : 1 << i == AJ_LOCKS_MEDIATED ? "reported, and passed on files that the jail may lock, else refused"
		                                      : "denied in spite of the list",
		        aj_deny_name(1ULL << i));
		aj_syscalls_denied_each(1ULL << i, dump_row, out);
	}
}

static void dump_variable(const struct aj_plan *plan, const char *entry, const char *note, FILE *out)
{
	int shown = (int)strlen(entry);
	for (size_t i = 0; i < plan->unprinted.count; i++)
		if (strncmp(entry, plan->unprinted.items[i], strlen(plan->unprinted.items[i])) == 0)
			shown = (int)strlen(plan->unprinted.items[i]) - 1;
	bool whole = entry[shown] == '\0';
	fprintf(out, "  %.*s%s%s%s\n", shown, entry, *note || !whole ? "  # " : "",
	        whole   ? ""
	        : *note ? "value not shown, "
	                : "value not shown",
	        note);
}

void aj_plan_dump(const struct aj_plan *plan, FILE *out)
{
	fprintf(out, "policy: %s\nnamespaces:", plan->policy_name);
	for (size_t i = 0; i < sizeof namespace_names / sizeof *namespace_names; i++)
		if (plan->namespaces & namespace_names[i].flag)
			fprintf(out, " %s", namespace_names[i].name);
	fprintf(out, "\nidentity: uid %u gid %u inside, %u %u on the host\n", plan->uid, plan->gid, plan->host_uid,
	        plan->host_gid);
	fprintf(out, "network: %s\n", aj_network_name(plan->network));
	for (size_t i = 0; i < plan->allow.count; i++)
		fprintf(out, "  %s\n", plan->allow.items[i]);
	for (size_t i = 0; i < plan->publish.count; i++)
		fprintf(out, "published: %s of the host leads to port %u of the jail\n", plan->publish.items[i].place,
		        plan->publish.items[i].rule.guest_port);
	fprintf(out, "hostname: %s\nchdir: %s\nargv:", plan->hostname, plan->chdir);
	for (char **a = plan->argv; *a; a++)
		fprintf(out, " %s", *a);
	fprintf(out, "\nenv:\n");
	for (char **e = plan->env; *e; e++)
		dump_variable(plan, *e, "", out);
	for (size_t i = 0; i < plan->late_env.count; i++)
		dump_variable(plan, plan->late_env.items[i], "set once the filter stands", out);
	fprintf(out, "mounts:\n");
	for (size_t i = 0; i < plan->mounts.count; i++)
		dump_mount(&plan->mounts.items[i], out);
	if (plan->protect.count)
		fprintf(out, "%s in %s:\n", plan->staged_workspace ? "applied by name alone" : "held", plan->workspace_at);
	for (size_t i = 0; i < plan->protect.count; i++)
		fprintf(out, "  %s\n", plan->protect.items[i]);
	if (plan->workspace_bytes)
		fprintf(out, "%s may grow by %lu bytes\n", plan->workspace_at, plan->workspace_bytes);
	if (plan->workspace_files)
		fprintf(out, "%s may grow by %lu files\n", plan->workspace_at, plan->workspace_files);
	if (plan->quarantine)
		fprintf(out, "renamed at the end: repositories and watched places that the jail made in %s\n",
		        plan->workspace_at);
	fprintf(out, "rlimits:\n");
	for (size_t i = 0; i < plan->rlimits.count; i++) {
		const struct aj_rlimit *r = &plan->rlimits.items[i];
		fprintf(out, "  %s %lu", r->name, r->value);
		if (r->soft)
			fprintf(out, " soft=%lu", r->soft);
		fprintf(out, "  # %s\n", r->why);
	}
	fprintf(out, "cgroup: %s\n", plan->cgroup ? plan->cgroup : "none");
	for (size_t i = 0; i < plan->cgroup_rows.count; i++)
		fprintf(out, "  %s = %s  # %s\n", plan->cgroup_rows.items[i].file, plan->cgroup_rows.items[i].value,
		        plan->cgroup_rows.items[i].why);
	fprintf(out, "supervisor: wall_ms=%lu capture_bytes=%lu output_bytes=%lu result_bytes=%lu\n", plan->wall_ms,
	        plan->capture_bytes, plan->output_bytes, plan->result_bytes);
	if (plan->snippet) {
		fprintf(out, "preload:");
		for (size_t i = 0; i < plan->preload.count; i++)
			fprintf(out, " %s", plan->preload.items[i]);
		fprintf(out, "\n");
	}
	fprintf(out, "enforced:\n");
	for (size_t i = 0; i < plan->enforced.count; i++)
		fprintf(out, "  %s: %s\n", plan->enforced.items[i].wall, plan->enforced.items[i].by);
	fprintf(out, "syscalls: profile %s, %d allowed, the rest refused\n", aj_profile_name(plan->profile),
	        aj_syscalls_allowed(plan->profile, plan->network));
	aj_syscalls_each(plan->profile, plan->network, dump_allowed, out);
	dump_denied(plan->deny, out);
}
