/* The text of a refusal: one sentence, the same in the result, on standard error and in the answer that the program gets. It
 * suggests no option that would reject the value, and writes the program's text as printable ASCII only. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "network/egress/egress.h"
#include "policy/hosts.h"

enum { PLACE_BYTES = 264 }; /* a name, or an address in brackets, with a port */

static void write_place(char place[PLACE_BYTES], const struct aj_egress_event *event)
{
	char host[256];
	aj_ascii(host, sizeof host, *event->name ? event->name : event->address);
	const char *form = strchr(host, ':') ? "[%s]:%u" : "%s:%u";
	if (event->port)
		snprintf(place, PLACE_BYTES, form, host, event->port);
	else
		snprintf(place, PLACE_BYTES, "%s", host);
}

void aj_egress_advice(const struct aj_egress_event *event, char *out, size_t out_bytes)
{
	char place[PLACE_BYTES];
	struct aj_host_rule ignored;
	write_place(place, event);
	if (!event->unlisted && !*event->name) /* the address may be one of the relay's own, which stands for no name */
		snprintf(out, out_bytes, "Connect to %s as the reason asks for, or work without it.", place);
	else if (!event->unlisted)
		snprintf(out, out_bytes, "%s is on the list: connect as the reason asks for, or work without it.", place);
	else if (aj_host_rule_parse(place, &ignored)) /* without a port, or what no list can have */
		snprintf(out, out_bytes, "Ask for %s to be allowed, or work without it.", place);
	else
		snprintf(out, out_bytes, "Ask for %s to be allowed (agentjail --allow-host %s), or work without it.", place,
		         place);
}

void aj_egress_refusal_text(const struct aj_egress_event *event, char *out, size_t out_bytes)
{
	char place[PLACE_BYTES], why[sizeof event->why], advice[AJ_EGRESS_ADVICE_BYTES];
	write_place(place, event);
	aj_ascii(why, sizeof why, event->why);
	aj_egress_advice(event, advice, sizeof advice);
	snprintf(out, out_bytes, "agentjail: %s was refused: %s. %s", place, why, advice);
}
