/* Lines typed in earlier sessions: $XDG_STATE_HOME/agentjail/history. */
#pragma once
#include "base/arena.h"

enum { AJ_HISTORY_LINES = 1000 };

/* Open the file for appending, created if needed; -1 when it cannot be created, has another owner or a second link. */
int aj_history_open(void);
/* The file's last lines, the oldest first; NULL at the end. A file that has grown too long is cut to them. */
char **aj_history_read(int fd, struct aj_arena *arena);
void aj_history_add(int fd, const char *line);
