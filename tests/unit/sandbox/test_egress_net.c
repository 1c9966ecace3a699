/* Tests of netns/egress_net and netns/redirect in a network namespace of their own: where connections arrive, and what stays the guest's.
 * No relay runs: this process takes the sockets as a supervisor does, and asks each connection for its original destination. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/netfilter_ipv4.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/handshake.h"
#include "sandbox/netns/egress_net.h"
#include "sandbox/netns/loopback.h"
#include "sandbox/netns/redirect.h"

union address {
	struct sockaddr any;
	struct sockaddr_in v4;
	struct sockaddr_in6 v6;
};

static socklen_t make_address(union address *a, const char *text, uint16_t port)
{
	bool v6 = strchr(text, ':');
	*a = (union address){ .any.sa_family = v6 ? AF_INET6 : AF_INET };
	cr_assert_eq(inet_pton(a->any.sa_family, text, v6 ? (void *)&a->v6.sin6_addr : (void *)&a->v4.sin_addr), 1);
	*(v6 ? &a->v6.sin6_port : &a->v4.sin_port) = htons(port);
	return v6 ? sizeof a->v6 : sizeof a->v4;
}

/* Addresses that no interface has: the relay's listener gets them all, whatever they are on the host. */
static const struct {
	const char *address;
	uint16_t port;
} led[] = { { "203.0.113.7", 443 }, { "198.18.3.4", 5432 }, { AJ_EGRESS_V4, 80 }, { "169.254.169.254", 80 }, { "10.0.0.1", 22 },
	    { "2001:db8::7", 443 }, { "fd00:a9e7::9", 22 }, { "fdff::1", 8080 },  { AJ_EGRESS_V6, 443 } };
enum { LED = sizeof led / sizeof *led };

/* As a guest would; errno, or 0. */
static int try_connect(int type, const char *address, uint16_t port)
{
	union address to;
	socklen_t bytes = make_address(&to, address, port);
	cleanup_fd int fd = socket(to.any.sa_family, type, 0);
	if (fd < 0 || connect(fd, &to.any, bytes) < 0)
		return errno;
	char byte = 'x';
	if (type == SOCK_STREAM)
		return 0;
	/* The answer to a datagram is an error of the socket. */
	return send(fd, &byte, 1, 0) < 0 ||
	               (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 2000), recv(fd, &byte, 1, MSG_DONTWAIT)) < 0
	         ? errno
	         : 0;
}

static int own_server_at(const char *bound, const char *address, uint16_t port)
{
	union address here;
	socklen_t bytes = make_address(&here, bound, port);
	cleanup_fd int fd = socket(here.any.sa_family, SOCK_STREAM | SOCK_NONBLOCK, 0);
	const int on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, &here.any, bytes) < 0 || listen(fd, 8) < 0 || try_connect(SOCK_STREAM, address, port) != 0)
		return -1;
	cleanup_fd int got = accept(fd, NULL, NULL);
	return got < 0 ? -1 : 0;
}

static int own_server(const char *bound, const char *address)
{
	return own_server_at(bound, address, 8080);
}

/* A socket of the guest's at an address and port; errno, or 0. */
static int try_bind(int type, const char *address, uint16_t port)
{
	union address here;
	socklen_t bytes = make_address(&here, address, port);
	cleanup_fd int fd = socket(here.any.sa_family, type, 0);
	const int on = 1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	return bind(fd, &here.any, bytes) < 0 || (type == SOCK_STREAM && listen(fd, 8) < 0) ? errno : 0;
}

/* A connection from the very port and address that it is to; errno, or 0. */
static int try_itself(const char *address, uint16_t port)
{
	union address to;
	socklen_t bytes = make_address(&to, address, port);
	cleanup_fd int fd = socket(to.any.sa_family, SOCK_STREAM, 0);
	const int on = 1;
	/* The address is no interface's, but the route makes it the guest's to bind. */
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	return bind(fd, &to.any, bytes) < 0 || connect(fd, &to.any, bytes) < 0 ? errno : 0;
}

/* In the namespace. 0, or the line that failed. */
#define MUST(x)                          \
	do {                             \
		if (!(x))                \
			return __LINE__; \
	} while (0)
