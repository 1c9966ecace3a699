/* Brings the loopback interface of the current network namespace up.
 * It adds no address, route or interface: the kernel gives lo its addresses. */
#include "sandbox/netns/loopback.h"

#include <net/if.h>
#include <netdb.h>
#include <netlink/netlink.h>
#include <netlink/route/link.h>

/* libnl's parser of textual addresses, which is never called, would pull libc's resolver into a static program, and with it code
 * that loads shared objects at run time. These stubs replace the resolver. */
int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **res)
{
	(void)node, (void)service, (void)hints, (void)res;
	return EAI_FAIL;
}
void freeaddrinfo(struct addrinfo *res)
{
	(void)res;
}
int getnameinfo(const struct sockaddr *address, socklen_t bytes, char *host, socklen_t host_bytes, char *service,
                socklen_t service_bytes, int flags)
{
	(void)address, (void)bytes, (void)host, (void)host_bytes, (void)service, (void)service_bytes, (void)flags;
	return EAI_FAIL;
}
struct protoent *getprotobyname(const char *name)
{
	(void)name;
	return NULL;
}
struct protoent *getprotobynumber(int proto)
{
	(void)proto;
	return NULL;
}

int aj_netns_loopback_up(struct aj_error *err)
{
	struct nl_sock *sock = nl_socket_alloc();
	struct rtnl_link *was = rtnl_link_alloc();
	struct rtnl_link *want = rtnl_link_alloc();
	int r = -NLE_NOMEM;
	if (sock && was && want && (r = nl_connect(sock, NETLINK_ROUTE)) == 0) {
		rtnl_link_set_ifindex(was, AJ_LOOPBACK_INDEX);
		rtnl_link_set_flags(want, IFF_UP);
		r = rtnl_link_change(sock, was, want, 0);
	}
	rtnl_link_put(want);
	rtnl_link_put(was);
	nl_socket_free(sock);
	return r < 0 ? aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "loopback", 0,
	                               "bring the loopback interface up: %s", nl_geterror(r))
	             : 0;
}
