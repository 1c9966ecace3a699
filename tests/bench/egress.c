/* Measures a jail's connections through the relay beside direct ones over loopback, turn by turn, in one process: its relayed sockets are
 * of the network namespace that it runs in, its direct ones of the one that /proc/self/fd/3 is.
 * It prints one line a measure: direct, relayed, ratio. tests/bench/egress.sh runs it. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	HOST_NAMESPACE = 3, /* a descriptor */
	PORT = 7000,
	BULK_PORT = 7001, /* of a server of its own: the others must not wait for its chunks */
	TLS_PORT = 443,
	HELLO_BYTES = 1700,
	SAMPLES = 2000,
	WARM = 100,
	MESSAGE_BYTES = 1024,
	CHUNK = 256 << 10,
	MANY = 1000,
	ROUNDS = 10,
};
#define NAME "bench.example.org"
#define SERVER "203.0.113.10"

static struct sockaddr_in direct_address, relayed_address;
static int own_namespace;
static char buffer[CHUNK];

_Noreturn static void die(const char *what)
{
	perror(what);
	exit(1);
}

static double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* --- the server: a request is its kind and a count; 'E' wants so many bytes back as follow, 'D' so many bytes, 'H' one byte after so many --- */

struct request {
	char one; /* no first byte of HTTP or TLS */
	char kind;
	uint64_t bytes;
} __attribute__((packed));

struct client {
	struct request ask;
	size_t have;
	uint64_t to_read, to_write;
	bool hello;
};

static void serve_client(int epoll_fd, int fd, struct client *c, bool room)
{
	for (;;) {
		if (c->to_write) {
			ssize_t n = send(fd, buffer, c->to_write < CHUNK ? c->to_write : CHUNK, MSG_DONTWAIT | MSG_NOSIGNAL);
			if (n < 0 && errno == EAGAIN) {
				struct epoll_event e = { .events = EPOLLOUT, .data.ptr = c };
				e.data.u64 = (uint64_t)fd;
				epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &e);
				return;
			}
			if (n < 0)
				break;
			c->to_write -= (uint64_t)n;
			continue;
		}
		if (room) {
			struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)fd };
			epoll_ctl(epoll_fd, EPOLL_CTL_MOD, fd, &e);
			room = false;
		}
		ssize_t n;
		if (c->hello || c->to_read) {
			n = recv(fd, buffer, c->to_read && !c->hello ? (c->to_read < CHUNK ? c->to_read : CHUNK) : CHUNK, MSG_DONTWAIT);
			if (n > 0 && c->hello) {
				c->to_read -= (uint64_t)n < c->to_read ? (uint64_t)n : c->to_read;
				c->to_write = c->to_read == 0;
				continue;
			}
			if (n > 0) {
				c->to_read -= (uint64_t)n;
				c->to_write = c->ask.kind == 'E' ? (uint64_t)n : c->to_read == 0;
				continue;
			}
		} else {
			n = recv(fd, (char *)&c->ask + c->have, sizeof c->ask - c->have, MSG_DONTWAIT);
			if (n > 0) {
				c->have += (size_t)n;
				if (c->have < sizeof c->ask)
					continue;
				c->have = 0;
				c->to_read = c->ask.kind == 'D' ? 0 : c->ask.bytes;
				c->to_write = c->ask.kind == 'D' ? c->ask.bytes : 0;
				continue;
			}
		}
		if (n < 0 && errno == EAGAIN)
			return;
		break;
	}
	close(fd);
}

_Noreturn static void serve(const uint16_t *ports)
{
	static struct client clients[8192];
	int epoll_fd = epoll_create1(0), listeners[2], on = 1;
	for (int i = 0; i < 2; i++) {
		struct sockaddr_in a = direct_address;
		a.sin_port = htons(ports[i]);
		listeners[i] = socket(AF_INET, SOCK_STREAM, 0);
		setsockopt(listeners[i], SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
		if (bind(listeners[i], (void *)&a, sizeof a) < 0 || listen(listeners[i], 4096) < 0)
			die("bench: listen");
		struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)listeners[i] };
		epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listeners[i], &e);
	}
	for (;;) {
		struct epoll_event events[64];
		int count = epoll_wait(epoll_fd, events, 64, -1);
		for (int i = 0; i < count; i++) {
			int fd = (int)events[i].data.u64;
			if (fd != listeners[0] && fd != listeners[1]) {
				serve_client(epoll_fd, fd, &clients[fd], events[i].events & EPOLLOUT);
				continue;
			}
			int made = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
			if (made < 0 || made >= 8192)
				continue;
			setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
			clients[made] = (struct client){ .hello = fd == listeners[1] && ports[1] == TLS_PORT };
			clients[made].to_read = clients[made].hello ? HELLO_BYTES : 0;
			struct epoll_event e = { .events = EPOLLIN, .data.u64 = (uint64_t)made };
			epoll_ctl(epoll_fd, EPOLL_CTL_ADD, made, &e);
		}
	}
}

