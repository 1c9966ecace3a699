/* Classifies complete control sequences by two tables: some families pass only if listed as harmless, others unless listed as
 * harmful. A mode passes if it can be undone or may stay. */
#include "jail/pty/sequences.h"

#include <stdbool.h>
#include <string.h>

#include "jail/pty/modes.h"

/* --- CSI --- */

/* Whether a sequence CSI ... final is left out. The first row that fits decides; a sequence without one passes, but for modes. */
static const struct csi_row {
	char final, prefix, between; /* prefix: one of <=>?, 0 for none, * for any; between: the byte before the final, as well */
	unsigned from, to;           /* of the first number */
	int kind;
} csi_rows[] = {
	{ 'i', '*', '*', 0, ~0U, AJ_ESCAPE_PRINTER },
	{ 't', 0, 0, 11, 11, AJ_PASSES }, /* state of the window, its place and sizes: answers are digits */
	{ 't', 0, 0, 13, 19, AJ_PASSES },
	{ 't', 0, 0, 20, 21, AJ_ESCAPE_ANSWER }, /* the title, which the jail may have set, as if it were typed */
	{ 't', 0, 0, 22, 23, AJ_PASSES },        /* the stack of titles */
	{ 't', '*', 0, 0, ~0U, AJ_ESCAPE_WINDOW },
	{ 't', '*', ' ', 0, ~0U, AJ_ESCAPE_OTHER }, /* the bell's volume, which cannot be restored */
	{ 'u', '*', ' ', 0, ~0U, AJ_ESCAPE_OTHER },
	{ '|', '*', '*', 0, ~0U, AJ_ESCAPE_WINDOW }, /* columns and lines */
	{ 'y', '*', '*', 0, ~0U, AJ_ESCAPE_ANSWER }, /* checksums of the screen, which shows what was there before; self-tests */
	{ 'w', '*', '$', 0, ~0U, AJ_ESCAPE_ANSWER }, /* states whose report repeats what was designated */
	{ 'u', '*', '$', 0, ~0U, AJ_ESCAPE_ANSWER },
	{ 'n', 0, 0, 7, 8, AJ_ESCAPE_ANSWER },       /* rxvt: the name of the display, its version */
	{ ']', '*', '*', 0, ~0U, AJ_ESCAPE_WINDOW }, /* the Linux console: switches to another one, its blanking */
	{ 's', '?', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* saves modes, which modes.c would not know */
	{ 'r', '?', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* when they come back */
	{ 'p', '>', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* hides the mouse's pointer */
	{ 'm', '>', 0, 0, 3, AJ_ESCAPE_OTHER },      /* what cursor and function keys send */
	{ 'm', '>', 0, 5, ~0U, AJ_ESCAPE_OTHER },    /* and other keys: modes.c knows 4 */
	{ 'f', '>', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* and in which form */
	{ 'n', '>', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* the same, disabled */
	{ 's', '>', 0, 0, ~0U, AJ_ESCAPE_OTHER },    /* whether Shift selects text */
	{ 'q', '*', '"', 0, ~0U, AJ_ESCAPE_OTHER },  /* characters that an erasure leaves */
	{ 'g', '*', '*', 0, ~0U, AJ_ESCAPE_OTHER },  /* tab stops, which few terminals can restore */
	{ 'W', '*', '*', 0, ~0U, AJ_ESCAPE_OTHER },
	{ 'z', '*', '\'', 0, ~0U, AJ_ESCAPE_OTHER }, /* reports of the mouse, in the way of DEC */
	{ 'w', '*', '\'', 0, ~0U, AJ_ESCAPE_OTHER },
	{ '{', '*', '\'', 0, ~0U, AJ_ESCAPE_OTHER },
	{ 'p', '*', '"', 0, ~0U, AJ_ESCAPE_OTHER }, /* an older terminal, which lacks what undoes a mode */
	{ '}', '*', '$', 0, ~0U, AJ_ESCAPE_OTHER }, /* later text goes to the status line */
	{ '~', '*', '$', 0, ~0U, AJ_ESCAPE_OTHER },
};

/* Modes, CSI ... h and CSI ... l, that pass although modes.c does not undo them. The others may change what keys send (VT52, the
 * language of Windows' console, Backspace), or may be permanent. */
static const struct {
	char final, prefix; /* final 0: both */
	unsigned number;
} mode_rows[] = {
	{ 'l', 0, 2 },                                        /* the keyboard is not locked */
	{ 0, 0, 4 },                                          /* insertion, which modes.c does undo */
	{ 'h', 0, 12 },                                       /* the terminal itself does not echo what is typed */
	{ 'l', 0, 20 },                                       /* the Enter key sends one byte */
	{ 'h', '?', 2 },                                      /* no VT52 */
	{ 'l', '?', 3 },                                      /* 80 columns, as terminals start */
	{ 0, '?', 4 },                                        /* smooth scrolling */
	{ 'h', '?', 8 },                                      /* keys repeat */
	{ 0, '?', 12 },                                       /* the cursor blinks */
	{ 0, '?', 45 },                                       /* Backspace goes up a line */
	{ 0, '?', 80 },   { 0, '?', 1070 }, { 0, '?', 8452 }, /* of images */
	{ 0, '?', 1007 },                                     /* the wheel in the alternate screen */
	{ 0, '?', 1034 }, { 0, '?', 1036 },                   /* the Meta key, which shells set themselves */
	{ 0, '?', 1048 },                                     /* saves the cursor */
	{ 0, '?', 2027 },                                     /* widths of characters */
};

static bool mode_passes(char final, char prefix, unsigned number)
{
	for (size_t i = 0; i < sizeof mode_rows / sizeof *mode_rows; i++) {
		char only = mode_rows[i].final;
		if (mode_rows[i].number == number && mode_rows[i].prefix == prefix && (!only || only == final))
			return true;
	}
	return prefix == '?' && aj_modes_knows(number);
}

int aj_csi_kind(const char *sequence, size_t bytes)
{
	const char *params = sequence + 2;
	size_t count = bytes - 3, at = 0;
	char final = sequence[bytes - 1], prefix = '\0', between = '\0';
	if (count && params[0] >= '<' && params[0] <= '?')
		prefix = params[at++];
	if (count && params[count - 1] < '0')
		between = params[count - 1];
	bool switches = final == 'h' || final == 'l';
	do {
		unsigned number = 0;
		for (; at < count && params[at] >= '0' && params[at] <= '9'; at++)
			number = number < 100000 ? number * 10 + (unsigned)(params[at] - '0') : number;
		for (size_t i = 0; i < sizeof csi_rows / sizeof *csi_rows; i++) {
			const struct csi_row *row = &csi_rows[i];
			if (row->final != final || (row->prefix != '*' && row->prefix != prefix) ||
			    (row->between != '*' && row->between != between) || number < row->from || number > row->to)
				continue;
			if (row->kind == AJ_PASSES)
				break;
			return row->kind;
		}
		if (switches && number && (between || !mode_passes(final, prefix, number)))
			return AJ_ESCAPE_OTHER;
		/* Of modes each number counts. */
	} while (switches && at++ < count);
	return AJ_PASSES;
}

/* --- OSC --- */

/* The numbers of OSC sequences that pass; the others are left out. */
static const struct {
	unsigned from, to;
} osc_passes[] = {
	{ 0, 2 },                 /* titles: text without control characters, whose report does not pass */
	{ 4, 5 },     { 10, 19 }, /* colours; answers are numbers */
	{ 8, 8 },                 /* links */
	{ 104, 105 }, { 110, 119 },
};

/* Whether a terminal obeys this code point, or its first part, as a control. Overlong encodings count too. */
bool aj_obeyed_as_control(unsigned point)
{
	return point < 0x20 || (point >= 0x7f && point < 0xa0);
}

/* Length of the character that this byte begins; 1 also for bytes that begin none. */
unsigned aj_character_bytes(unsigned char c)
{
	return c < 0xc2 || c > 0xf7 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static bool is_clean(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		unsigned char c = (unsigned char)text[i++];
		unsigned rest = aj_character_bytes(c) - 1, point = rest ? c & (0x3fU >> rest) : c;
		for (; rest && i < bytes && ((unsigned char)text[i] & 0xc0) == 0x80; rest--)
			point = point << 6 | ((unsigned char)text[i++] & 0x3f);
		if (rest || aj_obeyed_as_control(point))
			return false;
	}
	return true;
}

int aj_osc_kind(const char *text, size_t bytes, bool whole, unsigned *ret_number)
{
	unsigned number = 0;
	size_t i = 0;
	for (; i < bytes && i < 6 && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (unsigned)(text[i] - '0');
	bool numbered = i > 0 && (i == bytes || text[i] == ';');
	*ret_number = number;
	if (numbered && number == 52)
		return AJ_ESCAPE_CLIPBOARD;
	if (numbered && number == 46)
		return AJ_ESCAPE_PRINTER;
	if (!whole || !numbered || !is_clean(text, bytes))
		return AJ_ESCAPE_OTHER;
	if (number == 9 && bytes - i >= 2 && text[i + 1] == '4' && (bytes - i == 2 || text[i + 2] == ';'))
		return AJ_PASSES; /* progress */
	if (number == 9 || number == 99 || number == 777)
		return AJ_ESCAPE_NOTIFICATION;
	for (size_t row = 0; row < sizeof osc_passes / sizeof *osc_passes; row++)
		if (number >= osc_passes[row].from && number <= osc_passes[row].to)
			return AJ_PASSES;
	return AJ_ESCAPE_OTHER;
}

/* --- ESC --- */

/* The finals of ESC sequences that pass: they save and restore the cursor, switch the keypad, move a line, shift one character,
 * reset the terminal, ring the visual bell. Not listed: tab stops, locking shifts, guarded areas, which an erasure leaves, and
 * the memory lock. */
static const char finals[] = "6789=>DEMNOZcg";
/* ESC between final: sets of characters; ESC # final: the test pattern, but not double-width lines, half of which is hidden. */
static const char charsets[] = "()*+-./";

int aj_escape_kind_of(const char *sequence, size_t bytes)
{
	char first = sequence[1];
	if (first == 'G') /* rxvt: graphics, whose answer ended in a line feed */
		return AJ_ESCAPE_ANSWER;
	if (first == '\\') /* ends a string of which nothing passed */
		return AJ_ESCAPE_STRING;
	if (first == 'k' || first == '!' || first == '"') /* screen and tmux: begins a string, which would hide what follows */
		return AJ_ESCAPE_STRING;
	if (bytes == 2)
		return strchr(finals, first) ? AJ_PASSES : AJ_ESCAPE_OTHER;
	if (first == '#')
		return bytes == 3 && sequence[2] == '8' ? AJ_PASSES : AJ_ESCAPE_OTHER;
	return strchr(charsets, first) && bytes <= 8 ? AJ_PASSES : AJ_ESCAPE_OTHER;
}
