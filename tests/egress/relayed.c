/* A network namespace with a relay, and nothing else of a jail: runs a command whose every TCP connection goes to the relay, by the rules
 * given. It prints the relay's reports on stderr, one a line, and is no part of the product.
 *
 * usage: relayed [--connections N] [--per-second N] [--bytes-out N] [--bytes-in N] [http://HOST:PORT] RULE... -- COMMAND...
 * In a network namespace that the caller made, with the rights over it: that one is the relay's. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "network/egress/egress.h"
#include "sandbox/netns/egress_net.h"
#include "sandbox/netns/loopback.h"

enum { SOCKETS = 6 };

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(99);
}

static void run_inside(int channel, char **command)
{
	char relay[16] = "";
	if (unshare(CLONE_NEWNET) < 0)
		die("unshare");
	struct aj_error err = { 0 };
	struct aj_egress_made made;
	if (aj_netns_loopback_up(&err) < 0 || aj_egress_net(open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), &made, &err) < 0) {
		fprintf(stderr, "%s\n", err.cause);
		exit(99);
	}
	fprintf(stderr, "led by %s\n", made.transparent ? "tproxy" : "NAT");
	for (size_t i = 0; i < made.count; i++) {
		if (aj_message_send(channel, "s", 1, made.sockets[i]) < 0)
			die("send");
		close(made.sockets[i]);
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
	bool open;
	for (size_t i = 0; aj_egress_next_unsent(&relay, false, &i, &event, &open);)
		print_event(&event);
	aj_helper_end(&relay);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 98;
}
