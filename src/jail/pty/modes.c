/* Tracks the modes that sequences set, and writes the sequences that undo them.
 * It classifies no sequence, and has no row for modes that are harmless after a jail's end. */
#include "jail/pty/modes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* In the order in which they are undone. Leaving the alternate screen restores the cursor's earlier attributes and charsets, so
 * these follow it. DEC private modes have a number: CSI ? number h sets one, l resets it. */
static const struct {
	unsigned number;
	bool on; /* as terminals start */
	char key;
	const char *undo, *again; /* of the other modes; again: NULL where a program redraws it, or its value is not kept */
} table[] = {
	{ .key = '>', .undo = "\033[>4;0m" },
	{ .key = '=', .undo = "\033>", .again = "\033=" },
	{ .key = 'r', .undo = "\0337\033[r\0338" }, /* setting the region moves the cursor */
	{ .key = 'i', .undo = "\033[4l" },
	{ .key = 'q', .undo = "\033[0 q" },
	{ .key = 'c',
	  .undo = "\033]104\033\\\033]105\033\\\033]110\033\\\033]111\033\\"
	          "\033]112\033\\\033]117\033\\\033]119\033\\" },
	{ .key = 'p', .undo = "\033]9;4;0\033\\" }, /* progress in the task bar */
	{ .key = 't', .undo = "\033]0;\033\\" },
	{ .number = 1 },
	{ .number = 5 },
	{ .number = 6 },
	{ .number = 7, .on = true },
	{ .number = 9 },
	{ .number = 69 },
	{ .number = 1000 },
	{ .number = 1001 },
	{ .number = 1002 },
	{ .number = 1003 },
	{ .number = 1004 },
	{ .number = 1005 },
	{ .number = 1006 },
	{ .number = 1015 },
	{ .number = 1016 },
	{ .number = 2004 },
	{ .number = 2026 },
	{ .number = 2031 },
	{ .number = 2048 },
	{ .number = 47 },
	{ .number = 1047 },
	{ .number = 1049 },
	{ .number = 25, .on = true },
	{ .key = '(', .undo = "\033(B" },
	{ .key = ')', .undo = "\033)B\033*B\033+B" },
	{ .key = 's', .undo = "\017" },
	{ .key = '8', .undo = "\033]8;;\033\\" },
	{ .key = 'm', .undo = "\033[m" },
};
enum { ROWS = sizeof table / sizeof *table, PUSHED_MOST = 16, TITLES_MOST = 8 };

bool aj_modes_knows(unsigned number)
{
	bool found = false;
	for (size_t i = 0; i < ROWS && number; i++)
		found |= table[i].number == number;
	return found;
}

static void set_mode(struct aj_modes *modes, char key, unsigned number, bool on)
{
	for (size_t i = 0; i < ROWS; i++)
		if (table[i].key == key && table[i].number == number)
			modes->set = on == table[i].on ? modes->set & ~(1ULL << i) : modes->set | 1ULL << i;
}

static bool has_mode(const struct aj_modes *modes, char key)
{
	bool found = false;
	for (size_t i = 0; i < ROWS; i++)
		found |= table[i].key == key && (modes->set & 1ULL << i);
	return found;
}

/* Read a number, `fallback` where there is none. Returns the number of its digits. */
static size_t read_number(const char *text, size_t bytes, unsigned fallback, unsigned *ret)
{
	size_t i = 0;
	*ret = 0;
	for (; i < bytes && text[i] >= '0' && text[i] <= '9'; i++)
		*ret = *ret < 100000 ? *ret * 10 + (unsigned)(text[i] - '0') : *ret;
	if (!i)
		*ret = fallback;
	return i;
}

static unsigned number_of(const char *text, size_t bytes, unsigned fallback)
{
	unsigned number;
	read_number(text, bytes, fallback, &number);
	return number;
}

/* Saves what ESC 7 saves with the cursor, or with its attributes: a later sequence restores it, whatever was set in between. */
static void save(struct aj_modes *modes)
{
	struct aj_modes kept = { .set = modes->set };
	static const char with_cursor[] = "()sm";
	for (const char *key = with_cursor; *key; key++)
		set_mode(&kept, *key, 0, false);
	set_mode(&kept, '\0', 6, false);
	modes->saved |= modes->set & ~kept.set;
}

