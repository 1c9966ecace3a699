/* The subcommands of `agentjail changes`: one file each, one row of the table in cmd_changes.c. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "workspace/changes/change.h"
#include "workspace/changes/run_state.h"

struct aj_changes_args {
	const char **paths; /* relative to the workspace, plain */
	size_t paths_count;
	bool json, force, merge, abort, all;
	const char *branch; /* NULL: none is made */
	bool unfolded;  /* ignored changes, too, are shown one by one */
	bool may_be_id; /* the first of paths, while it was not looked up */
	struct aj_arena *arena;
};

struct aj_changes_command {
	const char *name, *synopsis, *help; /* synopsis NULL: not for people */
	int takes;
};
extern const struct aj_changes_command aj_changes_commands[]; /* ends with a NULL name */

/* The trees of `state` are open, but for discard. Exit code; -1 with err. */
int aj_changes_list(const struct aj_changes_args *args, struct aj_error *err);
int aj_changes_show(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err);
int aj_changes_diff(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err);
int aj_changes_apply(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err);
int aj_changes_fetch(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err);
/* Runs the jail, which has our standard input, output and error. The one path is a git folder. */
int aj_changes_export(const struct aj_changes_args *args, struct aj_change_state *state, bool log, struct aj_error *err);
int aj_changes_discard(const struct aj_changes_args *args, int all, struct aj_change_state *state, struct aj_error *err);

/* The newest run on the current folder, or on a folder around it in its repository. -1 with err. */
int aj_changes_newest(int all, struct aj_arena *arena, char ret[AJ_CHANGES_ID], struct aj_error *err);

/* export.sh: what that jail runs. */
extern const char aj_export_script[];

/* How many changes there are, counted in the same way wherever a number is shown. */
struct aj_tally {
	size_t files, folders, repositories;
	size_t kinds[AJ_CHANGE_KINDS], folder_kinds[AJ_CHANGE_KINDS]; /* of files; of folders */
	size_t conflicts, held, refused;
};
void aj_tally_add(struct aj_tally *tally, const struct aj_change *change);
void aj_tally_join(struct aj_tally *tally, const struct aj_tally *more);
/* "3 files, 1 repository"; folders are named where neither is among the changes. */
const char *aj_tally_text(const struct aj_tally *tally, char out[64]);
/* ": 2 added, 1 modified" of what aj_tally_text() counts, and how many are in conflict, held or refused. */
void aj_tally_print_kinds(const struct aj_tally *tally, FILE *out);

/* For people, and for programs. */
const char *aj_change_kind_name(enum aj_change_kind kind);
/* running, ended, killed (its end was not written) or interrupted (an apply was). */
const char *aj_change_state_name(const struct aj_change_state *state);
/* "path", and "path_base64" with the exact bytes where the path is not UTF-8. */
void aj_change_set_path(json_t *object, const char *path);
json_t *aj_change_json(const struct aj_change *change);
struct aj_history_repo;
json_t *aj_history_json(const struct aj_history_repo *repo);
/* A line: letter, path, sizes or modes, conflict, note, and whether git of the host ignores it. */
void aj_change_print(const struct aj_change *change, bool ignored, FILE *out);
/* "4 bytes", "1.5 MiB". */
const char *aj_size_text(uint64_t bytes, char out[32]);
/* A path on a terminal: no control characters. */
void aj_path_print(const char *path, FILE *out);
/* The time in the caller's zone, or as ISO 8601. */
const char *aj_time_text(int64_t ns, bool iso, char out[40]);
