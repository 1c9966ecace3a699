/* Normalises names as vfat, NTFS, HFS+ and folders with casefolding (ext4, f2fs) compare them, so that one comparison finds all
 * spellings.
 * It does not depend on the file system at hand: changes may be moved to another one later. */
#include "workspace/changes/approval_spelling.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* Unicode's Default_Ignorable_Code_Point: HFS+ overlooks some of them, casefolding on Linux all. */
static const struct {
	uint32_t first, last;
} unseen[] = {
	{ 0xad, 0xad },       { 0x34f, 0x34f },     { 0x61c, 0x61c },   { 0x115f, 0x1160 }, { 0x17b4, 0x17b5 },
	{ 0x180b, 0x180f },   { 0x200b, 0x200f },   { 0x202a, 0x202e }, { 0x2060, 0x206f }, { 0x3164, 0x3164 },
	{ 0xfe00, 0xfe0f },   { 0xfeff, 0xfeff },   { 0xffa0, 0xffa0 }, { 0xfff0, 0xfff8 }, { 0x1bca0, 0x1bca3 },
	{ 0x1d173, 0x1d17a }, { 0xe0000, 0xe0fff },
};

/* Characters that are letters of ASCII once case makes no difference; no text is longer than its character in UTF-8. */
static const struct {
	uint32_t code;
	const char *text;
} letters[] = {
	{ 0xdf, "ss" },   { 0x17f, "s" },    { 0x1e9e, "ss" },  { 0x212a, "k" },  { 0xfb00, "ff" }, { 0xfb01, "fi" },
	{ 0xfb02, "fl" }, { 0xfb03, "ffi" }, { 0xfb04, "ffl" }, { 0xfb05, "st" }, { 0xfb06, "st" },
};

static uint32_t code_point(const char *text, size_t bytes)
{
	static const unsigned char masks[] = { 0, 0x7f, 0x1f, 0x0f, 0x07 };
	uint32_t code = (unsigned char)text[0] & masks[bytes];
	for (size_t i = 1; i < bytes; i++)
		code = code << 6 | ((unsigned char)text[i] & 0x3f);
	return code;
}

static bool is_unseen(uint32_t code)
{
	for (size_t i = 0; i < sizeof unseen / sizeof *unseen; i++)
		if (code >= unseen[i].first && code <= unseen[i].last)
			return true;
	return false;
}

static const char *letters_of(uint32_t code)
{
	for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
		if (letters[i].code == code)
			return letters[i].text;
	return NULL;
}

static bool ends_name(char c)
{
	return c == '\0' || c == '/';
}

static bool may_differ(const char *path)
{
	for (const char *c = path; *c; c++)
		if ((unsigned char)*c >= 0x80 || *c == ':' || *c == '\\' || ((*c == '.' || *c == ' ') && ends_name(c[1])))
			return true;
	return false;
}

/* A colon begins the name of a stream (NTFS), a backslash the next name (Windows). */
static size_t plain_name(const char *name, size_t bytes, char *out)
{
	size_t used = 0;
	for (size_t at = 0, next; at < bytes && ((name[at] != ':' && name[at] != '\\') || at == 0); at += next) {
		next = aj_utf8_first(name + at, bytes - at);
		uint32_t code = next > 1 ? code_point(name + at, next) : 0;
		next = next ? next : 1;
		if (code && is_unseen(code))
			continue;
		const char *text = code ? letters_of(code) : NULL;
		size_t text_bytes = text ? strlen(text) : next;
		memcpy(out + used, text ? text : name + at, text_bytes);
		used += text_bytes;
	}
	while (used && (out[used - 1] == '.' || out[used - 1] == ' '))
		used--;
	if (used)
		return used;
	memcpy(out, name, bytes);
	return bytes;
}

const char *aj_spelling_plain(const char *path, char *room)
{
	if (!may_differ(path))
		return path;
	size_t used = 0;
	for (const char *at = path; *at;) {
		size_t bytes = strcspn(at, "/");
		used += plain_name(at, bytes, room + used);
		at += bytes;
		if (*at)
			room[used++] = *at++;
	}
	room[used] = '\0';
	return room;
}

bool aj_spelling_is(const char *name, const char *plain)
{
	char room[NAME_MAX + 1];
	return strlen(name) < sizeof room && strcasecmp(aj_spelling_plain(name, room), plain) == 0;
}

/* Up to eight bytes with a tilde and digits at the end, then perhaps a dot and up to three. */
static bool is_short(const char *name, size_t bytes)
{
	const char *dot = memchr(name, '.', bytes), *end = dot ? dot : name + bytes, *digit = end;
	while (digit > name && digit[-1] >= '0' && digit[-1] <= '9')
		digit--;
	return digit < end && digit - 1 > name && digit[-1] == '~' && end - name <= 8 && (!dot || name + bytes - dot <= 4);
}

size_t aj_spelling_short(const char *path)
{
	if (!strchr(path, '~'))
		return 0;
	for (const char *at = path; *at; at += strcspn(at, "/"), at += *at == '/')
		if (is_short(at, strcspn(at, "/")))
			return (size_t)(at - path) + strcspn(at, "/");
	return 0;
}

size_t aj_spelling_count(const char *path, size_t bytes)
{
	size_t count = bytes > 0;
	for (size_t i = 0; i + 1 < bytes; i++)
		count += path[i] == '/';
	return count;
}

size_t aj_spelling_bytes(const char *path, size_t count)
{
	const char *at = path;
	for (; count > 0; count--) {
		at += *at == '/';
		at += strcspn(at, "/");
	}
	return (size_t)(at - path);
}
