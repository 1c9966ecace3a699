/* Policy + request + host = plan; aj_plan_build() reads as a table of contents.
 * Pure: the same three inputs always give the same plan, which is what the golden tests compare. */
#include <sched.h>
#include <string.h>

#include "base/path.h"
#include "base/text.h"
#include "policy/env.h"
#include "policy/plan/plan.h"

enum { NOBODY = 65534 };

/* Is this policy meant for such a request? */
static int fits(const struct aj_policy *policy, const struct aj_request *request, struct aj_error *err)
{
	bool host_programs = strcmp(policy->rootfs, "host") == 0;
	if (request->is_snippet && host_programs) {
		aj_fail(err, AJ_EXIT_USAGE, "rootfs", 0,
		        "policy `%s` shows the host's /usr, which contains no runner for snippets", policy->name);
		aj_advise(err, "use `agentjail run`, or another policy");
	} else if (host_programs && request->rootfs && !request->inspect) {
		aj_fail(err, AJ_EXIT_USAGE, "rootfs", 0,
		        "policy `%s` shows the host's /usr (filesystem.rootfs = \"host\"), so the tree `%s` would not be used",
		        policy->name, request->rootfs);
		aj_advise(err,
		          "omit --rootfs, or set filesystem.rootfs to the name of a tree, in a policy file that extends this policy");
	} else if (request->is_snippet && policy->ptrace && !request->inspect) {
		aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0,
		                "policy `%s` allows tracing (process.ptrace = true), which snippets do not support",
		                policy->name);
		aj_advise(err, "use `agentjail run`, or a policy without process.ptrace");
	} else if (!request->is_snippet && !policy->exec) {
		aj_fail_because(err, AJ_REASON_POLICY, AJ_EXIT_USAGE, "policy", 0,
		                "policy `%s` is for snippets (process.exec = false): it cannot start a command", policy->name);
		aj_advise(err, "use `agentjail exec`, or another policy");
	} else if (!host_programs && !request->rootfs && !request->inspect) {
		aj_fail(err, AJ_EXIT_SETUP, "rootfs", 0,
		        "policy `%s` needs the Python tree `%s`, and no folder is named for that tree", policy->name,
		        policy->rootfs);
		aj_advise(err, "build the tree with `make rootfs`, or name a folder with --rootfs DIR");
	} else if (policy->uid == 0 || policy->uid >= NOBODY) {
		aj_fail(err, AJ_EXIT_USAGE, "identity", 0, "policy `%s` sets uid %lu in the jail: allowed are 1 to 65533",
		        policy->name, policy->uid);
	}
	return err->exit_code ? -1 : 0;
}

static void identity(struct aj_plan *plan, const struct aj_policy *policy, const struct aj_host *host)
{
	plan->uid = (uid_t)policy->uid;
	plan->gid = (gid_t)policy->uid;
	plan->host_uid = host->uid;
	plan->host_gid = host->gid;
	/* Root's own id must not be mapped: the jail could open root's files, and RLIMIT_NPROC does not bind root. */
	if (host->uid == 0 && host->may_map_ids)
		plan->host_uid = plan->host_gid = NOBODY;
}

/* Give the jail a host id of its own, if there is one, unless it writes host folders, whose files the next jail must own, too. */
static void own_identity(struct aj_plan *plan, struct aj_arena *arena, const struct aj_request *request,
                         const struct aj_host *host)
{
	bool shared = request->changes_read; /* what an earlier jail wrote there */
	for (size_t i = 0; i < plan->mounts.count; i++)
		shared |= aj_mount_is_shared(&plan->mounts.items[i]);
	bool nobody = plan->host_uid == NOBODY && host->uid == 0, own = nobody && host->own_id && !shared;
	if (own)
		plan->host_uid = plan->host_gid = host->own_id;
	const char *whose = own && request->lasting ? "the jails' of one tenant and policy"
	                  : own                     ? "this jail's alone"
	                  : !nobody                 ? "shared: the caller's own"
	                  : !host->own_id           ? "shared by all jails of root: the site gives no range (identity.uids)"
	                                            : "shared by all jails of root that write to folders of the host";
	const char *by = aj_printf(arena, "host id %u, %s", plan->host_uid, whose);
	*AJ_PUSH(arena, &plan->enforced) = (struct aj_enforced){ "identity", by };
}

