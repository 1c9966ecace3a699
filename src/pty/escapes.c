/* Reads a jail's output byte by byte as a terminal would, and passes on the sequences that only draw.
 * It passes on no sequence that it has not seen whole, changes none, and keeps no more than one. */
#include "pty/escapes.h"

#include <string.h>

const struct aj_escape_row aj_escape_rows[AJ_ESCAPE_KINDS] = {
	[AJ_ESCAPE_CLIPBOARD] = { "clipboard", "reads or sets the clipboard (OSC 52)", true },
	[AJ_ESCAPE_NOTIFICATION] = { "notification", "shows a notification on the desktop (OSC 9, 99, 777)", true },
	[AJ_ESCAPE_ANSWER] = { "answer", "has the terminal type an answer: its title, its screen, its answerback", false },
	[AJ_ESCAPE_WINDOW] = { "window", "moves, resizes or switches the window", false },
	[AJ_ESCAPE_PRINTER] = { "printer", "prints, or writes a log file (CSI i, OSC 46)", false },
	[AJ_ESCAPE_STRING] = { "string", "control strings: images, requests, pass-through (DCS, APC, PM, SOS)", false },
	[AJ_ESCAPE_C1] = { "c1", "control characters of eight bits", false },
	[AJ_ESCAPE_OTHER] = { "other", "not known to be harmless", false },
};

enum state { GROUND, CHARACTER, ESCAPE, BETWEEN, CSI, OSC, OSC_ESCAPE, STRING, STRING_ESCAPE, SKIP };
enum { ENQ = 5, BEL = 7, SO = 14, SI = 15, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, CSI_MOST = 512, PASSES = -1 };

/* --- which sequences --- */

/* Whether a sequence CSI ... final is left out. `first`: its first number. The first row that fits decides; without one it passes. */
static const struct csi_row {
	char final, prefix, between; /* prefix: one of <=>?, 0 for none, * for any; between: the byte before the final, as well */
	unsigned from, to;           /* of the first number */
	int kind;
} csi_rows[] = {
	{ 'i', '*', '*', 0, ~0U, AJ_ESCAPE_PRINTER },
	{ 't', 0, 0, 11, 11, PASSES }, /* state of the window, its place and sizes: answers are digits */
	{ 't', 0, 0, 13, 19, PASSES },
	{ 't', 0, 0, 20, 21, AJ_ESCAPE_ANSWER }, /* the title, which the jail may have set, as if it were typed */
	{ 't', 0, 0, 22, 23, PASSES },           /* the stack of titles */
	{ 't', '*', 0, 0, ~0U, AJ_ESCAPE_WINDOW },
	{ '|', '*', '*', 0, ~0U, AJ_ESCAPE_WINDOW }, /* columns and lines */
	{ 'y', '*', '*', 0, ~0U, AJ_ESCAPE_ANSWER }, /* checksums of the screen, which shows what was there before; self-tests */
	{ 'w', '*', '$', 0, ~0U, AJ_ESCAPE_ANSWER }, /* states whose report repeats what was designated */
	{ 'u', '*', '$', 0, ~0U, AJ_ESCAPE_ANSWER },
	{ 'n', 0, 0, 7, 8, AJ_ESCAPE_ANSWER },       /* rxvt: the name of the display, its version */
	{ ']', '*', '*', 0, ~0U, AJ_ESCAPE_WINDOW }, /* the Linux console: switches to another one, its blanking */
	{ 'h', 0, 0, 2, 2, AJ_ESCAPE_OTHER },        /* locks the keyboard */
	{ 'l', '?', 0, 2, 2, AJ_ESCAPE_OTHER },      /* VT52: another language, of which this file knows nothing */
};

/* Of OSC, what passes, by its number; the rest is left out. */
static const struct {
	unsigned from, to;
} osc_passes[] = {
	{ 0, 2 },                 /* titles: text without control characters, whose report does not pass */
	{ 4, 5 },     { 10, 19 }, /* colours; answers are numbers */
	{ 8, 8 },                 /* links */
	{ 104, 105 }, { 110, 119 },
};

static int csi_kind(const char *held, size_t bytes)
{
	const char *params = held + 2;
	size_t count = bytes - 3, at = 0;
	char final = held[bytes - 1], prefix = '\0', between = '\0';
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
			if (row->kind == PASSES)
				break;
			return row->kind;
		}
		/* Of modes each number counts. */
	} while (switches && at++ < count);
	return PASSES;
}

/* The number of a character, or of the part of it that came: does a terminal obey it? Also one that is written longer than need be. */
static bool is_control(unsigned point)
{
	return point < 0x20 || (point >= DEL && point < 0xa0);
}

/* Length of the character that this byte begins; 1 also for bytes that begin none. */
static unsigned character_bytes(unsigned char c)
{
	return c < 0xc2 || c > 0xf7 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
}

