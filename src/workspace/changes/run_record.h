/* The record of a run over a private view of its workspace: record.json of its state folder. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

enum { AJ_CHANGES_ID = 65, AJ_RECORD_BYTES = 1 << 20 };

struct aj_change_record {
	bool copy;                       /* the view was a copy of the tree; else an overlay */
	bool direct;                     /* the run wrote to the workspace itself; the view is of `repository` alone */
	const char *workspace, *seen_at; /* absolute paths: on the host, in the jail */
	const char *policy, *command;    /* the command's words, with blanks between; may be "" */
	int64_t started_ns, ended_ns;    /* CLOCK_REALTIME; ended_ns 0: the end was not written */
	uint64_t device, inode;          /* of the workspace */
	/* The git folder of the main repository, where the workspace is a linked worktree and the run had a view of that folder,
	 * too: its path,
	 * "" where it had none, and the name of the worktree in it. */
	const char *repository, *worktree;
	uint64_t repository_device, repository_inode, worktree_inode; /* of that folder, and of worktrees/NAME in it */
	const char *head;                        /* the text of the workspace's HEAD when the run began; "": none, or not known */
	uint64_t git_bytes, git_objects, git_ms; /* limits of a fetch from the run; 0: none */
	const char *const *protect;              /* places of filesystem.protect */
	size_t protect_count;
};

/* -1 with err. */
int aj_change_record_read(const char *text, size_t bytes, struct aj_arena *arena, struct aj_change_record *ret,
                          struct aj_error *err);
/* Is this git folder of a change the main repository itself, whose worktree the workspace is? Submodules of it lie below. */
bool aj_change_is_main(const struct aj_change_record *record, const char *git);
/* "overlay", "copy" or "rw", as in the record. */
const char *aj_changes_mode_name(bool copy, bool direct);
/* May a folder of the changes have this name? Letters, digits, `-`, `_` and `.`, which is not the first. */
bool aj_changes_id_valid(const char *id);