/* --- sockets of both kinds --- */

static int new_socket(bool relayed)
{
	if (!relayed && setns(HOST_NAMESPACE, CLONE_NEWNET) < 0)
		die("setns");
	int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;
	if (!relayed && setns(own_namespace, CLONE_NEWNET) < 0)
		die("setns");
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	return fd;
}

static void reach(int fd, bool relayed, uint16_t port)
{
	struct sockaddr_in a = relayed ? relayed_address : direct_address;
	a.sin_port = htons(port);
	if (connect(fd, (void *)&a, sizeof a) < 0)
		die("bench: connect");
}

static void read_all(int fd, size_t bytes)
{
	while (bytes) {
		ssize_t n = recv(fd, buffer, bytes < sizeof buffer ? bytes : sizeof buffer, 0);
		if (n <= 0)
			die("bench: recv");
		bytes -= (size_t)n;
	}
}

static void ask(int fd, char kind, uint64_t bytes)
{
	struct request r = { 1, kind, bytes };
	if (send(fd, &r, sizeof r, MSG_NOSIGNAL) != sizeof r)
		die("bench: send");
}

/* One byte back, for one segment. */
static void ask_echo(int fd)
{
	const struct {
		struct request ask;
		char byte;
	} __attribute__((packed)) message = { { 1, 'E', 1 }, 'x' };
	if (send(fd, &message, sizeof message, MSG_NOSIGNAL) != sizeof message)
		die("bench: send");
}

/* --- DNS --- */

