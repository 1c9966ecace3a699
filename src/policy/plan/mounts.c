/* The file tree of a jail as rows: rootfs or host /usr, devices, /proc, private /tmp, workspace, binds, masks.
 * Pure: it reads no file; sandbox/mounts/mount.c reports missing sources when it walks the rows. */
#include <string.h>

#include "base/path.h"
#include "policy/bind.h"
#include "policy/plan/egress_addresses.h"
#include "policy/plan/plan.h"
#include "policy/protected_places.h"

static struct aj_mount *add_row(struct aj_plan *plan, struct aj_arena *arena, enum aj_mount_kind kind, const char *target,
                                const char *source, unsigned flags, const char *why)
{
	struct aj_mount *m = AJ_PUSH(arena, &plan->mounts);
	*m = (struct aj_mount){ .kind = kind, .target = target, .source = source, .flags = flags, .why = why };
	return m;
}

static void tmpfs(struct aj_plan *plan, struct aj_arena *arena, const char *target, unsigned flags, unsigned mode,
                  uint64_t size_bytes, uint64_t inodes, const char *why)
{
	struct aj_mount *m = add_row(plan, arena, AJ_MOUNT_TMPFS, target, "", flags, why);
	m->mode = mode;
	m->size_bytes = size_bytes;
	m->inodes = inodes;
}

/* Flags of a folder that the caller or the policy names. An overlay does not follow later changes of its layer, so a session and
 * a zygote, which live for days, bind the folder instead; of sockets, FIFOs and locks a snippet's allow-list then leaves the
 * opening of a FIFO. */
static unsigned folder_flags(const struct aj_plan *plan, const struct aj_request *request, bool writable)
{
	unsigned shown = request->lasting || request->changes_read ? AJ_RO : AJ_RO | AJ_OVERLAY;
	return (writable ? 0 : shown) | (plan->snippet ? AJ_NOEXEC : 0);
}

/* The nodes are the host's: a read-only mount keeps their times and modes, and lets what is written to the devices pass. */
static void devices(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy)
{
	static const char *const all[] = { "/dev/null", "/dev/urandom", "/dev/zero", "/dev/full", "/dev/random", "/dev/tty" };
	size_t count = plan->snippet ? 2 : sizeof all / sizeof *all;
	for (size_t i = 0; i < count; i++)
		if (!(plan->deny & AJ_DENY_SHARED_MEMORY) || strcmp(all[i], "/dev/zero") != 0)
			add_row(plan, arena, AJ_MOUNT_BIND, all[i], all[i], AJ_DEV | AJ_RO | AJ_NOEXEC | AJ_FOLLOW,
			        "harmless device");
	if (plan->snippet)
		return;
	add_row(plan, arena, AJ_MOUNT_DEVPTS, "/dev/pts", "", AJ_NOEXEC | AJ_DEV, "terminals of its own");
	add_row(plan, arena, AJ_MOUNT_SYMLINK, "/dev/ptmx", "pts/ptmx", 0, "opens the jail's terminals");
	if (policy->proc) {
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/dev/fd", "/proc/self/fd", 0, "shells use it");
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/dev/stdin", "/proc/self/fd/0", 0, "shells use it");
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/dev/stdout", "/proc/self/fd/1", 0, "shells use it");
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/dev/stderr", "/proc/self/fd/2", 0, "shells use it");
	}
}

static void proc(struct aj_plan *plan, struct aj_arena *arena)
{
	/* The last two disclose the ranges that the host and other jails have locked, by inode number, and when keys are pressed
	 * and packets arrive. */
	static const char *const masked[] = { "/proc/keys",       "/proc/key-users", "/proc/kallsyms", "/proc/kcore",
		                              "/proc/timer_list", "/proc/cmdline",   "/proc/locks",    "/proc/interrupts" };
	add_row(plan, arena, AJ_MOUNT_PROC, "/proc", "", AJ_RO | AJ_NOEXEC, "only the jail's own processes; read-only");
	for (size_t i = 0; i < sizeof masked / sizeof *masked; i++)
		add_row(plan, arena, AJ_MOUNT_BIND, masked[i], "/dev/null", AJ_RO | AJ_NOEXEC | AJ_FOLLOW | AJ_MASK,
		        "describes the host, not the jail");
}

