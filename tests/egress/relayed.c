/* A network namespace with a relay, and nothing else of a jail: runs a command whose every TCP connection goes to the relay, by the rules
 * given. It prints the relay's reports on stderr, one a line, and is no part of the product.
 *
 * usage: relayed [--connections N] [--per-second N] [--bytes-out N] [--bytes-in N] [http://HOST:PORT] RULE... -- COMMAND...
 * In a network namespace that the caller made, with the rights over it: that one is the relay's. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "egress/egress.h"
#include "netns/redirect.h"

enum { SOCKETS = 6, LO = 1, REQUEST = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE };

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(99);
}

static void ask(int netlink, struct nlmsghdr *head)
{
	struct {
		struct nlmsghdr head;
		struct nlmsgerr error;
		char rest[256];
	} said;
	if (send(netlink, head, head->nlmsg_len, 0) < 0 || recv(netlink, &said, sizeof said, 0) < 0 || said.error.error)
		die("netlink");
}

/* lo up, with every address local to it. */
static void make_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	int inet = socket(AF_INET, SOCK_DGRAM, 0), netlink = socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE);
	if (ioctl(inet, SIOCSIFFLAGS, &lo) < 0)
		die("lo");
	for (int i = 0; i < 2; i++) {
		struct {
			struct nlmsghdr head;
			struct rtmsg route;
			struct rtattr attr;
			int index;
		} route = { .head = { .nlmsg_len = sizeof route, .nlmsg_type = RTM_NEWROUTE, .nlmsg_flags = REQUEST },
			    .route = { .rtm_family = i ? AF_INET6 : AF_INET,
			               .rtm_table = RT_TABLE_LOCAL,
			               .rtm_protocol = RTPROT_STATIC,
			               .rtm_scope = RT_SCOPE_HOST,
			               .rtm_type = RTN_LOCAL },
			    .attr = { .rta_len = RTA_LENGTH(sizeof(int)), .rta_type = RTA_OIF },
			    .index = LO };
		struct {
			struct nlmsghdr head;
			struct ifaddrmsg local;
			struct rtattr attr;
			uint8_t address[16];
		} address = { .head = { .nlmsg_len = sizeof address - (i ? 0 : 12), .nlmsg_type = RTM_NEWADDR, .nlmsg_flags = REQUEST },
			      .local = { .ifa_family = i ? AF_INET6 : AF_INET,
			                 .ifa_prefixlen = i ? 128 : 32,
			                 .ifa_flags = IFA_F_NODAD,
			                 .ifa_index = LO },
			      .attr = { .rta_len = RTA_LENGTH(i ? 16 : 4), .rta_type = IFA_LOCAL } };
		inet_pton(i ? AF_INET6 : AF_INET, i ? "fd00:a9e7::1" : "198.18.0.1", address.address);
		ask(netlink, &address.head);
		ask(netlink, &route.head);
	}
	close(inet);
	close(netlink);
	aj_write_text(AT_FDCWD, "/proc/sys/net/ipv4/tcp_tw_reuse", "1");
	aj_write_text(AT_FDCWD, "/proc/sys/net/ipv4/tcp_congestion_control", "reno");
	struct aj_error err = { 0 };
	if (aj_redirect_tcp(&err) < 0) {
		fprintf(stderr, "%s\n", err.cause);
		exit(99);
	}
}

static int make_socket(int family, int type, uint16_t port)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	inet_pton(AF_INET, "198.18.0.1", &v4.sin_addr);
	inet_pton(AF_INET6, "fd00:a9e7::1", &v6.sin6_addr);
	int fd = socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), on = 1;
	if (family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
	if (bind(fd, family == AF_INET ? (void *)&v4 : (void *)&v6, family == AF_INET ? sizeof v4 : sizeof v6) < 0 ||
	    (type == SOCK_STREAM && listen(fd, 4096) < 0))
		die("listen");
	return fd;
}

