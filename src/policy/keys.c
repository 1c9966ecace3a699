/* The table of keys. To add a key: a field in policy.h, a row here, and the code in policy/plan/ that enforces it.
 * It holds no logic: values.c sets, prints and compares values as the rows describe them. */
#include "policy/keys.h"

static const char *const checked_names[] = { "before", "run", NULL };
static const char *const builtins_names[] = { "minimal", "static", "standard", "full", NULL };
static const char *const native_names[] = { "start", "tree", NULL };
static const char *const network_names[] = { "none", "loopback", "allow", "host", NULL };
static const char *const publish_names[] = { "loopback", "any", NULL };
static const char *const workspace_names[] = { "none", "read-only", "overlay", "copy", "read-write", NULL };
static const char *const workspace_at_names[] = { "/workspace", "same", NULL };
static const char *const home_names[] = { "empty", "kept", NULL };
static const char *const home_scope_names[] = { "workspace", "policy", NULL };
static const char *const worktree_names[] = { "none", "apart", "shared", NULL };
static const char *const enforce_names[] = { "strict", "best-effort", NULL };
static const char *const escape_names[] = { "none", "filtered", "all", NULL };
static const char *const failure_names[] = { "refuse", "flag", NULL };
static const char *const deny_names[] = { "threads", "sockets", "ipc", "inotify", "memfd", "shared-memory", "locks", NULL };
static const char *const wall_names[] = { "landlock", "memory-cgroup", "pids-cgroup", "network", "python-layer", NULL };

#define K ((uint64_t)1 << 10)
#define M ((uint64_t)1 << 20)
#define G ((uint64_t)1 << 30)
#define HOUR ((uint64_t)3600 * 1000)
#define AT(field) offsetof(struct aj_policy, field)

