/* Places of the jail that show nothing: an empty, read-only folder or file lies over what is there. */
#pragma once
#include "base/error.h"

/* The empty folder and the empty file that masks are made of, in a tmpfs of their own on the carrier. Call it before the new
 * root goes there: pivot takes it away. Returns its fd. */
int aj_mask_blanks(struct aj_error *err);

/* Hide `target` (absolute, plain) in the tree below `root`. What does not exist is passed over where the jail cannot make it,
 * and an error where it can; a symlink on the way is an error. */
int aj_mask_apply(int root, int blanks, const char *target, struct aj_error *err);
