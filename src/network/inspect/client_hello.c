/* A cursor over a handshake message that may lie in several records, and the walk over a ClientHello's fields.
 * All lengths are checked against the message's own end; no field decides how much memory is used. */
#include "network/inspect/client_hello.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

enum {
	RECORD_HEADER = 5,
	RECORD_MAX = 1 << 14,
	FIRST_KIND = 20, /* content types of records: change_cipher_spec, alert, handshake, application_data, heartbeat */
	HANDSHAKE = 22,
	LAST_KIND = 24,
	SSL2_HELLO = 0x80, /* first byte, with the upper bits of the length */
	CLIENT_HELLO = 1,
	SERVER_NAME = 0,
	HOST_NAME = 0,
	NAME_MAX_BYTES = 253
};

/* `end` is that of the bytes so far; `record` what the record at `at` still has. */
struct cursor {
	const uint8_t *at, *end;
	size_t record;
	enum aj_hello fault; /* AJ_HELLO_MORE: none but too few bytes */
	bool stopped;
};

bool aj_hello_may_begin(uint8_t first)
{
	/* A length of up to 16 KiB. Telnet negotiation begins with 255. */
	return (first >= FIRST_KIND && first <= LAST_KIND) || (first & ~0x3f) == SSL2_HELLO;
}

static bool stop_reading(struct cursor *c, enum aj_hello fault)
{
	if (!c->stopped)
		c->fault = fault;
	c->stopped = true;
	return false;
}

/* A first record with a version that no client sends. Servers may ignore the version (RFC 8446, section 5.1), so the rest decides
 * whether it is TLS: an empty record, or a ClientHello. No server accepts versions of 16 and above. */
static enum aj_hello odd_version(const uint8_t *at, size_t there)
{
	if (there > 1 && at[1] >= 16)
		return AJ_HELLO_NOT_TLS;
	if (there <= RECORD_HEADER)
		return AJ_HELLO_MORE;
	bool empty = at[3] == 0 && at[4] == 0;
	return empty || at[RECORD_HEADER] == CLIENT_HELLO ? AJ_HELLO_MALFORMED : AJ_HELLO_NOT_TLS;
}

/* The first record is not a handshake: an alert or an empty record, say, which some servers ignore. */
static enum aj_hello other_record(const uint8_t *at, size_t there)
{
	if (there > 1 && at[1] >= 16)
		return AJ_HELLO_NOT_TLS;
	if (there > 2 && at[1] == 3 && at[2] <= 4)
		return AJ_HELLO_MALFORMED;
	if (there < RECORD_HEADER)
		return AJ_HELLO_MORE;
	return at[3] == 0 && at[4] <= 2 ? AJ_HELLO_MALFORMED : AJ_HELLO_NOT_TLS;
}

/* An SSL 2 ClientHello, which cannot contain a server name: two bytes of length, the type, a version. */
static enum aj_hello ssl2_hello(const uint8_t *at, size_t there)
{
	if (there > 2 && at[2] != CLIENT_HELLO)
		return AJ_HELLO_NOT_TLS;
	if (there < RECORD_HEADER)
		return AJ_HELLO_MORE;
	return at[3] == 3 || (at[3] == 0 && at[4] == 2) ? AJ_HELLO_MALFORMED : AJ_HELLO_NOT_TLS;
}

static enum aj_hello no_handshake(const uint8_t *at, size_t there)
{
	if (!aj_hello_may_begin(at[0]))
		return AJ_HELLO_NOT_TLS;
	return at[0] & SSL2_HELLO ? ssl2_hello(at, there) : other_record(at, there);
}