/* clang-format off */
const struct aj_key aj_policy_keys[] = {
	{ "description", AJ_KEY_TEXT, AT(description), .items = &aj_item_text,
	  .fallback = "", .looser = AJ_LOOSER_NEVER, .by = AJ_BY_NOBODY,
	  .help = "one line on what the policy is for" },

	{ "python.layer", AJ_KEY_BOOL, AT(layer),
	  .fallback = "true", .looser = AJ_LOOSER_LESS, .by = AJ_BY_RAIL,
	  .help = "whether snippets pass the import check and get restricted builtins; "
	          "with false only the kernel's walls remain" },
	{ "python.imports", AJ_KEY_LIST, AT(imports), .max = 500, .items = &aj_item_import,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "modules that a snippet may import: "
	          "`json` is that module, `numpy.*` is numpy with its submodules, `*` is every module" },
	{ "python.imports_checked", AJ_KEY_ENUM, AT(imports_checked), .names = checked_names,
	  .fallback = "before", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "when imports that a snippet may not make are reported: before (all at once, and no line of it runs; "
	          "an import that the code itself guards, by a handler of ImportError or `if TYPE_CHECKING:`, "
	          "raises where it stands), or run (each raises ImportError where it stands)" },
	{ "python.native", AJ_KEY_ENUM, AT(native), .names = native_names,
	  .fallback = "start", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SECCOMP,
	  .help = "when machine code of the read-only tree may be mapped: start (before the snippet begins), "
	          "or tree (at any time, so packages load their extension modules when they need them; "
	          "everything else in the jail is mounted noexec, and memory never becomes executable)" },
	{ "python.preload", AJ_KEY_LIST, AT(preload), .max = 100, .items = &aj_item_preload,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_NOBODY,
	  .help = "modules of the Python tree that libraries import while they run, as [WORD:]MODULE: "
	          "they are loaded ahead of a snippet in which WORD occurs (without it: the module's top name), "
	          "and in a jail that is kept ready: with python.native = \"start\" no extension module can be mapped later. "
	          "This does not allow a snippet to import them" },
	{ "python.env", AJ_KEY_TEXT, AT(python_env), .items = &aj_item_python_env,
	  .fallback = "", .looser = AJ_LOOSER_ANY, .by = AJ_BY_LAUNCHER,
	  .help = "environment of packages of `agentjail env` that a snippet gets, read-only at /env: "
	          "its top-level packages, with all their submodules, are added to python.imports, and python.native is tree, "
	          "unless these keys are locked" },
	{ "python.builtins", AJ_KEY_ENUM, AT(builtins), .names = builtins_names,
	  .fallback = "standard", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "built-in functions of a snippet: minimal (21 names), static (standard without eval, exec, compile, globals, "
	          "locals and vars), standard (all without I/O or reflection; eval, exec and compile check their text) or full" },
	{ "python.files", AJ_KEY_LIST, AT(reached), .max = 100, .items = &aj_item_reached,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "folders of the jail that open(), os, pathlib and other modules for files reach, beside /tmp, /output "
	          "and the caller's files: /data, or `/` for all that the jail's mounts show; the mounts say what is writable" },
	{ "python.source_size", AJ_KEY_BYTES, AT(source_bytes), .min = 1, .max = 8 * M,
	  .fallback = "1M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "largest snippet" },
	{ "python.hash_seed", AJ_KEY_TEXT, AT(hash_seed), .items = &aj_item_hash_seed,
	  .fallback = "random", .looser = AJ_LOOSER_ANY, .by = AJ_BY_LAUNCHER,
	  .help = "seed of hash() of text and bytes, which the order of a set follows: random (each interpreter has its own; "
	          "jails of one zygote share it), or a number as in PYTHONHASHSEED, from 0 to 4294967295; "
	          "then code may choose keys that collide" },
	{ "python.clock", AJ_KEY_TEXT, AT(clock), .items = &aj_item_clock,
	  .fallback = "real", .looser = AJ_LOOSER_ANY, .by = AJ_BY_RAIL,
	  .help = "the time that time and datetime show: "
	          "real, a fixed time in UTC (2026-01-01T00:00:00Z), or a shift of the real one (+24h, -90s). "
	          "Monotonic clocks, times of files and libraries that ask the kernel themselves stay real" },
	{ "python.sleep_max", AJ_KEY_DURATION, AT(sleep_ms), .min = 1, .max = 168 * HOUR, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "longest time that one call of time.sleep() or asyncio.sleep() takes; "
	          "a longer one is cut short without an error" },

	{ "requests.imports", AJ_KEY_LIST, AT(request_imports), .max = 500, .items = &aj_item_import,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "modules that a request of a client may allow itself beyond python.imports; "
	          "jails have them imported beforehand. Any request may choose fewer than python.imports" },
	{ "requests.builtins", AJ_KEY_ENUM, AT(request_builtins), .names = builtins_names,
	  .fallback = "minimal", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RAIL,
	  .help = "the largest set of built-in functions that a request may choose; "
	          "any request may choose a set up to python.builtins" },
	{ "requests.layer", AJ_KEY_BOOL, AT(request_layer),
	  .fallback = "true", .looser = AJ_LOOSER_LESS, .by = AJ_BY_RAIL,
	  .help = "with false a request may switch the Python layer off for itself" },

	{ "filesystem.rootfs", AJ_KEY_TEXT, AT(rootfs), .items = &aj_item_rootfs,
	  .fallback = "default", .looser = AJ_LOOSER_ANY, .by = AJ_BY_MOUNTS,
	  .help = "what is at /usr, read-only: "
	          "the name of a Python tree (`default`, or a variant beside it), or `host` for the host's /usr" },
	{ "filesystem.proc", AJ_KEY_BOOL, AT(proc),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS, .seen = true,
	  .help = "whether the jail has a /proc, read-only and of its own processes" },
	{ "filesystem.binds", AJ_KEY_LIST, AT(binds), .max = 100, .items = &aj_item_bind,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS, .seen = true, .host_paths = true,
	  .help = "host paths that the jail sees, as HOST[:JAIL][:rw]; read-only unless :rw. "
	          "HOST may be `~/PATH` or relative to the folder of the policy file" },
	{ "filesystem.masks", AJ_KEY_LIST, AT(masks), .max = 100, .items = &aj_item_mask,
	  .looser = AJ_LOOSER_LESS, .by = AJ_BY_MOUNTS, .seen = true,
	  .help = "paths, absolute in the jail or relative to the workspace, that are shown empty and read-only, "
	          "even where a bind shows a file; a path that the jail could create must exist, unless :if-present follows" },
	{ "filesystem.sockets", AJ_KEY_LIST, AT(sockets), .max = AJ_SOCKETS_MAX, .items = &aj_item_socket,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR, .host_paths = true,
	  .help = "host paths of Unix stream sockets that a command may connect to; other sockets of the host are out of reach" },
	{ "filesystem.workspace", AJ_KEY_ENUM, AT(workspace), .names = workspace_names,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "how the folder that the caller names with --workspace is shown: "
	          "read-only; overlay, a layer over the folder takes what the jail writes; "
	          "copy, the jail writes a copy of the folder; or read-write, changes in it are permanent. "
	          "Changes of overlay and copy are kept apart until `agentjail changes apply`; sessions have neither" },
	{ "filesystem.workspace_at", AJ_KEY_ENUM, AT(workspace_at), .names = workspace_at_names,
	  .fallback = "/workspace", .looser = AJ_LOOSER_ANY, .by = AJ_BY_MOUNTS,
	  .help = "the workspace's path in the jail: /workspace, or same (its own path on the host, which virtual environments, "
	          "build caches and agents' histories hold; /workspace is then a symlink to it)" },
	{ "filesystem.workspace_here", AJ_KEY_BOOL, AT(workspace_here),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "whether the working directory of `agentjail run` is the workspace where the caller names none" },
	{ "filesystem.workspace_repository", AJ_KEY_BOOL, AT(workspace_repository),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "whether that workspace is the root of the git repository around the working directory, if there is one: "
	          "git needs the whole repository" },
	{ "filesystem.home", AJ_KEY_ENUM, AT(home), .names = home_names,
	  .fallback = "empty", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "the home of a command of `agentjail run`: empty (/tmp, gone with the jail) or kept (a folder for each policy "
	          "and workspace, below the caller's state folder, shown at the caller's own home path; see `agentjail homes`)" },
	{ "filesystem.home_scope", AJ_KEY_ENUM, AT(home_scope), .names = home_scope_names,
	  .fallback = "workspace", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "scope of a kept home: workspace, one for each workspace; or policy, "
	          "one for all workspaces, so that a program signs in once. Files that a jail leaves in a shared home, "
	          "such as a shell's start-up file or a hook, also run in the jails of other workspaces" },
	{ "filesystem.home_import", AJ_KEY_LIST, AT(home_import), .max = 50, .items = &aj_item_in_home,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS, .seen = true,
	  .help = "files and folders of the caller's home of which `agentjail run` copies the present state into "
	          "the command's home at each start, as paths relative to the home; missing ones and symlinks are left out" },
	{ "filesystem.toolchains", AJ_KEY_LIST, AT(toolchains), .max = 20, .items = &aj_item_toolchain,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS, .seen = true,
	  .help = "toolchains outside of /usr that `agentjail run` shows read-only at their own paths: "
	          "auto (those found by PATH), or names (rust, go, node, python, uv, local, agents, ruby, "
	          "java, mise, asdf, brew, opt); none switches them off" },
	{ "filesystem.protect", AJ_KEY_LIST, AT(protect), .max = 100, .items = &aj_item_place,
	  .fallback = "@default", .looser = AJ_LOOSER_LESS, .by = AJ_BY_MOUNTS,
	  .help = "places of a writable workspace that are read-only, since host programs execute them or read them as configuration: "
	          "paths relative to the workspace, `*` for any part of a name, "
	          "a slash at the end for a folder that is protected even before it exists; `@default` is the built-in list. "
	          "No copy for `exec --output` is made at such a place, in whichever folder" },
	{ "filesystem.workspace_under", AJ_KEY_LIST, AT(workspace_under), .max = 100, .items = &aj_item_under,
	  .fallback = AJ_UNDER_DEFAULT, .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER, .host_paths = true,
	  .help = "folders in which a workspace may lie, themselves included. "
	          "`@default` is the working directory, the folders below the caller's home that are not hidden, "
	          "and the folders below /tmp and /var/tmp; `@anywhere` is every folder except the system's own, "
	          "the home itself and the folders with agentjail's configuration, which must be named" },
	{ "filesystem.worktree", AJ_KEY_ENUM, AT(worktree), .names = worktree_names, .was_boolean = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "how the main repository of a writable workspace that is a linked git worktree is shown: none (git finds no "
	          "repository); apart, git writes to a layer over it, in each mode of the workspace, until `agentjail changes apply`; "
	          "or shared, a read-write workspace's jail may change and destroy all of it, except the places of filesystem.protect. "
	          "true is read as shared, and false as none" },
	{ "filesystem.quarantine", AJ_KEY_BOOL, AT(quarantine),
	  .fallback = "false", .looser = AJ_LOOSER_LESS, .by = AJ_BY_SUPERVISOR,
	  .help = "whether repositories that the jail made in a writable workspace, and watched places of filesystem.protect, "
	          "are renamed at the end, so that git and other programs of the host do not find them" },
	{ "filesystem.tmp_size", AJ_KEY_BYTES, AT(tmp_bytes), .min = 64 * K, .max = 64 * G,
	  .fallback = "64M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "size of the private /tmp, and of /dev/shm where there is one" },
	{ "filesystem.tmp_files", AJ_KEY_COUNT, AT(tmp_inodes), .min = 16, .max = 16 * M,
	  .fallback = "4096", .looser = AJ_LOOSER_MORE, .by = AJ_BY_MOUNTS,
	  .help = "number of files and folders in /tmp, and again in /dev/shm" },

	{ "network.mode", AJ_KEY_ENUM, AT(network), .names = network_names,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_NAMESPACE, .unwalled = "host",
	  .help = "none (no interface is up), loopback, allow (only the hosts of network.allow, "
	          "by TCP) or host (the host's own network: no wall)" },
	{ "network.allow", AJ_KEY_LIST, AT(allow), .max = 200, .items = &aj_item_host,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_NAMESPACE,
	  .help = "hosts of network.mode = \"allow\", as name:port, *.name:port (every name below it), address:port "
	          "or network/bits:port, with [...] around an IPv6 address; host:port is a port of the host's own loopback. "
	          "A name whose address is private, or otherwise not public, is refused unless an item writes that address out" },
	{ "network.connections", AJ_KEY_COUNT, AT(connections), .min = 1, .max = 64 * K,
	  .fallback = "1024", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "connections that network.mode = \"allow\" has open at a time; further ones are refused" },
	{ "network.connections_per_second", AJ_KEY_COUNT, AT(connections_per_s), .min = 1, .max = 64 * K, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "new connections of network.mode = \"allow\" in a second; further ones are refused" },
	{ "network.bytes_out", AJ_KEY_BYTES, AT(bytes_out), .min = 1 * K, .max = 4096 * G, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes that the jail may send by network.mode = \"allow\", all connections together; "
	          "then they are cut and further ones refused" },
	{ "network.bytes_in", AJ_KEY_BYTES, AT(bytes_in), .min = 1 * K, .max = 4096 * G, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes that the jail may receive by network.mode = \"allow\", all connections together; "
	          "then they are cut and further ones refused" },
	{ "network.pass_settings", AJ_KEY_BOOL, AT(pass_settings),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER, .seen = true,
	  .help = "whether a command with a network gets the caller's certificates (SSL_CERT_FILE, NODE_EXTRA_CA_CERTS, ...) "
	          "and package registries (PIP_INDEX_URL, GOPROXY, those of ~/.npmrc, pip.conf and cargo's configuration, "
	          "...), except values with a password or a token" },
	{ "network.ask", AJ_KEY_BOOL, AT(ask),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "whether a connection to a name that is not in network.allow waits for an answer (run --network-ask, "
	          "--network-ask-command, --network-ask-fd); without one of these options it is refused" },
	{ "network.ask_timeout", AJ_KEY_DURATION, AT(ask_ms), .min = 1000, .max = HOUR,
	  .fallback = "60s", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "time for the answer to one question of network.ask; then it counts as no" },
	{ "network.publish", AJ_KEY_LIST, AT(publish), .max = AJ_PUBLISHED_MAX, .items = &aj_item_publish,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "ports of this host that lead to servers of a command, as [HOST:]PORT[:GUESTPORT]: the address "
	          "of the host (127.0.0.1), the port there, and the port that the server in the jail listens on (the same)" },
	{ "network.publish_to", AJ_KEY_ENUM, AT(publish_to), .names = publish_names,
	  .fallback = "loopback", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "on which addresses network.publish may open ports: "
	          "loopback (127.0.0.0/8 and ::1, for programs of this host), or any (whoever reaches the host)" },

	{ "process.exec", AJ_KEY_BOOL, AT(exec),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SECCOMP,
	  .help = "whether programs may be started: false is the short system call list of snippets, true that of commands" },
	{ "process.fork", AJ_KEY_BOOL, AT(fork),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SECCOMP,
	  .help = "whether new processes may be created (threads may be, unless process.deny_syscalls has them); "
	          "needs process.exec" },
	{ "process.ptrace", AJ_KEY_BOOL, AT(ptrace),
	  .fallback = "false", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SECCOMP,
	  .help = "whether a command's processes may trace one another, for gdb, strace and LeakSanitizer; needs process.exec" },
	{ "process.deny_syscalls", AJ_KEY_FLAGS, AT(deny_syscalls), .names = deny_names,
	  .looser = AJ_LOOSER_LESS, .by = AJ_BY_SECCOMP,
	  .help = "groups of system calls that are removed from the list" },
	{ "process.env", AJ_KEY_LIST, AT(env), .max = 200, .items = &aj_item_env,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER, .seen = true,
	  .help = "variables of the jail, as NAME=VALUE; "
	          "of the caller's environment only the names of process.pass_env are passed on" },
	{ "process.pass_env", AJ_KEY_LIST, AT(pass_env), .max = 100, .items = &aj_item_variable,
	  .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER, .seen = true,
	  .help = "names of variables that `agentjail run` passes on from its own environment, where they are set; "
	          "they override values of process.env" },
	{ "process.uid", AJ_KEY_COUNT, AT(uid), .min = 1, .max = 65533,
	  .fallback = "1000", .looser = AJ_LOOSER_ANY, .by = AJ_BY_NAMESPACE,
	  .help = "the jail's only user id and group id, as seen inside" },

	{ "limits.enforce", AJ_KEY_ENUM, AT(enforce), .names = enforce_names,
	  .fallback = "best-effort", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "without cgroup v2: strict refuses to run, best-effort uses rlimits, which the result says" },
	{ "limits.wall", AJ_KEY_DURATION, AT(wall_ms), .min = 10, .max = 168 * HOUR, .none = true,
	  .fallback = "30s", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "time on the clock until a snippet is interrupted, and killed with its jail a second later; "
	          "a command is killed at once" },
	{ "limits.cpu", AJ_KEY_DURATION, AT(cpu_ms), .min = 10, .max = 168 * HOUR, .none = true, .as_wall = true,
	  .fallback = "wall", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RLIMIT,
	  .help = "processor time of each process; `wall` is as much as limits.wall" },
	{ "limits.cpu_percent", AJ_KEY_COUNT, AT(cpu_percent), .min = 1, .max = 100000, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_CGROUP,
	  .help = "CPU limit of the whole jail, in percent: 100 is one processor; "
	          "without cgroup v2 whole processors, rounded up" },
	{ "limits.memory", AJ_KEY_BYTES, AT(memory_bytes), .min = 16 * M, .max = 4096 * G, .none = true,
	  .fallback = "512M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_CGROUP,
	  .help = "memory of the whole jail; without cgroup v2 of each process" },
	{ "limits.pids", AJ_KEY_COUNT, AT(pids), .min = 1, .max = M, .none = true,
	  .fallback = "32", .looser = AJ_LOOSER_MORE, .by = AJ_BY_CGROUP,
	  .help = "processes and threads" },
	{ "limits.open_files", AJ_KEY_COUNT, AT(open_files), .min = 16, .max = M,
	  .fallback = "64", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RLIMIT,
	  .help = "open files of each process" },
	{ "limits.file_size", AJ_KEY_BYTES, AT(file_bytes), .min = 1, .max = 4096 * G, .none = true,
	  .fallback = "64M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_RLIMIT,
	  .help = "largest file that may be written" },
	{ "limits.workspace", AJ_KEY_BYTES, AT(workspace_bytes), .min = 64 * K, .max = 4096 * G, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "how much a writable workspace may grow, beyond what was there at the start; no single file may be larger" },
	{ "limits.workspace_files", AJ_KEY_COUNT, AT(workspace_files), .min = 1, .max = 1024 * M, .none = true,
	  .fallback = "none", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "files and folders that may be added to a writable workspace" },
	{ "limits.git_pack", AJ_KEY_BYTES, AT(git_bytes), .min = 64 * K, .max = 4096 * G, .none = true,
	  .fallback = "1G", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes of new git history that the host's git takes from one repository of an overlay or a copy" },
	{ "limits.git_objects", AJ_KEY_COUNT, AT(git_objects), .min = 1, .max = 1024 * M, .none = true,
	  .fallback = "2000000", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "objects (commits, folders, files and tags) of that history" },
	{ "limits.git_time", AJ_KEY_DURATION, AT(git_ms), .min = 1000, .max = 168 * HOUR,
	  .fallback = "5m", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "time until the host's git has read it" },

	{ "output.capture", AJ_KEY_BYTES, AT(capture_bytes), .min = 1 * K, .max = 64 * M,
	  .fallback = "64K", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes that are kept of stdout, and again of stderr: head and tail" },
	{ "output.total", AJ_KEY_BYTES, AT(output_bytes), .min = 1 * K, .max = 4096 * G, .none = true,
	  .fallback = "64M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes that may be written to stdout and stderr together before the run is ended" },
	{ "output.result", AJ_KEY_BYTES, AT(result_bytes), .min = 4 * K, .max = 32 * M,
	  .fallback = "4M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "largest result message of a snippet" },
	{ "output.files", AJ_KEY_BYTES, AT(output_bytes_max), .min = 1, .max = 1 * G,
	  .fallback = "8M", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "bytes of the files in /output that come back from one run of a snippet, all together" },
	{ "output.files_count", AJ_KEY_COUNT, AT(output_files_max), .min = 1, .max = 10000,
	  .fallback = "100", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "number of these files" },

	{ "terminal.escapes", AJ_KEY_ENUM, AT(escapes), .names = escape_names,
	  .fallback = "filtered", .looser = AJ_LOOSER_MORE, .by = AJ_BY_SUPERVISOR,
	  .help = "control sequences of a command that reach the caller's terminal: none, filtered (those that draw, "
	          "and switch modes of keyboard and mouse) or all (also those that read and set the clipboard, "
	          "show notifications, move the window, print, draw images, or have the terminal type an answer)" },

	{ "audit.required", AJ_KEY_BOOL, AT(audit),
	  .fallback = "false", .looser = AJ_LOOSER_LESS, .by = AJ_BY_LAUNCHER,
	  .help = "whether runs are refused where the site names no audit destination" },
	{ "audit.on_failure", AJ_KEY_ENUM, AT(audit_failure), .names = failure_names,
	  .fallback = "refuse", .looser = AJ_LOOSER_MORE, .by = AJ_BY_LAUNCHER,
	  .help = "when a record cannot be written: refuse to run, or flag the result" },

	{ "require.walls", AJ_KEY_FLAGS, AT(require), .names = wall_names,
	  .looser = AJ_LOOSER_LESS, .by = AJ_BY_LAUNCHER,
	  .help = "walls that must be in place: a run is refused if the host or an option leaves one of them out" },
	{ 0 },
};
const size_t aj_policy_key_count = sizeof aj_policy_keys / sizeof *aj_policy_keys - 1;
_Static_assert(sizeof aj_policy_keys / sizeof *aj_policy_keys <= AJ_KEYS_MAX, "AJ_KEYS_MAX");
/* clang-format on */
