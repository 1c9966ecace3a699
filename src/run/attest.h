/* What the kernel says about a runner's walls, in /proc: the runner's own word is not taken. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* The filters that this thread runs under itself, which every jail inherits; -1 when the kernel does not say. */
int aj_attest_own_filters(void);

/* NULL when `pid` has exactly that many filters, no_new_privs and no capabilities; else what is wrong. */
const char *aj_attest(pid_t pid, size_t filters);
