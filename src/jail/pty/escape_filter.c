/* Reads a jail's output byte by byte as a terminal would, and passes on the sequences that only draw.
 * It passes on no sequence that it has not seen whole, changes none, and keeps no more than one. */
#include "jail/pty/escape_filter.h"

#include <string.h>

#include "jail/pty/sequences.h"

const struct aj_escape_row aj_escape_rows[AJ_ESCAPE_KINDS] = {
	[AJ_ESCAPE_CLIPBOARD] = { "clipboard", "reads or sets the clipboard (OSC 52)", true },
	[AJ_ESCAPE_NOTIFICATION] = { "notification", "shows a notification on the desktop (OSC 9, 99, 777)", true },
	[AJ_ESCAPE_ANSWER] = { "answer", "has the terminal type an answer: its title, its screen, its answerback", false },
	[AJ_ESCAPE_WINDOW] = { "window", "moves, resizes or switches the window", false },
	[AJ_ESCAPE_PRINTER] = { "printer", "prints, or writes a log file (CSI i, OSC 46)", false },
	[AJ_ESCAPE_STRING] = { "string", "control strings: images, requests, pass-through (DCS, APC, PM, SOS)", false },
	[AJ_ESCAPE_C1] = { "c1", "control characters of eight bits", false },
	[AJ_ESCAPE_BELL] = { "bell", "rings more often than four times a second", false },
	[AJ_ESCAPE_OTHER] = { "other", "not known to be harmless", false },
};

enum state { GROUND, CHARACTER, ESCAPE, BETWEEN, CSI, OSC, OSC_ESCAPE, STRING, STRING_ESCAPE, SKIP };
enum { ENQ = 5, BEL = 7, SO = 14, SI = 15, CAN = 0x18, SUB = 0x1a, ESC = 0x1b, DEL = 0x7f, CSI_MOST = 512 };

void aj_escape_init(struct aj_escape_filter *f, enum aj_escapes level)
{
	memset(f, 0, sizeof *f);
	f->level = level;
}

void aj_escape_time(struct aj_escape_filter *f, int64_t now_us)
{
	int64_t rung = f->bells, made_up = (now_us - f->bells_at_us) / AJ_ESCAPE_BELL_US;
	if (made_up >= rung) {
		f->bells = 0;
		f->bells_at_us = now_us;
	} else if (made_up > 0) {
		f->bells -= (unsigned)made_up;
		f->bells_at_us += made_up * AJ_ESCAPE_BELL_US;
	}
}

/* May the terminal ring, or flash, once more? */
static bool may_ring(struct aj_escape_filter *f)
{
	bool may = f->bells < AJ_ESCAPE_BELLS;
	f->bells += may;
	return may;
}

static void begin(struct aj_escape_filter *f, enum state state)
{
	f->state = state;
	f->bad = false;
	f->bytes = 0;
}

static void hold(struct aj_escape_filter *f, char c)
{
	if (f->bytes < sizeof f->sequence)
		f->sequence[f->bytes++] = c;
	else
		f->bad = true;
}

static size_t put_sequence(struct aj_escape_filter *f, char *out)
{
	size_t bytes = f->bytes;
	memcpy(out, f->sequence, bytes);
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
	if (kind == AJ_PASSES && (f->bad || f->level == AJ_ESCAPES_NONE))
		kind = AJ_ESCAPE_OTHER;
	return kind == AJ_PASSES ? put_sequence(f, out) : leave_out(f, (enum aj_escape_kind)kind);
}

static size_t finish_csi(struct aj_escape_filter *f, char *out)
{
	int kind = aj_csi_kind(f->sequence, f->bytes);
	if (f->bytes > CSI_MOST)
		f->bad = true;
	if (kind == AJ_PASSES && !f->bad && f->level != AJ_ESCAPES_NONE)
		aj_modes_csi(&f->modes, f->sequence, f->bytes);
	return finish(f, kind, out);
}

