/* Loose objects of git as data. Git reads one by its name, and does not verify that the name is the hash of the content. */
#pragma once
#include <stdbool.h>
#include <stdint.h>

/* Is the file `fd`, read from where it stands, the object of this name (`xx/` and 38 or 62 lower-case hex digits)? `budget_bytes`: what its
 * content may have, inflated; what it has is taken from there. False also where the file cannot be read. */
bool aj_gitobject_fits(int fd, const char *name, uint64_t *budget_bytes);
