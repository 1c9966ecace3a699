/* Reads the terminal and the size that a reported TIOCSWINSZ names. Sets no size: connector_process does. */
#pragma once
#include <sys/ioctl.h>

#include "mediate/endpoint.h"

/* Copies, which the caller cannot change. */
struct aj_winsize {
	int terminal; /* -1: none */
	bool own;     /* on the jail's own devpts; false: the size is unchanged */
	struct winsize size;
};

/* 0: allowed; an errno that the kernel would return; or AJ_ENDPOINT_REFUSED. As for aj_endpoint_find(), check afterwards that the call
 * still waits. */
int aj_winsize_find(const struct aj_reach *reach, const struct aj_notification *call, struct aj_winsize *ret);
/* 0 or errno. */
int aj_winsize_set(const struct aj_winsize *w);