static void look_up(void)
{
	static const uint8_t query[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\5bench\7example\3org\0\0\1\0\1";
	struct sockaddr_in server = { .sin_family = AF_INET, .sin_port = htons(53) };
	uint8_t answer[512];
	inet_pton(AF_INET, "198.18.0.1", &server.sin_addr);
	int fd = socket(AF_INET, SOCK_DGRAM, 0);
	sendto(fd, query, sizeof query - 1, 0, (void *)&server, sizeof server);
	ssize_t n = recv(fd, answer, sizeof answer, 0);
	if (n < (ssize_t)sizeof query + 4)
		die("bench: DNS");
	relayed_address = (struct sockaddr_in){ .sin_family = AF_INET };
	memcpy(&relayed_address.sin_addr, answer + n - 4, 4);
	close(fd);
}

/* A ClientHello of HELLO_BYTES for NAME, with keys as long as a post-quantum one's. */
static uint8_t hello[HELLO_BYTES];
static void make_hello(void)
{
	size_t name = strlen(NAME), at = 0;
	enum { RECORD = 5, HANDSHAKE = 4 };
	uint8_t *h = hello;
	const uint8_t head[] = { 22,
		                 3,
		                 1,
		                 (HELLO_BYTES - RECORD) >> 8,
		                 (HELLO_BYTES - RECORD) & 255,
		                 1,
		                 0,
		                 (HELLO_BYTES - RECORD - HANDSHAKE) >> 8,
		                 (HELLO_BYTES - RECORD - HANDSHAKE) & 255,
		                 3,
		                 3 };
	memcpy(h, head, sizeof head);
	at = sizeof head + 32; /* random */
	h[at++] = 0;           /* session id */
	memcpy(h + at, "\0\2\x13\1\1\0", 6);
	at += 6;
	size_t left = HELLO_BYTES - at - 2;
	h[at++] = (uint8_t)(left >> 8), h[at++] = (uint8_t)left;
	const uint8_t sni[] = { 0, 0, 0, (uint8_t)(name + 5), 0, (uint8_t)(name + 3), 0, 0, (uint8_t)name };
	memcpy(h + at, sni, sizeof sni);
	memcpy(h + at + sizeof sni, NAME, name);
	at += sizeof sni + name;
	left = HELLO_BYTES - at - 4;
	h[at++] = 0, h[at++] = 51, h[at++] = (uint8_t)(left >> 8), h[at++] = (uint8_t)left;
}

/* --- measures --- */

static int by_value(const void *a, const void *b)
{
	double d = *(const double *)a - *(const double *)b;
	return d < 0 ? -1 : d > 0;
}

static double took[2][SAMPLES];

static void print_times(const char *what, int samples)
{
	for (int i = 0; i < 2; i++)
		qsort(took[i], (size_t)samples, sizeof(double), by_value);
	double *d = took[0], *r = took[1];
	int p99 = samples * 99 / 100;
	printf("%-44s %9.1f %9.1f us p50  %5.2f x   %9.1f %9.1f us p99  %5.2f x\n", what, d[samples / 2], r[samples / 2],
	       r[samples / 2] / d[samples / 2], d[p99], r[p99], r[p99] / d[p99]);
	fflush(stdout);
}

static void measure_connects(const char *what, bool dns, bool tls, int samples)
{
	for (int i = -WARM; i < samples; i++)
		for (int relayed = 0; relayed < 2; relayed++) {
			int fd = new_socket(relayed);
			double began = now_us();
			if (dns && relayed)
				look_up();
			reach(fd, relayed, tls ? TLS_PORT : PORT);
			if (tls)
				send(fd, hello, sizeof hello, 0);
			else {
				ask_echo(fd);
			}
			read_all(fd, 1);
			if (i >= 0)
				took[relayed][i] = now_us() - began;
			close(fd);
		}
	print_times(what, samples);
}

static void measure_messages(void)
{
	int fds[2] = { new_socket(false), new_socket(true) };
	for (int relayed = 0; relayed < 2; relayed++)
		reach(fds[relayed], relayed, PORT);
	for (int i = -WARM; i < SAMPLES; i++)
		for (int relayed = 0; relayed < 2; relayed++) {
			char message[sizeof(struct request) + MESSAGE_BYTES] = { 0 };
			memcpy(message, &(struct request){ 1, 'E', MESSAGE_BYTES }, sizeof(struct request));
			double began = now_us();
			send(fds[relayed], message, sizeof message, 0);
			read_all(fds[relayed], MESSAGE_BYTES);
			if (i >= 0)
				took[relayed][i] = now_us() - began;
		}
	print_times("1 kB request and response, kept", SAMPLES);
	close(fds[0]);
	close(fds[1]);
}

/* What the relay has run, and has waited for a processor. */
struct relay_time {
	double ms, waited_ms;
};

static struct relay_time relay_time(void)
{
	char path[64], text[128] = "", *rest;
	snprintf(path, sizeof path, "/proc/%s/schedstat", getenv("RELAY_PID"));
	int fd = open(path, O_RDONLY);
	if (fd < 0 || read(fd, text, sizeof text - 1) <= 0)
		die(path);
	close(fd);
	double ms = strtod(text, &rest) / 1e6;
	return (struct relay_time){ ms, strtod(rest, NULL) / 1e6 };
}

static double relay_ms(void)
{
	return relay_time().ms;
}

static volatile uint64_t *downloaded; /* bytes; shared with children */

/* Downloads over `streams` connections; GB/s. */
static double download(bool relayed, int streams, uint64_t bytes_each)
{
	struct pollfd fds[64];
	uint64_t left[64];
	int open = streams;
	double began = now_us();
	for (int i = 0; i < streams; i++) {
		fds[i] = (struct pollfd){ .fd = new_socket(relayed), .events = POLLIN };
		reach(fds[i].fd, relayed, BULK_PORT);
		ask(fds[i].fd, 'D', left[i] = bytes_each);
	}
	while (open && poll(fds, (nfds_t)streams, -1) > 0)
		for (int i = 0; i < streams; i++) {
			if (!fds[i].revents)
				continue;
			ssize_t n = recv(fds[i].fd, buffer, sizeof buffer, MSG_DONTWAIT);
			if (n < 0 && errno == EAGAIN)
				continue;
			if (n <= 0)
				die("bench: download");
			*downloaded += (uint64_t)n;
			if ((left[i] -= (uint64_t)n) == 0) {
				close(fds[i].fd);
				fds[i].fd = -1;
				open--;
			}
		}
	return (double)bytes_each * streams / 1e3 / (now_us() - began);
}

static void measure_streams(int streams, uint64_t bytes_each)
{
	enum { TIMES = 5 };
	double speed[2][TIMES], ms = 0;
	for (int i = 0; i < TIMES; i++) {
		speed[0][i] = download(false, streams, bytes_each);
		double before = relay_ms();
		speed[1][i] = download(true, streams, bytes_each);
		ms += relay_ms() - before;
	}
	for (int i = 0; i < 2; i++)
		qsort(speed[i], TIMES, sizeof(double), by_value);
	double d = speed[0][TIMES / 2], r = speed[1][TIMES / 2];
	printf("%2d streams, down %31.2f %9.2f GB/s    %5.2f of it; relay %.2f s of processor a GB\n", streams, d, r, r / d,
	       ms / 1e3 / ((double)bytes_each * streams * TIMES / 1e9));
	fflush(stdout);
}

static double many(bool relayed)
{
	static int fds[MANY];
	for (int i = 0; i < MANY; i++)
		fds[i] = new_socket(relayed);
	double began = now_us();
	for (int i = 0; i < MANY; i++)
		reach(fds[i], relayed, PORT);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < MANY; i++) {
			ask_echo(fds[i]);
		}
		for (int i = 0; i < MANY; i++)
			read_all(fds[i], 1);
	}
	double us = now_us() - began;
	for (int i = 0; i < MANY; i++)
		close(fds[i]);
	return us;
}

