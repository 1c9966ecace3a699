/* Hosts of a policy: HOST:PORT, *.HOST:PORT, ADDRESS:PORT, ADDRESS/BITS:PORT, and host:PORT for the host's loopback.
 * It resolves no name, and refuses an address in every form but the usual one, as resolvers read the others differently. */
#include "policy/hosts.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "policy/item_types.h"

enum { NAME_MAX_BYTES = 253, LABEL_MAX = 63, TEXT_MAX_BYTES = 300 };
/* Use of a parsed text: an item of network.allow, a question about one host, or a server that the site configures. */
enum use { RULE, QUESTION, SERVER };

/* The second one is common in settings for containers, and some servers accept only Host names that they know, such as names
 * below `internal`. */
static const char *const loopback_names[] = { "host", "host.docker.internal" };
static const char own_loopback[] = "the jail's own loopback, which servers of the host do not listen on";

bool aj_host_is_loopback_name(const char *name)
{
	for (size_t i = 0; i < sizeof loopback_names / sizeof *loopback_names; i++)
		if (strcmp(name, loopback_names[i]) == 0)
			return true;
	return false;
}

static bool name_valid(const char *host, size_t bytes)
{
	size_t label = 0;
	if (bytes == 0 || bytes > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < bytes; i++) {
		unsigned char c = (unsigned char)host[i];
		if (c == '.') {
			if (label == 0 || host[i - 1] == '-')
				return false;
			label = 0;
			continue;
		}
		if (!(isalnum(c) || c == '_' || (c == '-' && label > 0)) || ++label > LABEL_MAX)
			return false;
	}
	return label > 0 && host[bytes - 1] != '-';
}

static bool is_numeric(const char *host, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!isdigit((unsigned char)host[i]) && host[i] != '.')
			return false;
	return true;
}

/* Resolvers also accept 127.1, 0177.0.0.1 and 2130706433 as addresses: every host that ends in a number counts as one. */
static bool ends_in_number(const char *host, size_t bytes)
{
	size_t start = bytes;
	while (start && host[start - 1] != '.')
		start--;
	if (bytes - start > 1 && host[start] == '0' && (host[start + 1] == 'x' || host[start + 1] == 'X'))
		return true;
	return is_numeric(host + start, bytes - start);
}

static bool parse_number(const char *text, size_t bytes, unsigned long max, unsigned long *ret)
{
	unsigned long value = 0;
	if (bytes == 0 || (text[0] == '0' && bytes > 1))
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (!isdigit((unsigned char)text[i]) || (value = value * 10 + (unsigned long)(text[i] - '0')) > max)
			return false;
	}
	*ret = value;
	return true;
}

static bool is_mapped(const uint8_t address[16])
{
	static const uint8_t prefix[12] = { [10] = 0xff, 0xff };
	return memcmp(address, prefix, sizeof prefix) == 0;
}

/* Addresses of the loopback: 127.0.0.0/8, ::1, and 0.0.0.0/8 and ::, which the kernel connects to it. */
static bool is_loopback(int family, const uint8_t *address)
{
	static const uint8_t zeros[15] = { 0 };
	return family == AF_INET ? address[0] == 127 || address[0] == 0 : memcmp(address, zeros, 15) == 0 && address[15] <= 1;
}

static bool is_below(const char *name, const char *domain)
{
	size_t bytes = strlen(name), want = strlen(domain);
	return bytes > want + 1 && name[bytes - want - 1] == '.' && memcmp(name + bytes - want, domain, want) == 0;
}

static bool rest_is_zero(const struct aj_host_rule *rule)
{
	size_t bytes = rule->family == AF_INET ? 4 : 16, whole = rule->bits / 8;
	if (whole < bytes && (uint8_t)(rule->address[whole] << rule->bits % 8))
		return false;
	for (size_t i = whole + 1; i < bytes; i++)
		if (rule->address[i])
			return false;
	return true;
}

/* ADDRESS or ADDRESS/BITS; `host` is without brackets. */
static const char *parse_network(const char *host, size_t bytes, int family, struct aj_host_rule *ret)
{
	char text[INET6_ADDRSTRLEN];
	const char *slash = memchr(host, '/', bytes);
	size_t address = slash ? (size_t)(slash - host) : bytes;
	unsigned long width = family == AF_INET ? 32 : 128, bits = width;
	ret->kind = AJ_HOST_NETWORK;
	ret->family = family;
	if (address >= sizeof text)
		return "not an address";
	memcpy(text, host, address);
	text[address] = '\0';
	bool parsed = inet_pton(family, text, ret->address) == 1;
	if (!parsed && family == AF_INET)
		return "an address that is not four decimal numbers with dots, the one form that all programs read alike";
	if (!parsed)
		return "not an IPv6 address in brackets";
	if (slash && !parse_number(slash + 1, bytes - address - 1, width, &bits))
		return "a network whose prefix is not a number of bits";
	if (bits == 0)
		return "every address: that is network.mode = \"host\"";
	ret->bits = (unsigned)bits;
	return rest_is_zero(ret) ? NULL : "a network whose address has bits beyond its prefix";
}

