/* Git's configuration files as data: their variables, and which of these make git run a program. Git itself is never run. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

enum { AJ_GITCONFIG_NAME_BYTES = 128, AJ_GITCONFIG_VALUE_BYTES = 1024 };

/* One variable. Names are in lower case, except subsections. A text longer than its buffer is cut; a cut value ends with `...`. A
 * variable without `=` is `true`, as in git. */
struct aj_gitconfig {
	char section[AJ_GITCONFIG_NAME_BYTES], subsection[AJ_GITCONFIG_NAME_BYTES], key[AJ_GITCONFIG_NAME_BYTES];
	char value[AJ_GITCONFIG_VALUE_BYTES];
};

/* Calls `each` for every variable. False at the first syntax error that git would refuse too; the variables before it have been
 * reported. */
bool aj_gitconfig_read(const char *text, size_t bytes, void (*each)(void *arg, const struct aj_gitconfig *variable), void *arg);

/* Would this variable make git or git-lfs run a program or read another configuration? */
bool aj_gitconfig_runs(const struct aj_gitconfig *variable);
