/* Standard output and error as streams that show control characters instead of sending them to a terminal. */
#pragma once
#include <stdio.h>

/* Replace stdout and stderr where they are a terminal. Once, at the start of the program: the old streams must be unused. */
void aj_guard_streams(void);

/* A stream to the same terminal that sends all bytes, for a line editor; `guarded` itself where it is no guarded stream. */
FILE *aj_guard_unguarded(FILE *guarded);

enum aj_colour { AJ_COLOUR_NONE, AJ_COLOUR_BAD, AJ_COLOUR_ADVICE, AJ_COLOUR_HEADING };

/* Switch the colour of what follows on a terminal. No effect elsewhere, with NO_COLOR, or on a terminal without colours. */
void aj_colour(FILE *out, enum aj_colour colour);
