/* The attributes of the calling process that prctl(2) sets, one function each. */
#include "base/prctl.h"

#include <stdint.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/syscall.h"

static long set_raw(int option, long a, long b)
{
	return aj_syscall_raw(SYS_prctl, option, a, b, 0, 0, 0);
}

static int set(int option, long value)
{
	return (int)aj_syscall_errno(set_raw(option, value, 0));
}

int aj_prctl_death_signal(int signal)
{
	return set(PR_SET_PDEATHSIG, signal);
}

long aj_prctl_death_signal_raw(int signal)
{
	return set_raw(PR_SET_PDEATHSIG, signal, 0);
}

int aj_prctl_die_with_parent(pid_t parent, int signal)
{
	if (aj_prctl_death_signal(signal) < 0)
		return -1;
	if (getppid() == parent)
		return 0;
	errno = ESRCH;
	return -1;
}

int aj_prctl_dumpable(bool dumpable)
{
	return set(PR_SET_DUMPABLE, dumpable);
}

int aj_prctl_no_new_privs(void)
{
	return set(PR_SET_NO_NEW_PRIVS, 1);
}

int aj_prctl_name(const char *name)
{
	return (int)aj_syscall_errno(aj_prctl_name_raw(name));
}

long aj_prctl_name_raw(const char *name)
{
	return set_raw(PR_SET_NAME, (long)(intptr_t)name, 0);
}

int aj_prctl_timer_slack(unsigned long ns)
{
	return set(PR_SET_TIMERSLACK, (long)ns);
}

int aj_prctl_tid_address(int **ret)
{
	return set(PR_GET_TID_ADDRESS, (long)(intptr_t)ret);
}

int aj_prctl_securebits(unsigned bits)
{
	return (int)aj_syscall_errno(aj_prctl_securebits_raw(bits));
}

long aj_prctl_securebits_raw(unsigned bits)
{
	return set_raw(PR_SET_SECUREBITS, (long)bits, 0);
}

int aj_prctl_clear_ambient(void)
{
	return (int)aj_syscall_errno(aj_prctl_clear_ambient_raw());
}

long aj_prctl_clear_ambient_raw(void)
{
	return set_raw(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0);
}

long aj_prctl_drop_bound_raw(long capability)
{
	return set_raw(PR_CAPBSET_DROP, capability, 0);
}