static void namespaces(struct aj_plan *plan, const struct aj_policy *policy)
{
	plan->namespaces = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	if (policy->network != AJ_NET_HOST)
		plan->namespaces |= CLONE_NEWNET;
	/* A zygote's jails are the supervisor's children, and each has its own PID namespace; they are born into cgroups that are
	 * not below the zygote's. */
	if (plan->zygote)
		plan->namespaces &= ~(unsigned long)(CLONE_NEWPID | CLONE_NEWCGROUP);
	plan->loopback = policy->network == AJ_NET_LOOPBACK || policy->network == AJ_NET_ALLOW;
	plan->hostname = "jail";
}

static void publish(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	char place[AJ_PUBLISH_TEXT];
	for (size_t i = 0; i < policy->publish.count; i++) {
		struct aj_published one;
		if (aj_publish_rule_parse(policy->publish.items[i], &one.rule)) /* it was checked when it was loaded */
			continue;
		aj_publish_rule_place(&one.rule, place);
		one.place = aj_strdup(arena, place);
		*AJ_PUSH(arena, &plan->publish) = one;
	}
}

/* Of two settings of a variable the last one wins, as in a shell. */
static void set_env(struct aj_plan *plan, struct aj_arena *arena, const char *const *defaults, const char *const *more,
                    size_t more_count)
{
	size_t count = 0;
	while (defaults[count])
		count++;
	plan->env = aj_alloc(arena, (count + more_count + 1) * sizeof(char *));
	size_t used = 0;
	for (size_t i = 0; i < count + more_count; i++) {
		const char *entry = i < count ? defaults[i] : more[i - count];
		size_t name_bytes = (size_t)(strchr(entry, '=') - entry) + 1;
		size_t at = 0;
		while (at < used && strncmp(plan->env[at], entry, name_bytes) != 0)
			at++;
		plan->env[at] = aj_strdup(arena, entry);
		used += at == used;
	}
}

static void hide_value(struct aj_plan *plan, struct aj_arena *arena, const char *entry)
{
	*AJ_PUSH(arena, &plan->unprinted) = aj_strndup(arena, entry, strcspn(entry, "=") + 1);
}

