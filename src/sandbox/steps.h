/* The order of a jail's steps, in one table: cold starts, zygotes, the jails born from them, errors and the architecture page use
 * these rows.
 * A row names its walkers; no walker skips a row, and the order is the same for all walkers. */
#pragma once

/* The walkers. A cold jail is built by its init, which then forks the guest. A zygote is built as a jail is, but is its own
 * guest. A jail born from a zygote builds the walls that it does not share with the zygote's other jails. */
enum {
	AJ_BY_INIT = 1,
	AJ_BY_GUEST = 2,
	AJ_BY_ZYGOTE = 4,
	AJ_BY_JAIL = 8,
	AJ_BY_BUILDERS = AJ_BY_INIT | AJ_BY_ZYGOTE,
	AJ_BY_OWNERS = AJ_BY_INIT | AJ_BY_ZYGOTE | AJ_BY_JAIL,
	AJ_BY_PROGRAMS = AJ_BY_GUEST | AJ_BY_ZYGOTE | AJ_BY_JAIL,
};

/* clang-format off */
#define AJ_STEPS(X)                                                                                                              \
	X(tie_early,     AJ_BY_INIT,     "the kernel needs as long for a network namespace as for all others together, "         \
	                                 "so it is made while init already runs, still in the host's network namespace: "        \
	                                 "until the step `network` a parent-death signal ties init to the supervisor")           \
	X(close_parent,  AJ_BY_BUILDERS, "init's copy of the supervisor's end of the socket: "                                   \
	                                 "while it is open, init cannot see the supervisor die")                                 \
	X(await_maps,    AJ_BY_BUILDERS, "the supervisor writes uid_map and gid_map; until then init has no mapped id")          \
	X(pid_view,      AJ_BY_ZYGOTE,   "a zygote sees and signals no process but its own jails: "                              \
	                                 "it gets a PID namespace, whose PID 1 is the holder, "                                  \
	                                 "because the kernel lets no PID 1 make children for its parent")                        \
	X(handles,       AJ_BY_ZYGOTE,   "opens the /proc and the cgroup folder that births need, "                              \
	                                 "so that no folder above them can be reached")                                          \
	X(write_maps,    AJ_BY_JAIL,     "the kernel accepts id maps from a process in the user namespace or in its parent, "    \
	                                 "and the supervisor is two levels above: each jail maps its one id itself")             \
	X(lock_limits,   AJ_BY_OWNERS,   "sets per-namespace counts in /proc/sys/user while the host's /proc is still mounted")  \
	X(attributes,    AJ_BY_BUILDERS, "resets the caller's privileges that fork and exec preserve: "                          \
	                                 "while the host's /proc is in reach, and before any exec")                              \
	X(sources,       AJ_BY_BUILDERS, "opens the sources of binds with the caller's own rights, "                             \
	                                 "which the next step may give up")                                                      \
	X(identity,      AJ_BY_OWNERS,   "the jail's only id; files made from here on belong to that id")                        \
	X(tie_again,     AJ_BY_INIT,     "the change of ids clears the parent-death signal, "                                    \
	                                 "and init is in the host's network namespace until the step `network`")                 \
	X(mounts,        AJ_BY_BUILDERS, "needs CAP_SYS_ADMIN in the jail's user namespace")                                     \
	X(own_mounts,    AJ_BY_JAIL,     "mounts the jail's own scratch space over the zygote's")                                \
	X(pivot,         AJ_BY_BUILDERS, "after every bind; the host tree is gone below this line")                              \
	X(hostname,      AJ_BY_OWNERS,   "needs CAP_SYS_ADMIN too")                                                              \
	X(network,       AJ_BY_INIT,     "enters the jail's own network namespace: as late as its first user below allows, "     \
	                                 "because the kernel is still making it while init mounts")                              \
	X(loopback,      AJ_BY_INIT,     "needs CAP_NET_ADMIN over the jail's network namespace")                                \
	X(egress,        AJ_BY_INIT,     "makes the sockets behind every address of a network by allow-list, "                   \
	                                 "and waits for the relay that serves them: needs CAP_NET_ADMIN too")                    \
	X(drop_caps,     AJ_BY_BUILDERS, "the last user of capabilities is above")                                               \
	X(drop_own_caps, AJ_BY_JAIL,     "drops the capabilities of the jail's own user namespace from every set; "              \
	                                 "the jail's init has done the same")                                                    \
	X(no_new_privs,  AJ_BY_OWNERS,   "the kernel requires it for an unprivileged seccomp filter, "                           \
	                                 "and exec grants no privileges from here on")                                           \
	X(tie_to_parent, AJ_BY_BUILDERS, "after the last change of ids, which would clear the parent-death signal: "             \
	                                 "the process dies with the supervisor")                                                 \
	X(terminal,      AJ_BY_INIT,     "a terminal in the jail's own /dev/pts, whose session init leads; "                     \
	                                 "the supervisor gets its other side, and relays it to the caller's")                    \
	X(stdio,         AJ_BY_PROGRAMS, "descriptors 0 to 3 are what the plan says; every other one is closed")                 \
	X(session,       AJ_BY_PROGRAMS, "leaves the caller's process group, which no namespace bounds: "                        \
	                                 "a session of its own, or a process group in that of its terminal")                     \
	X(rlimits,       AJ_BY_PROGRAMS, "after setup, so that the limits bind the guest and not the setup; "                    \
	                                 "a zygote has limits of its own")                                                       \
	X(landlock,      AJ_BY_PROGRAMS, "before the filter, which does not allow Landlock's calls to a snippet. "               \
	                                 "A zygote is restricted in signals and abstract sockets alone: "                        \
	                                 "restricted in files, it could mount nothing for its jails")                            \
	X(seccomp,       AJ_BY_GUEST | AJ_BY_ZYGOTE,                                                                             \
	                                 "last: the filter need not allow any step above. "                                      \
	                                 "A snippet's Python starts under a baseline; its runner installs the filter above "     \
	                                 "that after Python is loaded and before the first byte of code is read. "               \
	                                 "A zygote's filter stays below the filters of its jails")                               \
	X(exec,          AJ_BY_GUEST | AJ_BY_ZYGOTE,                                                                             \
	                                 "from here on the process runs the guest's program and no code of agentjail")
/* clang-format on */
