/* The system call filter: compiled by libseccomp at build time, installed by two system calls at run time. */
#pragma once
#include <linux/filter.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"

struct aj_filter {
	const struct sock_filter *insns;
	unsigned short count;
};

/* The ready filter for a profile under a network; generated, never fails. */
const struct aj_filter *aj_filter_ready(enum aj_profile profile, enum aj_network network);

/* The ready filter that takes away one group (an AJ_DENY_* bit); it allows everything else. Generated, never fails. */
const struct aj_filter *aj_filter_denied(uint64_t group);

/* All filters of a guest in the order of their installation, the profile's last: it need not be there for the others, and
 * where two refuse a call the last one names the error. Returns their number. */
enum { AJ_FILTERS_MAX = AJ_DENY_GROUPS + 1 };
size_t aj_filter_list(enum aj_profile profile, enum aj_network network, uint64_t deny, const struct aj_filter *ret[AJ_FILTERS_MAX]);

/* Compile the table into at most `room` instructions; returns their number or -1. Needs libseccomp. */
int aj_filter_compile(enum aj_profile profile, enum aj_network network, struct sock_filter *out, size_t room, struct aj_error *err);

/* The same for a group. */
int aj_filter_compile_denied(uint64_t group, struct sock_filter *out, size_t room, struct aj_error *err);

/* The name of a system call of this architecture; -1 when the number has none. Needs libseccomp. */
int aj_syscall_name(int number, char *out, size_t room);

/* Install for the calling process and all its threads; no_new_privs must be set. */
int aj_filter_install(const struct aj_filter *filter, struct aj_error *err);