static void restore(struct aj_modes *modes)
{
	modes->set |= modes->saved;
}

static void switch_private(struct aj_modes *modes, unsigned number, bool on)
{
	set_mode(modes, '\0', number, on);
	if (number == 47 || number == 1047 || number == 1049)
		modes->alternate = on;
	if (number != 1048 && number != 1049)
		return;
	if (on)
		save(modes);
	else
		restore(modes);
}

static void switch_modes(struct aj_modes *modes, const char *params, size_t bytes, bool on)
{
	bool is_private = bytes && params[0] == '?';
	for (size_t i = is_private; i < bytes; i++) {
		unsigned number;
		i += read_number(params + i, bytes - i, 0, &number);
		if (is_private)
			switch_private(modes, number, on);
		else if (number == 4)
			set_mode(modes, 'i', 0, on);
	}
}

static void push_or_pop(struct aj_modes *modes, char prefix, const char *params, size_t bytes)
{
	struct aj_keyboard *keyboard = &modes->keyboard[modes->alternate];
	unsigned n, how;
	size_t at = read_number(params, bytes, prefix == '<' ? 1 : 0, &n);
	if (prefix == '>') {
		keyboard->depth += keyboard->depth < 99;
		keyboard->flags = n;
	} else if (prefix == '<') {
		keyboard->depth -= n < keyboard->depth ? n : keyboard->depth;
	} else if (prefix == '=') { /* 2 adds flags, 3 takes some away: others may stay */
		how = at < bytes ? number_of(params + at + 1, bytes - at - 1, 1) : 1;
		keyboard->set = n || (how != 1 && keyboard->set);
	}
}

/* `params`: behind the prefix. A mode without a value is off. */
static void modify_keys(struct aj_modes *modes, const char *params, size_t bytes)
{
	unsigned resource;
	size_t at = read_number(params, bytes, 0, &resource);
	modes->modified_keys = at < bytes ? number_of(params + at + 1, bytes - at - 1, 0) : 0;
	set_mode(modes, '>', 0, modes->modified_keys);
}

/* With a second number 1 only the icon's title. */
static bool is_for_title(const char *params, size_t bytes)
{
	const char *second = memchr(params, ';', bytes);
	return !second || second + 1 == params + bytes || second[1] != '1';
}

/* The title stack has the original title if the jail pushed it before setting its first title. */
static void push_or_pop_title(struct aj_modes *modes, unsigned what)
{
	if (what == 22 && (modes->titles || !has_mode(modes, 't')))
		modes->titles++;
	else if (what == 23 && modes->titles && --modes->titles == 0)
		set_mode(modes, 't', 0, false);
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
		modify_keys(modes, params + 1, count - 1);
	else if ((final == 's' && !prefix) || (last == '#' && (final == '{' || final == 'p')))
		save(modes);
	else if ((final == 'u' && !prefix) || (last == '#' && (final == '}' || final == 'q')))
		restore(modes);
	else if (final == 'm' && plain && prefix != '?')
		set_mode(modes, 'm', 0, !(count == 0 || (count == 1 && last == '0')));
	else if (final == 'r' && plain && prefix != '?')
		set_mode(modes, 'r', 0, count > 0);
	else if (final == 'q' && last == ' ')
		set_mode(modes, 'q', 0, number_of(params, count, 0) != 0);
	else if (final == 't' && plain && is_for_title(params, count))
		push_or_pop_title(modes, number_of(params, count, 0));
	else if (final == 'u' && count)
		push_or_pop(modes, prefix, params + 1, count - 1);
}

void aj_modes_escape(struct aj_modes *modes, const char *sequence, size_t bytes)
{
	char first = sequence[bytes > 1], final = sequence[bytes - 1];
	if (first == 'c')
		*modes = (struct aj_modes){ 0 };
	else if (first == '7')
		save(modes);
	else if (first == '8')
		restore(modes);
	else if (first == '=' || first == '>')
		set_mode(modes, '=', 0, first == '=');
	else if (first == '(')
		set_mode(modes, '(', 0, final != 'B');
	else if (first && strchr(")*+-./", first) && (final != 'B' || first != ')'))
		set_mode(modes, ')', 0, true);
	else if (first == 0x0e || first == 0x0f)
		set_mode(modes, 's', 0, first == 0x0e);
}

