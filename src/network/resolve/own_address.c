/* Asks the kernel for the route to an address (rtnetlink(7)), which sends no packet and is never out of date.
 * The host's own addresses are those with a route of type local: also secondary addresses and whole networks. */
#include "network/resolve/own_address.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "network/inspect/address.h"

static int routes = -1;

struct route_question {
	struct nlmsghdr head;
	struct rtmsg route;
	uint8_t attributes[64];
};

union route_answer {
	struct nlmsghdr head;
	uint8_t bytes[2048];
};

int aj_own_address_open(void)
{
	routes = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);
	return routes < 0 ? -1 : 0;
}

/* No route, or an unreachable or prohibit route. */
static bool is_unreachable(int error)
{
	return error == ENETUNREACH || error == EHOSTUNREACH || error == EINVAL || error == EACCES || error == EAFNOSUPPORT ||
	       error == EOPNOTSUPP;
}

static void add(struct route_question *q, unsigned short type, const void *data, size_t bytes)
{
	struct rtattr head = { .rta_len = (unsigned short)RTA_LENGTH(bytes), .rta_type = type };
	memcpy((uint8_t *)q + q->head.nlmsg_len, &head, sizeof head);
	memcpy((uint8_t *)q + q->head.nlmsg_len + RTA_LENGTH(0), data, bytes);
	q->head.nlmsg_len += RTA_SPACE(bytes);
}

/* Asks for the route of a TCP connection from `source` (NULL: not chosen yet) to this port (0: any). *ret_source: the source
 * address of an IPv4 route. */
static bool ask(int family, const uint8_t *address, const uint8_t *source, uint16_t port, bool *ret_unreachable,
                uint8_t *ret_source)
{
	static uint32_t number;
	const size_t bytes = family == AF_INET ? 4 : 16;
	const uint8_t protocol = IPPROTO_TCP;
	struct route_question q = { .head = { .nlmsg_len = NLMSG_LENGTH(sizeof q.route),
		                              .nlmsg_type = RTM_GETROUTE,
		                              .nlmsg_flags = NLM_F_REQUEST,
		                              .nlmsg_seq = ++number },
		                    .route = { .rtm_family = (unsigned char)family,
		                               .rtm_dst_len = (unsigned char)(8 * bytes),
		                               .rtm_src_len = (unsigned char)(source ? 8 * bytes : 0) } };
	union route_answer a;
	add(&q, RTA_DST, address, bytes);
	if (source)
		add(&q, RTA_SRC, source, bytes);
	if (port) {
		add(&q, RTA_IP_PROTO, &protocol, sizeof protocol);
		add(&q, RTA_DPORT, &(uint16_t){ htons(port) }, sizeof port);
	}
	*ret_unreachable = false;
	if (send(routes, &q, q.head.nlmsg_len, 0) < 0)
		return true;
	ssize_t n;
	do /* the answer is already there; skip older ones that were not read */
		n = recv(routes, &a, sizeof a, MSG_DONTWAIT);
	while (n >= (ssize_t)sizeof a.head && a.head.nlmsg_seq != number);
	if (n >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr)) && a.head.nlmsg_type == NLMSG_ERROR) {
		*ret_unreachable = true;
		return !is_unreachable(-((const struct nlmsgerr *)NLMSG_DATA(&a.head))->error);
	}
	if (n < (ssize_t)NLMSG_LENGTH(sizeof(struct rtmsg)) || a.head.nlmsg_type != RTM_NEWROUTE)
		return true;
	const struct rtmsg *route = NLMSG_DATA(&a.head);
	int left = (int)RTM_PAYLOAD(&a.head);
	for (const struct rtattr *at = RTM_RTA(route); RTA_OK(at, left); at = RTA_NEXT(at, left))
		if (at->rta_type == RTA_PREFSRC && RTA_PAYLOAD(at) == bytes)
			memcpy(ret_source, RTA_DATA(at), bytes);
	return route->rtm_type != RTN_UNICAST;
}

/* connect(2) asks again with the source that the first answer gave: a rule may lead what comes from there elsewhere. */
static bool is_own(int family, const uint8_t *address, uint16_t port, bool *ret_unreachable)
{
	uint8_t source[16] = { 0 }, ignored[16];
	return ask(family, address, NULL, port, ret_unreachable, source) ||
	       (family == AF_INET && port && !*ret_unreachable && ask(family, address, source, port, ret_unreachable, ignored));
}

/* The kernel takes ::ffff:a.b.c.d for a.b.c.d, and a translator of this host may take the other forms for it. */
bool aj_own_address(int family, const uint8_t *address, uint16_t port, bool *ret_unreachable)
{
	const uint8_t *within = family == AF_INET6 ? aj_address_within(address) : NULL;
	bool ignored;
	return is_own(family, address, port, ret_unreachable) || (within && is_own(AF_INET, within, port, &ignored));
}
