/* The state of a walk, which walk.c and git_unit.c share. */
#pragma once
#include <limits.h>

#include "base/tree/node.h"
#include "workspace/changes/origins.h"
#include "workspace/changes/walk.h"

/* A repository that the walk is in. */
struct aj_git_unit {
	size_t bytes;            /* of the path: it ends with the folder's name; 0: the workspace itself */
	bool made;               /* the workspace has none here */
	bool mixed;              /* its folder is not called `.git`: only what has one of git's own names belongs to it */
	bool main;               /* the main repository of a linked worktree, which main_unit.c judges */
	bool scanning;           /* this walk only looks for conflicts */
	bool unfit;              /* a file of its objects is another object than its name says */
	bool moved;              /* something changed that is applied with the whole unit */
	uint64_t inflated_bytes; /* of its objects, in this walk */
	const char *conflict;    /* for all of it */
	const char *held;
	const char *refused;   /* in a main repository: all of it is refused, since one of its parts is */
	struct aj_main *whole; /* of a main repository; NULL: of another one */
};

struct aj_walk {
	struct aj_change_state *s;
	aj_change_fn *each;
	void *arg;
	struct aj_error *err;
	struct aj_git_unit *unit; /* NULL: the walk is in none */
	unsigned depth;
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
/* The main repository of a linked worktree, beside the workspace. */
int aj_walk_main(struct aj_walk *w);
/* Is the change held, refused or in conflict, and a part of a repository that is applied whole? The second one: in a main repository. */
void aj_walk_judge(const struct aj_walk *w, struct aj_change *c);
void aj_main_judge(const struct aj_walk *w, struct aj_change *c);
/* The same for an entry `.git` and for a folder that is a repository by its entries: looked at as a whole first. */
int aj_walk_git(struct aj_walk *w, const struct aj_pair *p);
int aj_walk_repository(struct aj_walk *w, struct aj_git_unit *unit, const struct aj_folder *folder);
/* Would git take the folder at w->path for a repository, after all changes or some? `*ret`: filled in. */
bool aj_git_unit_found(const struct aj_walk *w, const struct aj_folder *folder, struct aj_git_unit *ret);
/* Why the changed file, an index, waits for its name: it has paths that no working tree has, or cannot be read. NULL: it does not wait. */
const char *aj_git_index_doubt(const struct aj_change_state *state, const struct aj_change *c);
/* Hold the change, of a file in a repository, if it is an index with paths that no working tree has. */
void aj_git_index_hold(const struct aj_walk *w, struct aj_change *c);
/* Refuse the change, of a file `below` the repository, if it is an object of another name; hold the repository by one that says where objects are. */
void aj_git_object_hold(const struct aj_walk *w, struct aj_change *c, const char *below);
/* Why such a file is refused. */
extern const char aj_git_unfit[];
/* Is the change's file the object of this name, below the folder `objects`? A first walk looks; the second one does where one did not fit. */
bool aj_git_object_fits(const struct aj_walk *w, const struct aj_change *c, const char *name);
/* Is it one of the names by which git finds its data in a repository? */
bool aj_git_own(const char *name);
