/* Resolves names with c-ares; the only user of that library. Its sockets and deadlines are the loop's.
 * It answers no query of the jail, keeps no answer beyond its time to live, and checks each address. */
#include "network/resolve/resolver.h"

#include <ares.h>
#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <sys/time.h>

#include "base/fd.h"
#include "network/inspect/address.h"
#include "network/resolve/own_address.h"
#include "network/resolve/resolv_conf.h"

enum {
	RESOLV_BYTES = 16 << 10,
	SOCKETS = 16,                  /* of c-ares, at once: two for each name server */
	RESOLV_CHECK_US = 2 * 1000000, /* interval at which resolv.conf is checked for changes */
	LEAST_US = 5 * 1000000,        /* a shorter time to live would make each connection a query */
	MOST_US = 3600 * INT64_C(1000000),
	FAILED_US = 2 * 1000000,
};

/* c-ares asks libc for services by name, which nothing here needs and which would link libc's loader of shared objects. */
struct servent *getservbyname(const char *name, const char *proto)
{
	(void)name, (void)proto;
	return NULL;
}
int getservbyport_r(int port, const char *proto, struct servent *room, char *text, size_t bytes, struct servent **ret)
{
	(void)port, (void)proto, (void)room, (void)text, (void)bytes;
	*ret = NULL;
	return 0;
}

static const char resolv_conf[] = "/etc/resolv.conf";

struct aj_resolver {
	struct aj_loop *loop;
	ares_channel channel; /* NULL: none yet */
	struct aj_io sockets[SOCKETS];
	struct aj_timer deadline;
	struct timespec changed; /* resolv.conf, when the channel was made */
	ino_t inode;
	int64_t checked_us;
	unsigned queries;
};

struct query {
	struct aj_resolver *resolver;
	struct aj_name *name;
};

static void set_deadline(struct aj_resolver *r)
{
	struct timeval most = { 3600, 0 }, wait;
	if (r->channel && r->queries && ares_timeout(r->channel, &most, &wait))
		aj_loop_set(r->loop, &r->deadline, aj_now_us() + wait.tv_sec * INT64_C(1000000) + wait.tv_usec);
	else
		aj_loop_unset(r->loop, &r->deadline);
}

