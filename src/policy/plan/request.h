/* A request: one snippet or one command, with its inputs.
 * Filled by cli/ from argv; it describes neither permissions (policy) nor the kernel's abilities (host). */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/plan/snippet.h"
#include "policy/policy.h"

/* JOINED: both outputs are the same file, and share one pipe, which keeps the order. */
enum { AJ_PUMP_OUT = 1, AJ_PUMP_ERR = 2, AJ_PUMP_JOINED = 4 };

/* A file of the caller's home, of which a command gets a copy. */
struct aj_import {
	const char *path; /* relative to the home */
	const char *data;
	size_t bytes;
	bool program; /* may be executed */
};

/* Virtual environments in the workspace with agentjail's own program: shown read-only. */
struct aj_environments {
	AJ_LIST(const char *);
};

/* A file for a command to read, usually below AJ_SETTINGS; see workspace/home/network_settings.h. */
#define AJ_SETTINGS "/etc/agentjail"
struct aj_setting_file {
	const char *target, *text, *why;
};

struct aj_command {
	char **argv;
	const char *chdir;                  /* absolute path in the jail; NULL for /tmp */
	const char *path;                   /* its PATH; NULL: the standard one */
	unsigned terminal;                  /* bit 1 << fd: this descriptor of the command becomes a terminal of the jail's own */
	bool terminal_foreground;           /* its standard input and output both are */
	int terminal_fd;                    /* 0 to 2: the caller's terminal that it stands for; -1: none */
	AJ_LIST(const char *) terminal_env; /* NAME=value: that terminal's type, and the caller's language */
	bool no_input; /* standard input is empty: the supervisor's is a terminal whose foreground another process group has */
	unsigned pump; /* AJ_PUMP_*: outputs that the command does not inherit but writes through the supervisor */
};

struct aj_request {
	bool is_snippet; /* else a command */
	const char *id;  /* of the run, chosen by the caller or by agentjail */
	struct aj_snippet snippet;
	struct aj_command command;

	AJ_LIST(const char *) env; /* NAME=value */
	AJ_LIST(struct aj_bind) binds;
	const char *cgroup; /* a cgroup v2 directory that the caller provides; NULL: search for one */
	bool capture;       /* collect stdout and stderr instead of passing the supervisor's on */

	/* The command, descriptor or terminal that is asked about names which network.allow lacks. */
	struct aj_ask_whom {
		const char *command; /* of the host's shell */
		int fd;              /* a socket of the caller's; 0: none */
		bool terminal;       /* the supervisor's controlling terminal */
		const char *save;    /* a policy file that gets what is allowed for the run; NULL: none */
		const char *extends; /* of such a file that is made: a policy's name, or a path, as TOML */
	} ask;

	const char *rootfs;    /* folder that contains `tree` and `manifest`; ignored where the policy shows the host's /usr */
	const char *workspace; /* host folder that is shown, if the policy has a workspace */
	const char *changes;   /* of an overlay or a copy: continue with the changes of an earlier run with this id; or NULL */
	bool changes_read;     /* show the run with the id `changes` read-only, and leave its state as it is */
	bool changes_newest;   /* with no such id: continue with those of the newest run of the same policy and mode, if any */
	void (*notice)(const char *text); /* shows a person, before the jail begins, what the run will lack; or NULL */
	bool workspace_around;            /* the workspace is the repository around the working directory, by the policy */
	bool may_hold;                    /* the plan gets `environments`, to which aj_places_check() may add */
	struct aj_environments environments;
	const char *main_repository; /* of a workspace that is a linked worktree, see workspace/worktree.h; NULL: not shown */
	const char *worktree;        /* the name of that worktree in it; NULL: one folder is inside the other */
	const char *worktree_unseen; /* why that repository cannot be shown; NULL: it can, or there is none */
	const char *home_source, *home_at; /* the kept home, and its path in the jail; NULL: none, and the home is /tmp */
	const char *home_for;              /* the workspace that a kept home is for; "*": all of them */
	AJ_LIST(struct aj_import) imports;
	AJ_LIST(const char *) import_links;       /* of filesystem.home_import: left out because of a symlink */
	AJ_LIST(struct aj_setting_file) settings; /* of network.pass_settings */
	AJ_LIST(const char *) settings_notices;   /* a notice for each setting, passed or not */
	AJ_LIST(struct aj_bind) tools;            /* folders of toolchains, shown read-only */
	AJ_LIST(const char *) hidden;             /* paths in the jail of files in these folders */
	AJ_LIST(const char *) tool_env;           /* NAME=value */
	bool lasting;                             /* more snippets may follow: the plan does not depend on this code */
	bool branching;                           /* such a jail may be copied while it lasts, with all its state */
	bool zygote;                              /* a zygote for such jails: a snippet's jail without the snippet */
	bool inspect; /* the plan is for inspection: missing inputs and a host without some feature are no errors */
};
