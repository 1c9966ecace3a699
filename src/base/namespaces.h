/* Makes and joins namespaces: for the calling process alone, as each caller has one thread.
 * Namespaces that a process is born into are flags of base/clone.h. */
#pragma once

/* Join the namespaces of these kinds (CLONE_NEW*) that `fd` refers to: a file of /proc/PID/ns, or a pidfd. -1 with errno. */
int aj_namespaces_join(int fd, int kinds);
/* Leave the caller's namespaces of these kinds for new ones. -1 with errno. */
int aj_namespaces_make(int kinds);
/* The same without libc, for a process that shares its memory with another one: a negative errno. */
long aj_namespaces_join_raw(int fd, int kinds);
long aj_namespaces_make_raw(int kinds);
