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

/* The ready filter that takes away one group (an AJ_DENY_* bit); it allows everything else. Generated, never fails. */
const struct aj_filter *aj_filter_denied(uint64_t group);

/* The whole filter of a guest: the profile's, and for what that allows each denied group's, so where two refuse a call the profile
 * names the error. Made in `room`; without instructions when they do not fit, and such a filter is not installed. */
enum { AJ_FILTER_ROOM = 4096 };
struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                 struct sock_filter room[AJ_FILTER_ROOM]);

/* What a snippet's program starts under, before its first instruction, and for as long as it lives: all that the start of Python takes, what
 * the filter of the snippet allows, and nothing else. Made in `room`; see seccomp/startup.c. */
struct aj_filter aj_filter_baseline(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                    struct sock_filter room[AJ_FILTER_ROOM]);
/* Over a baseline: takes away what only the start took. What the baseline refuses is left to the baseline, whose refusals are reported. */
struct aj_filter aj_filter_above(enum aj_profile profile, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM]);

/* What a zygote starts under, and its jails with it: see seccomp/zygote.c. What it does not allow is not made and gets ENOSYS, by an action that
 * comes after all that a jail's own filter can say: so that one's refusals have their errors and are reported. Generated, never fails. */
const struct aj_filter *aj_filter_zygote(enum aj_profile profile);

/* The ready filter of a stage of a snippet's life; generated, never fails. */
const struct aj_filter *aj_filter_stage(enum aj_stage stage);

/* Every answer that is an error becomes a report, but for 0, and for ENOSYS: no list names those, and libraries ask for them all the time.
 * A report that nobody takes is ENOSYS. */
void aj_filter_report(struct sock_filter *insns, size_t count);

/* Compile the table into at most `room` instructions; returns their number or -1. Needs libseccomp. */
int aj_filter_compile(enum aj_profile profile, enum aj_network network, struct sock_filter *out, size_t room, struct aj_error *err);

/* The same for a stage, for a zygote, and for a group. */
int aj_filter_compile_stage(enum aj_stage stage, struct sock_filter *out, size_t room, struct aj_error *err);
int aj_filter_compile_zygote(enum aj_profile profile, struct sock_filter *out, size_t room, struct aj_error *err);
int aj_filter_compile_denied(uint64_t group, struct sock_filter *out, size_t room, struct aj_error *err);

/* The name of a system call of this architecture; -1 when the number has none. Needs libseccomp. */
int aj_syscall_name(int number, char *out, size_t room);

/* Install for the calling process and all its threads; no_new_privs must be set. */
int aj_filter_install(const struct aj_filter *filter, struct aj_error *err);

/* The same with its refusals reported: *ret_listener is where, closed on exec, and the caller's to hand over and to close.
 * -1: the kernel has no such thing, or somebody above us listens already; then `alone` is installed as it is. */
int aj_filter_install_reported(const struct aj_filter *filter, const struct aj_filter *alone, int *ret_listener, struct aj_error *err);
