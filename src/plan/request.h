/* What is asked: one snippet or one command, with its inputs.
 * Filled by cli/ from argv; it says nothing of what is allowed (policy) or possible (host). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/policy.h"

/* JOINED: both lead to the same file, and so through one pipe, which keeps the order. */
enum { AJ_PUMP_OUT = 1, AJ_PUMP_ERR = 2, AJ_PUMP_JOINED = 4 };

struct aj_request {
	bool snippet;   /* else a command */
	const char *id; /* chosen by the caller or by us */

	/* snippet */
	const char *code; /* UTF-8; NULL in a jail that lasts: only set variables */
	size_t code_bytes;
	const char *filename;    /* shown in errors */
	const char *tools_json;  /* array of declared tools for the guest to define; NULL for none */
	bool lines;              /* what a snippet prints goes out line by line, and not when there is enough of it */
	uint64_t soft_ms;        /* when a snippet of a jail that lasts is told to stop; 0: never */
	const char *inputs_json; /* object: variable name -> JSON value; NULL for none */
	bool inputs_checked;     /* base/json_scan has found nothing wrong with it */

	/* command */
	char **argv;
	const char *chdir; /* absolute path in the jail; NULL for /tmp */

	AJ_LIST(const char *) env; /* NAME=value */
	AJ_LIST(struct aj_bind) binds;
	const char *cgroup; /* a cgroup v2 directory given to us; NULL to look for one */
	int terminal_fd;    /* 0 to 2: our controlling terminal, with us in its foreground; -1: none */
	bool terminal;      /* the command gets a descriptor of a terminal of ours */
	bool no_input;      /* nothing to read: our standard input is a terminal that others have the foreground of */
	unsigned pump;      /* AJ_PUMP_*: of our outputs, those that the command does not get but writes to through us */
	bool capture;       /* collect stdout and stderr instead of passing ours on */

	const char *rootfs;    /* folder that holds `tree` and `manifest`; not looked at where the policy shows the host's /usr */
	const char *workspace; /* host folder to show at /workspace, for a policy that has one */
	const char *main_repository; /* of a workspace that is a linked worktree, see workspace/worktree.h; NULL: not shown */
	bool lasting;                /* more snippets than this one may come: nothing depends on its code */
	bool branching;              /* such a jail may be copied while it lasts, with all that it holds */
	bool zygote;                 /* a snippet's jail without the snippet: what such jails are born from */
	bool inspect; /* the plan is for looking at: unbuilt walls, missing inputs and a host that lacks something are no errors */
};