static const char *parse_host(const char *host, size_t bytes, struct aj_host_rule *ret)
{
	if (bytes && host[0] == '[' && host[bytes - 1] != ']')
		return "not an IPv6 address in brackets";
	if (bytes && host[0] == '[')
		return parse_network(host + 1, bytes - 2, AF_INET6, ret);
	if (memchr(host, '/', bytes) || (bytes && ends_in_number(host, bytes)))
		return parse_network(host, bytes, AF_INET, ret);
	if (memchr(host, ':', bytes))
		return "an IPv6 address without brackets: write [address]:port";
	ret->kind = strncmp(host, "*.", 2) == 0 ? AJ_HOST_BELOW : AJ_HOST_NAME;
	size_t star = ret->kind == AJ_HOST_BELOW ? 2 : 0;
	if (bytes < star || !name_valid(host + star, bytes - star))
		return "not host:port, *.host:port (letters, digits, - and _ between dots), address:port or network/bits:port";
	for (size_t i = star; i < bytes; i++)
		ret->name[i - star] = (char)tolower((unsigned char)host[i]);
	ret->name[bytes - star] = '\0';
	if (ret->kind == AJ_HOST_BELOW && !strchr(ret->name, '.'))
		return "covers a whole top-level domain: use a domain below it";
	return NULL;
}

/* Check the parsed rule for its use; returns what is wrong, or NULL. */
static const char *for_use(struct aj_host_rule *rule, enum use use)
{
	bool mapped = rule->kind == AJ_HOST_NETWORK && rule->family == AF_INET6 && is_mapped(rule->address);
	if (mapped && (use != QUESTION || rule->bits != 128))
		return "an IPv4-mapped IPv6 address: write it as an IPv4 address";
	if (mapped) {
		memmove(rule->address, rule->address + 12, 4);
		rule->family = AF_INET;
		rule->bits = 32;
	}
	if (use == SERVER)
		return NULL;
	if (rule->kind == AJ_HOST_NAME && aj_host_is_loopback_name(rule->name)) {
		rule->kind = AJ_HOST_LOOPBACK;
		strcpy(rule->name, loopback_names[0]);
	}
	bool own = rule->kind == AJ_HOST_NETWORK
	             ? rule->bits >= (rule->family == AF_INET ? 8 : 127) && is_loopback(rule->family, rule->address)
	         : rule->kind == AJ_HOST_LOOPBACK ? false
	                                          : strcmp(rule->name, "localhost") == 0 || is_below(rule->name, "localhost");
	return own && use == RULE ? own_loopback : NULL;
}

/* In a question, the name may have a final dot, and the address may be IPv4-mapped. */
static const char *parse(const char *text, struct aj_host_rule *ret, enum use use)
{
	const char *colon = strrchr(text, ':');
	unsigned long port;
	*ret = (struct aj_host_rule){ 0 };
	if (strstr(text, "://"))
		return "a URL: write host:port";
	if (!colon || strlen(text) > TEXT_MAX_BYTES || (*text == '[' && colon[-1] != ']'))
		return "without a port: write host:port";
	if (!parse_number(colon + 1, strlen(colon + 1), 65535, &port) || port == 0)
		return "with a port that is not a number from 1 to 65535";
	ret->port = (uint16_t)port;
	size_t bytes = (size_t)(colon - text);
	if (use == QUESTION && bytes > 1 && text[bytes - 1] == '.')
		bytes--;
	const char *wrong = parse_host(text, bytes, ret);
	return wrong ? wrong : for_use(ret, use);
}

const char *aj_host_rule_parse(const char *text, struct aj_host_rule *ret)
{
	return parse(text, ret, RULE);
}

const char *aj_host_server_parse(const char *text, struct aj_host_rule *ret)
{
	return parse(text, ret, SERVER);
}

bool aj_host_can_be_named(const char *name)
{
	char text[NAME_MAX_BYTES + sizeof ":1"];
	struct aj_host_rule rule;
	int bytes = snprintf(text, sizeof text, "%s:1", name);
	return bytes > 0 && (size_t)bytes < sizeof text && !parse(text, &rule, RULE) && rule.kind == AJ_HOST_NAME;
}

bool aj_host_rule_has_name(const struct aj_host_rule *rule, const char *name, uint16_t port)
{
	return port == rule->port && aj_host_rule_has_some_port(rule, name);
}

