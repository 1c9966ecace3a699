/* The exact description of a jail: rows for the sandbox to walk, no decision left open.
 * Built by aj_plan_build() from policy, request and host without side effects; printable, so testable. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

#include "policy/host/host.h"
#include "policy/plan/request.h"
#include "policy/policy.h"
#include "policy/published_ports.h"

enum aj_mount_kind {
	AJ_MOUNT_TMPFS,
	AJ_MOUNT_BIND, /* recursive, private, nosuid */
	AJ_MOUNT_PROC,
	AJ_MOUNT_DEVPTS,
	AJ_MOUNT_SYMLINK,
	AJ_MOUNT_FILE, /* a small read-only text */
	AJ_MOUNT_MASK, /* hides the target behind an empty read-only folder or file */
};

enum {
	AJ_RO = 1,
	AJ_NOEXEC = 2,
	AJ_DEV = 4,       /* device nodes work; otherwise nodev */
	AJ_OPTIONAL = 8,  /* skipped when the source, or the target of a mask, does not exist */
	AJ_FOLLOW = 16,   /* the source path may contain symlinks (the host's own paths only) */
	AJ_MASK = 32,     /* hides an existing file of /proc; skipped when the target does not exist */
	AJ_OVERLAY = 64,  /* a folder is shown through an overlay, a file through its parent's overlay; a FIFO is refused */
	AJ_LAYERED = 128, /* a folder is shown through an overlay with an upper layer, which takes all changes */
	AJ_COPIED = 256,  /* a copy of the folder is shown, which takes all changes */
	AJ_PART = 512,    /* an entry of the host's /etc, not a symlink: not opened itself if an earlier row has that overlay */
};

struct aj_mount {
	enum aj_mount_kind kind;
	const char *target; /* absolute, in the jail */
	const char *source; /* host path, symlink text or file text */
	unsigned flags;
	unsigned mode;               /* tmpfs */
	uint64_t size_bytes, inodes; /* tmpfs; size_bytes of a file: those of `source`, which may hold NULs; 0: a string */
	const char *why;
};

struct aj_rlimit {
	const char *name;
	int resource;
	uint64_t value;
	uint64_t soft; /* initial soft limit, at most; 0: the full value */
	const char *why;
};

/* One cgroup file, written before the jail is born in it. */
struct aj_cgroup_row {
	const char *file;
	const char *value;
	const char *why;
};

struct aj_published {
	struct aj_publish_rule rule;
	const char *place; /* of the host: "127.0.0.1:8080" */
};

/* The enforcer of a limit or wall: an entry of the result's `enforced`. */
struct aj_enforced {
	const char *wall;
	const char *by; /* "none: reason" without one */
};

/* What limits a jail's Unix sockets where socket files of the host are in reach. */
struct aj_socket_limits {
	bool mediated; /* every connect is checked: sandbox/mediate/connector.h */
	uint64_t deny; /* AJ_DENY_* */
	/* The entries for `unix_sockets`: the limit's, and the one without a listener of the filter. */
	const char *by, *without_listener;
};