static void host_programs(struct aj_plan *plan, struct aj_arena *arena, const struct aj_host *host)
{
	unsigned flags = AJ_RO | AJ_OVERLAY | AJ_FOLLOW | AJ_OPTIONAL | AJ_NOEXEC;
	add_row(plan, arena, AJ_MOUNT_BIND, "/usr", "/usr", AJ_RO | AJ_OVERLAY | AJ_FOLLOW, "the host's programs");
	for (int i = 0; aj_top_links[i]; i++) {
		const char *target = aj_printf(arena, "/%s", aj_top_links[i]);
		if (!host->top_links[i])
			continue;
		if (host->top_links[i][0])
			add_row(plan, arena, AJ_MOUNT_SYMLINK, target, host->top_links[i], 0, "as on the host");
		else
			add_row(plan, arena, AJ_MOUNT_BIND, target, target, AJ_RO | AJ_OVERLAY | AJ_FOLLOW, "as on the host");
	}
	for (size_t i = 0; i < host->etc.count; i++) {
		const struct aj_etc_entry *e = &host->etc.items[i];
		if (e->link)
			add_row(plan, arena, AJ_MOUNT_SYMLINK, e->path, e->link, 0, e->why);
		else
			add_row(plan, arena, AJ_MOUNT_BIND, e->path, e->path, flags | (e->plain ? AJ_PART : 0), e->why);
	}
	if (plan->network == AJ_NET_HOST)
		add_row(plan, arena, AJ_MOUNT_BIND, "/etc/resolv.conf", "/etc/resolv.conf", flags,
		        "name servers for the network");
}

/* The files in which C libraries look up names of users and hosts. */
static void name_files(struct aj_plan *plan, struct aj_arena *arena)
{
	const char *users = aj_printf(arena, "agent:x:%u:%u::%s:/bin/sh\nnobody:x:65534:65534::/:/usr/sbin/nologin\n", plan->uid,
	                              plan->gid, plan->home);
	const char *groups = aj_printf(arena, "agent:x:%u:\nnogroup:x:65534:\n", plan->gid);
	add_row(plan, arena, AJ_MOUNT_FILE, "/etc/passwd", users, 0, "one user");
	add_row(plan, arena, AJ_MOUNT_FILE, "/etc/group", groups, 0, "one group");
	add_row(plan, arena, AJ_MOUNT_FILE, "/etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n", 0,
	        "no name services of the host");
	add_row(plan, arena, AJ_MOUNT_FILE, "/etc/hosts", "127.0.0.1 localhost jail\n::1 localhost\n", 0, "localhost");
	if (plan->network == AJ_NET_ALLOW)
		add_row(plan, arena, AJ_MOUNT_FILE, "/etc/resolv.conf", AJ_EGRESS_RESOLV, 0,
		        "names of network.allow, which the relay answers");
	/* Chromium has no option against ECH, behind which the relay sees no name. */
	for (size_t i = 0; plan->network == AJ_NET_ALLOW && i < 2; i++)
		add_row(plan, arena, AJ_MOUNT_FILE,
		        aj_printf(arena, "/etc/%s/policies/managed/agentjail.json", i ? "opt/chrome" : "chromium"),
		        "{\"EncryptedClientHelloEnabled\": false, \"QuicAllowed\": false}\n", 0,
		        "a browser's TLS and UDP, as the relay passes them");
}

const char *aj_plan_in_workspace(const struct aj_plan *plan, const char *target, struct aj_arena *arena)
{
	bool there = plan->workspace_at && !aj_path_within(target, plan->workspace_at) && aj_path_within(target, AJ_WORKSPACE);
	return there ? aj_printf(arena, "%s%s", plan->workspace_at, aj_path_rest(target, AJ_WORKSPACE)) : target;
}

static const char by_policy[] = "asked for by the policy";

/* A bind over an earlier one (of the policy, the caller, a toolchain or a kept home) hides it: an error, unless it shows the same
 * files, equally writable. */
