/* Builds the jail's side of a network by allow-list: every address is local to its network namespace and ends at sockets of the
 * relay's. It decides on no name and no address: the relay does. The namespace has no other way out. */
#include "sandbox/netns/egress_net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/sockaddr.h"
#include "sandbox/netns/loopback.h"
#include "sandbox/netns/redirect.h"

enum { FAMILIES = AJ_EGRESS_FAMILIES, BACKLOG = 4096, ANY = 0 };

static const struct family {
	int family, address_bytes;
	const char *address;
} families[FAMILIES] = { { AF_INET, 4, AJ_EGRESS_V4 }, { AF_INET6, 16, AJ_EGRESS_V6 } };

static const struct {
	const char *name;
	int type;
	uint16_t port;
} rows[AJ_EGRESS_SOCKETS] = {
	[AJ_EGRESS_DNS_UDP] = { "DNS (UDP)", SOCK_DGRAM, AJ_EGRESS_DNS_PORT },
	[AJ_EGRESS_DNS_TCP] = { "DNS (TCP)", SOCK_STREAM, AJ_EGRESS_DNS_PORT },
	[AJ_EGRESS_LISTENER] = { "connections", SOCK_STREAM, AJ_EGRESS_PORT },
};

static int ask(struct nl_sock *sock, struct nl_msg *msg)
{
	int r = msg ? nl_send_auto(sock, msg) : -NLE_NOMEM;
	nlmsg_free(msg);
	return r < 0 ? r : nl_wait_for_ack(sock);
}

static struct nl_msg *begin(int type, const void *header, size_t bytes)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE);
	if (msg)
		nlmsg_append(msg, (void *)header, bytes, NLMSG_ALIGNTO);
	return msg;
}

/* A global address of lo: C libraries require one before they resolve addresses of its family (AI_ADDRCONFIG). */
static int add_address(struct nl_sock *sock, const struct family *f)
{
	char address[16];
	const struct ifaddrmsg header = { .ifa_family = (uint8_t)f->family,
		                          .ifa_prefixlen = (uint8_t)(f->address_bytes * 8),
		                          .ifa_flags = IFA_F_NODAD,
		                          .ifa_index = AJ_LOOPBACK_INDEX };
	struct nl_msg *msg = begin(RTM_NEWADDR, &header, sizeof header);
	inet_pton(f->family, f->address, address);
	if (msg) {
		nla_put(msg, IFA_LOCAL, f->address_bytes, address);
		nla_put(msg, IFA_ADDRESS, f->address_bytes, address);
	}
	return ask(sock, msg);
}

/* `local default dev lo src ADDRESS`: a packet to any address is delivered in this namespace. Without `src` its source would be
 * the very address that it is for, and a connection from the port that it is to would find itself instead of the listener. */
static int add_route(struct nl_sock *sock, const struct family *f)
{
	const struct rtmsg header = { .rtm_family = (uint8_t)f->family,
		                      .rtm_table = RT_TABLE_LOCAL,
		                      .rtm_protocol = RTPROT_STATIC,
		                      .rtm_scope = RT_SCOPE_HOST,
		                      .rtm_type = RTN_LOCAL };
	struct nl_msg *msg = begin(RTM_NEWROUTE, &header, sizeof header);
	char address[16];
	inet_pton(f->family, f->address, address);
	if (msg) {
		nla_put_u32(msg, RTA_OIF, AJ_LOOPBACK_INDEX);
		nla_put(msg, RTA_PREFSRC, f->address_bytes, address);
	}
	return ask(sock, msg);
}