static int be_init_and_guest(int report, bool tproxy)
{
	struct aj_error err = { 0 };
	struct aj_egress_made made;
	int proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int before = dup(0);
	close(before);
	MUST(aj_netns_loopback_up(&err) == 0);
	if (aj_egress_net(proc_fd, &made, &err) < 0) {
		fprintf(stderr, "egress: %s: %s\n", err.cause, strerror(err.errnum));
		return __LINE__;
	}
	MUST(tproxy || !made.transparent);
	struct rlimit limit, limit_after;
	getrlimit(RLIMIT_NOFILE, &limit);
	MUST(aj_msg_hand_over_fds(report, AJ_MSG_SOCKETS, made.sockets, made.count) == 0);
	getrlimit(RLIMIT_NOFILE, &limit_after);
	MUST(limit.rlim_cur == limit_after.rlim_cur); /* raised for the message alone */
	int after = dup(0);
	close(after);
	MUST(before == after); /* no socket stays */
	for (size_t i = 0; i < LED; i++)
		MUST(try_connect(SOCK_STREAM, led[i].address, led[i].port) == 0);
	/* Its own addresses, with no server there. */
	MUST(try_connect(SOCK_STREAM, "127.0.0.1", 1) == ECONNREFUSED && try_connect(SOCK_STREAM, "127.0.0.5", 443) == ECONNREFUSED);
	MUST(try_connect(SOCK_STREAM, "::1", 443) == ECONNREFUSED);
	MUST(own_server("127.0.0.1", "127.0.0.1") == 0 && own_server("0.0.0.0", "127.0.0.1") == 0 && own_server("::1", "::1") == 0);
	/* A server of the guest's on all addresses gets no connection to another one. */
	MUST(own_server("0.0.0.0", "203.0.113.7") < 0);
	/* A connection to a port keeps it from no server of the guest's. */
	union address to, here;
	socklen_t bytes = make_address(&to, "203.0.113.7", 8081);
	int kept = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	MUST(connect(kept, &to.any, bytes) == 0);
	MUST(own_server_at("0.0.0.0", "127.0.0.1", 8081) == 0 && own_server_at("127.0.0.1", "127.0.0.1", 8081) == 0);
	/* Its source is an address that no connection is for: a port that meets its own finds the listener. */
	MUST(getsockname(kept, &here.any, &bytes) == 0 && make_address(&to, AJ_EGRESS_V4, 0) &&
	     here.v4.sin_addr.s_addr == to.v4.sin_addr.s_addr);
	close(kept);
	/* The relay's own addresses and ports are no other socket's. */
	MUST(try_bind(SOCK_DGRAM, AJ_EGRESS_V4, 53) == EADDRINUSE && try_bind(SOCK_DGRAM, AJ_EGRESS_V6, 53) == EADDRINUSE);
	MUST(try_bind(SOCK_STREAM, AJ_EGRESS_V4, 53) == EADDRINUSE && try_bind(SOCK_STREAM, AJ_EGRESS_V4, AJ_EGRESS_PORT) == EADDRINUSE);
	/* UDP but DNS: refused at once. */
	MUST(try_connect(SOCK_DGRAM, "203.0.113.7", 443) == ECONNREFUSED && try_connect(SOCK_DGRAM, "2001:db8::7", 53) == ECONNREFUSED);
	MUST(try_connect(SOCK_STREAM, AJ_EGRESS_V4, 53) == 0 && try_connect(SOCK_STREAM, AJ_EGRESS_V6, 53) == 0);
	return 0;
}

/* As on a kernel without nft_tproxy: no process of the namespace gets IP_TRANSPARENT, so connections are led by NAT. */
static int take_tproxy_away(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_setsockopt, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, IP_TRANSPARENT, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { sizeof code / sizeof *code, code };
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -1 : prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void write_file(const char *path, const char *format, unsigned id)
{
	char text[40];
	snprintf(text, sizeof text, format, id);
	aj_write_text(AT_FDCWD, path, text);
}

static void original_destination(int fd, int family, char text[64])
{
	union address to;
	socklen_t bytes = sizeof to;
	char name[INET6_ADDRSTRLEN];
	bool v6 = family == AF_INET6;
	if (getsockopt(fd, v6 ? IPPROTO_IPV6 : IPPROTO_IP, SO_ORIGINAL_DST, &to, &bytes) < 0) {
		bytes = sizeof to; /* it was not translated */
		cr_expect_eq(getsockname(fd, &to.any, &bytes), 0);
	}
	inet_ntop(family, v6 ? (void *)&to.v6.sin6_addr : (void *)&to.v4.sin_addr, name, sizeof name);
	snprintf(text, 64, "%s %u", name, ntohs(v6 ? to.v6.sin6_port : to.v4.sin_port));
}

static bool enter_namespace(bool tproxy)
{
	unsigned uid = getuid(), gid = getgid();
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return false;
	write_file("/proc/self/setgroups", "deny", 0);
	write_file("/proc/self/uid_map", "1000 %u 1", uid);
	write_file("/proc/self/gid_map", "1000 %u 1", gid);
	return tproxy || take_tproxy_away() == 0;
}

static void every_connection(bool tproxy)
{
	int ends[2], status = -1;
	struct aj_msg msg;
	struct aj_passed passed;
	pid_t sender;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[0]);
		if (!enter_namespace(tproxy))
			_exit(255);
		int line = be_init_and_guest(ends[1], tproxy);
		if (line)
			fprintf(stderr, "test_egress_net.c:%d failed in the namespace\n", line);
		_exit(line != 0);
	}
	close(ends[1]);
	cr_assert_eq(aj_msg_recv_from(ends[0], &msg, 0, &sender, &passed), 1, "no message: can this user make a user namespace?");
	cr_expect_eq(msg.kind, AJ_MSG_SOCKETS);
	cr_assert_eq(passed.count, 2 * AJ_EGRESS_SOCKETS, "IPv4 and IPv6");
	for (size_t i = 0; i < passed.count; i++) {
		cr_expect_eq(fcntl(passed.fds[i], F_GETFD), FD_CLOEXEC);
		cr_expect(fcntl(passed.fds[i], F_GETFL) & O_NONBLOCK);
	}
	cr_assert_eq(aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_TAKEN }), 0);
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0);
	for (size_t i = 0; i <= LED + 1; i++) {
		bool v6 = i < LED && strchr(led[i].address, ':');
		int got = accept(passed.fds[AJ_EGRESS_LISTENER + (v6 ? AJ_EGRESS_SOCKETS : 0)], NULL, NULL);
		char is[64], want[64];
		cr_assert(got >= 0, "connection %zu has not arrived", i);
		original_destination(got, v6 ? AF_INET6 : AF_INET, is);
		snprintf(want, sizeof want, "%s %u", i < LED ? led[i].address : "203.0.113.7",
		         i < LED    ? led[i].port
		         : i == LED ? 8080
		                    : 8081);
		/* Each family in its order; the last ones were meant for another address than the server's own. */
		cr_expect_str_eq(is, want);
		close(got);
	}
	for (size_t i = 0; i < 2; i++)
		cr_expect(accept(passed.fds[AJ_EGRESS_DNS_TCP + (i ? AJ_EGRESS_SOCKETS : 0)], NULL, NULL) >= 0,
		          "DNS over TCP is not led away");
}

