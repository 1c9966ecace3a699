/* Git's index as data: the paths that `git restore .` and `git checkout .` write. Git accepts any path there, even one in
 * `.git`. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* Are all paths of this index files in a working tree, in none of its repositories? True also of a file that git does not
 * take for an index. */
bool aj_gitindex_plain(const char *data, size_t bytes);
/* The same of the regular file `fd`; false where it cannot be read, or is too large. */
bool aj_gitindex_file_plain(int fd);
/* Have both regular files the same entries, but for what git noted of the files in the working tree, as `git status` does? False
 * also where one of them cannot be read. */
bool aj_gitindex_same(int one, int two);
