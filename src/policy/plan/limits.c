/* Limits as rows: cgroup files where there is a cgroup, rlimits in any case, and the enforcer of each limit.
 * It writes nothing; a limit without an enforcer is an error unless the policy says best effort. */
#include <string.h>
#include <sys/resource.h>

#include "policy/plan/plan.h"

enum { CPU_PERIOD_US = 100000 };
/* The stack limit that compilers ask for; and the usual one, which C libraries use for each thread's stack too. */
enum { STACK_BYTES = 64 << 20, STACK_USUAL_BYTES = 8 << 20 };

static void rlimit(struct aj_plan *plan, struct aj_arena *arena, const char *name, int resource, uint64_t value, const char *why)
{
	*AJ_PUSH(arena, &plan->rlimits) = (struct aj_rlimit){ .name = name, .resource = resource, .value = value, .why = why };
}

static void cgroup_row(struct aj_plan *plan, struct aj_arena *arena, const char *file, const char *value, const char *why)
{
	*AJ_PUSH(arena, &plan->cgroup_rows) = (struct aj_cgroup_row){ file, value, why };
}

static void add_enforced(struct aj_plan *plan, struct aj_arena *arena, const char *wall, const char *by)
{
	*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){ wall, by };
}

static void with_cgroup(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host)
{
	if (policy->memory_bytes && (host->cgroup_controllers & AJ_CGROUP_MEMORY)) {
		cgroup_row(plan, arena, "memory.max", aj_printf(arena, "%lu", policy->memory_bytes), "the limit");
		cgroup_row(plan, arena, "memory.swap.max", "0", "no memory beyond the limit in swap");
		cgroup_row(plan, arena, "memory.oom.group", "1", "all processes of the jail end together");
	}
	if (policy->pids && (host->cgroup_controllers & AJ_CGROUP_PIDS))
		cgroup_row(plan, arena, "pids.max", aj_printf(arena, "%lu", policy->pids + !plan->zygote),
		           plan->zygote ? "the guest's processes; the jail's init is in another leaf"
		                        : "one more for the jail's init");
	if (policy->cpu_percent && (host->cgroup_controllers & AJ_CGROUP_CPU))
		cgroup_row(plan, arena, "cpu.max",
		           aj_printf(arena, "%lu %d", policy->cpu_percent * (CPU_PERIOD_US / 100), CPU_PERIOD_US),
		           "microseconds of processor time, and of the period");
}

static bool has_controller(const struct aj_host *host, unsigned controller)
{
	return host->cgroup && (host->cgroup_controllers & controller);
}

unsigned aj_plan_processors(const struct aj_policy *policy, const struct aj_host *host)
{
	uint64_t whole = (policy->cpu_percent + 99) / 100;
	return policy->cpu_percent && whole < host->processors ? (unsigned)whole : host->processors;
}

/* Without a cpu cgroup the limit is an affinity to whole processors, which is less exact. */
static const char *by_affinity(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                               const struct aj_host *host)
{
	unsigned processors = aj_plan_processors(policy, host), all = host->processors;
	bool exact = policy->cpu_percent >= 100 * (uint64_t)processors;
	if (processors == all)
		return exact && all ? aj_printf(arena, "not needed: the host has only %u processors (no cpu cgroup)", all)
		                    : "none: no cpu cgroup, so the jail may use every processor";
	plan->processors = processors;
	plan->deny |= plan->profile == AJ_PROFILE_COMMAND ? AJ_DENY_AFFINITY : 0; /* not on a snippet's allow-list */
	const char *more = exact ? "" : AJ_MORE_THAN_ASKED;
	return aj_printf(arena, "affinity to %u of %u processors (no cpu cgroup)%s", processors, all, more);
}

bool aj_plan_lacks_cgroup(const struct aj_policy *policy, const struct aj_host *host)
{
	bool strict = policy->enforce == AJ_ENFORCE_STRICT;
	bool memory = strict || (policy->require & AJ_WALL_MEMORY_CGROUP);
	bool pids = strict || (policy->require & AJ_WALL_PIDS_CGROUP);
	return (policy->memory_bytes && memory && !has_controller(host, AJ_CGROUP_MEMORY)) ||
	       (policy->pids && pids && !has_controller(host, AJ_CGROUP_PIDS)) ||
	       (policy->cpu_percent && strict && !has_controller(host, AJ_CGROUP_CPU));
}

