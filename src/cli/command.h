/* A command: one file, and one row of the table in commands.c. */
#pragma once
#include <stdio.h>

#include "base/arena.h"
#include "base/error.h"

struct aj_subcommand {
	const char *name;
	int (*run)(int argc, char **argv); /* argv[0] is the command's name; returns the exit code */
	int options;                       /* AJ_FOR_*: its rows in the table of options; 0: none */
	const char *synopsis;
	const char *help;
	const char *heading; /* of the group that begins with this command, or NULL */
};

int aj_cmd_exec(int argc, char **argv);
int aj_cmd_run(int argc, char **argv);
int aj_cmd_session(int argc, char **argv);
int aj_cmd_serve(int argc, char **argv);
int aj_cmd_mcp(int argc, char **argv);
int aj_cmd_doctor(int argc, char **argv);
int aj_cmd_rootfs(int argc, char **argv);
int aj_cmd_env(int argc, char **argv);
int aj_cmd_homes(int argc, char **argv);
int aj_cmd_audit(int argc, char **argv);
int aj_cmd_changes(int argc, char **argv);
/* The question at the end of a run whose changes of `folder`, and of the main `repository` of a linked worktree (NULL: none), are
 * kept under `id`; standard input and error are the person's terminal. */
void aj_changes_ask(const char *id, const char *folder, const char *repository);
int aj_cmd_policy(int argc, char **argv);

extern const struct aj_subcommand aj_commands[]; /* ends with a NULL name */
