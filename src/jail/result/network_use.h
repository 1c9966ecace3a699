/* The network use of a run, as reported by the supervisor's own processes: the relay of an allow-list, the publisher of ports,
 * and the answers to questions about names. An attested part of a result. */
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

/* A connection of a client of the host's to a published port. */
struct aj_network_published {
	char client[64]; /* address and port */
	uint16_t port, guest_port;
	uint64_t bytes_out, bytes_in; /* from the jail, to it */
	int64_t began_us, lasted_us;
};

/* The answer to a question about a name that the list lacks. */
struct aj_network_answer {
	char host[256];
	uint16_t port;
	const char *answer, *by; /* static */
	char why[200];           /* of a refusal; of a permission: it could not be saved */
	int64_t answered_us, waited_us;
};

enum {
	AJ_NETWORK_TROUBLES_MAX = 32,       /* different refusals, and as many failures */
	AJ_NETWORK_CONNECTIONS_MAX = 10000, /* with their figures, and as many to published ports; the sums count all */
	AJ_NETWORK_ANSWERS_MAX = 1000,      /* that wait to be recorded */
};

struct aj_network_troubles {
	struct aj_network_trouble *items; /* in the order of their first occurrence */
	size_t count;
	uint64_t total;
	uint64_t lookups_beyond; /* of `total`: refused look-ups of names that had no place in the list */
};

struct aj_network_use {
	bool relayed;     /* the jail's network is an allow-list */
	bool transparent; /* its connections reach the relay as they are; else by NAT. Not in JSON: the checks are the same */
	bool publishes;   /* ports of the host lead into the jail */
	struct aj_network_troubles refused, failed;
	/* The events that are in no record of the audit trail yet. */
	struct aj_network_connection *connections;
	struct aj_network_published *published;
	struct aj_network_answer *answers;
	size_t connection_count, published_count, answer_count;
	uint64_t total, open;         /* connections: ended, open */
	uint64_t bytes_out, bytes_in; /* of both, since the last result */
	uint64_t published_total, published_bytes_out, published_bytes_in;
};

void aj_network_add_trouble(struct aj_network_troubles *list, const struct aj_network_trouble *one);
/* A refused connection, which replaces up to so many refused look-ups of the same name: they are one attempt for a reader. */
void aj_network_add_refused(struct aj_network_troubles *list, const struct aj_network_trouble *one, uint64_t lookups);
void aj_network_add_connection(struct aj_network_use *network, const struct aj_network_connection *one);
void aj_network_add_published(struct aj_network_use *network, const struct aj_network_published *one);
void aj_network_add_answer(struct aj_network_use *network, const struct aj_network_answer *one);
bool aj_network_unrecorded(const struct aj_network_use *network);
/* Forget what is recorded now; the sums stay. */
void aj_network_forget_recorded(struct aj_network_use *network);
/* Whether it has anything to record. */
bool aj_network_used(const struct aj_network_use *network);
void aj_network_free(struct aj_network_use *network);

/* Records the connections that have ended and the answers, which the caller forgets then. */
typedef void aj_connections_fn(const struct aj_network_use *network, void *arg);

/* Append the refusals to a result's `violations`. */
void aj_network_add_violations(const struct aj_network_use *network, json_t *violations);
/* The field `network` of a result (new reference); NULL where nothing of it is relayed or published. */
json_t *aj_network_json(const struct aj_network_use *network);
