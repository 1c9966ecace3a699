/* Tests of helper/flow: bytes arrive whole and in order, a gate holds what it has not judged, bulk flows take turns, a slow reader holds no
 * more than its share, and a pipe takes no byte from one flow to another. The sockets are of AF_UNIX. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "network/helper/flow.h"

struct line {
	struct aj_flow flow;
	int source, sink; /* the far ends */
	unsigned turns;
};

static struct aj_bulk bulk;
static uint64_t total;
static uint8_t data[4 << 20], got[4 << 20];

static void on_turned(struct aj_flow *flow)
{
	((struct line *)flow->arg)->turns++;
}

static void begin(struct line *l)
{
	int in[2], out[2];
	cr_assert(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, in) == 0 &&
	          socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, out) == 0);
	if (!bulk.last)
		aj_bulk_begin(&bulk);
	*l = (struct line){ .source = in[0], .sink = out[1] };
	l->flow = (struct aj_flow){ .from = in[1], .to = out[0], .bulk = &bulk, .arg = l, .turned = on_turned, .total = &total };
	for (size_t i = 0; i < sizeof data; i++)
		data[i] = (uint8_t)(i * 7 + i / 251);
}

static void end(struct line *l)
{
	aj_flow_end(&l->flow);
	int fds[] = { l->source, l->sink, l->flow.from, l->flow.to };
	for (int i = 0; i < 4; i++)
		close(fds[i]);
}

static size_t drain(struct line *l, size_t at)
{
	ssize_t n;
	while ((n = recv(l->sink, got + at, sizeof got - at, 0)) > 0)
		at += (size_t)n;
	return at;
}

/* Everything, with a reader that takes what there is. */
static size_t carry(struct line *l, size_t bytes, bool shut)
{
	size_t sent = 0, had = 0;
	for (int i = 0; i < 100000 && !l->flow.finished && had < bytes + shut; i++) {
		ssize_t n = sent < bytes ? send(l->source, data + sent, bytes - sent, MSG_NOSIGNAL) : -1;
		sent += n > 0 ? (size_t)n : 0;
		if (sent == bytes && shut)
			shutdown(l->source, SHUT_WR);
		if (aj_bulk_waits(&bulk))
			aj_bulk_turn(&bulk);
		else
			aj_flow_pump(&l->flow);
		had = drain(l, had);
	}
	return had;
}

Test(flow, small_amounts_and_the_end)
{
	struct line l;
	begin(&l);
	send(l.source, "hello", 5, 0);
	aj_flow_pump(&l.flow);
	cr_expect(drain(&l, 0) == 5 && memcmp(got, "hello", 5) == 0);
	cr_expect(!l.flow.ended && !l.flow.queued && aj_flow_wants_bytes(&l.flow) && !aj_flow_wants_room(&l.flow));
	aj_flow_pump(&l.flow);
	cr_expect(!l.flow.ended, "nothing to read is no end");
	shutdown(l.source, SHUT_WR);
	aj_flow_pump(&l.flow);
	cr_expect(l.flow.ended && l.flow.finished && recv(l.sink, got, 1, 0) == 0);
	cr_expect(l.flow.moved == 5 && total == 5);
	end(&l);
}

static int tcp_pair(int ends[2])
{
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof here;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	int r = bind(listener, (void *)&here, sizeof here) < 0 || listen(listener, 1) < 0 ||
	        getsockname(listener, (void *)&here, &bytes) < 0 || connect(ends[0], (void *)&here, sizeof here) < 0 ||
	        (ends[1] = accept(listener, NULL, NULL)) < 0;
	close(listener);
	return r ? -1 : 0;
}

/* Nothing holds the first segment back; the option costs a system call, which a connection of one message is spared. */
Test(flow, segments_behind_the_first_are_not_delayed)
{
	struct line l;
	int ends[2], on = -1;
	socklen_t bytes = sizeof on;
	begin(&l);
	close(l.flow.to);
	close(l.sink);
	cr_assert_eq(tcp_pair(ends), 0);
	l.flow.to = ends[0];
	l.sink = ends[1];
	for (int writes = 0; writes < 3; writes++) {
		cr_assert_eq(send(l.source, data, 10, 0), 10);
		aj_flow_pump(&l.flow);
		cr_assert_eq(recv(l.sink, got, sizeof got, 0), 10);
		cr_assert_eq(getsockopt(l.flow.to, IPPROTO_TCP, TCP_NODELAY, &on, &bytes), 0);
		cr_expect_eq(on, writes > 0, "after write %d", writes);
	}
	end(&l);
}