static void on_deadline(struct aj_timer *timer)
{
	struct aj_resolver *r = timer->arg;
	ares_process_fd(r->channel, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	set_deadline(r);
}

static void on_socket(struct aj_io *io, uint32_t events)
{
	struct aj_resolver *r = io->arg;
	int fd = io->fd;
	bool in = events & (EPOLLIN | EPOLLERR | EPOLLHUP), out = events & EPOLLOUT;
	ares_process_fd(r->channel, in ? fd : ARES_SOCKET_BAD, out ? fd : ARES_SOCKET_BAD);
	set_deadline(r);
}

static void on_interest(void *data, ares_socket_t fd, int readable, int writable)
{
	struct aj_resolver *r = data;
	struct aj_io *io = NULL;
	for (int i = 0; i < SOCKETS; i++)
		if (r->sockets[i].fd == fd)
			io = &r->sockets[i];
	for (int i = 0; i < SOCKETS && !io; i++)
		if (r->sockets[i].fd < 0)
			io = &r->sockets[i];
	if (!io) /* too many: the query fails by its deadline */
		return;
	if (readable || writable)
		aj_loop_watch(r->loop, io, fd, (readable ? EPOLLIN : 0) | (writable ? EPOLLOUT : 0));
	else if (io->fd == fd)
		aj_loop_unwatch(r->loop, io);
}

/* A channel for the configuration as it is now. The old one goes only while it has no query. */
static bool have_channel(struct aj_resolver *r)
{
	struct stat st = { 0 };
	char text[RESOLV_BYTES] = "";
	int64_t now_us = aj_now_us();
	if (r->channel && (r->queries || now_us - r->checked_us < RESOLV_CHECK_US))
		return true;
	r->checked_us = now_us;
	if (stat(resolv_conf, &st) == 0 && r->channel && st.st_ino == r->inode && st.st_mtim.tv_sec == r->changed.tv_sec &&
	    st.st_mtim.tv_nsec == r->changed.tv_nsec)
		return true;
	if (r->channel)
		ares_destroy(r->channel);
	r->inode = st.st_ino;
	r->changed = st.st_mtim;
	if (aj_read_text(resolv_conf, text, sizeof text) < 0)
		text[0] = '\0';
	struct aj_resolv_options waits = aj_resolv_options(text);
	struct ares_options options = { .flags = ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		                        .timeout = waits.timeout_ms,
		                        .tries = waits.attempts,
		                        .sock_state_cb = on_interest,
		                        .sock_state_cb_data = r };
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_SOCK_STATE_CB;
	if (ares_init_options(&r->channel, &options, mask) != ARES_SUCCESS)
		r->channel = NULL;
	return r->channel;
}

/* IPv4 first: where one family does not work it is the other one. Addresses to which this host has no route come last. */
static int rank(const struct aj_resolved *a)
{
	return (a->unreachable ? 2 : 0) + (a->family == AF_INET6);
}

static void add_address(struct aj_name *name, int family, const void *address)
{
	struct aj_resolved a = { .family = family }, *at = name->addresses;
	memcpy(a.address, address, family == AF_INET ? 4 : 16);
	a.refused = aj_address_refused(family, address);
	if (!a.refused && aj_own_address(family, a.address, 0, &a.unreachable))
		a.refused = "the host's own";
	unsigned place = name->count;
	if (place == sizeof name->addresses / sizeof *name->addresses) {
		if (rank(&a) >= rank(&at[place - 1]))
			return;
		place--;
	} else
		name->count++;
	for (; place && rank(&at[place - 1]) > rank(&a); place--)
		at[place] = at[place - 1];
	at[place] = a;
}

static void tell_waiters(struct aj_name *name)
{
	struct aj_name_waiter *waiter;
	while ((waiter = name->waiters)) {
		name->waiters = waiter->next;
		waiter->name = NULL;
		waiter->fn(waiter);
	}
}

static void on_addresses(void *data, int status, int timeouts, struct ares_addrinfo *found)
{
	struct query *q = data;
	struct aj_resolver *r = q->resolver;
	struct aj_name *name = q->name;
	int64_t ttl_us = MOST_US;
	(void)timeouts;
	free(q);
	name->count = 0;
	for (const struct ares_addrinfo_node *node = found ? found->nodes : NULL; node; node = node->ai_next) {
		if (node->ai_ttl * INT64_C(1000000) < ttl_us)
			ttl_us = node->ai_ttl * INT64_C(1000000);
		if (node->ai_family == AF_INET)
			add_address(name, AF_INET, &((struct sockaddr_in *)(void *)node->ai_addr)->sin_addr);
		else if (node->ai_family == AF_INET6)
			add_address(name, AF_INET6, &((struct sockaddr_in6 *)(void *)node->ai_addr)->sin6_addr);
	}
	if (found)
		ares_freeaddrinfo(found);
	name->failed = name->count                 ? NULL
	             : status == ARES_SUCCESS      ? "the name has no address"
	             : status == ARES_ENODATA      ? "the name has no address"
	             : status == ARES_ENOTFOUND    ? "the name does not exist, as the host's name servers say"
	             : status == ARES_ECONNREFUSED ? "the name could not be resolved: no name server answers"
	             : status == ARES_ETIMEOUT     ? "the name could not be resolved: no name server answered in time"
	                                           : "the name could not be resolved";
	name->state = AJ_RESOLVED;
	name->until_us = aj_now_us() + (name->failed ? FAILED_US : ttl_us < LEAST_US ? LEAST_US : ttl_us);
	tell_waiters(name);
	r->queries--; /* not before: a waiter may ask for another name, and have_channel() must not end this channel now */
}

struct aj_resolver *aj_resolver_new(struct aj_loop *loop)
{
	struct aj_resolver *r = calloc(1, sizeof *r);
	if (!r)
		return NULL;
	r->loop = loop;
	r->deadline = (struct aj_timer){ .fn = on_deadline, .arg = r };
	for (int i = 0; i < SOCKETS; i++)
		r->sockets[i] = (struct aj_io){ .fn = on_socket, .arg = r, .fd = -1 };
	return r;
}

static void start_query(struct aj_resolver *r, struct aj_name *name)
{
	static const struct ares_addrinfo_hints hints = { .ai_socktype = SOCK_STREAM, .ai_flags = ARES_AI_NOSORT };
	struct query *q = have_channel(r) ? malloc(sizeof *q) : NULL;
	if (!q) {
		name->count = 0;
		name->failed = "the name could not be resolved: the host's configuration cannot be read";
		name->state = AJ_RESOLVED;
		name->until_us = aj_now_us() + FAILED_US;
		return;
	}
	*q = (struct query){ r, name };
	name->state = AJ_RESOLVING;
	r->queries++;
	ares_getaddrinfo(r->channel, name->text, NULL, &hints, on_addresses, q);
	set_deadline(r);
}

bool aj_resolver_ask(struct aj_resolver *r, struct aj_name *name, struct aj_name_waiter *waiter)
{
	if (name->state == AJ_UNRESOLVED || (name->state == AJ_RESOLVED && name->until_us < aj_now_us()))
		start_query(r, name);
	if (name->state == AJ_RESOLVED)
		return true;
	waiter->name = name;
	waiter->next = name->waiters;
	name->waiters = waiter;
	return false;
}

void aj_resolver_forget(struct aj_name_waiter *waiter)
{
	if (!waiter->name)
		return;
	struct aj_name_waiter **at = &waiter->name->waiters;
	while (*at != waiter)
		at = &(*at)->next;
	*at = waiter->next;
	waiter->name = NULL;
}
