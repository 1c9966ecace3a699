/* The modes of a terminal that a jail's output has set: the alternate screen, the mouse, colours. A jail may be killed while they
 * are set, so they are reset before the caller gets the terminal back. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kitty's keyboard flags. */
struct aj_keyboard {
	unsigned depth; /* of their stack */
	unsigned flags; /* that were put on it last */
	bool set;       /* also without the stack */
};

struct aj_modes {
	uint64_t set;   /* rows of the table in modes.c that are not as terminals start */
	uint64_t saved; /* rows that were so when a sequence saved the cursor or its attributes, at whichever time */
	struct aj_keyboard keyboard[2]; /* of the main screen, and of the alternate one */
	bool alternate;                 /* that screen is shown */
	unsigned modified_keys;         /* xterm's modifyOtherKeys */
	unsigned titles; /* on the terminal's title stack, the lowest being the original one; 0: it was not pushed */
};

/* Does aj_modes_undo() know this DEC private mode? */
bool aj_modes_knows(unsigned number);

/* One whole sequence CSI ... final, ESC ... final (or a shift of one byte), or OSC ..., as it is passed on. */
void aj_modes_csi(struct aj_modes *modes, const char *sequence, size_t bytes);
void aj_modes_escape(struct aj_modes *modes, const char *sequence, size_t bytes);
/* `text`: behind the number and its semicolon. */
void aj_modes_osc(struct aj_modes *modes, unsigned number, const char *text, size_t bytes);

/* Ends an open sequence, link or attribute, whether modes.c has recorded it or not, then clears the lines below the cursor: for
 * our text in the midst of a jail's output. Each part is harmless to a terminal that does not need it. */
#define AJ_MODES_ON_CLEAN_LINES "\030\033\\\033]8;;\033\\\033[m\033(B\017\033[?25h\r\n\033[J"

enum { AJ_MODES_TEXT = 1024 };
/* The sequences that undo the set modes; then (`again`) those that set keyboard, mouse and screen again. Returns the length. */
size_t aj_modes_undo(const struct aj_modes *modes, char out[AJ_MODES_TEXT]);
size_t aj_modes_again(const struct aj_modes *modes, char out[AJ_MODES_TEXT]);