static void run_inside(int channel, char **command)
{
	char relay[16] = "";
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	make_network();
	for (int i = 0; i < 2; i++) {
		int family = i ? AF_INET6 : AF_INET;
		int fds[] = { make_socket(family, SOCK_DGRAM, 53), make_socket(family, SOCK_STREAM, 53),
			      make_socket(family, SOCK_STREAM, 1) };
		for (int j = 0; j < 3; j++) {
			if (aj_message_send(channel, "s", 1, fds[j]) < 0)
				die("send");
			close(fds[j]);
		}
	}
	if (recv(channel, relay, sizeof relay - 1, 0) <= 0)
		exit(99);
	setenv("RELAY_PID", relay, 1);
	execvp(command[0], command);
	die(command[0]);
}

static void print_event(const struct aj_egress_event *e)
{
	static const char *const kinds[] = { "refused", "failed", "closed", "lost" };
	fprintf(stderr, "event %s %u %s %s %u %llu %llu %s\n", kinds[e->kind & 3], e->count, *e->name ? e->name : "-",
	        *e->address ? e->address : "-", e->port, (unsigned long long)e->bytes_out, (unsigned long long)e->bytes_in, e->why);
}

int main(int argc, char **argv)
{
	static struct aj_policy policy;
	struct aj_arena arena = { 0 };
	struct {
		const char *name;
		uint64_t *value;
	} caps[] = { { "--connections", &policy.connections },
		     { "--per-second", &policy.connections_per_s },
		     { "--bytes-out", &policy.bytes_out },
		     { "--bytes-in", &policy.bytes_in } };
	int at = 1, channel[2];
	for (; at < argc && strcmp(argv[at], "--") != 0; at++) {
		size_t cap = 0;
		while (cap < 4 && strcmp(argv[at], caps[cap].name) != 0)
			cap++;
		if (cap < 4 && at + 1 < argc)
			*caps[cap].value = strtoull(argv[++at], NULL, 10);
		else if (strncmp(argv[at], "http://", 7) == 0)
			policy.upstream_proxy = argv[at];
		else
			*AJ_PUSH(&arena, &policy.allow) = argv[at];
	}
	if (at + 1 >= argc || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, channel) < 0)
		die("usage: relayed RULE... -- COMMAND...");
	pid_t child = fork();
	if (child == 0)
		run_inside(channel[1], argv + at + 1);
	close(channel[1]);
	int fds[SOCKETS];
	char byte;
	for (int i = 0; i < SOCKETS; i++)
		if (aj_message_recv(channel[0], &byte, 1, &fds[i], 0) != 1)
			return 99;
	struct aj_egress_sockets sockets = { { fds[0], fds[3] }, { fds[1], fds[4] }, { fds[2], fds[5] } };
	struct aj_helper relay;
	struct aj_egress_event event;
	struct aj_error err = { 0 };
	char text[1200];
	if (aj_egress_start(&relay, &policy, &sockets, &err) < 0) {
		fprintf(stderr, "%s\n", aj_error_text(&err, text, sizeof text));
		return 99;
	}
	for (int i = 0; i < SOCKETS; i++)
		close(fds[i]);
	fprintf(stderr, "relay %d\n", relay.pid);
	snprintf(text, sizeof text, "%d", relay.pid);
	send(channel[0], text, strlen(text), 0);
	int status = 0, gone = 0;
	while (!gone) {
		struct pollfd p = { .fd = relay.socket, .events = POLLIN };
		poll(&p, 1, 20);
		int r;
		while ((r = aj_egress_read(&relay, &event)) > 0)
			print_event(&event);
		if (r == 0)
			fprintf(stderr, "relay gone\n");
		if (r == 0 || waitpid(child, &status, WNOHANG) == child)
			gone = r == 0 ? 1 : 2;
	}
	if (gone == 1)
		waitpid(child, &status, 0);
	aj_egress_stop(&relay);
	for (int r; gone == 2 && (r = aj_egress_read(&relay, &event)) != 0;) {
		if (r > 0)
			print_event(&event);
		else
			poll(&(struct pollfd){ .fd = relay.socket, .events = POLLIN }, 1, 1000);
	}
	aj_helper_end(&relay);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
