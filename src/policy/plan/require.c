/* Checks the walls that a policy requires, before anything is created.
 * It reads the plan, the policy and the host's facts only, and accepts no wall in place of another. */
#include <string.h>

#include "policy/plan/plan.h"

int aj_plan_publishable(const struct aj_policy *policy, bool snippet, struct aj_error *err)
{
	if (!policy->publish.count || !snippet)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "publish", 0, "network.publish is for commands, and this is a snippet");
	aj_advise(err, "start the server with `agentjail run`, or remove network.publish");
	return -1;
}

struct asked {
	const struct aj_plan *plan;
	const struct aj_policy *policy;
	const struct aj_host *host;
};

/* Each check returns the objection, or NULL; `ret_fix` gets the remedy. AJ_EXIT_USAGE: no host could satisfy the requirement. */
typedef const char *check_fn(const struct asked *a, int *ret_exit_code, const char **ret_fix);

static const char *landlock(const struct asked *a, int *ret_exit_code, const char **ret_fix)
{
	(void)ret_exit_code;
	*ret_fix = "use a kernel with Landlock (Linux 5.13 or newer) that has Landlock enabled (lsm=landlock,...)";
	return a->plan->landlock_abi ? NULL : "this kernel has no Landlock, or Landlock is not enabled";
}

static const char *in_a_group(const struct asked *a, bool limited, unsigned controller, const char *unlimited, int *ret_exit_code,
                              const char **ret_fix)
{
	if (!limited) {
		*ret_exit_code = AJ_EXIT_USAGE;
		*ret_fix = "set that limit, or remove the wall from require.walls";
		return unlimited;
	}
	*ret_fix = "run below a delegated cgroup (systemd-run --user --scope -p Delegate=yes agentjail ...), "
		   "or name a cgroup with --cgroup DIR";
	if (a->host->cgroup && (a->host->cgroup_controllers & controller))
		return NULL;
	return a->host->cgroup_why ? a->host->cgroup_why : "the cgroup lacks that controller";
}

static const char *memory_cgroup(const struct asked *a, int *ret_exit_code, const char **ret_fix)
{
	return in_a_group(a, a->policy->memory_bytes != 0, AJ_CGROUP_MEMORY,
	                  "the policy sets no memory limit that a cgroup could enforce", ret_exit_code, ret_fix);
}

static const char *pids_cgroup(const struct asked *a, int *ret_exit_code, const char **ret_fix)
{
	return in_a_group(a, a->policy->pids != 0, AJ_CGROUP_PIDS,
	                  "the policy sets no limit on processes that a cgroup could enforce", ret_exit_code, ret_fix);
}

static const char *network(const struct asked *a, int *ret_exit_code, const char **ret_fix)
{
	*ret_exit_code = AJ_EXIT_USAGE;
	*ret_fix = "use --network none or --network loopback";
	return a->plan->network != AJ_NET_HOST ? NULL : "with the host's network no wall separates the jail from the network";
}

static const char *python_layer(const struct asked *a, int *ret_exit_code, const char **ret_fix)
{
	*ret_exit_code = AJ_EXIT_USAGE;
	*ret_fix = a->plan->snippet ? "leave the Python layer on" : "run a snippet, or another policy";
	return !a->plan->snippet ? "a command has no Python layer" : a->policy->layer ? NULL : "the Python layer is switched off";
}

static const struct {
	uint64_t wall; /* one AJ_WALL_* bit */
	const char *name;
	check_fn *check;
} walls[] = {
	{ AJ_WALL_LANDLOCK, "landlock", landlock },
	{ AJ_WALL_MEMORY_CGROUP, "memory-cgroup", memory_cgroup },
	{ AJ_WALL_PIDS_CGROUP, "pids-cgroup", pids_cgroup },
	{ AJ_WALL_NETWORK, "network", network },
	{ AJ_WALL_PYTHON_LAYER, "python-layer", python_layer },
};

int aj_plan_require(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_host *host, struct aj_error *err)
{
	const struct asked asked = { plan, policy, host };
	uint64_t known = 0;
	for (size_t i = 0; i < sizeof walls / sizeof *walls; i++) {
		int exit_code = AJ_EXIT_SETUP;
		const char *fix = "", *wrong;
		known |= walls[i].wall;
		if (!(policy->require & walls[i].wall) || !(wrong = walls[i].check(&asked, &exit_code, &fix)))
			continue;
		aj_fail(err, exit_code, "require", 0, "require.walls = \"%s\": %s", walls[i].name, wrong);
		aj_advise(err, "%s", fix);
		return -1;
	}
	if (policy->require & ~known)
		return aj_fail(err, AJ_EXIT_SETUP, "require", 0, "the policy requires a wall that agentjail does not know");
	return 0;
}
