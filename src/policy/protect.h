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
