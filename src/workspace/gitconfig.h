/* Git's configuration files as data: what they set, and which of that makes git run a program. Git itself is never run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { AJ_GITCONFIG_NAME_BYTES = 128, AJ_GITCONFIG_VALUE_BYTES = 256 };

/* One variable. Names are in lower case but for the subsection's; what is longer than its room is cut, which the value tells by `...` at
 * its end. A variable without `=` is `true`, as git takes it. */
struct aj_gitconfig {
	char section[AJ_GITCONFIG_NAME_BYTES], subsection[AJ_GITCONFIG_NAME_BYTES], key[AJ_GITCONFIG_NAME_BYTES];
	char value[AJ_GITCONFIG_VALUE_BYTES];
};

/* Calls `each` for every variable. False at the first thing that git would refuse too; what stood before it has been told. */
bool aj_gitconfig_read(const char *text, size_t bytes, void (*each)(void *arg, const struct aj_gitconfig *variable), void *arg);

/* Would git, or git-lfs, run a program or read another configuration because of this? */
bool aj_gitconfig_runs(const struct aj_gitconfig *variable);
