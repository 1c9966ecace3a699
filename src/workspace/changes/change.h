/* One change that a run made to its view of a workspace.
 *
 * The files of this folder in the order in which they are read:
 *   run_state, run_record, copied_files, settled    the state folder that a run leaves, and what it records
 *   walk, upper_layer, origins, patch               both trees beside each other, and the changes between them
 *   git_unit, git_objects, main_*                   a repository is judged as a whole
 *   needs_approval, approval_*                      which changes are applied only by name
 *   apply_select, apply, apply_locks                which changes are taken, and where conflicts are found
 *   apply_journal, apply_steps, apply_forward/back  how they are taken, and taken back */
#pragma once
#include <stddef.h>
#include <sys/stat.h>

/* Changes in deeper folders are refused. */
enum { AJ_CHANGES_DEPTH = 256 };

enum aj_change_kind {
	AJ_CHANGE_ADDED,
	AJ_CHANGE_MODIFIED, /* the content of a file, or the target of a link */
	AJ_CHANGE_DELETED,
	AJ_CHANGE_TYPE, /* such as a link in place of a file */
	AJ_CHANGE_MODE, /* and nothing else */
	AJ_CHANGE_KINDS
};

struct aj_change {
	const char *path; /* relative to the workspace, or absolute in the main repository of a linked worktree; as many bytes as the name has */
	enum aj_change_kind kind;
	struct stat was, is;  /* in the workspace now, and in the view; st_mode 0: absent */
	const char *conflict; /* the host's own change since; NULL: none */
	const char *refused;  /* why it is never applied; NULL: it can be */
	const char *held;     /* why it is applied only by name; NULL: it needs no approval */
	size_t held_bytes;    /* the part of the path that names the held place, at least */
	size_t unit_bytes;    /* the part of the path that names a repository that is applied whole; 0: none */
	const char *note;     /* for people; NULL: none */
};

/* -1 ends the walk, with an error of the callback's own. */
typedef int aj_change_fn(void *arg, const struct aj_change *change);
