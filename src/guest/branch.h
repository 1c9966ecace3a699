/* A branch: a copy of a runner that has its filter already, made between two snippets at the supervisor's request. */
#pragma once
#include <sys/types.h>

/* 0 in the branch, which has no capabilities, the supervisor's channels and a working directory of its own; the branch's pid in
 * the original; -1 in the original with errno. The kernel suspends each of these calls until the supervisor answers it. */
pid_t aj_branch(void);