static size_t finish_escape(struct aj_escape_filter *f, char *out)
{
	int kind = aj_escape_kind_of(f->sequence, f->bytes);
	if (f->sequence[1] == 'g' && kind == AJ_PASSES && !may_ring(f))
		kind = AJ_ESCAPE_BELL;
	if (kind == AJ_PASSES && f->level != AJ_ESCAPES_NONE)
		aj_modes_escape(&f->modes, f->sequence, f->bytes);
	return finish(f, kind, out);
}

/* `end`: the bytes that end it. */
static size_t finish_osc(struct aj_escape_filter *f, const char *end, char *out)
{
	unsigned number;
	int kind = aj_osc_kind(f->sequence + 2, f->bytes - 2, !f->bad, &number);
	const char *text = memchr(f->sequence, ';', f->bytes);
	if (kind == AJ_PASSES && text && f->level != AJ_ESCAPES_NONE)
		aj_modes_osc(&f->modes, number, text + 1, (size_t)(f->sequence + f->bytes - text - 1));
	for (; *end; end++)
		hold(f, *end);
	return finish(f, kind, out);
}

static size_t on_ground(struct aj_escape_filter *f, unsigned char c, char *out)
{
	unsigned length = aj_character_bytes(c);
	if (c == ESC || length > 1) {
		begin(f, c == ESC ? ESCAPE : CHARACTER);
		f->missing = length - 1;
		f->point = c & (0x3fU >> f->missing);
		hold(f, (char)c);
		return 0;
	}
	if (c == ENQ || (c >= 0x80 && c < 0xa0) || c == 0xc0 || c == 0xc1) /* c0 and c1 only write ASCII longer than need be */
		return leave_out(f, c == ENQ ? AJ_ESCAPE_ANSWER : AJ_ESCAPE_C1);
	if (c == BEL && !may_ring(f))
		return leave_out(f, AJ_ESCAPE_BELL);
	if (c == SO || c == SI)
		aj_modes_escape(&f->modes, (const char *)&c, 1);
	*out = (char)c;
	return 1;
}

static size_t on_character(struct aj_escape_filter *f, unsigned char c, char *out)
{
	if ((c & 0xc0) != 0x80) { /* not whole: bytes that are no text */
		size_t n = put_sequence(f, out);
		return n + on_ground(f, c, out + n);
	}
	hold(f, (char)c);
	f->point = f->point << 6 | (c & 0x3f);
	if (--f->missing)
		return 0;
	return aj_obeyed_as_control(f->point) ? leave_out(f, AJ_ESCAPE_C1) : put_sequence(f, out);
}

/* A byte that belongs to no sequence: the sequence under way is dropped, as terminals do, and the byte is handled by itself. */
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
	if (c == BEL)
		return finish_osc(f, "\007", out);
	if (c == CAN || c == SUB)
		return break_off(f, c, out);
	if (c == ESC)
		f->state = OSC_ESCAPE;
	else
		hold(f, (char)c);
	return 0;
}

static size_t on_string(struct aj_escape_filter *f, unsigned char c)
{
	if (c == CAN || c == SUB)
		return leave_out(f, AJ_ESCAPE_STRING);
	if (c == ESC)
		f->state = STRING_ESCAPE;
	return 0;
}

/* Behind an ESC in a string: its end, or the begin of another sequence that breaks it off. */
static size_t on_string_escape(struct aj_escape_filter *f, unsigned char c, char *out)
{
	bool osc = f->state == OSC_ESCAPE;
	if (osc && c == '\\')
		return finish_osc(f, "\033\\", out);
	leave_out(f, osc ? AJ_ESCAPE_OTHER : AJ_ESCAPE_STRING);
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
	case STRING:
		return on_string(f, c);
	case OSC_ESCAPE:
	case STRING_ESCAPE:
		return on_string_escape(f, c, out);
	case SKIP:
		if (--f->skip == 0)
			begin(f, GROUND);
		return 0;
	}
	return 0;
}

static bool is_plain(unsigned char c)
{
	return (c >= 0x20 && c < DEL) || (c > BEL && c < SO);
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
