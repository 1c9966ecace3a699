/* A result's statement about each wall (`enforced`): by which means it stands, or why it does not.
 * It builds no wall: every sentence here is read off the plan. */
#include <sched.h>
#include <string.h>

#include "policy/hosts.h"
#include "policy/plan/plan.h"
#include "policy/seccomp/syscalls.h"

static const char *lock_wall(const struct aj_plan *plan)
{
	bool writable = false;
	for (size_t i = 0; i < plan->mounts.count; i++)
		writable = writable || aj_mount_is_shared(&plan->mounts.items[i]);
	return plan->deny & AJ_DENY_LOCKS ? "denied by the policy"
	     : plan->deny & AJ_LOCKS_INSIDE
	         ? "no lock is taken, and each call of fcntl for one returns 0: no other process has the snippet's files; flock fails with ENOSYS"
	     : aj_profile_is_pure(plan->profile)
	         ? "mediated: fcntl's on files of the jail's own and of folders bound writable; EINVAL elsewhere; flock fails with ENOSYS"
	     : writable ? "mediated: on files of the jail's own and of folders bound writable; EINVAL elsewhere"
	                : "mediated: on files of the jail's own; EINVAL elsewhere";
}

static const char *machine_code(const struct aj_plan *plan)
{
	static const char *const by[] = {
		[AJ_PROFILE_SNIPPET] = "only files of the read-only tree, mapped before the snippet begins",
		[AJ_PROFILE_NATIVE] = "only files of the read-only tree, at any time: all other mounts are noexec, and no memory becomes executable",
		[AJ_PROFILE_COMMAND] = "none: process.exec allows any",
	};
	return by[plan->profile];
}

/* The host folders in which FIFOs of the host are in reach; except the snippets' tree, which has none. */
static const char *host_inodes(const struct aj_plan *plan, struct aj_arena *arena)
{
	const char *first = "; the host's FIFOs below ", *list = "";
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (aj_mount_shows_host_inodes(m) && !(aj_profile_is_pure(plan->profile) && strcmp(m->target, "/usr") == 0))
			list = aj_printf(arena, "%s%s%s", list, *list ? ", " : first, m->target);
	}
	return list;
}

static const char *host_loopback(const struct aj_plan *plan, struct aj_arena *arena, const char *net)
{
	const char *separator = "; ";
	for (size_t i = 0; i < plan->allow.count; i++) {
		struct aj_host_rule rule;
		if (aj_host_rule_parse(plan->allow.items[i], &rule) || rule.kind != AJ_HOST_LOOPBACK)
			continue;
		net = aj_printf(arena, "%s%s%s:%u", net, separator, rule.name, rule.port);
		separator = ", ";
	}
	return *separator == ',' ? aj_printf(arena, "%s is that port of the host's own loopback", net) : net;
}

static void protect(struct aj_plan *plan, struct aj_arena *arena)
{
	const char *text = NULL;
	if (plan->staged_workspace)
		text = "no change of the jail's reaches the workspace: "
		       "changes are applied later, and those at protected places by name alone";
	else if (plan->writable_workspace && plan->protect.count)
		text = "read-only mounts over `held` places of the workspace; `watched` places are only reported";
	else if (plan->writable_workspace)
		text = "none: filesystem.protect is empty";
	const struct aj_mount *bind = NULL;
	for (size_t i = 0; i < plan->mounts.count && !bind; i++)
		bind = aj_plan_unheld(plan, &plan->mounts.items[i]) ? &plan->mounts.items[i] : NULL;
	if (bind)
		text = aj_printf(arena, "%s%s`%s` is a writable bind, in which filesystem.protect protects no place",
		                 text ? text : "none", text ? "; " : ": ", bind->target);
	if (text)
		*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){ "protect", text };
}

const char *aj_plan_layer(const struct aj_policy *policy)
{
	return policy->layer ? "on (a rail, not a wall)" : "none: switched off";
}