static void command_line(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                         const struct aj_request *request, const struct aj_host *host)
{
	/* The preloaded runner starts before Python's main(); threads of numerical libraries would only compete for the few cores
	 * and for RLIMIT_AS. */
	static const char *const python_env[] = { "LD_PRELOAD=/usr/lib/agentjail/guest.so",
		                                  "PATH=/usr/bin",
		                                  "HOME=/tmp",
		                                  "LC_CTYPE=C.UTF-8",
		                                  "OPENBLAS_NUM_THREADS=1",
		                                  "OMP_NUM_THREADS=1",
		                                  NULL };
	static const char *const command_env[] = { "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		                                   "HOME=/tmp",
		                                   "USER=agent",
		                                   "LANG=C.UTF-8",
		                                   "TMPDIR=/tmp",
		                                   AJ_JAIL_SETTING,
		                                   NULL };
	static char *python_argv[] = { "/usr/bin/python3", NULL }, *any_argv[] = { "COMMAND", NULL };
	plan->argv = request->is_snippet ? python_argv : request->command.argv ? request->command.argv : any_argv;
	AJ_LIST(const char *) asked = { 0 }; /* the caller's after the policy's: the last one wins */
	/* Programs that count the host's processors would start too many threads. MAKEFLAGS and other variables that make a
	 * serial program parallel are left out. OpenBLAS, MKL and `nproc` read OpenMP's variable. */
	static const char *const parallel[] = { "OMP_NUM_THREADS",                          /* OpenMP */
		                                "GOMAXPROCS",                               /* Go */
		                                "RAYON_NUM_THREADS",    "CARGO_BUILD_JOBS", /* Rust */
		                                "UV_CONCURRENT_BUILDS", "UV_CONCURRENT_INSTALLS",
		                                "PYTHON_CPU_COUNT" /* os.cpu_count(), from Python 3.13 on */ };
	/* Other worktrees are not shown: git would consider them deleted, and prune the objects that only they refer to. */
	static const char *const keep[] = { "GIT_CONFIG_COUNT=3",       "GIT_CONFIG_KEY_0=gc.auto",
		                            "GIT_CONFIG_VALUE_0=0",     "GIT_CONFIG_KEY_1=maintenance.auto",
		                            "GIT_CONFIG_VALUE_1=false", "GIT_CONFIG_KEY_2=gc.worktreePruneExpire",
		                            "GIT_CONFIG_VALUE_2=never" };
	/* By default npm retries for 72 s, pip and cargo for 10 s. */
	static const char *const no_retries[] = { "npm_config_fetch_retries=0", "PIP_RETRIES=0", "CARGO_NET_RETRY=0",
		                                  "UV_HTTP_RETRIES=0" };
	bool offline = !request->is_snippet && plan->network < AJ_NET_ALLOW;
	for (size_t i = 0; offline && i < sizeof no_retries / sizeof *no_retries; i++)
		*AJ_PUSH(arena, &asked) = no_retries[i];
	if (!request->is_snippet && plan->home_source)
		*AJ_PUSH(arena, &asked) = aj_printf(arena, "HOME=%s", plan->home);
	if (!request->is_snippet && request->command.path)
		*AJ_PUSH(arena, &asked) = aj_printf(arena, "PATH=%s", request->command.path);
	unsigned processors = aj_plan_processors(policy, host);
	for (size_t i = 0; !request->is_snippet && processors < host->processors && i < sizeof parallel / sizeof *parallel; i++)
		*AJ_PUSH(arena, &asked) = aj_printf(arena, "%s=%u", parallel[i], processors);
	for (size_t i = 0; i < request->tool_env.count; i++)
		*AJ_PUSH(arena, &asked) = request->tool_env.items[i];
	for (size_t i = 0; i < request->command.terminal_env.count; i++) /* the tree `host` has the caller's locales */
		if (strcmp(policy->rootfs, "host") == 0 || request->command.terminal_env.items[i][0] != 'L')
			*AJ_PUSH(arena, &asked) = request->command.terminal_env.items[i];
	for (size_t i = 0; (plan->main_repository || plan->staged_repository) && i < sizeof keep / sizeof *keep; i++)
		*AJ_PUSH(arena, &asked) = keep[i];
	for (size_t i = 0; i < policy->env.count; i++) {
		*AJ_PUSH(arena, &asked) = policy->env.items[i];
		if (aj_env_secret(policy->env.items[i]))
			hide_value(plan, arena, policy->env.items[i]);
	}
	/* --env NAME passes a variable of our own environment on, which may be a secret. */
	for (size_t i = 0; i < request->env.count; i++) {
		*AJ_PUSH(arena, &asked) = request->env.items[i];
		hide_value(plan, arena, request->env.items[i]);
	}
	if (request->is_snippet) {
		bool seeded = strcmp(policy->hash_seed, "random") != 0;
		/* joblib would warn that it can make no semaphores, and Polars would run code of its own to ask for the
		 * processor's features. */
		const char *start[] = { "JOBLIB_MULTIPROCESSING=0", "POLARS_SKIP_CPU_CHECK=1",
			                aj_printf(arena, "PYTHONHASHSEED=%s", policy->hash_seed) };
		size_t first = policy->python_env_site ? 0 : 2;
		set_env(plan, arena, python_env, start + first, 2 - first + seeded);
		for (size_t i = 0; i < asked.count; i++)
			*AJ_PUSH(arena, &plan->late_env) = asked.items[i];
	} else {
		set_env(plan, arena, command_env, asked.items, asked.count);
	}
	plan->chdir = request->command.chdir ? request->command.chdir : plan->workspace_at ? plan->workspace_at : "/tmp";
	plan->control_fd = request->is_snippet;
	plan->capture = request->capture || request->is_snippet;
	plan->terminal = plan->snippet ? 0 : request->command.terminal;
	plan->terminal_foreground = plan->terminal && request->command.terminal_foreground;
	plan->terminal_fd = plan->terminal ? request->command.terminal_fd : -1;
	plan->escapes = policy->escapes;
	plan->no_input = plan->snippet || request->command.no_input;
	plan->pump = plan->capture ? 0 : request->command.pump;
}

