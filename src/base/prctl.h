/* The attributes of the calling process that prctl(2) sets, one function each. -1 with errno; those that end in _raw make the
 * call without libc, for a process that shares its memory with another one, and return a negative errno. */
#pragma once
#include <stdbool.h>
#include <sys/types.h>

/* The signal that the kernel sends when the parent ends. A change of ids clears it. */
int aj_prctl_death_signal(int signal);
long aj_prctl_death_signal_raw(int signal);
/* The same; -1 with ESRCH if `parent` has ended already. */
int aj_prctl_die_with_parent(pid_t parent, int signal);
/* May processes with the same ids read this one's memory and descriptors? A change of ids sets it to the sysctl
 * fs.suid_dumpable. */
int aj_prctl_dumpable(bool dumpable);
/* From here on exec grants no privileges; the kernel lets no process undo that. */
int aj_prctl_no_new_privs(void);
/* The name in /proc, for people. */
int aj_prctl_name(const char *name);
long aj_prctl_name_raw(const char *name);
int aj_prctl_timer_slack(unsigned long ns);
/* The clear_child_tid address: the kernel writes 0 there when the thread ends (set_tid_address(2)). */
int aj_prctl_tid_address(int **ret);

/* Capabilities; the sets themselves are those of base/capset.h. */
int aj_prctl_securebits(unsigned bits);
long aj_prctl_securebits_raw(unsigned bits);
int aj_prctl_clear_ambient(void);
long aj_prctl_clear_ambient_raw(void);
long aj_prctl_drop_bound_raw(long capability);
