/* Classifies one complete control sequence: AJ_PASSES, or the AJ_ESCAPE_* kind under which it is dropped. */
#pragma once
#include <stdbool.h>
#include <stddef.h>

/* The sequences that were left out, by their effect. */
enum aj_escape_kind {
	AJ_ESCAPE_CLIPBOARD,
	AJ_ESCAPE_NOTIFICATION,
	AJ_ESCAPE_ANSWER,
	AJ_ESCAPE_WINDOW,
	AJ_ESCAPE_PRINTER,
	AJ_ESCAPE_STRING,
	AJ_ESCAPE_C1,
	AJ_ESCAPE_BELL,
	AJ_ESCAPE_OTHER,
	AJ_ESCAPE_KINDS
};

enum { AJ_PASSES = -1 };

/* CSI ... final. */
int aj_csi_kind(const char *sequence, size_t bytes);
/* ESC ... final, which introduces nothing longer. */
int aj_escape_kind_of(const char *sequence, size_t bytes);
/* `text`: between OSC and its end; `whole`: it was kept to its end. *ret_number: that it begins with. */
int aj_osc_kind(const char *text, size_t bytes, bool whole, unsigned *ret_number);

/* Whether a terminal obeys this code point, or its first part, as a control. Overlong encodings count too. */
bool aj_obeyed_as_control(unsigned point);
/* Length of the character that this byte begins; 1 also for bytes that begin none. */
unsigned aj_character_bytes(unsigned char c);
