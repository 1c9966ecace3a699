/* What a command gets from us and not from the jail: the open file descriptions behind 0 to 2, and the terminal among them. They are
 * our caller's too, so what the command does to them is undone. */
#pragma once
#include <stdbool.h>
#include <termios.h>

#include "base/error.h"
#include "plan/request.h"

struct aj_terminal {
	int flags[3];       /* of the open file descriptions, -1: unknown */
	unsigned closed[3]; /* permissions that group and others do not have on what is behind them */
	int terminal_fd;    /* the first of 0 to 2 that is a terminal; -1: none */
	struct termios modes;
};

/* Decide which of them `request`'s command gets as they are: see `terminal_fd`, `no_input` and `pump` there. */
int aj_terminal_choose(struct aj_request *request, struct aj_error *err);

/* Before the command runs. */
void aj_terminal_remember(struct aj_terminal *lent);
/* After every process of the jail is gone, and before anything is written to a terminal. `ours`: the command had the foreground. */
void aj_terminal_restore(const struct aj_terminal *lent, bool ours);