Test(egress_net, every_connection_ends_at_the_listener)
{
	every_connection(true);
}

Test(egress_net, also_by_nat)
{
	every_connection(false);
}

/* Without a relay a connection leads nowhere: not to a server of the guest's on all addresses, and not to itself. */
static int be_without_relay(void)
{
	struct aj_error err = { 0 };
	struct aj_egress_made made;
	MUST(aj_netns_loopback_up(&err) == 0 && aj_egress_net(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), &made, &err) == 0);
	while (made.count)
		close(made.sockets[--made.count]);
	MUST(own_server("0.0.0.0", "203.0.113.7") < 0 && try_connect(SOCK_STREAM, "203.0.113.7", 8080) == ECONNREFUSED);
	MUST(try_itself("203.0.113.9", 9090) == ECONNREFUSED && try_itself("127.0.0.1", 9090) == 0);
	MUST(own_server("::", "2001:db8::7") < 0 && own_server("::", "::1") == 0);
	return 0;
}

Test(egress_net, without_the_relay_nothing_answers)
{
	for (int tproxy = 0; tproxy < 2; tproxy++) {
		int status = -1;
		pid_t child = fork();
		if (child == 0) {
			int line = enter_namespace(tproxy) ? be_without_relay() : -1;
			if (line)
				fprintf(stderr, "test_egress_net.c:%d failed in the namespace\n", line);
			_exit(line != 0);
		}
		waitpid(child, &status, 0);
		cr_expect_eq(status, 0, "%s", tproxy ? "tproxy" : "NAT");
	}
}

/* Without a right over the namespace: an error of this step, with something to do. */
Test(egress_net, refused_by_the_kernel)
{
	int status = -1;
	pid_t child = fork();
	if (child == 0) {
		struct aj_error err = { 0 };
		struct __user_cap_header_struct version = { .version = _LINUX_CAPABILITY_VERSION_3 };
		struct __user_cap_data_struct none[2] = { 0 };
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || syscall(SYS_capset, &version, none) < 0)
			_exit(255);
		_exit(aj_redirect_tcp(true, &err) >= 0 || strcmp(err.step, "egress") != 0 || !err.cause[0] || !err.fix[0]);
	}
	waitpid(child, &status, 0);
	cr_expect_eq(status, 0);
}

/* A supervisor that ends, or answers anything else, is no consent: nothing runs. */
Test(egress_net, without_the_supervisors_word_the_step_fails)
{
	for (int answers = 0; answers < 2; answers++) {
		int ends[2], fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
		cr_assert_eq(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
		if (answers)
			aj_msg_send(ends[0], &(struct aj_msg){ .kind = AJ_MSG_MAPS_WRITTEN });
		else
			shutdown(ends[0], SHUT_WR);
		cr_expect_eq(aj_msg_hand_over_fds(ends[1], AJ_MSG_SOCKETS, &fd, 1), -1);
		cr_expect_eq(fd, -1, "the socket stays open");
		close(ends[0]);
		close(ends[1]);
	}
}
