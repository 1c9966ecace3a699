/* The caller's terminal, to which a jail's own terminal is relayed: in raw mode during the relay, and restored afterwards. */
#pragma once
#include <stdbool.h>
#include <sys/ioctl.h>
#include <termios.h>

struct aj_caller_terminal {
	int in, out; /* open file descriptions of our own where possible, O_NONBLOCK */
	bool whole;  /* the jail's standard input and output both lead here; else other programs of a pipeline write to it too */
	bool raw;
	struct termios before; /* its modes when it became raw */
};

/* `number`: 0 to 2, ours. -1 with errno. From now on a signal that ends this process restores the modes first. */
int aj_caller_open(struct aj_caller_terminal *t, int number, bool whole);
/* Restores the modes. */
void aj_caller_close(struct aj_caller_terminal *t);

/* Do two descriptors lead to the same terminal? */
bool aj_caller_same(int one, int other);
/* Are we its foreground? A terminal that is not our controlling one knows no other. */
bool aj_caller_is_foreground(const struct aj_caller_terminal *t);
/* Every key goes to the jail unchanged. In a pipeline signal keys and output processing stay, as other programs expect. */
void aj_caller_make_raw(struct aj_caller_terminal *t);
void aj_caller_restore(struct aj_caller_terminal *t);
/* Does it put a carriage return before each line feed? */
bool aj_caller_adds_returns(const struct aj_caller_terminal *t);