void aj_plan_enforced(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	const char *net;
	if (plan->network == AJ_NET_ALLOW)
		net = aj_printf(arena,
		                "own namespace; a relay of the supervisor's connects by TCP to what network.allow covers "
		                "(items: %zu); all else is refused and reported, except for UDP and ICMP, which are refused unseen",
		                plan->allow.count);
	else if (plan->namespaces & CLONE_NEWNET)
		net = plan->loopback ? "own namespace, loopback only" : "own namespace, no interface up";
	else
		net = plan->landlock_abi >= 6 ? "none: the policy gives the host's network"
		                              : "none: the policy gives the host's network, its abstract sockets included";
	if (plan->network == AJ_NET_ALLOW)
		net = host_loopback(plan, arena, net);
	if (plan->network == AJ_NET_ALLOW && policy->ask)
		net = aj_printf(arena,
		                "%s; a name that is not on the list is connected to only after an answer that allows it, "
		                "and no list of ports restricts the relay",
		                net);
	for (size_t i = 0; i < plan->publish.count; i++)
		net = aj_printf(arena, "%s%s%s to port %u of the jail", net,
		                i ? ", " : "; published for clients of the host: ", plan->publish.items[i].place,
		                plan->publish.items[i].rule.guest_port);
	static const char *const workspaces[] = {
		"",
		", read-only workspace",
		", overlay over the workspace, whose changes are kept apart",
		", copy of the workspace, whose changes are kept apart",
		", writable workspace",
	};
	bool host_programs = strcmp(policy->rootfs, "host") == 0;
	const char *tree = host_programs ? "read-only host /usr, private tmpfs" : "read-only rootfs, private tmpfs";
	const char *filter = aj_printf(arena, "allow-list `%s`", aj_profile_name(plan->profile));
	for (int i = 0; i < AJ_DENY_GROUPS; i++)
		if (plan->deny & 1ULL << i)
			filter = aj_printf(arena, "%s%s %s", filter, plan->deny & ((1ULL << i) - 1) ? "" : ", without",
			                   aj_deny_name(1ULL << i));
	if (plan->profile == AJ_PROFILE_COMMAND && !(plan->deny & AJ_DENY_PTRACE))
		filter = aj_printf(arena, "%s; its processes may trace one another", filter);
	const struct aj_enforced rows[] = {
		{ "namespaces",
		  aj_printf(arena, "user pid mount ipc uts%s%s", plan->zygote ? "; no cgroup namespace can be made" : " cgroup",
		            plan->branching ? "; a branch has its own user and mount, and shares the rest" : "") },
		{ "inherited",
		  "real-time classes, nice and oom_score_adj below 0, personality and session keyring are reset; nice above 0 stays" },
		{ "network", net },
		{ "filesystem", aj_printf(arena, "%s%s%s", tree, workspaces[policy->workspace], host_inodes(plan, arena)) },
		{ "capabilities", "all sets empty, no_new_privs" },
		{ "seccomp", filter },
		{ "landlock", !plan->landlock_abi ? "none: this kernel has no Landlock"
		              : plan->branching
		                  ? aj_printf(arena, "ABI %d; the mounts alone decide where the jail may write, for branching",
		                              plan->landlock_abi)
		                  : aj_printf(arena, "ABI %d", plan->landlock_abi) },
		{ AJ_LOCKS, lock_wall(plan) },
		{ AJ_PYTHON_LAYER, plan->snippet ? aj_plan_layer(policy) : "none: not a snippet" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		*AJ_PUSH(arena, &plan->enforced) = rows[i];
	if (plan->snippet)
		*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){ "machine_code", machine_code(plan) };
	static const char *const escapes[] = { "no control sequence passes",
		                               "control sequences that act on more than picture, title and progress are left out",
		                               "every control sequence passes" };
	if (plan->terminal)
		*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){
			"terminal", aj_printf(arena, "one of its own, relayed; %s", escapes[plan->escapes])
		};
	protect(plan, arena);
}

/* Who enforces this wall, as `enforced` says it; NULL: there is no such row. */
static const char *enforcer(const struct aj_plan *plan, const char *wall)
{
	for (size_t i = 0; i < plan->enforced.count; i++)
		if (strcmp(plan->enforced.items[i].wall, wall) == 0)
			return plan->enforced.items[i].by;
	return NULL;
}

const char *aj_plan_unenforced(const struct aj_plan *plan, const char *key, const char *option, const char *value,
                               struct aj_arena *arena)
{
	static const struct {
		const char *key, *wall;
	} rows[] = { { "limits.memory", "memory" }, { "limits.pids", "pids" }, { "limits.cpu_percent", "cpu" } };
	static const char nobody[] = "none: ";
	for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
		bool asked = strcmp(key, rows[r].key) == 0 && strcmp(value, "none") != 0;
		const char *by = asked ? enforcer(plan, rows[r].wall) : NULL;
		if (by && strncmp(by, nobody, strlen(nobody)) == 0)
			return aj_printf(arena, "%s %s is not enforced: %s", option, value, by + strlen(nobody));
		if (by && strstr(by, AJ_MORE_THAN_ASKED))
			return aj_printf(arena, "%s %s is enforced by %s", option, value, by);
	}
	return NULL;
}
