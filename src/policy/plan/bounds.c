/* Bounds of a zygote itself, which imports foreign packages before any jail exists: rows for its own leaf, and its rlimits.
 * It writes nothing, and bounds nothing that the policy leaves unbounded for jails. */
#include <sys/resource.h>

#include "policy/plan/plan.h"

/* Added to the policy's bounds for a jail, which has the same modules: memory, and a few helpers and threads that packages start
 * on import. */
enum { MARGIN_BYTES = 256 << 20, OWN_PIDS = 64 };
/* Where RLIMIT_NPROC is the only bound, it counts a zygote's jails too: this many jails may use their full allowance. */
enum { JAILS = 64 };
enum { MIB = 1 << 20 };

static void add_row(struct aj_plan *plan, struct aj_arena *arena, const char *file, const char *value, const char *why)
{
	*AJ_PUSH(arena, &plan->zygote_rows) = (struct aj_cgroup_row){ file, value, why };
}

static const char *memory(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, bool group)
{
	uint64_t bytes = policy->memory_bytes + MARGIN_BYTES;
	if (!policy->memory_bytes)
		return "memory is not bounded, as the policy sets no limit";
	if (!group) {
		*AJ_PUSH(arena, &plan->zygote_rlimits) = (struct aj_rlimit){
			.name = "RLIMIT_AS", .resource = RLIMIT_AS, .value = bytes, .why = "no memory cgroup: each process"
		};
		return aj_printf(arena, "RLIMIT_AS %lu MiB for each process (no memory cgroup)", bytes / MIB);
	}
	plan->zygote_memory_bytes = bytes;
	add_row(plan, arena, "memory.max", aj_printf(arena, "%lu", aj_zygote_memory(plan, AJ_ZYGOTE_JAILS_STEP)), "the limit");
	add_row(plan, arena, "memory.swap.max", "0", "no memory beyond the limit in swap");
	add_row(plan, arena, "memory.oom.group", "1", "all processes of the zygote end together");
	return aj_printf(arena, "cgroup v2 memory.max %lu MiB", bytes / MIB);
}

static const char *processes(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, bool group)
{
	uint64_t jails = OWN_PIDS + JAILS * (policy->pids + 2);
	if (!policy->pids)
		return "processes are not bounded, as the policy sets no limit";
	if (!group) {
		*AJ_PUSH(arena, &plan->zygote_rlimits) = (struct aj_rlimit){
			.name = "RLIMIT_NPROC", .resource = RLIMIT_NPROC, .value = jails, .why = "no pids cgroup"
		};
		return aj_printf(arena, "RLIMIT_NPROC %lu together with its jails (no pids cgroup)", jails);
	}
	plan->zygote_pids = OWN_PIDS;
	add_row(plan, arena, "pids.max", aj_printf(arena, "%lu", aj_zygote_pids(plan, AJ_ZYGOTE_JAILS_STEP)), "the limit");
	return aj_printf(arena, "pids.max %d", OWN_PIDS);
}

uint64_t aj_zygote_memory(const struct aj_plan *plan, uint64_t jails)
{
	enum { JAIL_BYTES = 8 << 20 };
	return plan->zygote_memory_bytes + jails * JAIL_BYTES;
}

uint64_t aj_zygote_pids(const struct aj_plan *plan, uint64_t jails)
{
	enum { JAIL_PIDS = 4 };
	return plan->zygote_pids + jails * JAIL_PIDS;
}

void aj_plan_bound_zygote(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                          const struct aj_host *host)
{
	unsigned has = plan->cgroup ? host->cgroup_controllers : 0;
	const char *by_memory = memory(plan, arena, policy, has & AJ_CGROUP_MEMORY);
	const char *by_processes = processes(plan, arena, policy, has & AJ_CGROUP_PIDS);
	*AJ_PUSH(arena, &plan->zygote_rlimits) = (struct aj_rlimit){
		.name = "RLIMIT_CORE", .resource = RLIMIT_CORE, .value = 1, .why = "no core dump, no core handler on the host"
	};
	*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){
		"zygote",
		aj_printf(arena, "%s; %s; a deadline for its imports; its processor time is not bounded", by_memory, by_processes)
	};
}
