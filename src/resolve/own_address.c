/* Asks the kernel for the route to an address (rtnetlink(7)): no packet is sent, and there is no list of addresses that could be out of date.
 * The host's own addresses are those with a route of type local: also secondary addresses and whole networks. */
#include "resolve/own_address.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"

static int routes = -1;

struct question {
	struct nlmsghdr head;
	struct rtmsg route;
	struct rtattr destination;
	uint8_t address[16];
};

union answer {
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

bool aj_own_address(int family, const uint8_t *address, bool *ret_unreachable)
{
	static uint32_t number;
	const size_t bytes = family == AF_INET ? 4 : 16;
	struct question q = { .head = { .nlmsg_type = RTM_GETROUTE, .nlmsg_flags = NLM_F_REQUEST, .nlmsg_seq = ++number },
		              .route = { .rtm_family = (unsigned char)family, .rtm_dst_len = (unsigned char)(8 * bytes) },
		              .destination = { .rta_len = (unsigned short)RTA_LENGTH(bytes), .rta_type = RTA_DST } };
	union answer a;
	q.head.nlmsg_len = (uint32_t)(offsetof(struct question, address) + bytes);
	memcpy(q.address, address, bytes);
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
	return ((const struct rtmsg *)NLMSG_DATA(&a.head))->rtm_type != RTN_UNICAST;
}
