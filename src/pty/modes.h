/* The modes of a terminal that a jail's output has set: the alternate screen, the mouse, colours. A jail may be killed while they are on, and
 * its caller's terminal is given back without them. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct aj_modes {
	uint64_t private_set;    /* rows of the table in modes.c that are not as terminals start */
	unsigned keyboard_depth; /* of kitty's stack of keyboard flags */
	bool keyboard_flags, keys, keypad, attributes, region, insert, charset, shifted, cursor_style, colours;
};

/* One whole sequence CSI ... final, ESC ... final or OSC ..., as it is passed on. */
void aj_modes_csi(struct aj_modes *modes, const char *sequence, size_t bytes);
void aj_modes_escape(struct aj_modes *modes, const char *sequence, size_t bytes);
void aj_modes_osc(struct aj_modes *modes, unsigned number, bool query);

enum { AJ_MODES_TEXT = 512 };
/* Sequences that undo what is set; then (`again`) those that set the modes of the keyboard, mouse and screen anew. The length. */
size_t aj_modes_undo(const struct aj_modes *modes, char out[AJ_MODES_TEXT]);
size_t aj_modes_again(const struct aj_modes *modes, char out[AJ_MODES_TEXT]);
