/* One connection of a jail, from the accepted socket to its end. */
#pragma once
#include "base/sockaddr.h"
#include "network/egress/relay.h"
#include "network/helper/socket_end.h"
#include "network/inspect/http_head.h"
#include "network/resolve/resolver.h"

/* The protocol of its first bytes, as far as they tell. */
enum aj_first { AJ_FIRST_UNKNOWN, AJ_FIRST_TLS, AJ_FIRST_HTTP, AJ_FIRST_OTHER };
enum aj_upstream { AJ_UPSTREAM_NONE, AJ_UPSTREAM_RESOLVING, AJ_UPSTREAM_CONNECTING, AJ_UPSTREAM_ASKING, AJ_UPSTREAM_OPEN };

struct aj_connection {
	struct aj_relay *relay;
	struct aj_connection *next, **at;
	struct aj_name *name; /* NULL: by address, which the policy writes out */
	uint16_t port;
	enum aj_first first;
	enum aj_upstream upstream;
	bool to_loopback;          /* goes to the host's loopback, never through a proxy */
	bool by_proxy;             /* goes through the site's proxy */
	bool reached;              /* connected to `address`: set by aj_connection_reached() */
	struct aj_egress_row *row; /* shared with the supervisor */
	struct aj_resolved target; /* of a connection by address */
	struct aj_name *via;       /* name whose addresses are tried: `name`, the proxy, or the host's loopback; NULL: `target` */
	unsigned tried;            /* addresses of it */
	struct aj_attempt *attempts; /* at them, while none has answered; network/egress/upstream.c */
	char *answer;                /* of the proxy, so far */
	size_t answer_bytes;
	char address[46];
	struct aj_io inside, outside;
	struct aj_timer timer;
	struct aj_name_waiter waiter;
	struct aj_http *http;
	struct aj_egress_event *refusal; /* of its first bytes, reported; NULL: none */
	struct aj_flow out, in;
	int64_t opened_us;
};

/* Takes `fd`, a connection that the policy allows, to a name or (NULL) to an address. */
void aj_connection_begin(struct aj_relay *relay, int fd, struct aj_name *name, const struct aj_resolved *target, uint16_t port);
void aj_connections_end(struct aj_relay *relay, const char *why);
/* When this process ends: servers see a reset instead of an end of file, which could pass for the end of a complete message. */
void aj_connections_reset(struct aj_relay *relay);

/* --- network/egress/name_check.c --- */

/* The gate of what the jail sends: flow->arg is the connection. It reports what it refuses. */
bool aj_name_check(struct aj_flow *flow, const uint8_t *data, size_t bytes, size_t *ret_pass);
/* The jail sends no more: may what the gate holds pass? Only an incomplete message of TLS or HTTP may not. */
bool aj_name_check_ended(const struct aj_connection *c);

/* --- network/egress/upstream.c --- */

/* Resolve, check the address, connect to it: afterwards, or later, aj_connection_settle() is called. */
void aj_upstream_start(struct aj_connection *c);
/* Close what has not answered. */
void aj_upstream_forget(struct aj_connection *c);
/* `fd` leads to the host that is meant. */
void aj_upstream_made(struct aj_connection *c, int fd);
/* No other address will do: the connection ends. */
void aj_upstream_failed(struct aj_connection *c, const char *why);

/* --- network/egress/proxy_connect.c --- */

/* Send CONNECT on `fd`, a connection to the proxy. aj_upstream_made() or aj_upstream_failed() is called, now or later. */
void aj_proxy_ask(struct aj_connection *c, int fd);

/* --- network/egress/connection.c --- */

void aj_connection_reached(struct aj_connection *c);
void aj_connection_settle(struct aj_connection *c);
/* End it: reported as `kind` with `why`, reset where `abruptly`. The connection is freed. */
void aj_connection_end(struct aj_connection *c, enum aj_egress_kind kind, bool abruptly, const char *why);
