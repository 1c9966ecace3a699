/* Hosts of a policy, as HOST:PORT or *.HOST:PORT: the check of the text, and which hosts a rule covers.
 * It resolves no name, and refuses addresses in every form that a resolver takes. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "policy/item_types.h"

static bool host_valid(const char *host, size_t bytes)
{
	size_t label = 0, dots = 0;
	if (bytes == 0 || bytes > 253)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)host[i];
		if (c == '.') {
			if (label == 0 || host[i - 1] == '-')
				return false;
			label = 0;
			dots++;
			continue;
		}
		if (!(isalnum(c) || (c == '-' && label > 0)) || ++label > 63)
			return false;
	}
	return label > 0 && host[bytes - 1] != '-' && dots > 0;
}

static bool is_numeric(const char *host, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!isdigit((unsigned char)host[i]) && host[i] != '.')
			return false;
	return true;
}

/* Resolvers also accept 127.1 and 0x7f.0x1 as addresses: every host that ends in a number counts as one. */
static bool ends_in_number(const char *host, size_t bytes)
{
	size_t start = bytes;
	while (start && host[start - 1] != '.')
		start--;
	if (bytes - start > 1 && host[start] == '0' && (host[start + 1] == 'x' || host[start + 1] == 'X'))
		return true;
	return is_numeric(host + start, bytes - start);
}

static const char *check_host(struct aj_arena *arena, const char *text)
{
	(void)arena;
	const char *colon = strrchr(text, ':'), *host = strncmp(text, "*.", 2) == 0 ? text + 2 : text;
	if (strstr(text, "://"))
		return "a URL: write host:port";
	if (!colon || colon < host)
		return "without a port: write host:port";
	char *end;
	long port = isdigit((unsigned char)colon[1]) ? strtoul(colon + 1, &end, 10) > 65535 ? 0 : (long)strtoul(colon + 1, &end, 10) : 0;
	if (port < 1 || *end || colon[1] == '0')
		return "with a port that is no number from 1 to 65535";
	size_t bytes = (size_t)(colon - host);
	if (is_numeric(host, bytes) || ends_in_number(host, bytes) || strchr(host, '[') || strchr(host, ']'))
		return "an address: name hosts, whose addresses are checked when they are used";
	return host_valid(host, bytes) ? NULL : "not host:port or *.host:port (letters, digits and - between dots)";
}

static size_t host_bytes(const char *text)
{
	const char *colon = strrchr(text, ':');
	size_t bytes = colon ? (size_t)(colon - text) : strlen(text);
	return bytes && text[bytes - 1] == '.' ? bytes - 1 : bytes;
}

bool aj_host_covers(const char *rule, const char *host_port)
{
	const char *port = strrchr(host_port, ':'), *rule_port = strrchr(rule, ':');
	if (!port || !rule_port || strcmp(port, rule_port) != 0)
		return false;
	size_t bytes = host_bytes(host_port), want = host_bytes(rule);
	if (strncmp(rule, "*.", 2) != 0)
		return bytes == want && strncasecmp(rule, host_port, bytes) == 0;
	/* `*.a.b` matches every name below a.b, not a.b, and covers rules below it */
	const char *suffix = rule + 1;
	want--;
	return bytes > want && strncasecmp(host_port + bytes - want, suffix, want) == 0;
}

static bool covers_host(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return aj_host_covers(outer, inner);
}

const struct aj_item_kind aj_item_host = { "a host", check_host, covers_host, "^(\\*\\.)?[A-Za-z0-9.-]+:[0-9]{1,5}$" };
