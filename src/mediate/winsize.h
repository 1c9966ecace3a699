/* Whose terminal a reported TIOCSWINSZ is about, and which size it wants. */
#pragma once
#include <sys/ioctl.h>

#include "mediate/endpoint.h"

/* Copies: nothing that the caller does changes them. */
struct aj_winsize {
	int terminal; /* -1: none */
	bool own;     /* else it has that size already */
	struct winsize size;
};

/* 0: it may be set; an errno that the kernel would give; or AJ_ENDPOINT_REFUSED. As for aj_endpoint_find(), whether the caller still waits
 * is to be asked after this. */
int aj_winsize_find(const struct aj_reach *reach, const struct aj_notification *call, struct aj_winsize *ret);
/* 0 or errno. */
int aj_winsize_set(const struct aj_winsize *w);
