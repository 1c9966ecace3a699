/* `:put` and `:get` of the shell: a file of the host for the jail, and one of the jail's for the host. */
#pragma once
#include "cli/shell/shell.h"

/* `words`: "FILE [NAME]". A name without a leading slash is in /input. Prints errors, and the file's place. */
void aj_transfer_put(struct aj_shell *shell, const char *words);
/* `words`: "NAME [FILE]". A name without a slash at its beginning is one in /tmp; without FILE its last part is used, here. */
void aj_transfer_get(struct aj_shell *shell, const char *words);