static int make_addresses(bool *ret_v6, struct aj_error *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	int r = sock ? nl_connect(sock, NETLINK_ROUTE) : -NLE_NOMEM;
	for (size_t i = 0; r >= 0 && i < FAMILIES; i++) {
		r = add_address(sock, &families[i]);
		/* The host has no IPv6, or has switched it off: then no IPv6 packet goes anywhere. */
		*ret_v6 = r >= 0;
		if (i == 1 && (r == -NLE_OPNOTSUPP || r == -NLE_AF_NOSUPPORT || r == -NLE_NOACCESS)) {
			r = 0;
			break;
		}
		if (r >= 0)
			r = add_route(sock, &families[i]);
	}
	nl_socket_free(sock);
	return r < 0 ? aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "egress", 0,
	                               "give the jail's network its address and route: %s", nl_geterror(r))
	             : 0;
}

/* SO_REUSEADDR: a connection that a transparent listener accepts has the port that was meant, and the guest's own servers, which
 * set that option as servers do, must get the same port meanwhile. While it listens no other socket gets its address and port; a
 * socket for datagrams does not listen, and would have to share both. */
static int make_socket(const struct family *f, enum aj_egress_socket which)
{
	const int on = 1;
	const bool listens = rows[which].type == SOCK_STREAM;
	uint8_t address[16];
	union aj_sockaddr to;
	inet_pton(f->family, f->address, address);
	socklen_t bytes = aj_sockaddr_make(&to, f->family, address, rows[which].port);
	cleanup_fd int fd = socket(f->family, rows[which].type | SOCK_CLOEXEC | SOCK_NONBLOCK, ANY);
	if (fd < 0 || (f->family == AF_INET6 && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) < 0) ||
	    (listens && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0) || bind(fd, &to.any, bytes) < 0 ||
	    (listens && listen(fd, BACKLOG) < 0))
		return -1;
	return aj_steal(&fd);
}

/* Whether a listener takes connections to addresses that are not its own. */
static bool set_transparent(int fd, size_t family, int on)
{
	return family == 0 ? setsockopt(fd, IPPROTO_IP, IP_TRANSPARENT, &on, sizeof on) == 0
	                   : setsockopt(fd, IPPROTO_IPV6, IPV6_TRANSPARENT, &on, sizeof on) == 0;
}

static int make_sockets(struct aj_egress_made *ret, size_t family_count, struct aj_error *err)
{
	ret->transparent = true;
	for (size_t i = 0; i < family_count; i++)
		for (int j = 0; j < AJ_EGRESS_SOCKETS; j++) {
			int fd = make_socket(&families[i], (enum aj_egress_socket)j);
			if (fd < 0)
				return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "egress", errno,
				                       "make the relay's socket for %s on %s port %u", rows[j].name,
				                       families[i].address, rows[j].port);
			ret->sockets[ret->count++] = fd;
			if (j == AJ_EGRESS_LISTENER)
				ret->transparent &= set_transparent(fd, i, 1);
		}
	return 0;
}

int aj_egress_net(int proc_fd, struct aj_egress_made *ret, struct aj_error *err)
{
	bool v6 = false;
	*ret = (struct aj_egress_made){ 0 };
	if (make_addresses(&v6, err) < 0)
		return -1;
	int led = make_sockets(ret, v6 ? FAMILIES : 1, err) < 0 ? -1 : aj_redirect_tcp(ret->transparent, err);
	if (led < 0) {
		while (ret->count)
			aj_close(&ret->sockets[--ret->count]);
		return -1;
	}
	/* Under NAT the option has no effect; without it the supervisor can tell one way from the other. */
	ret->transparent = led;
	for (size_t i = 0; !led && i < (v6 ? FAMILIES : 1); i++)
		set_transparent(ret->sockets[i * AJ_EGRESS_SOCKETS + AJ_EGRESS_LISTENER], i, 0);
	/* The port of a closed connection is free again at once: else 28,000 connections to one host are the most in a minute.
	 * Where the host's /proc/sys is read-only, that bound stays. */
	aj_write_text(proc_fd, "sys/net/ipv4/tcp_tw_reuse", "1");
	/* The way to the relay is memory and loses nothing; the timers of BBR would cost a third of the speed. */
	aj_write_text(proc_fd, "sys/net/ipv4/tcp_congestion_control", "reno");
	return 0;
}