/* Limits of memory, processes and CPU share: they require a cgroup, or are exact only with one. */
static int shared_limits(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host,
                         struct aj_error *err)
{
	bool memory_group = has_controller(host, AJ_CGROUP_MEMORY), pids_group = has_controller(host, AJ_CGROUP_PIDS),
	     cpu_group = has_controller(host, AJ_CGROUP_CPU);
	bool strict = policy->enforce == AJ_ENFORCE_STRICT;
	bool refused = strict && ((policy->memory_bytes && !memory_group) || (policy->pids && !pids_group));
	bool refused_cpu = strict && policy->cpu_percent && !cpu_group;
	if ((refused || refused_cpu) && !plan->inspect) {
		aj_fail(err, AJ_EXIT_SETUP, "limits", 0, "the policy needs a cgroup for %s, but %s",
		        refused ? "memory and process limits" : "the share of processors (limits.cpu_percent)",
		        host->cgroup_why ? host->cgroup_why : "the cgroup lacks these controllers");
		aj_advise(err,
		          "run below a delegated cgroup (systemd-run --user --scope -p Delegate=yes agentjail ...), name a cgroup "
		          "with --cgroup DIR, or allow rlimits instead (limits best-effort)");
		return -1;
	}
	if (policy->pids && !pids_group && plan->host_uid == 0 && host->init_root && !plan->inspect) {
		aj_fail(err, AJ_EXIT_SETUP, "limits", 0,
		        "the jail would run as host id 0, which RLIMIT_NPROC does not limit, and the host has no "
		        "pids cgroup");
		aj_advise(err, "run as an ordinary user, or as root with CAP_SETUID and CAP_SETGID");
		return -1;
	}
	if (host->cgroup) {
		plan->cgroup = host->cgroup;
		with_cgroup(plan, arena, policy, host);
	}
	plan->memory_by_rlimit = policy->memory_bytes && !memory_group;
	if (plan->memory_by_rlimit && plan->snippet) {
		rlimit(plan, arena, "RLIMIT_AS", RLIMIT_AS, policy->memory_bytes,
		       "no memory cgroup: address space of the one process");
	} else if (plan->memory_by_rlimit) {
		rlimit(plan, arena, "RLIMIT_DATA", RLIMIT_DATA, policy->memory_bytes,
		       "no memory cgroup: private memory of each process");
		rlimit(plan, arena, "RLIMIT_STACK", RLIMIT_STACK, STACK_BYTES, "the stack, which RLIMIT_DATA does not count");
		plan->rlimits.items[plan->rlimits.count - 1].soft = STACK_USUAL_BYTES;
	}
	add_enforced(plan, arena, "memory",
	             !policy->memory_bytes ? "none: the policy sets no limit"
	             : memory_group        ? "cgroup v2 memory.max"
	             : refused             ? "none: strict limits need a memory cgroup, so a run would be refused here"
	             : plan->snippet
	                 ? (aj_profile_is_pure(plan->profile) ? "rlimit RLIMIT_AS (no memory cgroup)"
	                                                      : "rlimit RLIMIT_AS for each process (no memory cgroup)")
	                 : "rlimit RLIMIT_DATA for the private memory of each process; shared memory is not bounded (no memory cgroup)");
	if (policy->cpu_percent)
		add_enforced(plan, arena, "cpu",
		             cpu_group     ? "cgroup v2 cpu.max"
		             : refused_cpu ? "none: strict limits need a cpu cgroup, so a run would be refused here"
		                           : by_affinity(plan, arena, policy, host));
	/* The rlimit is higher than pids.max, which must be hit first: the kernel does not count refusals by the rlimit. */
	plan->pids_by_rlimit = policy->pids && !pids_group;
	if (policy->pids)
		rlimit(plan, arena, "RLIMIT_NPROC", RLIMIT_NPROC, policy->pids + 1 + pids_group,
		       pids_group ? "above pids.max, which counts refusals"
		                  : "counted in this user namespace; one more for the jail's init");
	add_enforced(plan, arena, "pids",
	             !policy->pids ? "none: the policy sets no limit"
	             : pids_group  ? "cgroup v2 pids.max"
	             : refused     ? "none: strict limits need a pids cgroup, so a run would be refused here"
	                           : "rlimit RLIMIT_NPROC (no pids cgroup)");
	return 0;
}