/* At the start of a record: false where it is not there yet, or no record of a handshake. */
static bool open_record(struct cursor *c, bool first)
{
	size_t there = (size_t)(c->end - c->at);
	if (there > 0 && c->at[0] != HANDSHAKE)
		return stop_reading(c, first ? no_handshake(c->at, there) : AJ_HELLO_MALFORMED);
	if ((there > 1 && c->at[1] != 3) || (there > 2 && c->at[2] > 4))
		return stop_reading(c, first ? odd_version(c->at, there) : AJ_HELLO_MALFORMED);
	if (there < RECORD_HEADER)
		return stop_reading(c, AJ_HELLO_MORE);
	c->record = (size_t)c->at[3] << 8 | c->at[4];
	if (c->record == 0 || c->record > RECORD_MAX)
		return stop_reading(c, AJ_HELLO_MALFORMED);
	c->at += RECORD_HEADER;
	return true;
}

static bool take_byte(struct cursor *c, uint8_t *ret)
{
	if (c->stopped || (c->record == 0 && !open_record(c, false)))
		return false;
	if (c->at == c->end)
		return stop_reading(c, AJ_HELLO_MORE);
	*ret = *c->at++;
	c->record--;
	return true;
}

/* A part of the message with a length of its own: `left` bytes of it are still to come. */
struct part {
	struct cursor *c;
	size_t left;
};

static bool take_number(struct part *p, size_t bytes, size_t *ret)
{
	size_t value = 0;
	if (bytes > p->left)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	p->left -= bytes;
	while (bytes--) {
		uint8_t byte = 0;
		if (!take_byte(p->c, &byte))
			return false;
		value = value << 8 | byte;
	}
	*ret = value;
	return true;
}

static bool skip_bytes(struct part *p, size_t bytes)
{
	if (bytes > p->left)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	p->left -= bytes;
	while (bytes) {
		struct cursor *c = p->c;
		uint8_t byte = 0;
		if (!take_byte(c, &byte))
			return false;
		bytes--;
		size_t step = (size_t)(c->end - c->at);
		step = step < c->record ? step : c->record;
		step = step < bytes ? step : bytes;
		c->at += step;
		c->record -= step;
		bytes -= step;
	}
	return true;
}

/* A vector: a length of `bytes` bytes, and as much; `ret` is that much of `p`. */
static bool take_vector(struct part *p, size_t bytes, size_t min, struct part *ret)
{
	size_t length = 0;
	if (!take_number(p, bytes, &length))
		return false;
	if (length < min || length > p->left)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	p->left -= length;
	*ret = (struct part){ p->c, length };
	return true;
}

/* Letters, digits, `-`, `_` and dots between labels that are not empty. */
static bool take_host_name(struct part *p, char ret_name[256])
{
	size_t bytes = 0, label = 0, c = 0;
	if (p->left > NAME_MAX_BYTES + 1)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	while (p->left) {
		if (!take_number(p, 1, &c))
			return false;
		bool dot = c == '.', valid = c < 0x80 && (isalnum((int)c) || c == '-' || c == '_');
		if (dot ? label == 0 : !valid || label == 63)
			return stop_reading(p->c, AJ_HELLO_MALFORMED);
		label = dot ? 0 : label + 1;
		ret_name[bytes++] = (char)tolower((int)c);
	}
	if (bytes && label == 0)
		bytes--; /* one dot at the end names the same host */
	if (bytes == 0 || bytes > NAME_MAX_BYTES)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	ret_name[bytes] = '\0';
	return true;
}

/* One entry, of the one type that there is: a server could choose among several. */
static bool take_server_name(struct part *extension, char ret_name[256])
{
	struct part list = { 0 }, name = { 0 };
	size_t type = 0;
	if (!take_vector(extension, 2, 1, &list) || !take_number(&list, 1, &type))
		return false;
	if (extension->left || type != HOST_NAME)
		return stop_reading(extension->c, AJ_HELLO_MALFORMED);
	if (!take_vector(&list, 2, 1, &name) || list.left)
		return stop_reading(extension->c, AJ_HELLO_MALFORMED);
	return take_host_name(&name, ret_name);
}