static int check_not_hidden(const struct aj_plan *plan, const struct aj_bind *b, const char *target, bool of_policy,
                            struct aj_error *err)
{
	for (size_t i = plan->named_from; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		const char *rest = m->kind == AJ_MOUNT_BIND ? aj_path_rest(m->target, target) : NULL,
			   *same = aj_path_rest(m->source, b->source);
		bool replaced = rest && !*rest && !of_policy && m->why == by_policy;
		if (!rest || replaced || (same && strcmp(rest, same) == 0 && b->writable == aj_mount_is_shared(m)))
			continue;
		aj_fail(err, AJ_EXIT_USAGE, "bind", 0, "the bind of `%s` at `%s` hides `%s` at `%s`, %s", b->source, target,
		        m->source, m->target, m->why);
		aj_advise(err, "bind the outer folder first, or show one of the two elsewhere");
		return -1;
	}
	return 0;
}

static int add_bind(struct aj_plan *plan, struct aj_arena *arena, const struct aj_request *request, const struct aj_bind *b,
                    bool workspace, const char *why, struct aj_error *err)
{
	/* For a snippet also everything that the loader or the runner could read before the filter stands. */
	static const char *const covered[] = { "/", "/proc", "/dev", "/usr", "/etc", "/lib", "/lib64", "/bin", "/sbin" };
	size_t count = plan->snippet ? sizeof covered / sizeof *covered : 4;
	for (size_t j = 0; j < count; j++)
		if (j ? aj_path_within(b->target, covered[j]) : strcmp(b->target, covered[j]) == 0)
			return aj_fail(err, AJ_EXIT_USAGE, "bind", 0, "`%s` would cover a part of the jail's own tree (%s)",
			               b->target, covered[j]);
	const char *target = aj_plan_in_workspace(plan, b->target, arena);
	bool at_workspace = strcmp(target, AJ_WORKSPACE) == 0 ||
	                    (plan->workspace_at && aj_path_within(plan->workspace_at, target));
	if (workspace && at_workspace)
		return aj_fail(err, AJ_EXIT_USAGE, "bind", 0, "`%s` would cover the workspace", b->target);
	if (check_not_hidden(plan, b, target, why == by_policy, err) < 0)
		return -1;
	add_row(plan, arena, AJ_MOUNT_BIND, target, b->source, folder_flags(plan, request, b->writable), why);
	return 0;
}

/* The same path as on the host, if it covers nothing of the jail's. Below /tmp its parents are in the jail's /tmp. */
static const char *same_path(const struct aj_plan *plan, const char *source, struct aj_arena *arena, struct aj_error *err)
{
	static const char *const own[] = { "/proc",  "/dev",    "/usr", "/etc",  "/lib",   "/lib64",
		                           "/lib32", "/libx32", "/bin", "/sbin", AJ_INPUT, AJ_OUTPUT };
	const char *covered = aj_path_within("/tmp", source)                  ? "/tmp"
	                    : plan->snippet && aj_path_within(source, "/tmp") ? "/tmp"
	                                                                      : NULL;
	for (size_t i = 0; i < sizeof own / sizeof *own && !covered; i++)
		covered = aj_path_within(source, own[i]) ? own[i] : NULL;
	if (!covered)
		return aj_strdup(arena, source);
	aj_fail(err, AJ_EXIT_USAGE, "workspace", 0,
	        "`%s` cannot be shown at its own path, which would cover a part of the jail's own tree (%s)", source, covered);
	aj_advise(err, "show it at /workspace, with --workspace-at /workspace or filesystem.workspace_at");
	return NULL;
}

/* Is what git writes to the main repository kept apart from it? Where one of the two folders is in the other, no layer fits. */
static bool repository_is_staged(const struct aj_policy *policy, const struct aj_request *request)
{
	return request->main_repository && request->worktree &&
	       (policy->workspace != AJ_WORKSPACE_READ_WRITE || policy->worktree == AJ_WORKTREE_APART);
}

