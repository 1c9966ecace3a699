/* The capability sets of the calling thread, without libcap: it allocates and sets errno, and the guest, whose objects every
 * Python process loads, links no library. */
#pragma once
#include <linux/capability.h>

/* Capabilities 0 to 31, and the rest. */
struct aj_capset {
	struct __user_cap_data_struct half[2];
};

/* -1 with errno. */
int aj_capset_get(struct aj_capset *ret);
int aj_capset_set(const struct aj_capset *set);
/* Without libc, for a process that shares its memory with another one: a negative errno. */
long aj_capset_set_raw(const struct aj_capset *set);