static bool is_clean(const char *text, size_t bytes)
{
	for (size_t i = 0; i < bytes;) {
		unsigned char c = (unsigned char)text[i++];
		unsigned rest = character_bytes(c) - 1, point = rest ? c & (0x3fU >> rest) : c;
		for (; rest && i < bytes && ((unsigned char)text[i] & 0xc0) == 0x80; rest--)
			point = point << 6 | ((unsigned char)text[i++] & 0x3f);
		if (rest || is_control(point))
			return false;
	}
	return true;
}

/* `text`: between the introducer and the terminator. */
static int osc_kind(struct aj_escape_filter *f, const char *text, size_t bytes)
{
	unsigned number = 0;
	size_t i = 0;
	for (; i < bytes && i < 6 && text[i] >= '0' && text[i] <= '9'; i++)
		number = number * 10 + (unsigned)(text[i] - '0');
	bool numbered = i > 0 && (i == bytes || text[i] == ';');
	if (numbered && number == 52)
		return AJ_ESCAPE_CLIPBOARD;
	if (numbered && number == 46)
		return AJ_ESCAPE_PRINTER;
	if (f->bad || !numbered || !is_clean(text, bytes))
		return AJ_ESCAPE_OTHER;
	if (number == 9 && bytes - i >= 2 && text[i + 1] == '4' && (bytes - i == 2 || text[i + 2] == ';'))
		return PASSES; /* progress */
	if (number == 9 || number == 99 || number == 777)
		return AJ_ESCAPE_NOTIFICATION;
	for (size_t row = 0; row < sizeof osc_passes / sizeof *osc_passes; row++)
		if (number >= osc_passes[row].from && number <= osc_passes[row].to) {
			aj_modes_osc(&f->modes, number, memchr(text, '?', bytes));
			return PASSES;
		}
	return AJ_ESCAPE_OTHER;
}

static int escape_kind(const char *held, size_t bytes)
{
	if (held[1] == '%' || held[1] == ' ') /* another encoding of text, in which other bytes are controls; or of answers */
		return AJ_ESCAPE_OTHER;
	if (held[1] == 'G') /* rxvt: graphics, whose answer ended in a line feed */
		return AJ_ESCAPE_ANSWER;
	if (held[1] == '\\') /* ends a string of which nothing passed */
		return AJ_ESCAPE_STRING;
	if (held[1] == 'k' || held[1] == '!' || held[1] == '"') /* screen and tmux: begins a string, which would hide what follows */
		return AJ_ESCAPE_STRING;
	return bytes > 8 ? AJ_ESCAPE_OTHER : PASSES;
}

/* --- the machine --- */

void aj_escape_init(struct aj_escape_filter *f, enum aj_escapes level)
{
	memset(f, 0, sizeof *f);
	f->level = level;
}

static void begin(struct aj_escape_filter *f, enum state state)
{
	f->state = state;
	f->bad = false;
	f->bytes = 0;
}

static void hold(struct aj_escape_filter *f, char c)
{
	if (f->bytes < sizeof f->held)
		f->held[f->bytes++] = c;
	else
		f->bad = true;
}

static size_t put_held(struct aj_escape_filter *f, char *out)
{
	size_t bytes = f->bytes;
	memcpy(out, f->held, bytes);
	begin(f, GROUND);
	return bytes;
}

static size_t leave_out(struct aj_escape_filter *f, enum aj_escape_kind kind)
{
	f->left_out[kind]++;
	begin(f, GROUND);
	return 0;
}

/* The sequence is whole. */
static size_t finish(struct aj_escape_filter *f, int kind, char *out)
{
	if (kind == PASSES && (f->bad || f->level == AJ_ESCAPES_NONE))
		kind = AJ_ESCAPE_OTHER;
	return kind == PASSES ? put_held(f, out) : leave_out(f, (enum aj_escape_kind)kind);
}

static size_t finish_csi(struct aj_escape_filter *f, char *out)
{
	int kind = csi_kind(f->held, f->bytes);
	if (f->bytes > CSI_MOST)
		f->bad = true;
	if (kind == PASSES && !f->bad && f->level != AJ_ESCAPES_NONE)
		aj_modes_csi(&f->modes, f->held, f->bytes);
	return finish(f, kind, out);
}

static size_t finish_escape(struct aj_escape_filter *f, char *out)
{
	int kind = escape_kind(f->held, f->bytes);
	if (kind == PASSES && f->level != AJ_ESCAPES_NONE)
		aj_modes_escape(&f->modes, f->held, f->bytes);
	return finish(f, kind, out);
}

static size_t on_ground(struct aj_escape_filter *f, unsigned char c, char *out)
{
	unsigned length = character_bytes(c);
	if (c == ESC || length > 1) {
		begin(f, c == ESC ? ESCAPE : CHARACTER);
		f->rest = length - 1;
		f->point = c & (0x3fU >> f->rest);
		hold(f, (char)c);
		return 0;
	}
	if (c == ENQ || (c >= 0x80 && c < 0xa0) || c == 0xc0 || c == 0xc1) /* c0 and c1 only write ASCII longer than need be */
		return leave_out(f, c == ENQ ? AJ_ESCAPE_ANSWER : AJ_ESCAPE_C1);
	if (c == SO || c == SI)
		aj_modes_escape(&f->modes, (const char *)&c, 1);
	*out = (char)c;
	return 1;
}