bool aj_host_rule_has_some_port(const struct aj_host_rule *rule, const char *name)
{
	if (rule->kind == AJ_HOST_NETWORK)
		return false;
	if (rule->kind == AJ_HOST_LOOPBACK || aj_host_is_loopback_name(name))
		return rule->kind == AJ_HOST_LOOPBACK && aj_host_is_loopback_name(name);
	/* `*.a.b` is every name below a.b, and not a.b */
	return rule->kind == AJ_HOST_NAME ? strcmp(name, rule->name) == 0 : is_below(name, rule->name);
}

static bool in_network(const struct aj_host_rule *rule, int family, const uint8_t *address)
{
	unsigned whole = rule->bits / 8, rest = rule->bits % 8;
	return rule->kind == AJ_HOST_NETWORK && rule->family == family && memcmp(address, rule->address, whole) == 0 &&
	       (!rest || ((address[whole] ^ rule->address[whole]) >> (8 - rest)) == 0);
}

bool aj_host_rule_has_address(const struct aj_host_rule *rule, int family, const void *address, uint16_t port)
{
	static const uint8_t local4[4] = { 127, 0, 0, 1 };
	const uint8_t *at = address;
	if (family == AF_INET6 && is_mapped(at)) {
		family = AF_INET;
		at += 12;
	}
	if (port != rule->port)
		return false;
	if (is_loopback(family, at)) {
		bool first = family == AF_INET ? memcmp(at, local4, sizeof local4) == 0 : at[15] == 1;
		return rule->kind == AJ_HOST_LOOPBACK && first;
	}
	return in_network(rule, family, at);
}

static const char *check_host(struct aj_arena *arena, const char *text)
{
	struct aj_host_rule rule;
	const char *wrong = aj_host_rule_parse(text, &rule);
	if (wrong == own_loopback)
		return aj_printf(arena,
		                 "%s; fix: write `%s:%u`, and connect to the name `%s` or `%s` in the jail, in place of `%.*s`",
		                 wrong, loopback_names[0], rule.port, loopback_names[0], loopback_names[1],
		                 (int)(strrchr(text, ':') - text), text);
	return wrong;
}

bool aj_host_covers(const char *rule, const char *host_port)
{
	struct aj_host_rule outer, inner;
	if (parse(rule, &outer, RULE) || parse(host_port, &inner, QUESTION) || outer.port != inner.port)
		return false;
	switch (inner.kind) {
	case AJ_HOST_NAME:
		return aj_host_rule_has_name(&outer, inner.name, inner.port);
	case AJ_HOST_BELOW: /* the same names, or fewer */
		return outer.kind == AJ_HOST_BELOW &&
		       (strcmp(outer.name, inner.name) == 0 || aj_host_rule_has_name(&outer, inner.name, inner.port));
	case AJ_HOST_LOOPBACK:
		return outer.kind == AJ_HOST_LOOPBACK;
	case AJ_HOST_NETWORK:
		return outer.bits <= inner.bits && in_network(&outer, inner.family, inner.address);
	}
	return false;
}

static bool covers_host(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return aj_host_covers(outer, inner);
}

const struct aj_item_kind aj_item_host = { "a host", check_host, covers_host,
	                                   "^((\\*\\.)?[A-Za-z0-9.-]+|[0-9.]+/[0-9]+|"
	                                   "\\[[0-9A-Fa-f:.]+(/[0-9]+)?\\]):[0-9]{1,5}$" };

static const char *check_proxy(struct aj_arena *arena, const char *text)
{
	static const char scheme[] = "http://";
	struct aj_host_rule rule;
	(void)arena;
	if (!*text)
		return NULL;
	if (strncmp(text, scheme, sizeof scheme - 1) != 0)
		return "not http://HOST:PORT";
	if (strchr(text, '@'))
		return "with a user or a password in it; fix: set network.upstream_proxy_credentials to a file or a command that has them";
	const char *wrong = aj_host_server_parse(text + sizeof scheme - 1, &rule);
	if (wrong)
		return wrong;
	unsigned width = rule.family == AF_INET ? 32 : 128;
	bool one = rule.kind == AJ_HOST_NAME || (rule.kind == AJ_HOST_NETWORK && rule.bits == width);
	return one ? NULL : "not one host";
}

const struct aj_item_kind aj_item_proxy = { "a proxy", check_proxy, covers_host, "^(http://[A-Za-z0-9.:\\[\\]-]+:[0-9]{1,5})?$" };

static const char *check_credentials(struct aj_arena *arena, const char *text)
{
	(void)arena;
	bool good = strncmp(text, "file:/", 6) == 0 || (strncmp(text, "command:", 8) == 0 && text[8]);
	return good || !*text ? NULL : "not file:/PATH or command:TEXT";
}

static bool covers_equal(struct aj_arena *arena, const char *outer, const char *inner)
{
	(void)arena;
	return strcmp(outer, inner) == 0;
}

const struct aj_item_kind aj_item_credentials = { "a source of credentials", check_credentials, covers_equal,
	                                          "^((file:/|command:).+)?$" };
