/* A query's header and its one question, byte by byte, and answers of at most one record. The question is echoed unchanged, since
 * resolvers compare it, letter case included. After the question only the EDNS record is parsed. */
#include "network/inspect/dns.h"

#include <ctype.h>
#include <string.h>

enum {
	HEADER_BYTES = 12,
	LABEL_MAX = 63,
	NAME_MAX_BYTES = 255, /* on the wire: every label's length, and the root's */
	TYPE_OPT = 41,
	CLASS_IN = 1,
	OPT_BYTES = 11,
	UDP_BYTES = 1232, /* what we say that we take; see the DNS flag day 2020 */
	OPTION_EDE = 15,
	EDE_BYTES = 6, /* before its text */
	EDE_BLOCKED = 15,
};
enum { QR = 0x80, OPCODE = 0x78, RD = 0x01, RA = 0x80, CD = 0x10 };

static uint16_t read16(const uint8_t *at)
{
	return (uint16_t)(at[0] << 8 | at[1]);
}

static uint8_t *write16(uint8_t *at, unsigned value)
{
	*at++ = (uint8_t)(value >> 8);
	*at++ = (uint8_t)value;
	return at;
}

static bool host_char(uint8_t c)
{
	return isalnum(c) || c == '-' || c == '_';
}

/* The name at `at`: its bytes on the wire, or 0 if it is not terminated. `*ret_odd`: it has a byte that no host name has. */
static size_t read_name(const uint8_t *at, size_t bytes, char ret_name[256], bool *ret_odd)
{
	size_t used = 0, letters = 0;
	while (used < bytes && used < NAME_MAX_BYTES) {
		size_t label = at[used++];
		if (label == 0) {
			ret_name[letters ? letters - 1 : 0] = '\0';
			return used;
		}
		if (label > LABEL_MAX || label > bytes - used || label + 1 > NAME_MAX_BYTES - used)
			return 0;
		for (size_t end = used + label; used < end; used++) {
			*ret_odd |= !host_char(at[used]);
			ret_name[letters++] = (char)(host_char(at[used]) ? tolower(at[used]) : '?');
		}
		ret_name[letters++] = '.';
	}
	return 0;
}

/* Only the usual place is looked at: a message without answers, whose first record behind the question is OPT of version 0. */
static bool has_edns(const uint8_t *message, size_t bytes, size_t at)
{
	return read16(message + 6) == 0 && read16(message + 8) == 0 && read16(message + 10) > 0 && bytes >= at + OPT_BYTES &&
	       message[at] == 0 && read16(message + at + 1) == TYPE_OPT && message[at + 6] == 0;
}

int aj_dns_parse(const uint8_t *message, size_t bytes, struct aj_dns_query *ret)
{
	if (bytes < HEADER_BYTES || (message[2] & QR))
		return -1;
	*ret = (struct aj_dns_query){ .id = read16(message) };
	if (message[2] & OPCODE)
		return AJ_DNS_NOT_BUILT;
	if (read16(message + 4) != 1)
		return AJ_DNS_FORMAT;
	bool odd = false;
	size_t name = read_name(message + HEADER_BYTES, bytes - HEADER_BYTES, ret->name, &odd);
	if (!name || bytes - HEADER_BYTES - name < 4) {
		ret->name[0] = '\0';
		return AJ_DNS_FORMAT;
	}
	const uint8_t *behind = message + HEADER_BYTES + name;
	ret->type = read16(behind);
	ret->class = read16(behind + 2);
	ret->question_bytes = name + 4;
	ret->edns = has_edns(message, bytes, HEADER_BYTES + ret->question_bytes);
	if (ret->class != CLASS_IN)
		return AJ_DNS_REFUSED;
	return odd ? AJ_DNS_NO_NAME : 0;
}

static size_t address_bytes(const struct aj_dns_query *query)
{
	return query->type == AJ_DNS_A ? 4 : query->type == AJ_DNS_AAAA ? 16 : 0;
}

size_t aj_dns_answer(const struct aj_dns_query *query, const uint8_t *message, uint8_t rcode, const void *address, uint32_t ttl_s,
                     const char *blocked, uint8_t *out, size_t room)
{
	size_t record = address && query->question_bytes ? address_bytes(query) : 0;
	size_t record_bytes = record ? HEADER_BYTES + record : 0;
	size_t bytes = HEADER_BYTES + query->question_bytes + record_bytes + (query->edns ? OPT_BYTES : 0);
	size_t text = query->edns ? strlen(blocked) : 0, option = 0;
	if (text && bytes + EDE_BYTES + text > AJ_DNS_ANSWER_BYTES)
		text = AJ_DNS_ANSWER_BYTES - bytes - EDE_BYTES;
	if (text)
		option = EDE_BYTES + text;
	bytes += option;
	if (bytes > room)
		return 0;
	uint8_t *at = write16(out, query->id);
	*at++ = (uint8_t)(QR | (message[2] & (OPCODE | RD)));
	*at++ = (uint8_t)(RA | (message[3] & CD) | (rcode & 0x0f));
	at = write16(at, query->question_bytes ? 1 : 0);
	at = write16(at, record ? 1 : 0);
	at = write16(at, 0);
	at = write16(at, query->edns ? 1 : 0);
	memcpy(at, message + HEADER_BYTES, query->question_bytes);
	at += query->question_bytes;
	if (record) {
		at = write16(at, 0xc000 | HEADER_BYTES); /* the name: the question's */
		at = write16(at, query->type);
		at = write16(at, CLASS_IN);
		at = write16(at, ttl_s >> 16);
		at = write16(at, ttl_s & 0xffff);
		at = write16(at, (unsigned)record);
		memcpy(at, address, record);
		at += record;
	}
	if (query->edns) {
		*at++ = 0;
		at = write16(at, TYPE_OPT);
		at = write16(at, UDP_BYTES);
		memset(at, 0, 4); /* no further code, version 0, no flag */
		at = write16(at + 4, (unsigned)option);
		if (option) {
			at = write16(at, OPTION_EDE);
			at = write16(at, (unsigned)(option - 4));
			at = write16(at, EDE_BLOCKED);
			memcpy(at, blocked, text);
		}
	}
	return bytes;
}
