/* The patterns of filesystem.protect, expanded in a workspace: what an expansion needs, and the state that the files of
 * aj_protect share. For protect.c, protect_ask.c and protect_report.c alone. */
#pragma once
#include <sys/stat.h>
#include <time.h>

#include "policy/plan/plan.h"
#include "workspace/git/search.h"

/* A place that matches a pattern. `blank`: the placeholder in use where the place was missing. */
struct aj_place {
	const char *path; /* relative to the workspace; absolute in the main repository of a worktree */
	const char *name; /* last component of the path */
	const char *blank;
	int dir, fd; /* with a blank: the parent folder, and the placeholder with its lock */
	bool held, there, link;
	bool inside; /* a file inside a held place, with another hard link outside */
	dev_t dev;
	ino_t ino;
	struct timespec changed; /* ctime of a regular file */
};

struct aj_protect {
	struct aj_arena arena;
	const struct aj_plan *plan;
	int workspace, main; /* -1: no main repository */
	bool blank;          /* the workspace has no project yet: aj_protect_is_blank() */
	uint64_t budget_ms;
	struct aj_repos before;
	AJ_LIST(struct aj_place) places;
};

struct aj_expansion {
	struct aj_protect *p;
	struct aj_arena *arena; /* of paths */
	const char *pattern;
	/* Called for a place, existing (`st`) or missing (NULL). `name` is its last component, in `dir`. */
	int (*found)(struct aj_expansion *x, int dir, const char *name, const char *path, const struct stat *st, bool folder,
	             bool starred);
	json_t *changed; /* the report's array */
	size_t steps;
	struct aj_error *err;
};

/* Expand x->pattern in the workspace, and in a worktree's main repository. 0, or -1 with an error. */
int aj_expand_one(struct aj_expansion *x);

/* Is the pattern one of git's own places? */
bool aj_expand_of_git(const char *pattern);
/* A folder that this process may not search is closed to the jail as well, which has no more rights, unless the jail's user owns
 * the folder. */
bool aj_expand_may_skip(const struct aj_expansion *x, int dir, int error);
/* -1 with an error that names the place and the pattern. */
int aj_expand_fail(const struct aj_expansion *x, int errnum, const char *what, const char *path);

/* The placeholder for a missing path that does no harm to programs that find it; NULL: none. name: the last component of
 * `path`. */
const char *aj_protect_blank_for(const struct aj_protect *p, bool repository, const char *path, const char *name, bool folder,
                                 bool starred);
/* Whether the workspace is empty, except for git's entries, a license, and placeholders of other runs. */
bool aj_protect_is_blank(int workspace);
/* The place with this path; NULL: none. */
const struct aj_place *aj_protect_find_place(const struct aj_protect *p, const char *path);
