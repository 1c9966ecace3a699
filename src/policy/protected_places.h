/* Places of a workspace that a jail may read but not change, as patterns relative to the workspace. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The item that stands for the built-in list. */
#define AJ_PROTECT_DEFAULT "@default"

/* Iterates over a policy's items with `@default` expanded: start with `*at` = 0; NULL at the end. */
const char *aj_protect_next(const char *const *items, size_t count, size_t *at);
/* Does a component of a pattern match this name? `*` matches any part of the name, but not a leading dot. */
bool aj_protect_part_matches(const char *pattern, size_t pattern_bytes, const char *name);
/* Does this pattern match `path` (relative, plain) or a folder above it? */
bool aj_protect_covers_path(const char *pattern, const char *path);
/* May a jail hand over no file of this path (relative, plain), since programs of the host would obey it in whichever folder of
 * the path they are started? Upper and lower case make no difference: for some file systems they are one. */
bool aj_protect_refuses(const char *const *items, size_t count, const char *path);
/* The length of the part of `path` (relative, plain) that a pattern matches, in whichever folder: a place that programs of the
 * host obey. 0: none. Upper and lower case make no difference here either. */
size_t aj_protect_obeyed(const char *const *items, size_t count, const char *path);
/* Has the place of a pattern, or a folder above it, this name, in any case of letters? */
bool aj_protect_begins(const char *const *items, size_t count, const char *name);
/* Does a pattern match only below `path` (relative, plain), in whichever folder? */
bool aj_protect_above(const char *const *items, size_t count, const char *path);
