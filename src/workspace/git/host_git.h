/* The host's git, run on a repository of the host with nothing of that repository's or the caller's that could make it run a program. */
#pragma once
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"

struct aj_git {
	const char *dir;   /* absolute path of the git folder */
	const char *tree;  /* absolute path of the working tree; NULL: git is told that there is none */
	const char *index; /* another index file than the repository's; NULL */
	int in, out;       /* descriptors of the other side of a fetch; -1: none */
	uint64_t wall_ms;  /* 0: two minutes */
};

/* Run `git ARGV...` (argv[0] is git's subcommand) with `input` (NULL: none) and collect its standard output in `ret` (NULL: dropped). As root it
 * runs with the ids of the git folder's owner. Git's exit status; -1 with err: it was not run, was killed, or wrote too much. What it said on
 * standard error is in `err` as one line, also where a status other than 0 is returned. */
int aj_git_run(const struct aj_git *git, const char *const *argv, const struct aj_buffer *input, struct aj_buffer *ret,
               struct aj_error *err);
/* The version of the host's git is enough (see aj_git_run()); -1 with err. */
int aj_git_check(struct aj_error *err);
