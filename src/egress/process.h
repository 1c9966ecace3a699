/* The relay as a process: it puts up its own walls before it reads a byte of the jail's. */
#pragma once
#include "egress/egress.h"

/* In the child. Sends one struct aj_error over `socket`: of exit code 0 when the walls stand, else why not. */
_Noreturn void aj_relay_process(const struct aj_policy *policy, const struct aj_egress_sockets *sockets, int socket, pid_t parent);
