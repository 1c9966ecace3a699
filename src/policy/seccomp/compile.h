/* The system call filter: compiled by libseccomp at build time, installed by two system calls at run time. */
#pragma once
#include <linux/filter.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"
#include "policy/policy.h"

struct aj_filter {
	const struct sock_filter *insns;
	unsigned short count;
};

/* The ready filter for a profile under a network; generated, never fails. */
const struct aj_filter *aj_filter_ready(enum aj_profile profile, enum aj_network network);

/* The ready filter that denies one group (an AJ_DENY_* bit) and allows everything else. Generated, never fails. */
const struct aj_filter *aj_filter_denied(uint64_t group);

/* The whole filter of a guest: the profile's filter, then each denied group's for calls that the profile allows; where both
 * refuse a call, the profile's errno counts. Built in `room`; empty if they do not fit, and not to be installed. */
enum { AJ_FILTER_ROOM = 4096 };
struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                 struct sock_filter room[AJ_FILTER_ROOM]);

/* The filter of a snippet's program from its first instruction to its end: the calls of Python's start, the calls of the
 * snippet's filter, and no others. Built in `room`; see policy/seccomp/startup.c. */
struct aj_filter aj_filter_baseline(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                    struct sock_filter room[AJ_FILTER_ROOM]);
/* The filter above a baseline: denies the calls that only the start needed. It allows calls that the baseline refuses, so that
 * the baseline's refusals are reported. */
struct aj_filter aj_filter_above(enum aj_profile profile, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM]);

/* The filter of a zygote, which its jails inherit: see policy/seccomp/zygote_filter.c. A call that it does not allow gets ENOSYS,
 * by an action of lower precedence than every action of a jail's own filter: so the jail's own refusals keep their errnos and
 * are reported. Generated, never fails. */
const struct aj_filter *aj_filter_zygote(enum aj_profile profile);

/* The ready filter of a stage of a snippet's life; generated, never fails. */
const struct aj_filter *aj_filter_stage(enum aj_stage stage);

/* The filter of the relay of a jail's network: see policy/seccomp/relay_filter.c. Generated, never fails. */
const struct aj_filter *aj_filter_relay(void);

/* Append `next` to the `count` instructions of `out`: each `allow` becomes a jump to it. The new count; 0: no room. */
unsigned short aj_filter_append(struct sock_filter *out, size_t room, unsigned short count, const struct aj_filter *next);

/* Turn every errno action into a notification, except errno 0, ENOSYS, and answers marked AJ_QUIET (in a field that the kernel
 * ignores for BPF_RET): that an option is unknown, which libraries try often. A notification without a listener is ENOSYS. */
enum { AJ_QUIET = 1 };
void aj_filter_report(struct sock_filter *insns, size_t count);

/* Compile the table into at most `room` instructions; returns their number or -1. Needs libseccomp. */
int aj_filter_compile(enum aj_profile profile, enum aj_network network, struct sock_filter *out, size_t room,
                      struct aj_error *err);

/* The same for a stage, a zygote, the relay and a group. */
int aj_filter_compile_stage(enum aj_stage stage, struct sock_filter *out, size_t room, struct aj_error *err);
int aj_filter_compile_zygote(enum aj_profile profile, struct sock_filter *out, size_t room, struct aj_error *err);
int aj_filter_compile_relay(struct sock_filter *out, size_t room, struct aj_error *err);
int aj_filter_compile_denied(uint64_t group, struct sock_filter *out, size_t room, struct aj_error *err);

/* The name of a system call of this architecture; -1 when the number has none. Needs libseccomp. */
int aj_syscall_name(int number, char *out, size_t room);

/* Install for the calling process and all its threads; no_new_privs must be set. */
int aj_filter_install(const struct aj_filter *filter, struct aj_error *err);

/* The same, with refusals reported: *ret_listener is the listener, close-on-exec; the caller hands it over and closes it. -1: the
 * kernel has no such listener, or an earlier filter of the process has one; then `alone` is installed. */
int aj_filter_install_reported(const struct aj_filter *filter, const struct aj_filter *alone, int *ret_listener,
                               struct aj_error *err);
