/* The jail's order, once: errors, the architecture page and the tests use these names.
 * Rows of the first table run in init (PID 1 of the jail), rows of the second in the guest after the fork. */
#pragma once

/* clang-format off */
#define AJ_INIT_STEPS(X)                                                                                        \
	X(close_parent, "our copy of the supervisor's socket: while we hold it we cannot see the supervisor die")  \
	X(await_maps,   "the supervisor writes uid_map and gid_map; until then we own nothing")                    \
	X(lock_limits,  "per-namespace counts in /proc/sys/user, while the host's /proc is still in reach")        \
	X(sources,      "opens what will be bound, with the caller's own rights: the next step may give them up")  \
	X(identity,     "the jail's only id; files made from here on belong to it")                                \
	X(mounts,       "needs CAP_SYS_ADMIN in our user namespace")                                               \
	X(pivot,        "after every bind; the host tree is gone below this line")                                 \
	X(hostname,     "needs CAP_SYS_ADMIN too")                                                                 \
	X(loopback,     "needs CAP_NET_ADMIN in our network namespace")                                            \
	X(drop_caps,    "the last user of capabilities is above")                                                  \
	X(no_new_privs, "the kernel wants it for an unprivileged seccomp filter, and exec gives nothing back")     \
	X(tie_to_parent, "after the last change of ids, which would clear it: we die with the supervisor")

#define AJ_GUEST_STEPS(X)                                                                                       \
	X(stdio,    "0 to 3 are what the plan says, everything else closes")                                \
	X(session,  "out of the caller's process group, which no namespace bounds: a session of its own, or the terminal's foreground")                                             \
	X(rlimits,  "after setup, so that limits bite the guest and not us")                                        \
	X(landlock, "before the filter, which does not allow it for a snippet")                                     \
	X(seccomp,  "last: the filter need not allow any step above; a snippet's runner installs it later, after " \
	            "Python is loaded and before the first byte of code is read")                                   \
	X(exec,     "from here on nothing is ours")
/* clang-format on */
