/* The state of a walk, which walk.c and git_unit.c share. */
#pragma once
#include <limits.h>

#include "changes/walk.h"

/* A folder `.git` that the walk is in. */
struct aj_git_unit {
	size_t bytes;         /* of the path: it ends with `.git` */
	bool made;            /* the workspace has none here */
	bool moved;           /* something in it is no change but that of a held file */
	const char *conflict; /* for all of it */
	const char *held;
};

struct aj_walk {
	struct aj_change_state *s;
	aj_change_fn *each;
	void *arg;
	struct aj_error *err;
	struct aj_git_unit *unit; /* NULL: the walk is in none */
	unsigned depth;
	size_t bytes; /* of path */
	char path[PATH_MAX];
};

/* The same entry in both trees. A folder is -1 where the tree has none at that place. */
struct aj_pair {
	int view, work;
	const char *name;    /* in both */
	struct stat is, was; /* st_mode 0: absent */
	bool whiteout;       /* the view says that there is none */
	bool twin;           /* another name in the view differs from it by case alone */
};

/* The entry and everything below it: calls w->each. */
int aj_walk_entry(struct aj_walk *w, const struct aj_pair *p);
/* The same for an entry `.git`: looked at as a whole first. */
int aj_walk_git(struct aj_walk *w, const struct aj_pair *p);