/* These variables are sent as JSON. */
static int late_env_is_text(const struct aj_plan *plan, struct aj_error *err)
{
	for (size_t i = 0; i < plan->late_env.count; i++) {
		const char *entry = plan->late_env.items[i];
		if (aj_utf8_valid_prefix(entry, strlen(entry)) != strlen(entry))
			return aj_fail(err, AJ_EXIT_USAGE, "env", 0,
			               "the value of %.*s is not UTF-8, as a snippet's variables must be",
			               (int)strcspn(entry, "="), entry);
	}
	return 0;
}

/* A single process that shares no file with another needs none of the kernel's locks: see policy/seccomp/groups.c. */
static void restrict_locks(struct aj_plan *plan)
{
	bool inside = aj_profile_is_pure(plan->profile);
	for (size_t i = 0; i < plan->mounts.count; i++)
		inside = inside && !aj_mount_is_shared(&plan->mounts.items[i]);
	if (!(plan->deny & AJ_DENY_LOCKS))
		plan->deny |= inside ? AJ_LOCKS_INSIDE : AJ_LOCKS_MEDIATED;
}

static struct aj_socket_limits limit_sockets(const struct aj_plan *plan)
{
#define MEDIATED(named, network) "connect is mediated: the jail's own" named "; no datagrams" network
#define NAMED ", and those of filesystem.sockets"
#define SCRATCH                                                            \
	"; with the host's network only in the jail's own scratch space, " \
	"since the kernel does not say to which jail other sockets belong"
	static const char *const mediated[2][2] = { { MEDIATED("", ""), MEDIATED("", SCRATCH) },
		                                    { MEDIATED(NAMED, ""), MEDIATED(NAMED, SCRATCH) } };
	if (aj_profile_is_pure(plan->profile) || plan->deny & AJ_DENY_SOCKETS)
		return (struct aj_socket_limits){ 0 };
	if (plan->snippet)
		return (struct aj_socket_limits){
			.deny = AJ_DENY_UNIX,
			.by = "refused except for pairs: socket files of the host are in reach, and a snippet's connects are not mediated",
		};
	return (struct aj_socket_limits){
		.mediated = true,
		.deny = AJ_DENY_CONNECT,
		.by = mediated[plan->sockets.count > 0][plan->network == AJ_NET_HOST],
		.without_listener = "refused except for pairs: the supervisor cannot listen to the jail's filter here, "
				    "so connects cannot be mediated",
	};
}

/* A snippet has no connect; a snippet under the command profile gets no Unix sockets: it communicates through tools. */
static void close_sockets(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	bool reached = false;
	for (size_t i = 0; i < plan->mounts.count; i++)
		reached |= aj_mount_shows_host_inodes(&plan->mounts.items[i]);
	for (size_t i = 0; i < policy->sockets.count; i++)
		*AJ_PUSH(arena, &plan->sockets) = policy->sockets.items[i];
	struct aj_enforced row = { .wall = AJ_UNIX_SOCKETS, .by = "no socket file of the host is in reach" };
	if (aj_profile_is_pure(plan->profile)) {
		row.by = "no socket that connects can be created";
	} else if (plan->deny & AJ_DENY_SOCKETS) {
		row.by = "denied by the policy";
	} else if (policy->sockets.count) {
		row.by = "the sockets of filesystem.sockets that are bound themselves; no other socket file of the host is in reach";
	}
	plan->in_reach = limit_sockets(plan);
	if (reached) {
		plan->mediated = plan->in_reach.mediated;
		plan->deny |= plan->in_reach.deny;
		plan->without_listener = plan->in_reach.without_listener;
		row.by = plan->in_reach.by ? plan->in_reach.by : row.by;
	}
	*AJ_PUSH(arena, &plan->enforced) = row;
}

