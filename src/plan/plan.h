/* Exactly what will be done: rows for the sandbox to walk, nothing left to decide.
 * Built by aj_plan_build() from policy, request and host without side effects; printable, so testable. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "plan/host.h"
#include "plan/request.h"
#include "policy/policy.h"

enum aj_mount_kind {
	AJ_MOUNT_TMPFS,
	AJ_MOUNT_BIND, /* recursive, private, nosuid */
	AJ_MOUNT_PROC,
	AJ_MOUNT_DEVPTS,
	AJ_MOUNT_SYMLINK,
	AJ_MOUNT_FILE, /* a small read-only text */
	AJ_MOUNT_MASK, /* hides what is at the target behind an empty read-only folder or file */
	AJ_MOUNT_HOLD, /* what is at the target stays as it is: read-only, in its place. `source`: "", or the blank that is shown instead.
	                  Never in a plan that aj_plan_build() made: workspace/protect.c adds these rows once it has looked at the workspace */
};

enum {
	AJ_RO = 1,
	AJ_NOEXEC = 2,
	AJ_DEV = 4,      /* device nodes work; otherwise nodev */
	AJ_OPTIONAL = 8, /* skipped when the source, or what is to be masked, does not exist */
	AJ_FOLLOW = 16,  /* the source path may contain symlinks (the host's own paths only) */
	AJ_MASK = 32,    /* hides an existing file of /proc; skipped when the target does not exist */
	AJ_OVERLAY = 64, /* a folder is shown through an overlay without an upper layer, a file out of one of its folder; it may be no FIFO */
};

struct aj_mount {
	enum aj_mount_kind kind;
	const char *target; /* absolute, in the jail */
	const char *source; /* host path, symlink text or file text */
	unsigned flags;
	unsigned mode;               /* tmpfs */
	uint64_t size_bytes, inodes; /* tmpfs */
	const char *why;
	/* Set by the builder, in its own copy: the errno for which there is no overlay, and the folder or file is bound; 0. */
	int refused, file_refused;
	char *name; /* of a file: in `folder`, a mount that it is taken out of; NULL: not to be had */
	int folder;
};

struct aj_rlimit {
	const char *name;
	int resource;
	uint64_t value;
	uint64_t soft; /* what it begins with, at most; 0: with all of it */
	const char *why;
};

/* One cgroup file, written before the jail is born in it. */
struct aj_cgroup_row {
	const char *file;
	const char *value;
	const char *why;
};

/* Who stands behind a limit or wall: goes into the result's `enforced`. */
struct aj_enforced {
	const char *wall;
	const char *by; /* "none: reason" when nothing does */
};

struct aj_plan {
	bool snippet;
	bool inspect;   /* for looking at only: never launched */
	bool branching; /* the guest may be copied, and its copies: see fork/copier.h */
	bool zygote;    /* what jails are born from: builds what they share, imports what the policy allows, and stays */
	const char *policy_name;
	uid_t host_uid; /* the id behind the jail's only id */
	gid_t host_gid;
	uid_t uid; /* that id as seen inside */
	gid_t gid;
	unsigned long namespaces; /* CLONE_NEW* */
	const char *hostname;
	bool loopback;
	int terminal_fd; /* the guest becomes its foreground process group; -1: the guest gets a session of its own */
	AJ_LIST(struct aj_mount) mounts;
	const char *writable_workspace; /* host path of a workspace that the jail may change; NULL: none */
	const char *main_repository; /* of a workspace that is a linked worktree: writable too, but for its places of these; or NULL */
	bool quarantine;             /* what the jail made in it that the host may obey is moved aside at the end */
	bool protected;              /* the rows that hold them are there: see workspace/protect.h */
	AJ_LIST(const char *) protect; /* places in it that stay as they are: patterns, see policy/protect.h */
	AJ_LIST(struct aj_rlimit) rlimits;
	const char *cgroup; /* parent directory for the leaf, NULL for none */
	AJ_LIST(struct aj_cgroup_row) cgroup_rows;
	/* Of the zygote itself: for a leaf of its own, and rlimits. Two of the rows grow with its jails: aj_zygote_memory(), aj_zygote_pids(). */
	AJ_LIST(struct aj_cgroup_row) zygote_rows;
	AJ_LIST(struct aj_rlimit) zygote_rlimits;
	uint64_t zygote_memory_bytes, zygote_pids; /* without any jail; 0: no such row */
	enum aj_profile profile;
	uint64_t deny; /* AJ_DENY_*: groups taken away from the profile */
	enum aj_network network;
	int landlock_abi; /* 0: no ruleset */
	bool mediated;    /* socket files of the host are in reach, so each connect is looked at: mediate/connector.h */
	AJ_LIST(const char *) sockets; /* host paths of those that may be reached all the same */
	const char *chdir;
	char **argv;
	char **env;                     /* NULL-terminated */
	AJ_LIST(const char *) late_env; /* a snippet's own variables: set once the filter stands, as no loader may read them */
	bool control_fd;                /* the guest gets the control socket as fd 3 */
	bool capture;
	bool no_input; /* nothing to read on standard input */
	unsigned pump; /* AJ_PUMP_*: outputs that the supervisor writes on to its own */
	uint64_t wall_ms, memory_bytes, capture_bytes, output_bytes, result_bytes;
	bool memory_by_rlimit;
	AJ_LIST(const char *) preload; /* modules that the runner imports before the filter: those the code may need */
	AJ_LIST(struct aj_enforced) enforced;
	const char *unheard; /* what then stands behind `unix_sockets`, where nobody could listen to the jail's filter; NULL: the same */
};
#define AJ_UNIX_SOCKETS "unix_sockets"
#define AJ_LOCKS "locks"