static int workspace(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                     const struct aj_request *request, struct aj_error *err)
{
	const char *source = request->workspace;
	bool repository_alone = request->changes_read && request->main_repository;
	if ((policy->workspace == AJ_WORKSPACE_NONE || repository_alone) && !source)
		return 0;
	if (policy->workspace == AJ_WORKSPACE_NONE) {
		aj_fail(err, AJ_EXIT_USAGE, "workspace", 0, "policy `%s` has no workspace, so `%s` would not be shown",
		        policy->name, source);
		aj_advise(err, "use a policy with a workspace, or omit --workspace");
		return -1;
	}
	if (!source && !request->inspect) {
		aj_fail(err, AJ_EXIT_USAGE, "workspace", 0, "the policy needs a workspace, and no folder is named");
		aj_advise(err, "name a folder with --workspace DIR");
		return -1;
	}
	static const struct {
		unsigned flags;
		const char *why;
	} modes[] = {
		[AJ_WORKSPACE_READ_ONLY] = { 0, "the caller's folder" },
		[AJ_WORKSPACE_OVERLAY] = { AJ_LAYERED, "the caller's folder, below a layer that takes all changes" },
		[AJ_WORKSPACE_COPY] = { AJ_COPIED, "a copy of the caller's folder" },
		[AJ_WORKSPACE_READ_WRITE] = { 0, "the caller's folder; changes in it are permanent" },
	};
	bool same = policy->workspace_at == AJ_AT_SAME && source;
	bool writable = policy->workspace == AJ_WORKSPACE_READ_WRITE;
	bool staged = policy->workspace >= AJ_WORKSPACE_OVERLAY && !writable;
	if (staged && request->lasting) {
		aj_fail(err, AJ_EXIT_USAGE, "workspace", 0,
		        "policy `%s` keeps changes of the workspace apart, which sessions cannot do", policy->name);
		aj_advise(err,
		          "use `agentjail run` or `agentjail exec`, or filesystem.workspace = \"read-only\" or \"read-write\"");
		return -1;
	}
	if (!staged && !repository_is_staged(policy, request) && request->changes && !request->inspect) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
		        "changes of an earlier run are for a workspace that is an overlay or a copy");
		aj_advise(err, "add the option `--workspace-mode overlay` or `--workspace-mode copy`");
		return -1;
	}
	if (!(plan->workspace_at = same ? same_path(plan, source, arena, err) : AJ_WORKSPACE))
		return -1;
	plan->writable_workspace = writable ? (source ? source : "DIR") : NULL;
	plan->staged_workspace = staged ? (source ? source : "DIR") : NULL;
	plan->quarantine = writable && policy->quarantine;
	const char *place;
	for (size_t at = 0; (writable || staged) && (place = aj_protect_next(policy->protect.items, policy->protect.count, &at));)
		*AJ_PUSH(arena, &plan->protect) = place;
	if (!aj_path_within(AJ_WORKSPACE, plan->workspace_at) && !aj_path_within(plan->workspace_at, AJ_WORKSPACE))
		add_row(plan, arena, AJ_MOUNT_SYMLINK, AJ_WORKSPACE, plan->workspace_at, 0,
		        "the workspace, by the name that it has under other policies");
	add_row(plan, arena, AJ_MOUNT_BIND, plan->workspace_at, source ? source : "DIR",
	        folder_flags(plan, request, (writable || staged) && !request->changes_read) | modes[policy->workspace].flags,
	        modes[policy->workspace].why);
	for (size_t i = 0; i < request->environments.count; i++)
		add_row(plan, arena, AJ_MOUNT_BIND,
		        aj_printf(arena, "%s%s", plan->workspace_at, aj_path_rest(request->environments.items[i], source)),
		        request->environments.items[i], folder_flags(plan, request, false), "agentjail's own program is in it");
	return 0;
}

/* A kept home first: toolchains and the workspace may be in it. */
static int home(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                struct aj_error *err)
{
	if (plan->home_source && request->workspace && policy->workspace_at == AJ_AT_SAME &&
	    aj_path_within(plan->home, request->workspace)) {
		aj_fail(err, AJ_EXIT_USAGE, "home", 0, "the workspace `%s` would cover the kept home at `%s`", request->workspace,
		        plan->home);
		aj_advise(err, "use --home empty, or --workspace-at /workspace");
		return -1;
	}
	if (plan->home_source)
		add_row(plan, arena, AJ_MOUNT_BIND, plan->home, plan->home_source, 0,
		        "the home that is kept for this policy and workspace");
	for (size_t i = 0; i < request->imports.count; i++) {
		const struct aj_import *f = &request->imports.items[i];
		struct aj_mount *m = add_row(plan, arena, AJ_MOUNT_FILE, aj_printf(arena, "%s/%s", plan->home, f->path), f->data,
		                             0, "a copy of the caller's own");
		m->size_bytes = f->bytes;
		m->mode = f->program ? 0755 : 0644;
	}
	for (size_t i = 0; i < request->settings.count; i++)
		add_row(plan, arena, AJ_MOUNT_FILE, request->settings.items[i].target, request->settings.items[i].text, 0,
		        request->settings.items[i].why);
	for (size_t i = 0; i < request->tools.count; i++)
		add_row(plan, arena, AJ_MOUNT_BIND, request->tools.items[i].target, request->tools.items[i].source,
		        AJ_RO | AJ_OVERLAY, "a toolchain of the caller's");
	return 0;
}

