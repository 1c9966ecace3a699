/* A session as the program holds one: a jail that is made anew when it has ended, and results for a person or for a program. */
#pragma once
#include <signal.h>

#include "cli/options.h"
#include "cli/show.h"
#include "lib/agentjail.h"

struct aj_shell {
	agentjail *handle;
	agentjail_session *session; /* NULL: there is none, and the next snippet opens one */
	bool json;
	bool person; /* at a terminal: output as it comes, tracebacks, and no end because of one bad snippet */
	struct aj_show show;
	json_t *workspace; /* what the last snippet's result said of it: its lines are not told again */
	int code;          /* of the first snippet that did not end well; 0 so far */
};

extern volatile sig_atomic_t aj_shell_interrupts; /* SIGINTs so far, once aj_shell_open() was called */

/* -1 with err. All of `options` must stay. SIGINT then stops the snippet that runs, and the third one its jail. */
int aj_shell_open(struct aj_shell *shell, struct aj_options *options, struct aj_error *err);
/* Run one and show what became of it. False when there is no going on: without a person, when the jail is gone. */
bool aj_shell_run(struct aj_shell *shell, const char *code, size_t bytes);
/* End the jail; the next snippet gets another one. */
void aj_shell_renew(struct aj_shell *shell);
void aj_shell_close(struct aj_shell *shell);
