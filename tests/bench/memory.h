/* Measures the machine's memory that jails take. */
#pragma once
#include <sys/types.h>

struct memory {
	int jails;
	double zygote_pss_kib, zygote_private_kib; /* its own; the inits of its jails share it */
	double pss_kib, private_kib;               /* a jail, on average */
	int shared_inits;                          /* whose memory the kernel says is the zygote's */
};

/* A child of ours that is neither zygote nor init. */
void memory_not_a_jail(pid_t pid);
/* Of all jails that are children of this process, which has one zygote. */
void memory_of_jails(struct memory *ret);
/* Microseconds of processor time that this process, its children that are gone, and its zygote have used. */
double used_cpu_us(void);
/* MemAvailable. */
double free_kib(void);
