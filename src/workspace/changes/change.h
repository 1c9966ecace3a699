/* One change that a run made to its view of a workspace.
 *
 * The files of this folder in the order in which they are read:
 *   run_state, run_record, copied_files, settled    the state folder that a run leaves, and what it records
 *   walk, upper_layer, origins, patch               both trees beside each other, and the changes between them
 *   conflicts                                       which of them the host has changed or removed meanwhile
 *   repositories                                    a repository's own data is one change, and never applied by file
 *   needs_approval, approval_*                      which changes are applied only by name
 *   apply_select, apply                             which changes are taken; conflicts are collected
 *   apply_journal, apply_steps, apply_forward/back  how they are taken, and taken back */
#pragma once
#include <stdbool.h>
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
	const char *path; /* relative to the workspace; absolute: the main repository of a linked worktree */
	enum aj_change_kind kind;
	bool repository;      /* something in this git folder differs; its data is never applied by file */
	struct stat was, is;  /* in the workspace now, and in the view; st_mode 0: absent */
	const char *conflict; /* the host's own change since; NULL: none */
	const char *refused;  /* why it is never applied; NULL: it can be */
	const char *held;     /* why it is applied only by name; NULL: it needs no approval */
	size_t held_bytes;    /* the part of the path that names the held place, at least */
	const char *note;     /* for people; NULL: none */
};

/* What every count of files counts: neither folders nor git folders. */
static inline bool aj_change_is_file(const struct aj_change *c)
{
	return !c->repository && !S_ISDIR(c->is.st_mode ? c->is.st_mode : c->was.st_mode);
}

/* -1 ends the walk, with an error of the callback's own. */
typedef int aj_change_fn(void *arg, const struct aj_change *change);
