/* The state of the relay: its loop, names, resolver, connections and reports. Private to network/egress/. */
#pragma once
#include "base/loop/loop.h"
#include "base/loop/rate.h"
#include "network/egress/event.h"
#include "network/egress/proxy.h"
#include "network/egress/rules.h"
#include "network/helper/flow.h"
#include "network/helper/helper.h"
#include "network/helper/pace.h"
#include "network/inspect/dns.h"
#include "network/resolve/names.h"

enum {
	AJ_RELAY_RECENT = 16,
	AJ_RELAY_REPORTS_MAX = 256, /* waiting for the supervisor: no more is taken from the jail until they are fewer */
};

struct aj_resolver;
struct aj_dns_server;
struct aj_connection;
struct aj_question;
struct aj_refused_connections;

/* What the process gets from the supervisor that starts it. */
struct aj_relay_of {
	const struct aj_policy *policy;
	const struct aj_egress_sockets *sockets;
	struct aj_unsent unsent; /* rows: struct aj_egress_row */
};

/* A connection, in memory that the supervisor reads when the relay has ended. */
struct aj_egress_row {
	struct aj_unsent_row row;
	struct aj_egress_event event; /* AJ_EGRESS_FAILED until there was a connection; its bytes are in `row` */
};

struct aj_relay {
	struct aj_loop *loop;
	const struct aj_policy *policy; /* its caps */
	struct aj_rules rules;          /* its list */
	struct aj_proxy proxy;
	struct aj_name loopback; /* of the host: fixed addresses, in no table */
	struct aj_egress_sockets sockets;
	struct aj_unsent unsent; /* rows of connections: struct aj_egress_row */
	/* The supervisor: at its end of file the relay ends. */
	struct aj_io supervisor;
	struct aj_egress_report *first_report, **last_report;
	unsigned reports;
	struct aj_egress_event recent[AJ_RELAY_RECENT]; /* refusals of this second; count: that came again */
	unsigned recent_times[AJ_RELAY_RECENT];         /* reported in that second, one by one */
	struct aj_timer repeat_timer;
	int64_t report_us; /* when they are sent; 0: at once */
	/* The jail: names and connections. */
	struct aj_names *names, *refused; /* of the list, and others */
	struct aj_rate refused_fresh;
	struct aj_refused_connections *refused_connections;
	struct aj_resolver *resolver;
	struct aj_dns_server *dns;
	struct aj_io listener[2];
	uint16_t listener_port; /* of both */
	bool parked;            /* the listeners are not watched: no descriptor is left, or too many reports wait */
	struct aj_timer unpark;
	struct aj_connection *connections; /* all of them */
	unsigned connection_count, connections_max;
	struct aj_rate accepted;
	struct aj_question *questions; /* that are open */
	uint32_t last_question;
	uint64_t bytes_out, bytes_in;
	struct aj_bulk bulk;
	struct aj_pace pace;        /* of its turns */
	struct aj_timer pipes_idle; /* then its pipes are closed */
};

/* --- network/egress/reports.c --- */

/* Queue an event for the supervisor; it is copied. Equal refusals within a second are counted together. */
void aj_report(struct aj_relay *relay, const struct aj_egress_event *event);
/* Report the end of a connection. Its row is freed once the report is sent. */
void aj_report_closed(struct aj_relay *relay, struct aj_egress_row *row);
/* A refusal of a name, or of a connection to it. `why` is a format. */
struct aj_egress_event aj_refusal(const char *name, const char *address, uint16_t port, const char *why, ...)
    __attribute__((format(printf, 4, 5)));
/* One for which the policy's list has no item. */
struct aj_egress_event aj_unlisted(const char *name, const char *address, uint16_t port, const char *why);
/* Queue what was counted and not said yet. */
void aj_reports_flush(struct aj_relay *relay);
/* When there is something to send; INT64_MAX: never, or when the supervisor has read some. */
int64_t aj_reports_due_us(const struct aj_relay *relay);
/* Send what is queued and due. -1: the supervisor is gone. */
int aj_reports_send(struct aj_relay *relay);
/* Send all reports except ends of connections, which are in their rows. Blocks until the supervisor has read them. */
void aj_reports_send_last(struct aj_relay *relay);
/* Are there so many reports that nothing more may be taken from the jail? */
bool aj_reports_full(const struct aj_relay *relay);

/* --- network/egress/listener.c --- */

int aj_listeners_begin(struct aj_relay *relay);
void aj_listeners_watch(struct aj_relay *relay);
void aj_listeners_park(struct aj_relay *relay); /* and try again soon */

/* --- network/egress/refused_names.c --- */

/* Report a query for a name that is not on the list, and write the sentence about it to `ret_sentence`. Returns the name with the
 * number of its address, or NULL: it has none, and does not exist for the jail. */
struct aj_name *aj_refused_name(struct aj_relay *relay, const struct aj_dns_query *q, int64_t now_us, char *ret_sentence,
                                size_t bytes);

/* --- network/egress/questions.c --- */

/* Keep `fd`, a connection to an unlisted name and port, until the supervisor answers. False, with why: it cannot wait. */
bool aj_question_wait(struct aj_relay *relay, int fd, struct aj_name *name, uint16_t port, const char **ret_why);
void aj_question_answered(struct aj_relay *relay, const struct aj_egress_answer *answer);

/* --- network/egress/dns_server.c --- */

struct aj_dns_server *aj_dns_server_new(struct aj_relay *relay); /* NULL: no memory */
int aj_dns_server_watch(struct aj_dns_server *server, bool on);

/* Does this port wait for the first bytes before any connection is made? */
static inline bool aj_first_bytes_awaited(uint16_t port)
{
	return port == 443 || port == 80;
}
