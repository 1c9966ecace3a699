/* What was typed in earlier sessions: a file of lines, $XDG_STATE_HOME/agentjail/history. */
#pragma once
#include "base/arena.h"

enum { AJ_HISTORY_LINES = 1000 };

/* Open it for appending, made when it is not there; -1 when there is no place for it, or it is not ours alone. */
int aj_history_open(void);
/* Its last lines, the oldest first; NULL at the end. A file that has grown too long is cut to them. */
char **aj_history_read(int fd, struct aj_arena *arena);
void aj_history_add(int fd, const char *line);
