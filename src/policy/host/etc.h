/* The files of the host's /etc that a command sees. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* An existing file or folder. */
struct aj_etc_entry {
	const char *path; /* in the jail and on the host */
	const char *link; /* target of a symlink into /usr, which is recreated; NULL: the file or folder is mounted */
	const char *why;
	bool plain; /* a file or folder itself, by no link of its own name */
};
typedef AJ_LIST(struct aj_etc_entry) aj_etc_list;

/* A row of the table, which `make docs` prints. */
struct aj_etc_row {
	const char *name; /* below /etc; a `*` at the end of a component matches any characters except a leading dot */
	const char *why;
};
extern const struct aj_etc_row aj_etc_rows[], aj_etc_left_out[]; /* ended by a NULL name */

/* Append the existing files of the table, in its order. */
int aj_etc_find(aj_etc_list *list, struct aj_arena *arena, struct aj_error *err);
