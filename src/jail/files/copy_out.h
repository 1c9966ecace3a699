/* Copies a jail's files into a folder of the host: only to new files in new folders, never over a file, never through a link. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

/* Open the host's folder for the copies: it is made or must be empty, so that no name from the jail means anything there. No part
 * of the path may be a symlink. -1 with err. */
int aj_copy_out_folder(const char *path, struct aj_error *err);

/* One file that is being copied. The functions return NULL, or why the copy failed. */
struct aj_copy_out {
	int parent, fd;
	char *name; /* in `parent`; NULL: none is under way */
};
/* `name`: relative, in plain form. */
const char *aj_copy_out_begin(struct aj_copy_out *copy, int to, const char *name);
/* Without effect when no copy is under way, as the next one. */
const char *aj_copy_out_add(struct aj_copy_out *copy, const void *data, size_t bytes);
const char *aj_copy_out_end(struct aj_copy_out *copy);
/* Remove a copy that was begun and not ended. */
void aj_copy_out_drop(struct aj_copy_out *copy);
