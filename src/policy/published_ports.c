/* Published ports of a policy: [HOST:]PORT[:GUESTPORT], where HOST is an address of this host, 127.0.0.1 where none is written.
 * It opens no socket, and takes no name for HOST: a name may lead to an address that the caller did not mean. */
#include "policy/published_ports.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "policy/item_types.h"

static bool parse_port(const char *text, size_t bytes, uint16_t *ret)
{
	unsigned long value = 0;
	if (bytes == 0 || bytes > 5 || text[0] == '0')
		return false;
	for (size_t i = 0; i < bytes; i++) {
		if (text[i] < '0' || text[i] > '9')
			return false;
		value = value * 10 + (unsigned long)(text[i] - '0');
	}
	*ret = (uint16_t)value;
	return value <= UINT16_MAX;
}

static bool parse_address(const char *text, size_t bytes, struct aj_publish_rule *ret)
{
	char address[INET6_ADDRSTRLEN];
	static const uint8_t loopback6[16] = { [15] = 1 };
	bool brackets = bytes > 2 && text[0] == '[' && text[bytes - 1] == ']';
	ret->family = brackets ? AF_INET6 : AF_INET;
	text += brackets;
	bytes -= brackets ? 2 : 0;
	if (bytes >= sizeof address)
		return false;
	memcpy(address, text, bytes);
	address[bytes] = '\0';
	if (inet_pton(ret->family, address, ret->address) != 1)
		return false;
	ret->loopback = brackets ? memcmp(ret->address, loopback6, sizeof loopback6) == 0 : ret->address[0] == 127;
	return true;
}

const char *aj_publish_rule_parse(const char *text, struct aj_publish_rule *ret)
{
	static const char wrong[] = "not [HOST:]PORT[:GUESTPORT], with ports from 1 to 65535";
	const char *host_end = text[0] == '[' ? strchr(text, ']') : NULL, *colon;
	*ret = (struct aj_publish_rule){ 0 };
	if (text[0] == '[' && (!host_end || host_end[1] != ':'))
		return "not an IPv6 address in brackets, and a port";
	/* Without brackets HOST is what has a dot, or is not a number. */
	if (!host_end && (colon = strchr(text, ':')) && strspn(text, "0123456789") != (size_t)(colon - text))
		host_end = colon - 1;
	if (!parse_address(host_end ? text : "127.0.0.1", host_end ? (size_t)(host_end + 1 - text) : strlen("127.0.0.1"), ret))
		return "with a host that is not an address: write four decimal numbers with dots, or an IPv6 address in brackets";
	const char *port = host_end ? host_end + 2 : text;
	if (!parse_port(port, strcspn(port, ":"), &ret->port))
		return wrong;
	ret->guest_port = ret->port;
	colon = strchr(port, ':');
	return colon && !parse_port(colon + 1, strlen(colon + 1), &ret->guest_port) ? wrong : NULL;
}

void aj_publish_rule_place(const struct aj_publish_rule *rule, char out[AJ_PUBLISH_TEXT])
{
	char address[INET6_ADDRSTRLEN] = "";
	inet_ntop(rule->family, rule->address, address, sizeof address);
	snprintf(out, AJ_PUBLISH_TEXT, rule->family == AF_INET6 ? "[%s]:%u" : "%s:%u", address, rule->port);
}

static const char *check_publish(struct aj_arena *arena, const char *text)
{
	struct aj_publish_rule rule;
	(void)arena;
	return aj_publish_rule_parse(text, &rule);
}

static bool covers_publish(struct aj_arena *arena, const char *outer, const char *inner)
{
	struct aj_publish_rule a, b;
	(void)arena;
	return !aj_publish_rule_parse(outer, &a) && !aj_publish_rule_parse(inner, &b) && a.family == b.family &&
	       a.port == b.port && a.guest_port == b.guest_port && memcmp(a.address, b.address, sizeof a.address) == 0;
}

const struct aj_item_kind aj_item_publish = { "a published port", check_publish, covers_publish,
	                                      "^(([0-9.]+|\\[[0-9A-Fa-f:.]+\\]):)?[0-9]{1,5}(:[0-9]{1,5})?$" };
