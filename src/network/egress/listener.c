/* Accepts the jail's connections, finds the host that each is for, and checks it against the list and the caps. A connection that
 * is not on the list is reported and answered with a refusal; one beyond the caps is reported and reset. */
#include <errno.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/egress/connection.h"
#include "network/egress/refused_connection.h"

enum {
	UNPARK_US = 100000,
	ORIGINAL_DESTINATION = 80, /* SO_ORIGINAL_DST and IP6T_SO_ORIGINAL_DST */
};

/* The address that the jail connected to. On a transparent listener it is the socket's name. After NAT that is the listener's own
 * address and the kernel knows the original one; without a translation the listener's address was meant. */
static bool meant(const struct aj_relay *relay, int fd, int family, union aj_sockaddr *ret)
{
	union aj_sockaddr own = { 0 };
	socklen_t bytes = sizeof *ret;
	*ret = own;
	if (getsockname(fd, &ret->any, &bytes) < 0 || ret->any.sa_family != family)
		return false;
	if (aj_sockaddr_port(ret) != relay->listener_port)
		return true;
	bytes = sizeof own;
	if (getsockopt(fd, family == AF_INET ? IPPROTO_IP : IPPROTO_IPV6, ORIGINAL_DESTINATION, &own, &bytes) == 0 &&
	    own.any.sa_family == family)
		*ret = own;
	return true;
}

static const char *over_cap(struct aj_relay *relay, int64_t now_us)
{
	const struct aj_policy *caps = relay->policy;
	if (relay->connection_count >= relay->connections_max)
		return "too many connections at once";
	if (caps->connections_per_s &&
	    !aj_rate_take(&relay->accepted, (double)caps->connections_per_s, (unsigned)caps->connections_per_s, now_us))
		return "too many new connections a second";
	if (caps->bytes_out && relay->bytes_out > caps->bytes_out)
		return "the jail has sent all the bytes that its policy allows";
	if (caps->bytes_in && relay->bytes_in > caps->bytes_in)
		return "the jail has received all the bytes that its policy allows";
	return NULL;
}

static void refuse_client(struct aj_relay *relay, int fd, const struct aj_egress_event *refusal)
{
	aj_report(relay, refusal); /* first: the program notices the answer */
	aj_refuse_connection(relay->refused_connections, fd, refusal, NULL, 0);
}

/* The connection takes the place of the look-ups that were reported. */
static struct aj_egress_event refuse_name(struct aj_name *name, uint16_t port)
{
	bool on_list = name->number < AJ_NAMES_REFUSED;
	struct aj_egress_event event = aj_unlisted(name->text, "", port,
	                                           on_list ? "this port of it is not on the jail's list"
	                                                   : "this name is not on the jail's list");
	event.lookups = name->lookups;
	name->lookups = name->asked = 0;
	return event;
}

static void judge(struct aj_relay *relay, int fd, int family)
{
	union aj_sockaddr to;
	char address[46];
	uint32_t number;
	struct aj_name *name = NULL;
	struct aj_resolved target;
	struct aj_egress_event event;
	int64_t now_us = aj_now_us();
	if (!meant(relay, fd, family, &to)) { /* the jail's side is gone already */
		close(fd);
		return;
	}
	uint16_t port = aj_sockaddr_port(&to);
	target = (struct aj_resolved){ .family = to.any.sa_family };
	memcpy(target.address, aj_sockaddr_bytes(&to), target.family == AF_INET ? 4 : 16);
	bool synthetic = aj_names_number(target.family, target.address, &number);
	if (synthetic && !(name = aj_names_at(number < AJ_NAMES_REFUSED ? relay->names : relay->refused, number))) {
		aj_sockaddr_text(target.family, target.address, address);
		event = aj_refusal("", address, port, "no name has this address; names must be looked up before each use");
		refuse_client(relay, fd, &event);
		return;
	}
	if (name)
		name->used_us = now_us;
	if (name ? !aj_rules_name(&relay->rules, name->text, port)
	         : !aj_rules_address(&relay->rules, target.family, target.address, port)) {
		const char *waits_not = NULL;
		aj_sockaddr_text(target.family, target.address, address);
		if (name && port && relay->policy->ask && aj_host_can_be_named(name->text) && !over_cap(relay, now_us) &&
		    aj_question_wait(relay, fd, name, port, &waits_not))
			return;
		event = waits_not     ? aj_unlisted(name->text, "", port, waits_not)
		      : name && !port ? aj_refusal(name->text, "", port, "no server has port 0")
		      : name          ? refuse_name(name, port)
		                      : aj_unlisted("", address, port, "the address is not on the jail's list");
		refuse_client(relay, fd, &event);
		return;
	}
	const char *why = over_cap(relay, now_us);
	if (why) {
		aj_sockaddr_text(target.family, target.address, address);
		event = aj_refusal(name ? name->text : "", name ? "" : address, port, "%s", why);
		aj_report(relay, &event);
		aj_socket_end_reset(fd);
	} else
		aj_connection_begin(relay, fd, name, name ? NULL : &target, port);
}

static void on_listener(struct aj_io *io, uint32_t events)
{
	struct aj_relay *relay = io->arg;
	(void)events;
	if (aj_reports_full(relay)) {
		aj_listeners_park(relay);
		return;
	}
	int fd = accept4(io->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	if (fd >= 0)
		judge(relay, fd, io == &relay->listener[1] ? AF_INET6 : AF_INET);
	else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
		aj_listeners_park(relay);
}

static void on_unpark(struct aj_timer *timer)
{
	aj_listeners_watch(timer->arg);
}

int aj_listeners_begin(struct aj_relay *relay)
{
	int on = 1;
	for (int i = 0; i < 2; i++) {
		union aj_sockaddr own = { 0 };
		socklen_t bytes = sizeof own;
		int fd = relay->sockets.listener[i];
		relay->listener[i] = (struct aj_io){ .fn = on_listener, .arg = relay, .fd = -1 };
		if (fd >= 0 && getsockname(fd, &own.any, &bytes) < 0)
			return -1;
		if (fd >= 0)
			relay->listener_port = aj_sockaddr_port(&own);
		if (fd >= 0 && setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) < 0) /* for all that are accepted */
			return -1;
	}
	relay->unpark = (struct aj_timer){ .fn = on_unpark, .arg = relay };
	aj_listeners_watch(relay);
	return 0;
}

void aj_listeners_watch(struct aj_relay *relay)
{
	bool failed = false;
	if (aj_reports_full(relay))
		return; /* aj_reports_send() calls again */
	relay->parked = false;
	aj_loop_unset(relay->loop, &relay->unpark);
	for (int i = 0; i < 2; i++)
		if (relay->sockets.listener[i] >= 0 &&
		    aj_loop_watch(relay->loop, &relay->listener[i], relay->sockets.listener[i], EPOLLIN) < 0)
			failed = true;
	if (aj_dns_server_watch(relay->dns, true) < 0 || failed)
		aj_listeners_park(relay);
}

void aj_listeners_park(struct aj_relay *relay)
{
	relay->parked = true;
	for (int i = 0; i < 2; i++)
		aj_loop_unwatch(relay->loop, &relay->listener[i]);
	if (aj_reports_full(relay)) {
		aj_dns_server_watch(relay->dns, false);
		return;
	}
	aj_loop_set(relay->loop, &relay->unpark, aj_now_us() + UNPARK_US);
}
