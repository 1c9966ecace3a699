/* Names that a host's file system may take for equal: it may ignore case (which the comparisons of this folder do), invisible
 * characters, and dots and blanks at the end, and may have DOS short names. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The path with each name in its plainest spelling, in `room` (strlen(path) + 1 bytes) or `path` itself. It has as many names as
 * `path`. */
const char *aj_spelling_plain(const char *path, char *room);
/* Does some file system take `name` for `plain`, which is lower case in ASCII? */
bool aj_spelling_is(const char *name, const char *plain);
/* The bytes of `path` up to the end of its first name that DOS could have given to another file (`GIT~1`); 0: none. */
size_t aj_spelling_short(const char *path);
/* The number of names in the first `bytes` of `path`, and the bytes of its first `count` names. */
size_t aj_spelling_count(const char *path, size_t bytes);
size_t aj_spelling_bytes(const char *path, size_t count);