/* The supervisor measures now and then; the rlimit keeps a single file from filling the disk meanwhile. */
static void workspace_limits(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	uint64_t file_bytes = policy->file_bytes;
	bool writable = plan->writable_workspace || plan->staged_workspace;
	bool staged = plan->staged_workspace || plan->staged_repository;
	plan->workspace_bytes = writable ? policy->workspace_bytes : 0;
	plan->workspace_files = writable ? policy->workspace_files : 0;
	plan->git_bytes = staged ? policy->git_bytes : 0;
	plan->git_objects = staged ? policy->git_objects : 0;
	plan->git_ms = staged ? policy->git_ms : 0;
	if (plan->workspace_bytes && (!file_bytes || plan->workspace_bytes < file_bytes))
		file_bytes = plan->workspace_bytes;
	if (file_bytes)
		rlimit(plan, arena, "RLIMIT_FSIZE", RLIMIT_FSIZE, file_bytes, "largest file");
	if (!writable)
		return;
	add_enforced(plan, arena, "workspace_size",
	             !plan->workspace_bytes && !plan->workspace_files
	                 ? "none: no limit asked for"
	                 : aj_printf(arena,
	                             "supervisor: growth measured every %d s, at most %d entries a second (a service: %d)%s; no project quota",
	                             AJ_GROWTH_PASS_S, AJ_GROWTH_ENTRIES_S, AJ_GROWTH_ENTRIES_S / 4,
	                             plan->workspace_bytes ? ", and rlimit RLIMIT_FSIZE for each file" : ""));
}

int aj_plan_limits(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host,
                   struct aj_error *err)
{
	if (shared_limits(plan, arena, policy, host, err) < 0)
		return -1;
	if (policy->cpu_ms)
		rlimit(plan, arena, "RLIMIT_CPU", RLIMIT_CPU, (policy->cpu_ms + 999) / 1000 + 1,
		       "whole seconds, rounded up, so that the wall clock decides first");
	rlimit(plan, arena, "RLIMIT_NOFILE", RLIMIT_NOFILE, policy->open_files, "open files");
	workspace_limits(plan, arena, policy);
	/* 1, not 0: with 0 the kernel still starts a core_pattern pipe on the host, with 1 it refuses. */
	rlimit(plan, arena, "RLIMIT_CORE", RLIMIT_CORE, 1, "no core dump, no core handler on the host");
	rlimit(plan, arena, "RLIMIT_MEMLOCK", RLIMIT_MEMLOCK, 65536, "no pinned memory");
	rlimit(plan, arena, "RLIMIT_MSGQUEUE", RLIMIT_MSGQUEUE, 819200, "POSIX queues");
	rlimit(plan, arena, "RLIMIT_SIGPENDING", RLIMIT_SIGPENDING, plan->snippet ? 64 : 1024,
	       "queued signals, which the kernel counts for the caller too");
	rlimit(plan, arena, "RLIMIT_NICE", RLIMIT_NICE, 0, "no higher priority");
	rlimit(plan, arena, "RLIMIT_RTPRIO", RLIMIT_RTPRIO, 0, "no real-time priority");
	plan->wall_ms = policy->wall_ms;
	plan->memory_bytes = policy->memory_bytes;
	plan->capture_bytes = policy->capture_bytes;
	plan->output_bytes = policy->output_bytes;
	plan->result_bytes = policy->result_bytes;
	add_enforced(plan, arena, "wall_clock", policy->wall_ms ? "supervisor" : "none: the policy sets no limit");
	add_enforced(plan, arena, "cpu_time", policy->cpu_ms ? "rlimit RLIMIT_CPU" : "none: the policy sets no limit");
	return 0;
}
