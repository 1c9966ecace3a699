/* A policy: the permissions of a run, the first of the five nouns.
 * Plain data without Linux calls; every quantity carries its unit in its name, 0 means that agentjail sets no limit. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum aj_builtins { AJ_BUILTINS_MINIMAL, AJ_BUILTINS_STATIC, AJ_BUILTINS_STANDARD, AJ_BUILTINS_FULL };
/* The values of every enum are ordered from tight to loose: this order defines "looser". */
enum aj_imports_checked { AJ_CHECKED_BEFORE, AJ_CHECKED_AT_RUN };
/* Where native code may come from: files of the read-only tree, before the snippet begins or at any time. */
enum aj_native { AJ_NATIVE_START, AJ_NATIVE_TREE };
enum aj_network { AJ_NET_NONE, AJ_NET_LOOPBACK, AJ_NET_ALLOW, AJ_NET_HOST };
enum aj_publish_to { AJ_PUBLISH_LOOPBACK, AJ_PUBLISH_ANY };
/* In the order of rights: from OVERLAY on the jail may write to the workspace. Under OVERLAY and COPY its changes stay apart. */
enum aj_workspace { AJ_WORKSPACE_NONE, AJ_WORKSPACE_READ_ONLY, AJ_WORKSPACE_OVERLAY, AJ_WORKSPACE_COPY, AJ_WORKSPACE_READ_WRITE };
/* Not ordered by looseness: a reviewer looks at every change. */
enum aj_workspace_at { AJ_AT_WORKSPACE, AJ_AT_SAME };
enum aj_home { AJ_HOME_EMPTY, AJ_HOME_KEPT };
enum aj_home_scope { AJ_HOME_OF_WORKSPACE, AJ_HOME_OF_POLICY };
/* Where git writes that works in a linked worktree, whose main repository is elsewhere. */
enum aj_worktree {
	AJ_WORKTREE_NONE,   /* the main repository is not shown */
	AJ_WORKTREE_APART,  /* to a layer or a copy of it, whatever the workspace is */
	AJ_WORKTREE_SHARED, /* to the repository itself, where the workspace is read-write */
};
enum aj_enforce { AJ_ENFORCE_STRICT, AJ_ENFORCE_BEST_EFFORT };
enum aj_escapes { AJ_ESCAPES_NONE, AJ_ESCAPES_FILTERED, AJ_ESCAPES_ALL };
enum aj_audit_failure { AJ_AUDIT_REFUSE, AJ_AUDIT_FLAG };
/* The profiles of allowed system calls; the lists are in policy/seccomp/syscalls.c. */
enum aj_profile { AJ_PROFILE_SNIPPET, AJ_PROFILE_NATIVE, AJ_PROFILE_COMMAND, AJ_PROFILE_COUNT };
/* The filters of a snippet: one from Python's first instruction on, one once Python runs (policy/seccomp/startup.c). */
enum aj_stage { AJ_STAGE_BASELINE, AJ_STAGE_ABOVE, AJ_STAGE_ABOVE_NATIVE, AJ_STAGES };

/* Groups of system calls that a policy denies. */
enum {
	AJ_DENY_THREADS = 1,
	AJ_DENY_SOCKETS = 2,
	AJ_DENY_IPC = 4,
	AJ_DENY_INOTIFY = 8,
	AJ_DENY_MEMFD = 16,
	AJ_DENY_SHARED_MEMORY = 32,
	AJ_DENY_LOCKS = 64,
	AJ_DENY_FORK = 128,
	AJ_DENY_GROUPS = 8,
};
/* Further groups, which no policy names. LOCKS_INSIDE: see aj_mount_is_shared(). CONNECT and UNIX: where socket files of the host
 * are in reach, see aj_plan.mediated; CONNECT reports connect to the supervisor, UNIX replaces it where no listener is possible.
 * SYNC_INSIDE: all commands, as TCP_OPTIONS. DENY_PTRACE: all plans, unless process.ptrace. BRANCH_STEPS: reports the step of a
 * branch that a command may make otherwise. LOCKS_MEDIATED: locks are reported to the supervisor, and refused where no listener
 * is possible; sandbox/mediate/locks.h. AFFINITY: where the processors of a jail are its limit. */
