/* Standard output and error as streams that show control characters instead of sending them to a terminal. */
#pragma once
#include <stdbool.h>
#include <stdio.h>

/* Replace stdout and stderr if they are terminals. Call once, before anything is printed. */
void aj_guard_streams(void);

/* An unescaped stream to the same terminal, for a line editor; `guarded` itself if it is not a guarded stream. */
FILE *aj_guard_unguarded(FILE *guarded);

enum aj_colour { AJ_COLOUR_NONE, AJ_COLOUR_BAD, AJ_COLOUR_ADVICE, AJ_COLOUR_HEADING };

/* Set the colour of the following text. No effect without a terminal, with NO_COLOR, or on a terminal without colours. */
void aj_colour(FILE *out, enum aj_colour colour);
/* Does the caller's terminal have colours, and does the caller want them? */
bool aj_colours_wanted(void);
