/* A branch: a copy of a runner that has its filter already, made between two snippets because the supervisor asks for it. */
#pragma once
#include <sys/types.h>

/* 0 in the branch, which has no capabilities, the channels that the supervisor gave it and its own working directory; its number in
 * the original; -1 there with errno. The kernel holds each step until the supervisor lets it pass. */
pid_t aj_branch(void);
