/* The files of the host's /etc that a command sees. */
#pragma once
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"

/* A file or folder that the host has. */
struct aj_etc_entry {
	const char *path; /* in the jail and on the host */
	const char *link; /* the text of a symlink into /usr, which is made anew; NULL: the file or folder is shown */
	const char *why;
	bool plain; /* a file or folder itself, by no link of its own name */
};
typedef AJ_LIST(struct aj_etc_entry) aj_etc_list;

/* A row of the table, which `make docs` prints. */
struct aj_etc_row {
	const char *name; /* below /etc; a `*` at the end of a part stands for any characters, and for a part without a leading dot */
	const char *why;
};
extern const struct aj_etc_row aj_etc_rows[], aj_etc_left_out[]; /* ended by a NULL name */

/* Appends the rows that this host has, in the order of the table. Anything else in /etc stays unknown to a jail. */
int aj_etc_find(aj_etc_list *list, struct aj_arena *arena, struct aj_error *err);
