/* Removes a tree that a jail has made. */
#pragma once

/* Remove `name` in the folder `dir` and everything below it, of any type and at any depth. No program may change the tree
 * meanwhile. -1 with errno: the rest is still there. */
int aj_tree_remove(int dir, const char *name);
