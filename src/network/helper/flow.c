/* Moves the bytes of one direction, without waiting: a small amount by one read and one write, bulk data in chunks through a
 * shared pipe, or by copies where no pipe is free. */
#include "network/helper/flow.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
	COPY_BYTES = 256 << 10,
	SMALL_OF_BULK = 16, /* reads */
};

/* Of the relay alone: as static memory each process of ours would have it, and count it against RLIMIT_DATA. */
static uint8_t *scratch;

bool aj_bulk_begin(struct aj_bulk *bulk)
{
	*bulk = (struct aj_bulk){ 0 };
	bulk->last = &bulk->first;
	scratch = malloc(COPY_BYTES);
	return scratch;
}

static void give_pipe(struct aj_flow *flow)
{
	if (flow->pipe)
		aj_pipe_give(flow->bulk, flow->pipe);
	flow->pipe = NULL;
}

/* --- reading and writing --- */

static bool would_wait(int error)
{
	return error == EAGAIN || error == EINTR;
}

/* Count bytes before they are written: none passes uncounted even if this process is killed. */
static void count_read(struct aj_flow *flow, size_t bytes)
{
	*flow->total += bytes;
	if (flow->shown)
		flow->shown->read += bytes;
}

static void count_written(struct aj_flow *flow, size_t bytes)
{
	flow->moved += bytes;
	if (flow->shown)
		flow->shown->written += bytes;
}

