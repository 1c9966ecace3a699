/* The jail's order, once: cold starts, zygotes, the jails born from them, errors and the architecture page use these rows.
 * A row names who walks it; nobody leaves one out, and the order is the same for all. */
#pragma once

/* Who. A cold jail is built by its init, which then forks the guest. A zygote is built as a jail is, but it is its own guest
 * and stays. A jail born from a zygote finds what all of them share, and builds for itself what must be its own. */
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
#define AJ_STEPS(X)                                                                                                  \
	X(close_parent,  AJ_BY_BUILDERS, "our copy of the supervisor's socket: while we hold it we cannot see the supervisor die") \
	X(await_maps,    AJ_BY_BUILDERS, "the supervisor writes uid_map and gid_map; until then we own nothing")       \
	X(pid_view,      AJ_BY_ZYGOTE,   "a zygote sees and signals no process but its own jails: it gets a PID namespace, whose PID 1 is a process " \
	                                 "of ours, because the kernel lets no PID 1 make children for its parent")     \
	X(handles,       AJ_BY_ZYGOTE,   "what births need of /proc and of the cgroups, opened so that nothing above it can be reached") \
	X(write_maps,    AJ_BY_JAIL,     "the kernel takes maps from a namespace itself or from the one above, and the supervisor is two above: each jail maps the one id that it has") \
	X(cgroup_ns,     AJ_BY_JAIL,     "its root is the leaf that the guest was born into; to be born there, it had to see it from outside") \
	X(lock_limits,   AJ_BY_INIT | AJ_BY_JAIL, "per-namespace counts in /proc/sys/user, while the host's /proc is still in reach") \
	X(attributes,    AJ_BY_BUILDERS, "what fork and exec hand on of the caller's privileges: while the host's /proc is in reach, and before any exec") \
	X(sources,       AJ_BY_BUILDERS, "opens what will be bound, with the caller's own rights: the next step may give them up") \
	X(identity,      AJ_BY_OWNERS,   "the jail's only id; files made from here on belong to it")                   \
	X(mounts,        AJ_BY_BUILDERS, "needs CAP_SYS_ADMIN in our user namespace")                                  \
	X(own_mounts,    AJ_BY_JAIL,     "scratch space of its own, over the zygote's")                                \
	X(pivot,         AJ_BY_BUILDERS, "after every bind; the host tree is gone below this line")                    \
	X(hostname,      AJ_BY_OWNERS,   "needs CAP_SYS_ADMIN too")                                                    \
	X(loopback,      AJ_BY_INIT,     "needs CAP_NET_ADMIN in our network namespace")                               \
	X(drop_caps,     AJ_BY_BUILDERS, "the last user of capabilities is above")                                     \
	X(drop_own_caps, AJ_BY_JAIL,     "those of its own user namespace, in every set; its init has done the same")  \
	X(no_new_privs,  AJ_BY_OWNERS,   "the kernel wants it for an unprivileged seccomp filter, and exec gives nothing back") \
	X(tie_to_parent, AJ_BY_BUILDERS, "after the last change of ids, which would clear it: we die with the supervisor") \
	X(stdio,         AJ_BY_PROGRAMS, "0 to 3 are what the plan says, everything else closes")                      \
	X(session,       AJ_BY_PROGRAMS, "out of the caller's process group, which no namespace bounds: a session of its own, or the terminal's foreground") \
	X(rlimits,       AJ_BY_PROGRAMS, "after setup, so that limits bite the guest and not us; a zygote has limits of its own") \
	X(landlock,      AJ_BY_PROGRAMS, "before the filter, which does not allow it for a snippet. A zygote is restricted in signals and abstract sockets " \
	                                 "alone: with rights on files it could mount nothing for its jails")             \
	X(seccomp,       AJ_BY_GUEST | AJ_BY_ZYGOTE, "last: the filter need not allow any step above. A snippet's Python starts under a baseline; its runner " \
	                                 "installs the filter above that after Python is loaded and before the first byte of code is read. A zygote's stays below the filters of its jails") \
	X(exec,          AJ_BY_GUEST | AJ_BY_ZYGOTE, "from here on nothing is ours")
/* clang-format on */