static size_t on_character(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if ((c & 0xc0) != 0x80) { /* not whole: bytes that are no text */
		size_t n = put_held(f, out);
		return n + on_ground(f, c, out + n);
	}
	hold(f, (char)c);
	f->point = f->point << 6 | (c & 0x3f);
	if (--f->rest)
		return 0;
	return is_control(f->point) ? leave_out(f, AJ_ESCAPE_C1) : put_held(f, out);
}

/* A byte that belongs to no sequence: what was held is left out, as terminals break off too, and the byte counts by itself. */
static size_t break_off(struct aj_escape_filter *f, unsigned char c, char *out)
{
	leave_out(f, AJ_ESCAPE_OTHER);
	return c == CAN || c == SUB ? 0 : on_ground(f, c, out);
}

static size_t on_escape(struct aj_escape_filter *f, unsigned char c, char *out)
{
	bool introduces = f->state == ESCAPE;
	if (introduces && (c == '[' || c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_')) {
		f->state = c == '[' ? CSI : c == ']' ? OSC : STRING;
		hold(f, (char)c);
		return 0;
	}
	if (c < 0x20 || c >= DEL)
		return break_off(f, c, out);
	hold(f, (char)c);
	if (c >= 0x30)
		return finish_escape(f, out);
	f->state = BETWEEN;
	return 0;
}

static size_t on_csi(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if (c < 0x20 || c >= DEL)
		return break_off(f, c, out);
	hold(f, (char)c);
	return c >= 0x40 ? finish_csi(f, out) : 0;
}

static size_t on_osc(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if (f->bytes == 2 && (c == 'P' || c == 'R')) { /* the palette of the Linux console, which ends by its length */
		f->skip = c == 'P' ? 7 : 0;
		leave_out(f, AJ_ESCAPE_OTHER);
		f->state = f->skip ? SKIP : GROUND;
		return 0;
	}
	if (c == BEL) {
		int kind = osc_kind(f, f->held + 2, f->bytes - 2);
		hold(f, (char)c);
		return finish(f, kind, out);
	}
	if (c == CAN || c == SUB)
		return break_off(f, c, out);
	if (c == ESC)
		f->state = OSC_ESCAPE;
	else
		hold(f, (char)c);
	return 0;
}

static size_t on_osc_escape(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if (c == '\\') {
		int kind = osc_kind(f, f->held + 2, f->bytes - 2);
		hold(f, ESC);
		hold(f, (char)c);
		return finish(f, kind, out);
	}
	leave_out(f, AJ_ESCAPE_OTHER);
	on_ground(f, ESC, out);
	return on_escape(f, c, out);
}

static size_t on_string(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if (f->state == STRING) {
		if (c == CAN || c == SUB)
			return leave_out(f, AJ_ESCAPE_STRING);
		if (c == ESC)
			f->state = STRING_ESCAPE;
		return 0;
	}
	leave_out(f, AJ_ESCAPE_STRING);
	if (c == '\\')
		return 0;
	on_ground(f, ESC, out);
	return on_escape(f, c, out);
}

static size_t on_byte(struct aj_escape_filter *f, unsigned char c, char *out)
{
	switch ((enum state)f->state) {
	case GROUND:
		return on_ground(f, c, out);
	case CHARACTER:
		return on_character(f, c, out);
	case ESCAPE:
	case BETWEEN:
		return on_escape(f, c, out);
	case CSI:
		return on_csi(f, c, out);
	case OSC:
		return on_osc(f, c, out);
	case OSC_ESCAPE:
		return on_osc_escape(f, c, out);
	case STRING:
	case STRING_ESCAPE:
		return on_string(f, c, out);
	case SKIP:
		if (--f->skip == 0)
			begin(f, GROUND);
		return 0;
	}
	return 0;
}

static bool is_plain(unsigned char c)
{
	return (c >= 0x20 && c < DEL) || (c >= BEL && c < SO);
}

size_t aj_escape_filter(struct aj_escape_filter *f, const char *in, size_t bytes, char *out)
{
	size_t made = 0;
	for (size_t i = 0; i < bytes;) {
		size_t run = i;
		while (f->state == GROUND && run < bytes && is_plain((unsigned char)in[run]))
			run++;
		memcpy(out + made, in + i, run - i);
		made += run - i;
		i = run;
		if (i < bytes)
			made += on_byte(f, (unsigned char)in[i++], out + made);
	}
	if (f->level != AJ_ESCAPES_ALL)
		return made;
	memcpy(out, in, bytes); /* the machine ran for the modes */
	memset(f->left_out, 0, sizeof f->left_out);
	return bytes;
}