/* The standard's number, those of its drafts, and encrypted_server_name before it. */
static bool is_ech(size_t type)
{
	return (type >= 0xfe08 && type <= 0xfe0d) || type == 0xffce;
}

static bool take_extensions(struct part *list, bool *ret_named, bool *ret_ech, char name[256])
{
	while (list->left) {
		size_t type = 0;
		struct part extension = { 0 };
		if (!take_number(list, 2, &type) || !take_vector(list, 2, 0, &extension))
			return false;
		*ret_ech |= is_ech(type);
		if (type != SERVER_NAME) {
			if (!skip_bytes(&extension, extension.left))
				return false;
			continue;
		}
		if (*ret_named)
			return stop_reading(list->c, AJ_HELLO_MALFORMED);
		if (!take_server_name(&extension, name))
			return false;
		*ret_named = true;
	}
	return true;
}

static bool take_hello(struct part *p, bool *ret_named, bool *ret_ech, char name[256])
{
	struct part session = { 0 }, ciphers = { 0 }, compressions = { 0 }, extensions = { 0 };
	if (!skip_bytes(p, 2 + 32)) /* version, random */
		return false;
	if (!take_vector(p, 1, 0, &session) || session.left > 32 || !skip_bytes(&session, session.left))
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	if (!take_vector(p, 2, 2, &ciphers) || ciphers.left % 2 || !skip_bytes(&ciphers, ciphers.left))
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	if (!take_vector(p, 1, 1, &compressions) || !skip_bytes(&compressions, compressions.left))
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	if (p->left == 0)
		return true; /* a hello without extensions, as old as SSL 3 */
	if (!take_vector(p, 2, 0, &extensions) || p->left)
		return stop_reading(p->c, AJ_HELLO_MALFORMED);
	return take_extensions(&extensions, ret_named, ret_ech, name);
}

enum aj_hello aj_client_hello(const uint8_t *data, size_t bytes, char ret_name[256])
{
	char name[256] = "";
	bool named = false, ech = false;
	struct cursor c = { .at = data, .end = data + (bytes < AJ_HELLO_MAX_BYTES ? bytes : AJ_HELLO_MAX_BYTES) };
	struct part header = { &c, 4 };
	size_t type = 0, length = 0;
	ret_name[0] = '\0';
	if (!open_record(&c, true))
		return c.fault;
	if (take_number(&header, 1, &type) && type != CLIENT_HELLO)
		return AJ_HELLO_MALFORMED;
	if (take_number(&header, 3, &length) && length > AJ_HELLO_MAX_BYTES)
		return AJ_HELLO_TOO_LONG;
	struct part hello = { &c, length };
	bool whole = !c.stopped && take_hello(&hello, &named, &ech, name);
	if (!whole)
		return c.fault == AJ_HELLO_MORE && bytes >= AJ_HELLO_MAX_BYTES ? AJ_HELLO_TOO_LONG : c.fault;
	if (c.record)
		return AJ_HELLO_MALFORMED; /* another message in the same record */
	if (named || ech)
		memcpy(ret_name, name, sizeof name);
	return ech ? AJ_HELLO_ECH : named ? AJ_HELLO_NAME : AJ_HELLO_NO_NAME;
}

const char *aj_hello_why(enum aj_hello hello)
{
	switch (hello) {
	case AJ_HELLO_MORE:
	case AJ_HELLO_NAME:
		return NULL;
	case AJ_HELLO_NO_NAME:
		return "TLS without a server name (SNI): configure the program to send one";
	case AJ_HELLO_ECH:
		return "TLS with an encrypted server's name (ECH): switch that off in the program";
	case AJ_HELLO_MALFORMED:
		return "TLS that begins with no valid ClientHello";
	case AJ_HELLO_TOO_LONG:
		return "a TLS ClientHello of more than 16 KiB";
	case AJ_HELLO_NOT_TLS:
		return "no TLS on a port that is for TLS";
	}
	return "TLS that cannot be read";
}