Test(flow, bulk_is_whole_and_in_order)
{
	struct line l;
	begin(&l);
	cr_expect_eq(carry(&l, sizeof data - 5, true), sizeof data - 5);
	cr_expect_eq(memcmp(got, data, sizeof data - 5), 0);
	cr_expect(l.flow.finished && !l.flow.error && l.turns > 0 && l.flow.moved == sizeof data - 5);
	cr_expect(!l.flow.pipe && bulk.buffered_bytes == 0);
	end(&l);
	cr_expect_gt(bulk.made, 0u);
	aj_bulk_close_pipes(&bulk);
	cr_expect_eq(bulk.made, 0u);
}

Test(flow, without_a_pipe_it_is_copied)
{
	struct line l;
	begin(&l);
	bulk.no_more = true;
	cr_expect_eq(carry(&l, sizeof data, true), sizeof data);
	cr_expect(memcmp(got, data, sizeof data) == 0 && bulk.made == 0);
	end(&l);
}

Test(flow, a_slow_reader_stops_its_own_flow)
{
	struct line slow, other;
	begin(&slow);
	begin(&other);
	size_t sent = 0;
	for (int i = 0; i < 1000; i++) {
		ssize_t n = send(slow.source, data + sent % sizeof data, 65536, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		if (aj_bulk_waits(&bulk))
			aj_bulk_turn(&bulk);
		else if (aj_flow_wants_bytes(&slow.flow))
			aj_flow_pump(&slow.flow);
	}
	cr_expect(slow.flow.blocked && aj_flow_wants_room(&slow.flow) && !aj_flow_wants_bytes(&slow.flow) && !slow.flow.queued);
	cr_expect_lt(sent, (size_t)4 << 20, "%zu bytes were taken from the sender", sent);
	cr_expect_eq(carry(&other, 1 << 20, true), (size_t)1 << 20, "the other one continues");
	cr_expect_eq(memcmp(got, data, 1 << 20), 0);
	/* It ends with bytes in its pipe: they are nobody's. */
	cr_expect(slow.flow.piped || slow.flow.buffer);
	end(&other);
	end(&slow);
	begin(&other);
	cr_expect_eq(carry(&other, 1 << 20, true), (size_t)1 << 20);
	cr_expect_eq(memcmp(got, data, 1 << 20), 0);
	end(&other);
	cr_expect_eq(bulk.buffered_bytes, (size_t)0);
}

Test(flow, more_slow_readers_than_pipes)
{
	enum { SLOW = AJ_FLOW_PIPES + 8 };
	static struct line lines[SLOW];
	for (int i = 0; i < SLOW; i++)
		begin(&lines[i]);
	for (int round = 0; round < 400; round++)
		for (int i = 0; i < SLOW; i++) {
			send(lines[i].source, data, 65536, MSG_NOSIGNAL);
			if (aj_bulk_waits(&bulk))
				aj_bulk_turn(&bulk);
			else if (aj_flow_wants_bytes(&lines[i].flow))
				aj_flow_pump(&lines[i].flow);
		}
	cr_expect_leq(bulk.made, (unsigned)AJ_FLOW_PIPES);
	cr_expect_leq(bulk.buffered_bytes, (size_t)SLOW * AJ_FLOW_CHUNK_BYTES);
	for (int i = 0; i < SLOW; i++) {
		cr_expect(lines[i].flow.blocked && !lines[i].flow.error, "%d", i);
		end(&lines[i]);
	}
	cr_expect_eq(bulk.buffered_bytes, (size_t)0);
	cr_expect_null(bulk.first);
}

Test(flow, bulk_flows_take_turns)
{
	struct line lines[3];
	for (int i = 0; i < 3; i++) {
		begin(&lines[i]);
		send(lines[i].source, data, AJ_FLOW_READ_BYTES, 0);
		aj_flow_pump(&lines[i].flow);
		cr_expect(lines[i].flow.queued);
	}
	for (int round = 0; round < 5; round++)
		for (int i = 0; i < 3; i++) {
			send(lines[i].source, data, AJ_FLOW_READ_BYTES, 0);
			aj_bulk_turn(&bulk);
			cr_expect_eq(lines[i].turns, round + 1u, "flow %d", i);
			drain(&lines[i], 0);
		}
	aj_flow_end(&lines[1].flow);
	cr_expect(!lines[1].flow.queued && bulk.first == &lines[0].flow && lines[0].flow.next == &lines[2].flow);
	for (int i = 0; i < 3; i++)
		end(&lines[i]);
	cr_expect(!bulk.first && bulk.last == &bulk.first);
}

/* Through a pipe and by copies, in amounts that no read divides. */
Test(flow, a_cap_is_met_to_the_byte)
{
	enum { CAP = 300001 };
	for (int copied = 0; copied < 2; copied++) {
		struct line l;
		size_t sent = 0, had = 0;
		begin(&l);
		bulk.no_more = copied;
		total = 0;
		l.flow.most = CAP;
		for (int i = 0; i < 1000 && total <= CAP; i++) {
			ssize_t n = send(l.source, data + sent, 500000 - sent, MSG_NOSIGNAL);
			sent += n > 0 ? (size_t)n : 0;
			if (aj_bulk_waits(&bulk))
				aj_bulk_turn(&bulk);
			else
				aj_flow_pump(&l.flow);
			had = drain(&l, had);
		}
		cr_expect_eq(had, (size_t)CAP);
		cr_expect_eq(memcmp(got, data, CAP), 0);
		cr_expect(l.flow.moved == CAP && total == CAP + 1 && l.turns > 0, "moved %zu", (size_t)l.flow.moved);
		end(&l);
	}
	bulk.no_more = false;
}

/* The end of the source is no byte beyond the cap. */
Test(flow, a_cap_may_be_used_up)
{
	struct line l;
	begin(&l);
	total = 0;
	l.flow.most = 5;
	send(l.source, "hello", 5, 0);
	shutdown(l.source, SHUT_WR);
	aj_flow_pump(&l.flow);
	aj_flow_pump(&l.flow);
	cr_expect(l.flow.finished && l.flow.moved == 5 && total == 5);
	end(&l);
}

Test(flow, what_is_never_written_does_not_count_for_a_cap)
{
	for (int copied = 0; copied < 2; copied++) {
		struct line l;
		begin(&l);
		bulk.no_more = copied;
		total = 7;
		while (!l.flow.blocked) {
			send(l.source, data, 65536, MSG_NOSIGNAL);
			if (aj_bulk_waits(&bulk))
				aj_bulk_turn(&bulk);
			else
				aj_flow_pump(&l.flow);
		}
		cr_expect(l.flow.buffer_bytes || l.flow.piped);
		cr_expect_gt(total, l.flow.moved + 7);
		end(&l);
		cr_expect_eq(total, l.flow.moved + 7);
	}
	bulk.no_more = false;
}

static bool by_line(struct aj_flow *flow, const uint8_t *bytes, size_t count, size_t *ret_pass);

/* Pipes in the place of the sockets: a socket's buffers may hold less than a chunk. */
static void fill_whole_chunk(const int source[2], const int sink[2])
{
	while (read(sink[0], got, sizeof got) > 0)
		;
	while (read(source[0], got, sizeof got) > 0)
		;
	cr_assert_eq(write(source[1], data, 1 << 20), 1 << 20);
}

static size_t chunk_of(struct line *l, const int source[2], const int sink[2])
{
	uint64_t before = l->flow.moved;
	fill_whole_chunk(source, sink);
	aj_bulk_turn(&bulk);
	return (size_t)(l->flow.moved - before);
}

Test(flow, chunks_are_short_behind_small_amounts_of_others)
{
	struct line l, other;
	int source[2], sink[2], sockets[2];
	begin(&l);
	begin(&other);
	send(l.source, data, AJ_FLOW_READ_BYTES, 0);
	aj_flow_pump(&l.flow);
	cr_assert(l.flow.queued && pipe2(source, O_NONBLOCK) == 0 && pipe2(sink, O_NONBLOCK) == 0);
	cr_assert(fcntl(source[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20 && fcntl(sink[1], F_SETPIPE_SZ, 1 << 20) >= 1 << 20);
	sockets[0] = l.flow.from;
	sockets[1] = l.flow.to;
	l.flow.from = source[0];
	l.flow.to = sink[1];
	cr_expect_eq(chunk_of(&l, source, sink), (size_t)AJ_FLOW_CHUNK_BYTES);
	send(other.source, "x", 1, 0);
	aj_flow_pump(&other.flow);
	for (int i = 0; i < AJ_FLOW_SHORT_TURNS; i++)
		cr_assert_eq(chunk_of(&l, source, sink), (size_t)AJ_FLOW_SHORT_BYTES, "turn %d", i);
	cr_expect_eq(chunk_of(&l, source, sink), (size_t)AJ_FLOW_CHUNK_BYTES);
	/* What a gate reads counts as well: the first bytes of a connection. */
	other.flow.gate = by_line;
	send(other.source, "y\n", 2, 0);
	aj_flow_pump(&other.flow);
	cr_expect_eq(chunk_of(&l, source, sink), (size_t)AJ_FLOW_SHORT_BYTES);
	bulk.short_turns = 0;
	/* Its own small amounts do not, until there have been many. */
	while (read(source[0], got, sizeof got) > 0)
		;
	aj_bulk_turn(&bulk);
	cr_assert_not(l.flow.queued);
	l.flow.from = sockets[0];
	l.flow.to = sockets[1];
	for (int i = 0; i < 20; i++) {
		send(l.source, "x", 1, 0);
		aj_flow_pump(&l.flow);
		drain(&l, 0);
		if (i < 10)
			cr_expect_eq(bulk.short_turns, 0u, "amount %d", i);
	}
	cr_expect_gt(bulk.short_turns, 0u);
	for (int i = 0; i < 2; i++) {
		close(source[i]);
		close(sink[i]);
	}
	end(&l);
	end(&other);
}

/* Lets lines pass, once each is whole; `!` is refused, and after `$` the gate is gone. */
static bool by_line(struct aj_flow *flow, const uint8_t *bytes, size_t count, size_t *ret_pass)
{
	for (size_t i = 0; i < count; i++) {
		if (bytes[i] == '!')
			return false;
		if (bytes[i] == '$')
			flow->gate = NULL;
		if (bytes[i] == '\n')
			*ret_pass = i + 1;
	}
	return true;
}

static const char *pump(struct line *l, const char *text)
{
	static char said[256];
	if (*text)
		send(l->source, text, strlen(text), 0);
	aj_flow_pump(&l->flow);
	size_t n = drain(l, 0);
	memcpy(said, got, n);
	said[n] = '\0';
	return said;
}

Test(flow, a_gate_holds_what_it_has_not_judged)
{
	struct line l;
	begin(&l);
	l.flow.gate = by_line;
	cr_expect_str_eq(pump(&l, "ab"), "");
	cr_expect_str_eq(pump(&l, "c\nde"), "abc\n");
	cr_expect_str_eq(pump(&l, "f\n"), "def\n");
	cr_expect_str_eq(pump(&l, "gh"), "");
	cr_expect_str_eq(pump(&l, "$i"), "gh$i", "without a gate all passes");
	cr_expect_str_eq(pump(&l, "!"), "!");
	cr_expect(!l.flow.refused && l.flow.moved == 13);
	end(&l);
	begin(&l);
	l.flow.gate = by_line;
	cr_expect_str_eq(pump(&l, "ab\ncd!"), "", "nothing of what is refused passes");
	cr_expect(l.flow.refused && !aj_flow_wants_bytes(&l.flow));
	end(&l);
}

Test(flow, until_there_is_a_connection_it_holds_one_message)
{
	struct line l;
	begin(&l);
	int to = l.flow.to;
	l.flow.to = -1;
	l.flow.gate = by_line;
	cr_expect_str_eq(pump(&l, "ab\n"), "");
	cr_expect(l.flow.passed == 3 && !aj_flow_wants_bytes(&l.flow));
	shutdown(l.source, SHUT_WR);
	aj_flow_pump(&l.flow);
	cr_expect_not(l.flow.finished);
	l.flow.to = to;
	cr_expect_str_eq(pump(&l, ""), "ab\n");
	aj_flow_pump(&l.flow);
	cr_expect(l.flow.finished);
	end(&l);
}

Test(flow, a_gate_that_waits_for_ever_is_a_refusal)
{
	struct line l;
	begin(&l);
	l.flow.gate = by_line;
	memset(data, 'a', sizeof data);
	for (int i = 0; i < 20 && !l.flow.refused; i++) {
		send(l.source, data, 4096, 0);
		aj_flow_pump(&l.flow);
	}
	cr_expect(l.flow.refused && !l.flow.moved);
	cr_expect_leq(bulk.buffered_bytes, (size_t)AJ_FLOW_GATED_BYTES);
	end(&l);
}

Test(flow, a_reader_that_is_gone_is_an_error)
{
	struct line l;
	begin(&l);
	close(l.sink);
	send(l.source, "x", 1, 0);
	aj_flow_pump(&l.flow);
	cr_expect_eq(l.flow.error, EPIPE);
	cr_expect(!aj_flow_wants_bytes(&l.flow) && !aj_flow_wants_room(&l.flow));
	l.sink = -1;
	end(&l);
}

Test(flow, a_half_close_waits_for_what_is_held)
{
	struct line l;
	begin(&l);
	size_t sent = 0;
	while (!l.flow.blocked) {
		ssize_t n = send(l.source, data, 65536, MSG_NOSIGNAL);
		sent += n > 0 ? (size_t)n : 0;
		if (aj_bulk_waits(&bulk))
			aj_bulk_turn(&bulk);
		else
			aj_flow_pump(&l.flow);
	}
	shutdown(l.source, SHUT_WR);
	aj_flow_pump(&l.flow);
	cr_expect_not(l.flow.finished);
	size_t had = 0;
	for (int i = 0; i < 1000 && !l.flow.finished; i++) {
		had = drain(&l, had);
		aj_flow_pump(&l.flow);
		while (aj_bulk_waits(&bulk))
			aj_bulk_turn(&bulk);
	}
	cr_expect_eq(drain(&l, had), sent);
	cr_expect(l.flow.finished);
	end(&l);
}
