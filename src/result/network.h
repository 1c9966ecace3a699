/* The use of a network by allow-list, as the supervisor's own relay reported it: an attested part of a result. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A refusal, or a connection that the policy allows and that was not made. */
struct aj_network_trouble {
	char host[256]; /* the name as the jail asked, else the address */
	char why[120];
	char instead[720]; /* of a refusal: what the program could do */
	uint16_t port;     /* 0: a question for the name's address */
	bool unlisted;     /* of a refusal: the list lacks it */
	uint64_t count;
};

struct aj_network_connection {
	char host[256], address[46];
	uint16_t port;
	uint64_t bytes_out, bytes_in;
	int64_t began_us, lasted_us; /* the former since 1970 */
};

enum {
	AJ_NETWORK_TROUBLES_MAX = 32,       /* different refusals, and as many failures */
	AJ_NETWORK_CONNECTIONS_MAX = 10000, /* with their figures; the others are in the sums alone */
};

struct aj_network_troubles {
	struct aj_network_trouble *items; /* in the order of their first occurrence */
	size_t count;
	uint64_t total;
};

struct aj_network_use {
	bool relayed; /* the jail's network is an allow-list */
	struct aj_network_troubles refused, failed;
	struct aj_network_connection *connections; /* those that are in no record of the audit trail yet */
	size_t listed;
	uint64_t total, bytes_out, bytes_in; /* of all connections that were made and have ended */
};

void aj_network_add_trouble(struct aj_network_troubles *list, const struct aj_network_trouble *one);
/* A refused connection, which takes the place of up to so many refused look-ups of the same name: program and reader mean one attempt. */
void aj_network_add_refused(struct aj_network_troubles *list, const struct aj_network_trouble *one, uint64_t lookups);
void aj_network_add_connection(struct aj_network_use *network, const struct aj_network_connection *one);
/* They are recorded: the sums stay. */
void aj_network_forget_connections(struct aj_network_use *network);
void aj_network_free(struct aj_network_use *network);

/* Records the connections that have ended, which the caller forgets then. */
typedef void aj_connections_fn(const struct aj_network_use *network, void *arg);

/* Append the refusals to a result's `violations`. */
void aj_network_add_violations(const struct aj_network_use *network, json_t *violations);
/* The field `network` of a result (new reference); NULL without such a network. */
json_t *aj_network_json(const struct aj_network_use *network);
