/* The state of a walk, which walk.c, repositories.c and conflicts.c share. */
#pragma once
#include <limits.h>

#include "base/tree/node.h"
#include "workspace/changes/origins.h"
#include "workspace/changes/walk.h"

struct aj_walk {
	struct aj_change_state *s;
	aj_change_fn *each;
	void *arg;
	struct aj_error *err;
	unsigned depth;
	bool in_repository; /* only the first difference is wanted */
	bool only_repositories;
	bool hidden; /* a folder above was replaced: the view hides what the workspace has here */
	bool gone;   /* the host has removed a folder above */
	int top;     /* host tree of the walk: the workspace, or its main repository */
	struct aj_origins origins;
	size_t bytes; /* of path */
	char path[PATH_MAX];
};

/* The same entry in both trees. A folder is -1 where the tree has none at that place. */
struct aj_pair {
	int view, work;
	const char *name;    /* in both */
	struct stat is, was; /* st_mode 0: absent */
	bool whiteout;       /* deleted in the view */
	bool twin;           /* another name in the view differs from it by case alone */
};

/* A folder that is open in one tree or in both (else -1), and its names. `work` is not listed where `view` is merged with it. */
struct aj_folder {
	int view, work;
	struct aj_entries in_view, in_work;
};

/* The entry and everything below it: calls w->each. */
int aj_walk_entry(struct aj_walk *w, const struct aj_pair *p);
/* Everything in the folder. 1: something in it has a path that is too long. */
int aj_walk_names(struct aj_walk *w, const struct aj_folder *folder);
/* Everything in two trees, which are open. */
int aj_walk_top(struct aj_walk *w, int view, int work);

/* Of conflicts.c. */

/* File systems stamp a change with a clock that stands still for a tick: a change after the run's start can seem that much
 * older. */
enum { AJ_CHANGE_TICK_NS = 10000000 };
/* The entry at w->path in the list of what was copied. */
bool aj_walk_find_copied(const struct aj_walk *w, struct aj_base_entry *ret);
/* The conflict where the host has changed the workspace's entry since the run began; NULL: there is none. */
const char *aj_walk_changed_since(const struct aj_walk *w, const struct aj_pair *p);
/* The same where the host has removed it. */
const char *aj_walk_removed_since(struct aj_walk *w, const struct aj_pair *p);

/* Of repositories.c. */

/* Is the open folder a repository by its entries, as a bare one is, in the view and the workspace taken together? */
bool aj_repository_by_entries(const struct aj_folder *folder);
/* Report such a folder if git's own entries differ, and walk the others. 1: something in it has a path that is too long. */
int aj_walk_bare(struct aj_walk *w, const struct aj_folder *folder);
/* Report an entry `.git` if it or anything in it differs. */
int aj_walk_git(struct aj_walk *w, const struct aj_pair *p);
/* Report the main repository of a linked worktree, beside the workspace, if anything in it differs. */
int aj_walk_main(struct aj_walk *w);
