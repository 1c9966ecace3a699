/* A folder or file on the host that is there only so that a mount can lie on it. Runs that share a workspace share it: each holds a
 * lock on it, which the kernel takes back when its process dies, and the last one removes it. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

/* Make `name` in `dir`, or join those who did; `blank`: one of sandbox/blanks.h. Returns a descriptor that holds the lock; -1 with
 * errno: EEXIST for something that is not ours. */
int aj_placeholder_take(int dir, const char *name, const char *blank);
/* Let go of it, and remove it if nobody else has it and it is still ours and empty. Closes `fd`. What the host's user has put there is
 * left alone. */
void aj_placeholder_give(int dir, const char *name, const char *blank, int fd);
/* Does it bear the mark of one? What it holds is another question. */
bool aj_placeholder_marked(const struct stat *st);