/* A branch gets scratch space of its own, so the jail may have no other writable mount. */
static int branchable(const struct aj_plan *plan, struct aj_error *err)
{
	const char *why = !plan->snippet ? "a command cannot be copied while it runs"
	                : plan->network == AJ_NET_ALLOW
	                    ? "a jail and its branches would share the relay of network.mode = \"allow\""
	                    : NULL;
	for (size_t i = 0; i < plan->mounts.count && !why; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (m->kind == AJ_MOUNT_PROC || m->kind == AJ_MOUNT_DEVPTS)
			why = "the policy shows /proc or terminals, which a jail and its branches would share";
		else if (aj_mount_is_shared(m))
			why = "a writable folder of the host, as a workspace is, cannot be branched";
		for (size_t j = 0; j < plan->mounts.count && !why; j++)
			if (aj_mount_is_scratch(&plan->mounts.items[j]) && aj_path_below(m->target, plan->mounts.items[j].target))
				why = "a mount lies below the scratch space, and a branch would lack that mount";
	}
	return why ? aj_fail(err, AJ_EXIT_USAGE, "branching", 0, "%s", why) : 0;
}

const char *aj_plan_warm_why_not(const struct aj_plan *plan)
{
	if (!plan->snippet)
		return "a command has no Python to keep warm";
	if (!(plan->namespaces & CLONE_NEWNET) || plan->network != AJ_NET_NONE)
		return "the policy gives a network, which only a cold start sets up";
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (m->kind == AJ_MOUNT_PROC || m->kind == AJ_MOUNT_DEVPTS || m->kind == AJ_MOUNT_MASK)
			return "the policy shows /proc, terminals or masks, which only a cold start sets up";
		if (aj_mount_is_shared(m))
			return "the policy or the request binds a writable folder, which only a cold start sets up";
	}
	return NULL;
}

int aj_plan_build(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                  const struct aj_host *host, struct aj_error *err)
{
	if ((!request->inspect && aj_plan_publishable(policy, request->is_snippet, err) < 0) || fits(policy, request, err) < 0)
		return -1;
	*plan = (struct aj_plan){
		.snippet = request->is_snippet,
		.inspect = request->inspect,
		.zygote = request->zygote,
		.branching = request->branching,
		.policy_name = policy->name,
		.home = request->home_source ? request->home_at : "/tmp",
		.home_source = request->home_source,
		.profile = aj_policy_profile(policy),
		/* A snippet's allow-list has none of these calls. */
		.deny = policy->deny_syscalls | (policy->exec && !policy->fork ? AJ_DENY_FORK : 0) |
		        (policy->exec && !policy->ptrace ? AJ_DENY_PTRACE : 0),
		.network = policy->network,
		.landlock_abi = host->landlock_abi,
	};
	for (size_t i = 0; policy->network == AJ_NET_ALLOW && i < policy->allow.count; i++)
		*AJ_PUSH(arena, &plan->allow) = policy->allow.items[i];
	publish(plan, arena, policy);
	plan->deny |= plan->profile == AJ_PROFILE_COMMAND && plan->branching ? AJ_BRANCH_STEPS : 0;
	if (plan->profile == AJ_PROFILE_COMMAND) /* a snippet's allow-list has none of them */
		plan->deny |= AJ_SYNC_INSIDE | AJ_TCP_OPTIONS;
	identity(plan, policy, host);
	namespaces(plan, policy);
	if (aj_plan_mounts(plan, arena, policy, request, host, err) < 0)
		return -1;
	own_identity(plan, arena, request, host);
	if (aj_plan_limits(plan, arena, policy, host, err) < 0)
		return -1;
	if (!request->inspect && aj_plan_require(plan, policy, host, err) < 0)
		return -1;
	restrict_locks(plan);
	if (plan->branching && branchable(plan, err) < 0)
		return -1;
	command_line(plan, arena, policy, request, host);
	if (late_env_is_text(plan, err) < 0)
		return -1;
	aj_plan_preload(plan, arena, policy, request);
	aj_plan_enforced(plan, arena, policy);
	close_sockets(plan, arena, policy);
	if (request->lasting && !aj_plan_warm_why_not(plan))
		aj_plan_bound_zygote(plan, arena, policy, host);
	return 0;
}