struct aj_plan {
	bool snippet;
	bool inspect;   /* for inspection only: never launched */
	bool branching; /* the guest may be copied, see jail/fork/copier.h */
	bool zygote;    /* from which jails are born: builds what they share, imports what the policy allows, and stays */
	const char *policy_name;
	AJ_LIST(const char *) unprinted; /* NAME= of variables whose values --dry-run does not print */
	uid_t host_uid;                  /* the host's id for the jail's only id */
	gid_t host_gid;
	uid_t uid; /* the same id inside */
	gid_t gid;
	unsigned long namespaces; /* CLONE_NEW* */
	const char *hostname;
	bool loopback;
	unsigned terminal;        /* bit 1 << fd: this descriptor of the guest is a terminal of the jail's own; 0: none */
	bool terminal_foreground; /* the guest has its foreground; else it gets it on its first use */
	int terminal_fd;          /* ours to which the terminal is relayed; -1 without one */
	enum aj_escapes escapes;
	AJ_LIST(struct aj_mount) mounts;
	size_t named_from;              /* index of the first row from the policy, the caller or the command's home */
	const char *home, *home_source; /* of a command: its path in the jail; a kept home's folder on the host, or NULL */
	const char *workspace_at;       /* the path of the workspace in the jail; NULL: there is none */
	const char *writable_workspace; /* host path of a workspace that the jail may change; NULL: none */
	const char *staged_workspace;   /* host path of a workspace whose changes are kept apart from it; NULL: none */
	/* The main repository of a workspace that is a linked worktree, where its changes are kept apart, and the name of the
	 * worktree in it. NULL: there is none, or it is only read, or git writes to it. */
	const char *staged_repository, *worktree;
	const char *main_repository; /* of a writable workspace that is a linked worktree: also writable, but for `protect` */
	uint64_t workspace_bytes, workspace_files; /* how much it may grow; 0: without a limit */
	uint64_t git_bytes, git_objects, git_ms;   /* limits of fetching a staged workspace's history; 0: none */
	bool quarantine;                           /* at the end, new files that the host may obey are renamed aside */
	AJ_LIST(const char *) protect; /* places in the workspace that stay unchanged: patterns, see policy/protected_places.h */
	AJ_LIST(struct aj_rlimit) rlimits;
	unsigned processors; /* number in the jail's affinity: its limit, without a cpu cgroup; 0: all */
	const char *cgroup;  /* parent directory for the leaf, NULL for none */
	AJ_LIST(struct aj_cgroup_row) cgroup_rows;
	/* Bounds of the zygote itself: rows for its own leaf, and rlimits. Two of the rows grow with its jails:
	 * aj_zygote_memory(), aj_zygote_pids(). */
	AJ_LIST(struct aj_cgroup_row) zygote_rows;
	AJ_LIST(struct aj_rlimit) zygote_rlimits;
	uint64_t zygote_memory_bytes, zygote_pids; /* without jails; 0: no such row */
	enum aj_profile profile;
	uint64_t deny; /* AJ_DENY_*: groups taken away from the profile */
	enum aj_network network;
	AJ_LIST(const char *) allow;          /* hosts, for AJ_NET_ALLOW: the relay has them from the policy */
	AJ_LIST(struct aj_published) publish; /* ports of the host that lead to ports of the jail */
	int landlock_abi;                     /* 0: no ruleset */
	bool mediated;                        /* every connect is checked: sandbox/mediate/connector.h */
	AJ_LIST(const char *) sockets;        /* host paths of sockets that may be reached nevertheless */
	const char *chdir;
	char **argv;
	char **env;                     /* NULL-terminated */
	AJ_LIST(const char *) late_env; /* a snippet's own variables: set once the filter stands, as no loader may read them */
	bool control_fd;                /* the guest gets the control socket as fd 3 */
	bool files;                     /* files can be exchanged: /input and /output lead to folders of /tmp */
	bool capture;
	bool no_input; /* standard input is empty */
	unsigned pump; /* AJ_PUMP_*: outputs that the supervisor writes on to its own */
	uint64_t wall_ms, memory_bytes, capture_bytes, output_bytes, result_bytes;
	bool memory_by_rlimit, pids_by_rlimit; /* whose refusals the kernel does not count */
	AJ_LIST(const char *) preload; /* modules that the runner imports before the filter, because the code may need them */
	AJ_LIST(struct aj_enforced) enforced;
	const char *without_listener; /* the entry for `unix_sockets` without a listener of the filter; NULL: unchanged */
	/* Part of `mediated`, `deny`, `enforced` and `without_listener` where the plan itself shows socket files of the host.
	 * Else for the jail in which a folder cannot be shown through an overlay, and they are in reach after all. */
	struct aj_socket_limits in_reach;
};
#define AJ_UNIX_SOCKETS "unix_sockets"
#define AJ_PYTHON_LAYER "python_layer"
#define AJ_LOCKS "locks"

/* Maximal number of live branches of one jail, and their maximal depth: the kernel nests user namespaces 32 deep, of which a jail
 * uses two and the caller some. */
enum { AJ_BRANCHES_MAX = 64, AJ_BRANCH_DEPTH_MAX = 26 };
#define AJ_BRANCHES_TEXT "64"

/* The growth of a workspace is measured: the time between two passes, and the most entries a second. */
enum { AJ_GROWTH_PASS_S = 1, AJ_GROWTH_ENTRIES_S = 40000 };

/* The workspace's path in the jail, or a symlink to that path. */
#define AJ_WORKSPACE "/workspace"

/* Where a jail finds the caller's files, and leaves its own: folders of its scratch space, shown by symlinks. */
#define AJ_INPUT "/input"
#define AJ_OUTPUT "/output"
enum { AJ_SCRATCH_PATH = 1024 }; /* bytes of a path below the scratch space, with its NUL */