/* Shown at its own path, which the worktree's `.git` file names. Changes are kept apart with the workspace's, or it is
 * read-only. */
static int main_repository(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                           const struct aj_request *request, struct aj_error *err)
{
	bool copy = policy->workspace == AJ_WORKSPACE_COPY, staged = repository_is_staged(policy, request);
	bool writable = policy->workspace == AJ_WORKSPACE_READ_WRITE && policy->worktree == AJ_WORKTREE_SHARED;
	const char *path = request->main_repository;
	struct aj_bind bind = { .source = path, .target = path, .writable = (writable || staged) && !request->changes_read };
	const char *what = writable ? "; changes in it are permanent"
	                 : !staged  ? ""
	                 : copy     ? ", as a copy"
	                            : ", below a layer that takes all changes";
	if (!path || policy->worktree == AJ_WORKTREE_NONE)
		return 0;
	plan->main_repository = writable ? path : NULL;
	plan->staged_repository = staged ? path : NULL;
	plan->worktree = request->worktree;
	const char *why = aj_printf(arena, "the main repository of a linked worktree%s", what);
	if (add_bind(plan, arena, request, &bind, true, why, err) < 0)
		return -1;
	plan->mounts.items[plan->mounts.count - 1].flags |= !staged ? 0 : copy ? AJ_COPIED : AJ_LAYERED;
	return 0;
}

/* The policy's binds before the caller's, so that the caller's replace them where both name one target. */
static int binds(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                 struct aj_error *err)
{
	bool has_workspace = policy->workspace != AJ_WORKSPACE_NONE;
	for (size_t i = 0; i < policy->binds.count; i++) {
		struct aj_bind bind;
		const char *wrong = aj_bind_parse(arena, policy->binds.items[i], &bind);
		if (wrong)
			return aj_fail(err, AJ_EXIT_USAGE, "bind", 0, "`%s` of policy `%s`: %s", policy->binds.items[i],
			               policy->name, wrong);
		if (add_bind(plan, arena, request, &bind, has_workspace, by_policy, err) < 0)
			return -1;
	}
	for (size_t i = 0; i < request->binds.count; i++)
		if (add_bind(plan, arena, request, &request->binds.items[i], has_workspace, "asked for by the caller", err) < 0)
			return -1;
	return 0;
}

/* Show a socket that the jail may connect to at its own path, and wherever an earlier row shows its folder: in an overlay of that
 * folder the socket has another inode, and no server. */
static int named_sockets(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                         const struct aj_request *request, struct aj_error *err)
{
	bool has_workspace = policy->workspace != AJ_WORKSPACE_NONE;
	for (size_t i = 0; i < policy->sockets.count; i++) {
		const char *path = policy->sockets.items[i];
		size_t before = plan->mounts.count;
		bool shown = false;
		for (size_t j = plan->named_from; j < before; j++) {
			struct aj_mount m = plan->mounts.items[j];
			const char *rest = m.kind == AJ_MOUNT_BIND ? aj_path_rest(path, m.source) : NULL;
			shown |= rest && (!(m.flags & AJ_COPIED) || aj_path_within(path, m.target)); /* a copy has no sockets */
			if (rest && *rest && ((m.flags & AJ_LAYERED) || !aj_mount_is_shared(&m)))
				add_row(plan, arena, AJ_MOUNT_BIND, aj_printf(arena, "%s%s", m.target, rest), path,
				        folder_flags(plan, request, false), "a socket that the jail may connect to");
		}
		struct aj_bind itself = { .source = path, .target = path };
		if (!shown &&
		    add_bind(plan, arena, request, &itself, has_workspace, "a socket that the jail may connect to", err) < 0)
			return -1;
	}
	return 0;
}

static const char *git_quote(const char *path, struct aj_arena *arena)
{
	char *out = aj_alloc(arena, 2 * strlen(path) + 3), *at = out;
	*at++ = '"';
	for (; *path; path++) {
		if (strchr("\"\\\n", *path))
			*at++ = '\\';
		*at++ = (char)(*path == '\n' ? 'n' : *path);
	}
	stpcpy(at, "\"");
	return out;
}