/* Branches of one jail that may ever be alive at a time, and how deep one may come from another: the kernel nests user namespaces
 * 32 deep, of which a jail has two and whoever started us some. */
enum { AJ_BRANCHES_MAX = 64, AJ_BRANCH_DEPTH_MAX = 26 };
#define AJ_BRANCHES_TEXT "64"

/* Where a workspace is shown. */
#define AJ_WORKSPACE "/workspace"

/* Empty, writable and gone with the jail: each has its own, also where jails share the rest. */
static inline bool aj_mount_is_scratch(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_TMPFS && !(m->flags & AJ_RO);
}

/* Of the host's, and the jail can write to it. A snippet's plan without any takes the kernel's locks on files away (AJ_LOCKS_INSIDE). */
static inline bool aj_mount_is_shared(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_RO | AJ_DEV));
}

/* A writable folder of the host that is neither the workspace nor its main repository: nothing in it is held. */
static inline bool aj_plan_unheld(const struct aj_plan *plan, const struct aj_mount *m)
{
	return aj_mount_is_shared(m) && strcmp(m->target, AJ_WORKSPACE) != 0 &&
	       !(plan->main_repository && strcmp(m->target, plan->main_repository) == 0);
}

/* Are the inodes below this row the host's? Then a connect, an open of a FIFO and a lock there reach the host's own sockets, FIFOs and
 * locks. An overlay has inodes of its own. Where the builder runs (init, and so the guest) this is what was built, once the step
 * `mounts` is done; elsewhere it is what is planned. */
static inline bool aj_mount_shows_host_inodes(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_DEV | AJ_MASK)) && (!(m->flags & AJ_OVERLAY) || m->refused);
}

/* What a zygote's leaf may hold, that of so many jails included: their inits are in it, and what the kernel keeps for a birth. */
enum { AJ_ZYGOTE_JAILS_STEP = 16 };
uint64_t aj_zygote_memory(const struct aj_plan *plan, uint64_t jails);
uint64_t aj_zygote_pids(const struct aj_plan *plan, uint64_t jails);

/* NULL when jails under this plan can be born from a zygote, else why each must be built from nothing. */
const char *aj_plan_warm_why_not(const struct aj_plan *plan);

/* -1 when the policy wants something that is not built yet; aj_plan_build() asks first, but not for an inspection. */
int aj_plan_buildable(const struct aj_policy *policy, struct aj_error *err);
/* Socket files of the host are in reach: connects are mediated, or no Unix socket is made. aj_plan_build() does it where that is so by the
 * plan; guest and supervisor do it once a folder could not be shown through an overlay. */
void aj_plan_reach_sockets(struct aj_plan *plan);
int aj_plan_build(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                  const struct aj_host *host, struct aj_error *err);
void aj_plan_dump(const struct aj_plan *plan, FILE *out);

/* Parts of aj_plan_build(), each in its own file. */
int aj_plan_mounts(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                   const struct aj_host *host, struct aj_error *err);
int aj_plan_limits(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host,
                   struct aj_error *err);
void aj_plan_bound_zygote(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host);
/* Does the policy demand a limit by cgroup that this host's facts have no controller for? */
bool aj_plan_lacks_cgroup(const struct aj_policy *policy, const struct aj_host *host);
/* -1 when a wall that the policy requires would not stand in this plan on this host. */
int aj_plan_require(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_host *host, struct aj_error *err);