enum {
	AJ_LOCKS_INSIDE = 256,
	AJ_DENY_CONNECT = 512,
	AJ_DENY_UNIX = 1024,
	AJ_SYNC_INSIDE = 2048,
	AJ_LOCKS_MEDIATED = 4096,
	AJ_TCP_OPTIONS = 8192,
	AJ_DENY_PTRACE = 16384,
	AJ_BRANCH_STEPS = 32768,
	AJ_DENY_AFFINITY = 65536,
	AJ_FILTER_GROUPS = 17
};
enum { AJ_ANSWERED = AJ_LOCKS_INSIDE | AJ_SYNC_INSIDE }; /* calls that are not made, and return 0 */
enum { AJ_SOCKETS_MAX = 16, AJ_PUBLISHED_MAX = 32 };     /* maximum per policy */
/* Walls that a policy can require, as a host may lack them. */
enum { AJ_WALL_LANDLOCK = 1, AJ_WALL_MEMORY_CGROUP = 2, AJ_WALL_PIDS_CGROUP = 4, AJ_WALL_NETWORK = 8, AJ_WALL_PYTHON_LAYER = 16 };

/* The variable of the environment that names the folder of the Python tree `default`. */
#define AJ_TREE_VARIABLE "AGENTJAIL_ROOTFS"

/* Words of filesystem.workspace_under besides folders. */
#define AJ_UNDER_DEFAULT "@default"
#define AJ_UNDER_ANYWHERE "@anywhere"

struct aj_bind {
	const char *source; /* host path, as given */
	const char *target; /* absolute path in the jail */
	bool writable;
};

struct aj_policy_file {
	const char *file;   /* as shown */
	const char *sha256; /* of the bytes read, in hex */
	bool built_in;
};

/* Where a jail has the packages of its environment. The runner, which sees no policy, takes its presence for one. */
#define AJ_PYTHON_ENV "/env"

struct aj_policy {
	const char *name;
	const char *description;
	/* Its sources: its own file first, then the extended ones, then the working directory's; and options. */
	AJ_LIST(struct aj_policy_file) files;
	AJ_LIST(const char *) options; /* --name=value */

	/* The Python layer: a rail inside the jail, not a wall. */
	bool layer;
	enum aj_builtins builtins;
	AJ_LIST(const char *) imports; /* module names, `pkg.*` for a package with its submodules, `*` for every module */
	enum aj_imports_checked imports_checked;
	AJ_LIST(const char *) reached; /* folders of the jail, beside those of the snippet's own */
	enum aj_native native;
	AJ_LIST(const char *) preload; /* [WORD:]MODULE, see policy/item_types.h */
	const char *python_env;        /* name of an environment of packages, "" for none; see policy/host/python_env.h */
	const char *python_env_site;   /* the host's folder of its packages, found when the policy is loaded; NULL: none */
	const char *clock;             /* of time and datetime, as aj_clock_parse() reads it */
	uint64_t sleep_ms;             /* longest time.sleep(); 0: none */
	const char *hash_seed;         /* of hash() and so of the order of sets: "random", or a number */
	/* How far one request of a client may loosen the layer for itself, see policy/load/for_request.c. */
	AJ_LIST(const char *) request_imports; /* besides `imports` */
	enum aj_builtins request_builtins;     /* where it is more than `builtins` */
	bool request_layer;                    /* false: a request may switch the layer off */