/* git reads no repository of another owner, and what root or another user owns has the owner `nobody` here unless an overlay maps
 * it. The caller shows these folders, so git may trust them; git before 2.46 does not read the second form, for repositories
 * below. */
static void git_trust(struct aj_plan *plan, struct aj_arena *arena, size_t from)
{
	static const char file[] = "/etc/gitconfig";
	const char *text = "[safe]\n";
	bool any = false;
	for (size_t i = plan->named_from; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (aj_path_within(file, m->target))
			return; /* the caller shows a file of its own */
		if (i < from || m->kind != AJ_MOUNT_BIND)
			continue;
		text = aj_printf(arena, "%s\tdirectory = %s\n\tdirectory = %s\n", text, git_quote(m->target, arena),
		                 git_quote(aj_printf(arena, "%s/*", m->target), arena));
		any = true;
	}
	if (any)
		add_row(plan, arena, AJ_MOUNT_FILE, file, text, 0, "git trusts repositories that the caller shows");
}

/* The last rows: no other mount may cover a mask. */
static int masks(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                 struct aj_error *err)
{
	for (size_t i = 0; i < request->hidden.count; i++)
		add_row(plan, arena, AJ_MOUNT_MASK, request->hidden.items[i], "", AJ_RO | AJ_NOEXEC | AJ_OPTIONAL,
		        "may hold a token of the caller's");
	for (size_t i = 0; i < policy->masks.count; i++) {
		struct aj_masked mask;
		const char *wrong = aj_mask_parse(arena, policy->masks.items[i], &mask);
		if (wrong)
			return aj_fail(err, AJ_EXIT_USAGE, "mask", 0, "`%s` of policy `%s`: %s", policy->masks.items[i],
			               policy->name, wrong);
		add_row(plan, arena, AJ_MOUNT_MASK, aj_plan_in_workspace(plan, mask.target, arena), "",
		        AJ_RO | AJ_NOEXEC | (mask.if_present ? AJ_OPTIONAL : 0), "hidden by the policy");
	}
	return 0;
}

/* Is `row`, which can be written, covered read-only where it shows `source`? */
static bool is_covered(const struct aj_plan *plan, const struct aj_mount *row, const char *source)
{
	for (size_t i = plan->named_from; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		const char *at = m->kind == AJ_MOUNT_BIND && m->flags & AJ_RO ? aj_path_rest(m->source, row->source) : NULL;
		const char *shown = aj_path_rest(m->target, row->target);
		if (at && shown && strcmp(at, shown) == 0 && aj_path_within(source, m->source))
			return true;
	}
	return false;
}

/* With python.native = "tree" a file of each mount that is not noexec can be mapped executable: these are the tree's, and the
 * jail writes them by no other path. The root, on which the plan's texts are, is noexec for each snippet. */
static int only_tree_is_native(const struct aj_plan *plan, struct aj_error *err)
{
	const struct aj_mount *rows = plan->mounts.items;
	for (size_t i = 0; plan->profile == AJ_PROFILE_NATIVE && i < plan->mounts.count; i++) {
		if (rows[i].kind == AJ_MOUNT_SYMLINK || rows[i].kind == AJ_MOUNT_FILE || rows[i].flags & AJ_NOEXEC)
			continue;
		if (i >= plan->named_from || rows[i].kind != AJ_MOUNT_BIND || !(rows[i].flags & AJ_RO)) {
			aj_fail(err, AJ_EXIT_USAGE, "mounts", 0,
			        "`%s` would not be noexec, as python.native = \"tree\" requires of all but the read-only tree",
			        rows[i].target);
			aj_advise(err, "leave `%s` out, or set python.native = \"start\"", rows[i].target);
			return -1;
		}
		for (size_t j = plan->named_from; j < plan->mounts.count; j++) {
			const char *tree = rows[i].source, *folder = rows[j].source;
			if (!aj_mount_is_shared(&rows[j]) || is_covered(plan, &rows[j], tree) ||
			    !(aj_path_within(tree, folder) || aj_path_within(folder, tree)))
				continue;
			aj_fail(err, AJ_EXIT_USAGE, "mounts", 0,
			        "the jail could change its own machine code: `%s` is writable, and the read-only tree is at `%s`",
			        folder, tree);
			aj_advise(err, "show `%s` read-only, or use a tree elsewhere", folder);
			return -1;
		}
	}
	return 0;
}

