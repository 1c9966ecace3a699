/* Standard output through the pager that git of the caller would use. */
#pragma once
#include <signal.h>
#include <sys/types.h>

struct aj_pager {
	pid_t pid;  /* 0: none runs */
	int output; /* what standard output was */
	struct sigaction signals[3];
};

/* Start it where standard output is a terminal, and a pager is wanted and there. Signals of the keyboard are the pager's from
 * then on. */
void aj_pager_begin(struct aj_pager *pager);
/* Wait until the person has left it. */
void aj_pager_end(struct aj_pager *pager);