static void measure_many(void)
{
	enum { TIMES = 5 };
	for (int i = 0; i < TIMES; i++) {
		took[0][i] = many(false);
		took[1][i] = many(true);
	}
	print_times("1,000 connections, 10 echos each", TIMES);
}

/* The relay's processor time for a connection: connect, one byte, close. */
static void measure_cost(void)
{
	double before = relay_ms();
	for (int i = 0; i < SAMPLES; i++) {
		int fd = new_socket(true);
		reach(fd, true, PORT);
		ask_echo(fd);
		read_all(fd, 1);
		close(fd);
	}
	printf("relay's processor time a connection %34.1f us\n", (relay_ms() - before) * 1e3 / SAMPLES);
}

static void measure_beside_bulk(void)
{
	enum { BULK = 4, BESIDE = 400 };
	struct relay_time before = { 0 }, after = { 0 };
	double speed[2];
	for (int relayed = 0; relayed < 2; relayed++) {
		pid_t bulk = fork();
		if (bulk == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				download(relayed, BULK, 1 << 30);
		}
		usleep(200000);
		before = relay_time();
		double began_us = now_us(), began_bytes = (double)*downloaded;
		for (int i = -20; i < BESIDE; i++) {
			int fd = new_socket(relayed);
			double began = now_us();
			reach(fd, relayed, PORT);
			ask_echo(fd);
			read_all(fd, 1);
			if (i >= 0)
				took[relayed][i] = now_us() - began;
			close(fd);
		}
		after = relay_time();
		speed[relayed] = ((double)*downloaded - began_bytes) / 1e3 / (now_us() - began_us);
		kill(bulk, SIGKILL);
		waitpid(bulk, NULL, 0);
	}
	print_times("connect + byte, beside 4 bulk streams", BESIDE);
	printf("the 4 bulk streams, meanwhile %20.2f %9.2f GB/s    %5.2f of it\n", speed[0], speed[1], speed[1] / speed[0]);
	printf("the relay's wait for a processor, meanwhile %26.2f x its processor time\n",
	       (after.waited_ms - before.waited_ms) / (after.ms - before.ms));
}

static void measure_connect(void)
{
	measure_connects("connect + first byte", false, false, SAMPLES);
}

static void measure_dns(void)
{
	measure_connects("DNS + connect + first byte (direct: no DNS)", true, false, SAMPLES);
}

static void measure_tls(void)
{
	measure_connects("connect + ClientHello of 1,700 + byte", false, true, SAMPLES);
}

static void measure_one_stream(void)
{
	measure_streams(1, 1 << 30);
}

static void measure_16_streams(void)
{
	measure_streams(16, 128 << 20);
}

static const struct row {
	const char *name;
	void (*measure)(void);
	bool latency; /* of those that are measured on one processor, too */
} rows[] = {
	{ "connect", measure_connect, true },        { "dns", measure_dns, true },    { "tls", measure_tls, true },
	{ "messages", measure_messages, true },      { "cost", measure_cost, true },  { "1-stream", measure_one_stream, false },
	{ "16-streams", measure_16_streams, false }, { "many", measure_many, false }, { "beside", measure_beside_bulk, false },
};

/* A row, each that counts among the latencies, or (NULL) all. */
static void measure(const char *wanted)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!wanted || strcmp(wanted, rows[i].name) == 0 || (rows[i].latency && strcmp(wanted, "latency") == 0))
			rows[i].measure();
}

int main(int argc, char **argv)
{
	direct_address.sin_family = AF_INET;
	inet_pton(AF_INET, SERVER, &direct_address.sin_addr);
	own_namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	downloaded = mmap(NULL, sizeof *downloaded, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (downloaded == MAP_FAILED)
		die("bench: mmap");
	setrlimit(RLIMIT_NOFILE, &(struct rlimit){ 16384, 16384 });
	static const uint16_t ports[2][2] = { { PORT, TLS_PORT }, { BULK_PORT, BULK_PORT + 1 } };
	if (argc > 1 && strcmp(argv[1], "serve") == 0) /* for egress_peers.py, until it is killed */
		serve(ports[0]);
	pid_t servers[2];
	for (int i = 0; i < 2; i++)
		if ((servers[i] = fork()) == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			if (setns(HOST_NAMESPACE, CLONE_NEWNET) < 0)
				die("setns");
			serve(ports[i]);
		}
	usleep(100000);
	look_up();
	make_hello();
	printf("%-44s %9s %9s\n", "", "direct", "relayed");
	for (int i = 1; i < argc || i == 1; i++)
		measure(argv[i]);
	for (int i = 0; i < 2; i++) {
		kill(servers[i], SIGKILL);
		waitpid(servers[i], NULL, 0);
	}
	return 0;
}
