/* A folder or file on the host that exists only as a mount point. Runs that share a workspace share it: each holds a lock on it,
 * which the kernel releases when the process dies, and the last holder removes it. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

/* Create `name` in `dir`, or share the existing placeholder; `blank`: one of sandbox/mounts/blanks.h. Returns a descriptor that
 * holds the lock; -1 with errno: EEXIST where another file or folder has this name. */
int aj_placeholder_take(int dir, const char *name, const char *blank);
/* Release the lock, and remove the placeholder if no other run holds it and it is still marked and empty. Closes `fd`. Content
 * that the host's user has put there is kept. */
void aj_placeholder_give(int dir, const char *name, const char *blank, int fd);
/* Does the mode carry the placeholder's mark? The content is not checked. */
bool aj_placeholder_marked(const struct stat *st);
