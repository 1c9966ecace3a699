/* Tests of helper/side: what a pair of flows waits for, what an event moves, and how its sockets end. The sockets are of TCP, since a
 * reset is of TCP alone. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "network/helper/socket_end.h"

static struct aj_bulk bulk;
static uint64_t total;
static uint32_t seen;

/* A connection over loopback: [0] is ours, [1] the peer's. */
static void connect_pair(int fds[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof at;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(bind(listener, (void *)&at, bytes) == 0 && listen(listener, 1) == 0 && getsockname(listener, (void *)&at, &bytes) == 0);
	fds[1] = socket(AF_INET, SOCK_STREAM, 0);
	cr_assert(connect(fds[1], (void *)&at, bytes) == 0 && (fds[0] = accept(listener, NULL, NULL)) >= 0);
	close(listener);
}

static void on_event(struct aj_io *io, uint32_t events)
{
	(void)io;
	seen |= events;
}

struct pair {
	struct aj_loop *loop;
	struct aj_io left_io, right_io;
	int left[2], right[2];
	struct aj_flow out, in; /* from left to right, and back */
};

static void begin(struct pair *p)
{
	*p = (struct pair){ .loop = aj_loop_new(), .left_io = { .fn = on_event, .fd = -1 }, .right_io = { .fn = on_event, .fd = -1 } };
	if (!bulk.last)
		aj_bulk_begin(&bulk);
	connect_pair(p->left);
	connect_pair(p->right);
	p->out = (struct aj_flow){ .from = p->left[0], .to = p->right[0], .bulk = &bulk, .total = &total, .back = &p->in };
	p->in = (struct aj_flow){ .from = p->right[0], .to = p->left[0], .bulk = &bulk, .total = &total, .back = &p->out };
}

static void watch(struct pair *p)
{
	cr_assert(aj_socket_end_watch(p->loop, &p->left_io, &p->out, &p->in) == 0 &&
	          aj_socket_end_watch(p->loop, &p->right_io, &p->in, &p->out) == 0);
}

static void close_pair(struct pair *p, bool abruptly)
{
	aj_flow_end(&p->out);
	aj_flow_end(&p->in);
	aj_socket_end_close(p->loop, &p->left_io, p->left[0], abruptly);
	aj_socket_end_close(p->loop, &p->right_io, p->right[0], abruptly);
	cr_expect(p->left_io.fd < 0 && p->right_io.fd < 0);
}

static void end(struct pair *p)
{
	close(p->left[1]);
	close(p->right[1]);
	aj_loop_free(p->loop);
}

/* Turns in which nothing happens may come: of a descriptor that is closed, there must be no event. */
static uint32_t events_of_a_turn(struct pair *p)
{
	seen = 0;
	aj_loop_turn(p->loop, aj_now_us() + 20000);
	return seen;
}

Test(side, bytes_and_ends_pass_and_an_end_is_not_reported_for_ever)
{
	struct pair p;
	char got[8];
	begin(&p);
	watch(&p);
	cr_expect(send(p.left[1], "hello", 5, 0) == 5 && events_of_a_turn(&p) == EPOLLIN);
	aj_socket_end_pump(EPOLLIN, &p.out, &p.in);
	cr_expect(recv(p.right[1], got, sizeof got, 0) == 5 && p.out.moved == 5);
	shutdown(p.left[1], SHUT_WR);
	aj_socket_end_pump(EPOLLIN, &p.out, &p.in);
	watch(&p);
	cr_expect(p.out.finished && recv(p.right[1], got, sizeof got, 0) == 0);
	cr_expect(events_of_a_turn(&p) == 0, "the end that was read is not waited for again");
	/* The other end: it is the close that passes it on. */
	shutdown(p.right[1], SHUT_WR);
	aj_socket_end_pump(EPOLLIN, &p.in, &p.out);
	cr_expect(p.in.finished && recv(p.left[1], got, sizeof got, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	watch(&p);
	close_pair(&p, false);
	cr_expect(recv(p.left[1], got, sizeof got, 0) == 0, "an end, and no reset");
	end(&p);
}

Test(side, a_reset_is_an_error_and_passes_as_a_reset)
{
	struct pair p;
	char got[8];
	begin(&p);
	watch(&p);
	aj_socket_end_reset(p.left[1]);
	p.left[1] = -1;
	uint32_t events = events_of_a_turn(&p);
	cr_expect(events & EPOLLERR);
	aj_socket_end_pump(events, &p.out, &p.in);
	cr_expect(p.out.error == ECONNRESET);
	close_pair(&p, true);
	cr_expect(recv(p.right[1], got, sizeof got, 0) < 0 && errno == ECONNRESET);
	end(&p);
}

Test(side, a_number_that_is_used_again_gets_no_event_of_before)
{
	struct pair p;
	begin(&p);
	watch(&p);
	cr_assert(send(p.left[1], "x", 1, 0) == 1);
	close_pair(&p, true);
	int again[2];
	struct aj_io io = { .fn = on_event, .fd = -1 };
	connect_pair(again);
	cr_expect(aj_loop_watch(p.loop, &io, again[0], EPOLLIN) == 0, "epoll has forgotten the number: %d", again[0]);
	cr_expect(events_of_a_turn(&p) == 0);
	cr_expect(send(again[1], "x", 1, 0) == 1 && events_of_a_turn(&p) == EPOLLIN);
	aj_socket_end_close(p.loop, &io, again[0], false);
	aj_socket_end_close(p.loop, &io, -1, true);
	close(again[1]);
	end(&p);
}