/* Is one of the fields a value and no question? Of `paired` ones every second is a number. */
static bool has_value(const char *text, size_t bytes, bool paired)
{
	bool found = false, number = paired;
	for (size_t at = 0; at <= bytes && !found;) {
		const char *end = memchr(text + at, ';', bytes - at);
		size_t field = end ? (size_t)(end - text) - at : bytes - at;
		found = !number && field && !(field == 1 && text[at] == '?');
		number = paired && !number;
		at += field + 1;
	}
	return found;
}

void aj_modes_osc(struct aj_modes *modes, unsigned number, const char *text, size_t bytes)
{
	const char *address = memchr(text, ';', bytes);
	if (number <= 2)
		set_mode(modes, 't', 0, true);
	else if (number == 9) /* 4, then its state */
		set_mode(modes, 'p', 0, address && number_of(address + 1, (size_t)(text + bytes - address - 1), 0) != 0);
	else if (number == 8)
		set_mode(modes, '8', 0, address && address + 1 < text + bytes);
	else if ((number == 4 || number == 5 || (number >= 10 && number <= 19)) && has_value(text, bytes, number < 10))
		set_mode(modes, 'c', 0, true);
}

/* Write the row's sequence and return its length. `forth`: the sequence that sets the mode again. */
static size_t write_row(size_t row, bool forth, char *out, size_t room)
{
	const char *text = forth ? table[row].again : table[row].undo;
	if (table[row].number)
		return (size_t)snprintf(out, room, "\033[?%u%c", table[row].number, table[row].on != forth ? 'h' : 'l');
	return text ? (size_t)snprintf(out, room, "%s", text) : 0;
}

/* Each screen has a stack of its own, which is changed while that screen is shown. */
static size_t undo_keyboard(const struct aj_keyboard *keyboard, char *out, size_t room)
{
	size_t n = keyboard->depth ? (size_t)snprintf(out, room, "\033[<%uu", keyboard->depth) : 0;
	return n + (keyboard->set ? (size_t)snprintf(out + n, room - n, "\033[=0u") : 0);
}

static size_t push_keyboard(const struct aj_keyboard *keyboard, char *out, size_t room)
{
	size_t n = 0;
	for (unsigned i = 0; i < keyboard->depth && i < PUSHED_MOST; i++)
		n += (size_t)snprintf(out + n, room - n, "\033[>%uu", keyboard->flags);
	return n;
}

size_t aj_modes_undo(const struct aj_modes *modes, char out[AJ_MODES_TEXT])
{
	size_t n = undo_keyboard(&modes->keyboard[modes->alternate], out, AJ_MODES_TEXT);
	unsigned titles = has_mode(modes, 't') && modes->titles <= TITLES_MOST ? modes->titles : 0;
	uint64_t rows = modes->set | (modes->alternate ? modes->saved : 0); /* which come back with the main screen */
	for (size_t i = 0; i < ROWS; i++)
		if (rows & 1ULL << i && !(titles && table[i].key == 't'))
			n += write_row(i, false, out + n, AJ_MODES_TEXT - n);
	for (; titles; titles--)
		n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033[23;0t");
	if (modes->alternate)
		n += undo_keyboard(&modes->keyboard[0], out + n, AJ_MODES_TEXT - n);
	return n;
}

size_t aj_modes_again(const struct aj_modes *modes, char out[AJ_MODES_TEXT])
{
	size_t n = push_keyboard(&modes->keyboard[0], out, AJ_MODES_TEXT);
	for (size_t i = ROWS; i-- > 0;)
		if (modes->set & 1ULL << i)
			n += write_row(i, true, out + n, AJ_MODES_TEXT - n);
	if (modes->alternate)
		n += push_keyboard(&modes->keyboard[1], out + n, AJ_MODES_TEXT - n);
	if (modes->modified_keys)
		n += (size_t)snprintf(out + n, AJ_MODES_TEXT - n, "\033[>4;%um", modes->modified_keys);
	return n;
}
