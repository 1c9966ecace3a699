/* The host's git, run on a repository of the host, with nothing of the caller's environment and no program, network or prompt of
 * a configuration. */
#pragma once
#include <stdint.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

struct aj_git {
	const char *dir;     /* absolute path of the git folder */
	const char *common;  /* the main repository's, where `dir` is that of a linked worktree; NULL: `dir` */
	const char *tree;    /* absolute path of the working tree; NULL: none is needed */
	const char *index;   /* absolute path of an index file in place of the repository's; NULL: its own */
	const char *objects; /* new objects are written to this folder, beside the repository's own; NULL: to the repository */
	const char *const
	    *peer; /* argv of a program, found by its path, that is the other end of the remote AJ_GIT_PEER; NULL: none */
	int lock;  /* a descriptor that git keeps open: a lock that lasts until git has ended, even if we are killed; 0: none */
	uint64_t wall_ms;    /* 0: two minutes */
	uint64_t file_bytes; /* of one file that git writes; 0: no limit */
};
#define AJ_GIT_PEER "fd::3"

/* Run `git ARGV...`, argv[0] being git's subcommand, with `input` as its standard input (NULL: empty). `ret`: gets its standard
 * output; may be NULL. As root it runs with the ids of the git folder's owner. Returns its exit status, or -1: it was not run,
 * or did not end by itself. `err` is set unless the status is 0, with what git and the peer said: claims, as one line without
 * control characters. */
int aj_git_run(const struct aj_git *git, const char *const *argv, const struct aj_buffer *input, struct aj_buffer *ret,
               struct aj_error *err);

/* The first line that it prints, in `arena`; NULL: none, an empty one, or an exit status other than 0. `ret_status` may be
 * NULL. */
const char *aj_git_line(const struct aj_git *git, const char *const *argv, struct aj_arena *arena, int *ret_status,
                        struct aj_error *err);

/* Call `act` in a process that has, as root, the ids of that owner. -1 with errno where it does not return 0. */
int aj_git_as_owner(const struct stat *owner, int (*act)(void *arg), void *arg);