/* How much may be read before the cap. */
static size_t left(const struct aj_flow *flow)
{
	return !flow->most ? SIZE_MAX : *flow->total < flow->most ? flow->most - *flow->total : 0;
}

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Nagle's algorithm holds a small segment back while another one is under way: never the first. */
static void undelay(struct aj_flow *flow)
{
	const int on = 1;
	if (!flow->moved || flow->undelayed)
		return;
	setsockopt(flow->to, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
	flow->undelayed = true;
}

/* Writes; the bytes that were taken. */
static size_t write_some(struct aj_flow *flow, const uint8_t *data, size_t bytes)
{
	undelay(flow);
	ssize_t n = send(flow->to, data, bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
	if (n < 0 && !would_wait(errno))
		flow->error = errno;
	flow->blocked = n < (ssize_t)bytes;
	if (n > 0)
		count_written(flow, (size_t)n);
	return n < 0 ? 0 : (size_t)n;
}

/* Reads; 0: nothing now, or never again. A first byte beyond the cap is counted, and goes nowhere. */
static size_t read_some(struct aj_flow *flow, uint8_t *data, size_t bytes)
{
	size_t most = left(flow);
	ssize_t n = recv(flow->from, data, most ? least(bytes, most) : 1, MSG_DONTWAIT);
	if (n < 0 && !would_wait(errno))
		flow->error = errno;
	flow->ended = n == 0;
	if (n <= 0)
		return 0;
	count_read(flow, (size_t)n);
	return most ? (size_t)n : 0;
}

/* --- bytes that are kept --- */

static uint8_t *new_buffer(struct aj_flow *flow, size_t bytes)
{
	flow->buffer = malloc(bytes);
	if (!flow->buffer)
		flow->error = ENOMEM;
	else
		flow->bulk->buffered_bytes += flow->buffer_size = bytes;
	flow->buffer_at = flow->buffer_bytes = flow->passed = 0;
	return flow->buffer;
}

static void free_buffer(struct aj_flow *flow)
{
	if (flow->buffer)
		flow->bulk->buffered_bytes -= flow->buffer_size;
	free(flow->buffer);
	flow->buffer = NULL;
	flow->buffer_at = flow->buffer_bytes = flow->passed = 0;
}

/* Asks the gate about the bytes that it has not let pass; without a gate all do. */
static void ask_gate(struct aj_flow *flow)
{
	size_t pass = 0, bytes = flow->buffer_bytes - flow->passed;
	if (flow->gate && !flow->gate(flow, flow->buffer + flow->buffer_at + flow->passed, bytes, &pass))
		flow->refused = true;
	else
		flow->passed += flow->gate ? pass : bytes;
}

static size_t read_gated(struct aj_flow *flow)
{
	if (!flow->buffer && !new_buffer(flow, AJ_FLOW_GATED_BYTES))
		return 0;
	if (flow->buffer_at) {
		memmove(flow->buffer, flow->buffer + flow->buffer_at, flow->buffer_bytes);
		flow->buffer_at = 0;
	}
	if (flow->buffer_bytes == AJ_FLOW_GATED_BYTES) { /* a gate that waits for more than it may */
		flow->refused = true;
		return 0;
	}
	size_t n = read_some(flow, flow->buffer + flow->buffer_bytes, AJ_FLOW_GATED_BYTES - flow->buffer_bytes);
	flow->buffer_bytes += n;
	if (n)
		ask_gate(flow);
	else if (!flow->buffer_bytes)
		free_buffer(flow);
	return n;
}

static void write_buffer(struct aj_flow *flow)
{
	size_t n = write_some(flow, flow->buffer + flow->buffer_at, flow->passed);
	flow->buffer_at += n;
	flow->buffer_bytes -= n;
	flow->passed -= n;
	if (!flow->buffer_bytes)
		free_buffer(flow);
}

static bool keep(struct aj_flow *flow, const uint8_t *data, size_t bytes)
{
	if (!new_buffer(flow, bytes))
		return false;
	memcpy(flow->buffer, data, bytes);
	flow->buffer_bytes = flow->passed = bytes;
	return true;
}

bool aj_flow_prepend(struct aj_flow *flow, const uint8_t *data, size_t bytes)
{
	if (!keep(flow, data, bytes))
		return false;
	count_read(flow, bytes);
	return true;
}

/* Reads at most so many bytes, and writes or holds them; their number. */
static size_t copy_some(struct aj_flow *flow, size_t most)
{
	size_t n = read_some(flow, scratch, most), written = n ? write_some(flow, scratch, n) : 0;
	if (written < n && !flow->error)
		keep(flow, scratch + written, n - written);
	return n;
}

/* --- bulk --- */

static void queue(struct aj_flow *flow)
{
	flow->queued = true;
	flow->next = NULL;
	*flow->bulk->last = flow;
	flow->bulk->last = &flow->next;
}

static void unqueue(struct aj_flow *flow)
{
	struct aj_flow **at = &flow->bulk->first;
	while (*at != flow)
		at = &(*at)->next;
	*at = flow->next;
	if (!*at)
		flow->bulk->last = at;
	flow->queued = false;
}

/* A small amount was read: others like it may wait for the next turns. Small amounts of a bulk flow, whose sender is slower than
 * the relay for a while, do not count. */
static void note_small(struct aj_flow *flow)
{
	if (flow->small_left)
		flow->small_left--;
	else
		flow->bulk->short_turns = AJ_FLOW_SHORT_TURNS;
}

static void write_pipe(struct aj_flow *flow)
{
	undelay(flow);
	while (flow->piped && !flow->error) {
		ssize_t n = splice(flow->pipe->ends[0], NULL, flow->to, NULL, flow->piped, SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (n <= 0) {
			if (n < 0 && !would_wait(errno))
				flow->error = errno;
			flow->blocked = true;
			return;
		}
		flow->piped -= (size_t)n;
		count_written(flow, (size_t)n);
	}
}

/* One chunk. Bytes that were read are written or buffered; the flow stays bulk while there are more. */
static void move_chunk(struct aj_flow *flow)
{
	const bool is_short = flow->bulk->short_turns > 0;
	const size_t chunk = is_short ? AJ_FLOW_SHORT_BYTES : AJ_FLOW_CHUNK_BYTES;
	const size_t copy = is_short ? AJ_FLOW_SHORT_BYTES : COPY_BYTES;
	size_t n = 0;
	flow->bulk->short_turns -= is_short;
	flow->small_left = SMALL_OF_BULK;
	if (!flow->pipe)
		flow->pipe = aj_pipe_take(flow->bulk);
	if (flow->pipe && left(flow)) {
		ssize_t in = splice(flow->from, NULL, flow->pipe->ends[1], NULL, least(chunk, left(flow)),
		                    SPLICE_F_NONBLOCK | SPLICE_F_MOVE);
		if (in < 0 && !would_wait(errno))
			flow->error = errno;
		flow->ended = in == 0;
		flow->piped = n = in > 0 ? (size_t)in : 0;
		count_read(flow, n);
		write_pipe(flow);
	} else
		n = copy_some(flow, flow->bulk->buffered_bytes < AJ_FLOW_BUFFERED_MAX ? copy : AJ_FLOW_READ_BYTES);
	if (!flow->piped)
		give_pipe(flow);
	if (n && !flow->error && !flow->blocked)
		queue(flow);
}

void aj_bulk_turn(struct aj_bulk *bulk)
{
	struct aj_flow *flow = bulk->first;
	unqueue(flow);
	if (flow->piped || flow->buffer)
		aj_flow_pump(flow);
	else
		move_chunk(flow);
	if (flow->ended && !flow->piped && !flow->buffer)
		aj_flow_pump(flow);
	flow->turned(flow);
}

/* --- a flow --- */

void aj_flow_pump(struct aj_flow *flow)
{
	flow->blocked = false;
	if (flow->piped)
		write_pipe(flow);
	bool had = flow->to >= 0 && flow->passed && !flow->error;
	if (had)
		write_buffer(flow);
	if (!had && aj_flow_wants_bytes(flow)) { /* else there are seldom more already: the loop tells */
		size_t n = 0;
		if (flow->gate || flow->to < 0)
			n = read_gated(flow);
		else if ((n = copy_some(flow, AJ_FLOW_READ_BYTES)) == AJ_FLOW_READ_BYTES && !flow->blocked && !flow->error)
			queue(flow);
		if (n && n < AJ_FLOW_READ_BYTES)
			note_small(flow);
		if (flow->to >= 0 && flow->passed && !flow->error)
			write_buffer(flow);
	}
	if (flow->ended && !flow->piped && !flow->buffer && flow->to >= 0 && !flow->error && !flow->finished) {
		if (!flow->back || !flow->back->finished) /* else the sockets are closed next, which says the same */
			shutdown(flow->to, SHUT_WR);
		flow->finished = true;
	}
	if (!flow->queued && !flow->piped)
		give_pipe(flow);
}

bool aj_flow_wants_bytes(const struct aj_flow *flow)
{
	return !flow->ended && !flow->blocked && !flow->queued && !flow->refused && !flow->error && !flow->piped && !flow->passed;
}

bool aj_flow_wants_room(const struct aj_flow *flow)
{
	return flow->blocked && !flow->error;
}

void aj_flow_end(struct aj_flow *flow)
{
	*flow->total -= flow->buffer_bytes + flow->piped; /* they were not moved */
	if (flow->shown)
		flow->shown->read = flow->shown->written;
	if (flow->queued)
		unqueue(flow);
	if (flow->piped) { /* what is in the pipe is of this connection: another must not get it */
		ssize_t n;
		while (flow->piped && (n = read(flow->pipe->ends[0], scratch, COPY_BYTES)) > 0)
			flow->piped -= (size_t)n < flow->piped ? (size_t)n : flow->piped;
	}
	give_pipe(flow);
	free_buffer(flow);
}
