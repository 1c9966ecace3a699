/* Checks what the jail sends on a connection to a name: the server name of TLS (SNI) and the host of each plain HTTP request must
 * be the name that the connection is for. Port 443 accepts TLS alone and port 80 HTTP alone; on other ports anything else passes
 * unchanged. Nothing is decrypted. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/egress/connection.h"
#include "network/inspect/client_hello.h"
#include "network/inspect/http_head.h"

enum { HTTPS = 443, HTTP = 80, TLS_HANDSHAKE = 22 };

static bool refuse(struct aj_connection *c, const char *why)
{
	struct aj_egress_event event = aj_refusal(c->name->text, "", c->port, "%s", why);
	aj_report(c->relay, &event);
	if ((c->refusal = malloc(sizeof event))) /* else it ends by a reset */
		*c->refusal = event;
	return false;
}

static bool feed_http(struct aj_connection *c, const uint8_t *data, size_t bytes, size_t *ret_pass)
{
	if (aj_http_feed(c->http, data, bytes, ret_pass) == AJ_HTTP_PASS)
		return true;
	return refuse(c, c->http->why);
}

static bool begin_http(struct aj_connection *c, const uint8_t *data, size_t bytes, size_t *ret_pass)
{
	c->http = malloc(sizeof *c->http);
	if (!c->http)
		return refuse(c, "there is no memory to check its requests");
	c->first = AJ_FIRST_HTTP;
	aj_http_begin(c->http, c->name->text, c->port);
	return feed_http(c, data, bytes, ret_pass);
}

static bool judge_hello(struct aj_connection *c, const uint8_t *data, size_t bytes)
{
	char name[256];
	enum aj_hello hello = aj_client_hello(data, bytes, name);
	if (hello == AJ_HELLO_MORE)
		return true;
	if (hello == AJ_HELLO_NOT_TLS && c->port != HTTPS)
		c->first = AJ_FIRST_OTHER;
	else if (hello == AJ_HELLO_NAME && strcmp(name, c->name->text) == 0)
		c->first = AJ_FIRST_TLS;
	else if (hello == AJ_HELLO_NAME) {
		char why[200];
		snprintf(why, sizeof why, "TLS asks for %.140s, another name than the connection is for", name);
		return refuse(c, why);
	} else
		return refuse(c, aj_hello_why(hello));
	return true;
}

bool aj_name_check(struct aj_flow *flow, const uint8_t *data, size_t bytes, size_t *ret_pass)
{
	struct aj_connection *c = flow->arg;
	*ret_pass = 0;
	if (c->first == AJ_FIRST_HTTP)
		return feed_http(c, data, bytes, ret_pass);
	if (c->port == HTTP)
		return begin_http(c, data, bytes, ret_pass);
	if (c->port == HTTPS || aj_hello_may_begin(data[0])) {
		if (!judge_hello(c, data, bytes))
			return false;
	} else {
		switch (aj_http_looks(data, bytes, false)) {
		case AJ_HTTP_YES:
			return begin_http(c, data, bytes, ret_pass);
		case AJ_HTTP_NO:
			c->first = AJ_FIRST_OTHER;
			break;
		case AJ_HTTP_MORE:
			break;
		}
	}
	if (c->first != AJ_FIRST_UNKNOWN)
		flow->gate = NULL;
	return true;
}

bool aj_name_check_ended(const struct aj_connection *c)
{
	const struct aj_flow *out = &c->out;
	const uint8_t *next = out->buffer + out->buffer_at + out->passed;
	return c->first == AJ_FIRST_UNKNOWN && !aj_first_bytes_awaited(c->port) && next[0] != TLS_HANDSHAKE &&
	       aj_http_looks(next, out->buffer_bytes - out->passed, true) == AJ_HTTP_NO;
}
