/* Places of a workspace that a jail may read and never change, as patterns relative to the workspace. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The item that stands for the built-in list. */
#define AJ_PROTECT_DEFAULT "@default"

/* Walks a policy's items with `@default` spelled out: begin with `*at` = 0; NULL at the end. */
const char *aj_protect_next(const char *const *items, size_t count, size_t *at);
/* Is this the name that a part of a pattern means? `*` stands for any part of one name, but not for a dot at its beginning. */
bool aj_protect_part_matches(const char *pattern, size_t pattern_bytes, const char *name);
/* Is `path` (relative, plain) a place of this pattern, or below one? */
bool aj_protect_covers_path(const char *pattern, const char *path);
