/* Follows the modes that sequences set, and writes the sequences that undo them.
 * It judges no sequence, and knows no mode that a jail's end leaves harmless. */
#include "pty/modes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* DEC private modes: CSI ? number h sets one, l resets it. In the order in which they are undone: the screen last. */
static const struct {
	unsigned number;
	bool on; /* as terminals start */
} private_modes[] = {
	{ 1, false },    { 5, false },    { 6, false },    { 7, true },     { 9, false },    { 69, false },
	{ 1000, false }, { 1001, false }, { 1002, false }, { 1003, false }, { 1004, false }, { 1005, false },
	{ 1006, false }, { 1015, false }, { 1016, false }, { 2004, false }, { 2026, false }, { 2031, false },
	{ 2048, false }, { 47, false },   { 1047, false }, { 1049, false }, { 25, true },
};
enum { PRIVATE_MODES = sizeof private_modes / sizeof *private_modes };

static void set_private(struct aj_modes *modes, unsigned long number, bool on)
{
	for (size_t i = 0; i < PRIVATE_MODES; i++)
		if (private_modes[i].number == number)
			modes->private_set = on == private_modes[i].on ? modes->private_set & ~(1ULL << i)
			                                               : modes->private_set | 1ULL << i;
}

static void switch_modes(struct aj_modes *modes, const char *params, size_t bytes, bool on)
{
	bool is_private = bytes && params[0] == '?';
	for (size_t i = is_private; i < bytes; i++) {
		unsigned long number = 0;
		for (; i < bytes && params[i] >= '0' && params[i] <= '9'; i++)
			number = number < 100000 ? number * 10 + (unsigned long)(params[i] - '0') : number;
		if (is_private)
			set_private(modes, number, on);
		else if (number == 4)
			modes->insert = on;
	}
}

static unsigned number_of(const char *text, size_t bytes, unsigned fallback)
{
	unsigned number = 0;
	size_t i = 0;
	for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
		number = number < 1000 ? number * 10 + (unsigned)(text[i] - '0') : number;
	return i ? number : fallback;
}

void aj_modes_csi(struct aj_modes *modes, const char *sequence, size_t bytes)
{
	const char *params = sequence + 2;
	size_t count = bytes - 3;
	char final = sequence[bytes - 1], prefix = '\0', last = '\0';
	if (count) {
		prefix = params[0];
		last = params[count - 1];
	}
	bool plain = !count || (last >= '0' && last <= '?');
	if ((final == 'h' || final == 'l') && plain)
		switch_modes(modes, params, count, final == 'h');
	else if (final == 'm' && prefix == '>')
		modes->keys = count > 3 && params[count - 1] != '0' && params[count - 2] == ';';
	else if (final == 'm' && plain && prefix != '?')
		modes->attributes = !(count == 0 || (count == 1 && last == '0'));
	else if (final == 'r' && plain && prefix != '?')
		modes->region = count > 0;
	else if (final == 'q' && last == ' ')
		modes->cursor_style = number_of(params, count, 0) != 0;
	else if (final == 'u' && prefix == '>')
		modes->keyboard_depth += modes->keyboard_depth < 99;
	else if (final == 'u' && prefix == '<') {
		unsigned n = number_of(params + 1, count - 1, 1);
		modes->keyboard_depth -= n < modes->keyboard_depth ? n : modes->keyboard_depth;
	} else if (final == 'u' && prefix == '=')
		modes->keyboard_flags = number_of(params + 1, count - 1, 0) != 0;
}

void aj_modes_escape(struct aj_modes *modes, const char *sequence, size_t bytes)
{
	char first = sequence[bytes > 1], final = sequence[bytes - 1];
	if (first == 'c')
		*modes = (struct aj_modes){ 0 };
	else if (first == '=' || first == '>')
		modes->keypad = first == '=';
	else if (first == '(')
		modes->charset = final != 'B';
	else if (first == 0x0e || first == 0x0f)
		modes->shifted = first == 0x0e;
}

void aj_modes_osc(struct aj_modes *modes, unsigned number, bool query)
{
	if (!query && (number == 4 || number == 5 || (number >= 10 && number <= 19)))
		modes->colours = true;
}

size_t aj_modes_undo(const struct aj_modes *modes, char out[AJ_MODES_TEXT])
{
	const struct {
		bool on;
		const char *text;
	} rows[] = {
		{ modes->keyboard_flags, "\033[=0u" },
		{ modes->keys, "\033[>4;0m" },
		{ modes->keypad, "\033>" },
		{ modes->region, "\0337\033[r\0338" }, /* setting the region moves the cursor */
		{ modes->insert, "\033[4l" },
		{ modes->charset, "\033(B" },
		{ modes->shifted, "\017" },
		{ modes->cursor_style, "\033[0 q" },
		{ modes->colours, "\033]104\033\\\033]110\033\\\033]111\033\\\033]112\033\\" },
	};
	size_t n = 0;
	if (modes->keyboard_depth)
		n += (size_t)snprintf(out, AJ_MODES_TEXT, "\033[<%uu", modes->keyboard_depth);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (rows[i].on)
			n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "%s", rows[i].text);
	for (size_t i = 0; i < PRIVATE_MODES; i++)
		if (modes->private_set & 1ULL << i)
			n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033[?%u%c", private_modes[i].number,
			                      private_modes[i].on ? 'h' : 'l');
	if (modes->attributes)
		n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033[m");
	return n;
}

size_t aj_modes_again(const struct aj_modes *modes, char out[AJ_MODES_TEXT])
{
	size_t n = 0;
	for (size_t i = PRIVATE_MODES; i-- > 0;)
		if (modes->private_set & 1ULL << i)
			n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033[?%u%c", private_modes[i].number,
			                      private_modes[i].on ? 'l' : 'h');
	if (modes->keypad)
		n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033=");
	return n;
}