/* Without a memory cgroup these pages are charged to no limit of the jail, so they may not exceed the policy's memory either. */
static uint64_t scratch_bytes(const struct aj_policy *policy)
{
	return policy->memory_bytes && policy->memory_bytes < policy->tmp_bytes ? policy->memory_bytes : policy->tmp_bytes;
}

/* Symlinks into /tmp: one limit of size holds for all, a branch copies all, and a jail that exchanges no file pays for no mount.
 * Not where the caller or the policy binds something there. */
static void file_folders(struct aj_plan *plan, struct aj_arena *arena)
{
	bool input = true;
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		if (aj_path_within(m->target, AJ_OUTPUT) || (aj_path_within(m->target, "/tmp") && !aj_mount_is_scratch(m)))
			return;
		input = input && !aj_path_within(m->target, AJ_INPUT);
	}
	plan->files = true;
	add_row(plan, arena, AJ_MOUNT_SYMLINK, AJ_OUTPUT, "tmp/output", 0, "files for the caller");
	if (input)
		add_row(plan, arena, AJ_MOUNT_SYMLINK, AJ_INPUT, "tmp/input", 0, "files of the caller");
}

int aj_plan_mounts(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                   const struct aj_host *host, struct aj_error *err)
{
	if (strcmp(policy->rootfs, "host") == 0) {
		host_programs(plan, arena, host);
	} else {
		const char *rootfs = request->rootfs ? request->rootfs : "ROOTFS";
		/* A bind under a snippet's filter: the tree is agentjail's own, without sockets or FIFOs, and locks in it can be
		 * refused. */
		unsigned overlay = aj_profile_is_pure(plan->profile) ? 0 : AJ_OVERLAY;
		add_row(plan, arena, AJ_MOUNT_BIND, "/usr", aj_printf(arena, "%s/tree/usr", rootfs), AJ_RO | AJ_FOLLOW | overlay,
		        "Python, and no other program");
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/lib", "usr/lib", 0, "where the dynamic loader looks for libraries");
		add_row(plan, arena, AJ_MOUNT_SYMLINK, "/lib64", "usr/lib64", 0, "where the dynamic loader is");
	}
	if (plan->snippet && policy->python_env_site)
		add_row(plan, arena, AJ_MOUNT_BIND, AJ_PYTHON_ENV, policy->python_env_site, AJ_RO | AJ_FOLLOW,
		        "packages of the environment");
	if (!plan->snippet || policy->network == AJ_NET_ALLOW)
		name_files(plan, arena);
	devices(plan, arena, policy);
	if (policy->proc)
		proc(plan, arena);
	tmpfs(plan, arena, "/tmp", plan->snippet ? AJ_NOEXEC : 0, 01777, scratch_bytes(policy), policy->tmp_inodes,
	      "scratch, gone with the jail");
	if (!plan->snippet)
		tmpfs(plan, arena, "/dev/shm", AJ_NOEXEC, 01777, scratch_bytes(policy), policy->tmp_inodes,
		      "shared memory of its own");
	/* Where one of the two is inside the other, at their own paths: the outer one first. */
	bool outer = policy->workspace_at == AJ_AT_SAME && request->main_repository && request->workspace &&
	             aj_path_within(request->workspace, request->main_repository);
	plan->named_from = plan->mounts.count;
	if (home(plan, arena, policy, request, err) < 0)
		return -1;
	size_t shown_from = plan->mounts.count;
	if (outer && main_repository(plan, arena, policy, request, err) < 0)
		return -1;
	if (workspace(plan, arena, policy, request, err) < 0)
		return -1;
	if (!outer && main_repository(plan, arena, policy, request, err) < 0)
		return -1;
	if (binds(plan, arena, policy, request, err) < 0)
		return -1;
	if (!plan->snippet && strcmp(policy->rootfs, "host") == 0)
		git_trust(plan, arena, shown_from);
	if (!plan->snippet && named_sockets(plan, arena, policy, request, err) < 0)
		return -1;
	if (plan->snippet && (request->lasting || request->zygote || request->snippet.output_files))
		file_folders(plan, arena);
	return masks(plan, arena, policy, request, err) < 0 ? -1 : only_tree_is_native(plan, err);
}
