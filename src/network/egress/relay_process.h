/* The main function of the relay's process. */
#pragma once
#include <sys/types.h>

/* An aj_helper_fn, with a struct aj_relay_of; does not return. */
void aj_relay_process(void *arg, int socket, pid_t parent);
