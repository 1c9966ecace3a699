/* The content of two regular files: copied or compared, with holes. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

/* Copy `bytes` bytes of `from` into the empty file `to`: shared blocks where the file system has them, and holes stay holes.
 * `left`: the number of bytes of data that may still be copied (NULL: any); shared blocks do not count.
 *  0; 1: `from` has
 * become shorter meanwhile, or no bytes are left; -1 with errno. `to` has the size `bytes` unless -1 is returned. */
int aj_content_copy(int from, int to, off_t bytes, uint64_t *left);
/* Have both files of `bytes` the same content? Holes of both are skipped. -1 with errno. */
int aj_content_same(int a, int b, off_t bytes);