	/* Walls. */
	const char *rootfs; /* name of a Python tree; "host": the host's /usr read-only instead */
	bool proc;          /* a fresh, read-only /proc */
	enum aj_workspace workspace;
	enum aj_workspace_at workspace_at;
	bool workspace_here;       /* of a command: the working directory, unless the caller names a folder */
	bool workspace_repository; /* then: the whole git repository around it */
	enum aj_home home;
	enum aj_home_scope home_scope;     /* of a kept home */
	AJ_LIST(const char *) home_import; /* paths in the caller's home */
	AJ_LIST(const char *) toolchains;  /* names of policy/toolchain_table.h, AJ_TOOLCHAINS_* */
	AJ_LIST(const char *) binds;       /* HOST[:JAIL][:ro|:rw], as aj_bind_parse() reads them */
	AJ_LIST(const char *) masks;       /* absolute paths in the jail, shown as empty and read-only */
	enum aj_worktree worktree;
	bool quarantine;                       /* files that a jail made at protected places are renamed aside */
	AJ_LIST(const char *) protect;         /* places relative to the workspace, see policy/protected_places.h */
	AJ_LIST(const char *) sockets;         /* absolute host paths of sockets that the jail may connect to */
	AJ_LIST(const char *) workspace_under; /* folders, AJ_UNDER_*: see workspace/location.h */
	enum aj_network network;
	AJ_LIST(const char *) allow; /* as aj_host_rule_parse() reads them; the four below are for AJ_NET_ALLOW alone */
	uint64_t connections;        /* open at a time */
	uint64_t connections_per_s;
	uint64_t bytes_out, bytes_in; /* of all connections together */
	bool pass_settings;           /* pass the caller's certificates and package registries to a command with a network */
	bool ask;                     /* of AJ_NET_ALLOW: names that are not in `allow` are asked for */
	uint64_t ask_ms;
	AJ_LIST(const char *) publish; /* as aj_publish_rule_parse() reads them */
	enum aj_publish_to publish_to;
	const char *upstream_proxy;       /* the site's: http://HOST:PORT; NULL or "": none */
	const char *upstream_credentials; /* file:/PATH or command:TEXT, with USER:PASSWORD as its first line; NULL or "": none */
	bool exec;                        /* the system call list of commands instead of the snippets' */
	bool fork;
	bool ptrace;                    /* a command may trace its own processes */
	uint64_t deny_syscalls;         /* AJ_DENY_* */
	uint64_t uid;                   /* inside the jail; the group id too */
	AJ_LIST(const char *) env;      /* NAME=value */
	AJ_LIST(const char *) pass_env; /* names of the caller's variables */
	enum aj_escapes escapes;        /* of a command's output that may reach the caller's terminal */
	uint64_t require;               /* AJ_WALL_* */

	/* Audit. */
	bool audit; /* without a destination no run starts */
	enum aj_audit_failure audit_failure;

	/* Limits. */
	enum aj_enforce enforce; /* best effort: without cgroup v2, use rlimits and report it; else refuse */
	uint64_t wall_ms;
	uint64_t cpu_ms;
	uint64_t cpu_percent; /* share of processors: 100 is one */
	uint64_t memory_bytes;
	uint64_t pids;
	uint64_t open_files;
	uint64_t file_bytes;                       /* largest single file */
	uint64_t workspace_bytes, workspace_files; /* growth of a writable workspace */
	uint64_t git_bytes, git_objects, git_ms;   /* of the history that the host fetches from a run */
	uint64_t tmp_bytes;                        /* /tmp, and /dev/shm again */
	uint64_t tmp_inodes;
	uint64_t source_bytes;                       /* largest snippet */
	uint64_t capture_bytes;                      /* kept of stdout, and of stderr: head and tail */
	uint64_t output_bytes;                       /* written in total before the run is ended */
	uint64_t result_bytes;                       /* largest result message */
	uint64_t output_bytes_max, output_files_max; /* of the files of /output that come back from one run */
};

static inline enum aj_profile aj_policy_profile(const struct aj_policy *policy)
{
	return policy->exec ? AJ_PROFILE_COMMAND : policy->native == AJ_NATIVE_TREE ? AJ_PROFILE_NATIVE : AJ_PROFILE_SNIPPET;
}

/* The profile of a snippet that starts no program: one process without sockets. */
static inline bool aj_profile_is_pure(enum aj_profile profile)
{
	return profile != AJ_PROFILE_COMMAND;
}

const char *aj_network_name(enum aj_network network);
const char *aj_builtins_name(enum aj_builtins builtins);