/* The path in the jail of a mask: /workspace stands for the workspace, wherever that is shown. */
const char *aj_plan_in_workspace(const struct aj_plan *plan, const char *target, struct aj_arena *arena);
/* The first mask in the tree that programs start from, NULL for none. */
const char *aj_plan_masked_programs(const struct aj_plan *plan);

/* Empty, writable and gone with the jail: each jail has its own, even where jails share the other mounts. */
static inline bool aj_mount_is_scratch(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_TMPFS && !(m->flags & AJ_RO);
}

/* A read-only mount keeps what is written to a file away, and not what is written to a device. */
static inline bool aj_mount_denies_writes(const struct aj_mount *m)
{
	return (m->flags & AJ_RO) && !(m->flags & AJ_DEV);
}

/* A bind that the jail can write, or a workspace whose changes are kept apart. A snippet without one has no file locks
 * (AJ_LOCKS_INSIDE). */
static inline bool aj_mount_is_shared(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_RO | AJ_DEV));
}

/* A file or folder of the host that the caller or the policy names: not the tree, a device or a mask. */
static inline bool aj_mount_is_named(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_DEV | AJ_MASK)) && strcmp(m->target, "/usr") != 0;
}

/* A writable folder of the host that is neither the workspace, its main repository nor a kept home: nothing in it is held. */
static inline bool aj_plan_unheld(const struct aj_plan *plan, const struct aj_mount *m)
{
	if (!aj_mount_is_shared(m) || (m->flags & (AJ_LAYERED | AJ_COPIED)))
		return false;
	return !(plan->workspace_at && strcmp(m->target, plan->workspace_at) == 0) &&
	       !(plan->home_source && strcmp(m->target, plan->home) == 0) &&
	       !(plan->main_repository && strcmp(m->target, plan->main_repository) == 0);
}

/* Are the inodes below this row the host's? Then a connect, an open of a FIFO or a lock there reaches the host's own sockets,
 * FIFOs and locks. An overlay has inodes of its own, and a copy is made without sockets and FIFOs. */
static inline bool aj_mount_shows_host_inodes(const struct aj_mount *m)
{
	return m->kind == AJ_MOUNT_BIND && !(m->flags & (AJ_DEV | AJ_MASK | AJ_LAYERED | AJ_COPIED | AJ_OVERLAY));
}

/* Bounds of a zygote's leaf with this many jails: it has their inits, and the kernel's memory for a birth. */
enum { AJ_ZYGOTE_JAILS_STEP = 16 };
uint64_t aj_zygote_memory(const struct aj_plan *plan, uint64_t jails);
uint64_t aj_zygote_pids(const struct aj_plan *plan, uint64_t jails);

/* NULL when jails under this plan can be born from a zygote, else why each needs a cold start. */
const char *aj_plan_warm_why_not(const struct aj_plan *plan);

/* Ports are published for commands alone. */
int aj_plan_publishable(const struct aj_policy *policy, bool snippet, struct aj_error *err);
int aj_plan_build(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                  const struct aj_host *host, struct aj_error *err);
void aj_plan_dump(const struct aj_plan *plan, FILE *out);

/* Parts of aj_plan_build(), each in its own file. */
int aj_plan_mounts(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_request *request,
                   const struct aj_host *host, struct aj_error *err);
int aj_plan_limits(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy, const struct aj_host *host,
                   struct aj_error *err);
void aj_plan_bound_zygote(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                          const struct aj_host *host);
void aj_plan_preload(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy,
                     const struct aj_request *request);
/* The entry for `python_layer` of a snippet. */
const char *aj_plan_layer(const struct aj_policy *policy);
void aj_plan_enforced(struct aj_plan *plan, struct aj_arena *arena, const struct aj_policy *policy);
#define AJ_MORE_THAN_ASKED ", which is more than the share that was asked for"
/* What differs from `option`, which set `key` to `value`, a limit that this plan does not enforce exactly; else NULL. */
const char *aj_plan_unenforced(const struct aj_plan *plan, const char *key, const char *option, const char *value,
                               struct aj_arena *arena);
/* Processors that a jail can use: limits.cpu_percent, rounded up, at most the host's. */
unsigned aj_plan_processors(const struct aj_policy *policy, const struct aj_host *host);
/* Does the policy require a cgroup limit for which this host has no controller? */
bool aj_plan_lacks_cgroup(const struct aj_policy *policy, const struct aj_host *host);
/* -1 when this plan would lack a wall on this host that the policy requires. */
int aj_plan_require(const struct aj_plan *plan, const struct aj_policy *policy, const struct aj_host *host, struct aj_error *err);
