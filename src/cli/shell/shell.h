/* The session behind `agentjail session`: a jail, replaced when it has ended, and its results for a person or a program. */
#pragma once
#include <signal.h>

#include "cli/options/options.h"
#include "cli/terminal/show.h"
#include "lib/agentjail.h"

struct aj_shell {
	agentjail *handle;
	agentjail_session *session; /* NULL: there is none, and the next snippet opens one */
	bool json;
	bool value_of_statement; /* also a last assignment has a value */
	uint32_t seed;           /* of each new session's first snippet, where `seeded` */
	bool seeded;
	bool unseeded; /* no snippet has run in the session */
	bool person;   /* at a terminal: output as it arrives, tracebacks, and the session survives the end of its jail */
	struct aj_show show;
	json_t *workspace; /* the report in the last snippet's result, whose lines are not shown again */
	int code;          /* exit code of the first snippet that failed; 0: none so far */
};

extern volatile sig_atomic_t aj_shell_interrupts; /* SIGINTs so far, once aj_shell_open() was called */

/* -1 with err. `options` must outlive the shell. SIGINT then interrupts the running snippet, and the third ends its jail. */
int aj_shell_open(struct aj_shell *shell, struct aj_options *options, struct aj_error *err);
/* Run a snippet and show its result. False: no snippet may follow: there is no terminal, and the jail has ended or SIGINT
 * came. */
bool aj_shell_run(struct aj_shell *shell, const char *code, size_t bytes);
/* Show the variables, one a line: name, type, the beginning of the repr. */
void aj_shell_vars(struct aj_shell *shell);
/* Open a session where there is none. False: the error was printed. */
bool aj_shell_need_session(struct aj_shell *shell);
void aj_shell_print_error(struct aj_shell *shell, const struct agentjail_error *why);
/* End the jail; the next snippet gets another one. */
void aj_shell_renew(struct aj_shell *shell);
/* The same where it has ended by itself, and a person is told so. */
void aj_shell_notice_end(struct aj_shell *shell);
void aj_shell_close(struct aj_shell *shell);
