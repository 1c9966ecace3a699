/* Unlisted names: each query is a refusal, and most of these names get an address of their own, so that a connection to it can be
 * answered with the reason (network/egress/refused_connection.h). No query leaves the host, and nothing is connected.
 * A name that a program may only be guessing gets no address, as if it did not exist, so that the program tries its next name. */
#include <string.h>

#include "network/egress/relay.h"

enum {
	TOGETHER_US = 1000000, /* questions of different types in this time are of one look-up */
	NEW_PER_S = 64,
	NEW_AT_ONCE = 256,
};
enum { ASKED_A = 1, ASKED_AAAA = 2, ASKED_OTHER = 4 };

/* Names that no public server has (RFC 6761, RFC 6762, RFC 7686), and names of addresses. */
static const char *const nowhere[] = { "arpa", "invalid", "local", "localdomain", "localhost", "onion" };

static bool is_guess(const struct aj_rules *rules, const char *name)
{
	char front[256];
	const char *dot = strrchr(name, '.');
	if (aj_host_is_loopback_name(name)) /* refused at connect, where the port is known: an item needs one */
		return false;
	if (!dot)
		return true;
	for (size_t i = 0; i < sizeof nowhere / sizeof *nowhere; i++)
		if (strcmp(dot + 1, nowhere[i]) == 0)
			return true;
	/* A name of the list with a search domain behind it: the program's resolver asks for the name itself next. */
	size_t bytes = strlen(name);
	if (bytes >= sizeof front)
		return true;
	memcpy(front, name, bytes + 1);
	for (char *end = strrchr(front, '.'); end; end = strrchr(front, '.')) {
		*end = '\0';
		if (aj_rules_some_port(rules, front))
			return true;
	}
	return false;
}

/* Is it part of a look-up that was reported? A name is asked for with A and with AAAA. */
static bool was_asked(struct aj_name *name, uint16_t type, int64_t now_us)
{
	uint8_t kind = type == AJ_DNS_A ? ASKED_A : type == AJ_DNS_AAAA ? ASKED_AAAA : ASKED_OTHER;
	if (now_us - name->looked_us < TOGETHER_US && !(name->asked & kind)) {
		name->asked |= kind;
		return true;
	}
	name->asked = kind;
	name->looked_us = now_us;
	name->lookups++;
	return false;
}

struct aj_name *aj_refused_name(struct aj_relay *relay, const struct aj_dns_query *q, int64_t now_us, char *ret_sentence,
                                size_t bytes)
{
	struct aj_egress_event event = aj_unlisted(q->name, "", 0, "this name is not on the jail's list");
	struct aj_name *name = aj_names_find(relay->refused, q->name);
	aj_egress_refusal_text(&event, ret_sentence, bytes);
	if (!name && aj_rate_take(&relay->refused_fresh, NEW_PER_S, NEW_AT_ONCE, now_us) &&
	    (name = aj_names_take(relay->refused, q->name, now_us)))
		name->absent = is_guess(&relay->rules, q->name);
	if (name)
		name->used_us = now_us;
	/* Asked at connect, where the port is known. */
	if (name && !name->absent && relay->policy->ask && aj_host_can_be_named(name->text))
		*ret_sentence = '\0';
	else if (!name || !was_asked(name, q->type, now_us))
		aj_report(relay, &event);
	return name && !name->absent ? name : NULL;
}
