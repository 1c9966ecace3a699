/* One direction of a connection: bytes from one socket to another, checked by a gate if there is one. Small amounts are copied at
 * once; a flow that fills a whole buffer is bulk, and waits in a queue for turns of one chunk each. It closes no socket. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "network/helper/unsent.h"

enum {
	AJ_FLOW_READ_BYTES = 16 << 10,  /* read at once; a flow that fills this is bulk */
	AJ_FLOW_GATED_BYTES = 32 << 10, /* buffered at most for a gate, which refuses longer messages itself */
	/* A turn of a bulk flow: takes a third less processor time per byte than 256 KiB, and no more than 1 MiB. */
	AJ_FLOW_CHUNK_BYTES = 512 << 10,
	AJ_FLOW_SHORT_BYTES = 128 << 10, /* the same for AJ_FLOW_SHORT_TURNS turns after a small amount of another flow */
	AJ_FLOW_SHORT_TURNS = 256,
	AJ_FLOW_PIPES = 16,              /* of all flows: a bulk flow has one for its turn and while its data waits, or copies */
	AJ_FLOW_BUFFERED_MAX = 32 << 20, /* of all flows: then a chunk is as small as any other read */
};

struct aj_flow;

/* Checks the bytes that have not passed yet; `ret_pass` of them may. False: refused, and the flow fails. It may remove itself by
 * setting flow->gate to NULL: then the buffer passes, and all later bytes. */
typedef bool aj_gate(struct aj_flow *flow, const uint8_t *data, size_t bytes, size_t *ret_pass);

struct aj_pipe {
	int ends[2];
	struct aj_pipe *next; /* of the free ones */
};

/* Flows that wait for their turn, and the pipes that they share. */
struct aj_bulk {
	struct aj_flow *first, **last;
	struct aj_pipe pipes[AJ_FLOW_PIPES], *free;
	unsigned made;
	bool no_more;          /* the kernel gives no large pipe */
	unsigned short_turns;  /* that follow */
	size_t buffered_bytes; /* of all flows */
};

struct aj_flow {
	int from, to; /* to: -1 until there is a connection */
	struct aj_bulk *bulk;
	aj_gate *gate;
	void *arg;                            /* of the gate and of `turned` */
	void (*turned)(struct aj_flow *flow); /* after a turn of bulk */
	const struct aj_flow *back; /* the other direction, whose owner closes both sockets once both have finished; NULL: none */
	uint64_t moved;
	uint64_t *total;              /* bytes read by all flows of this direction, less those that were never written */
	struct aj_byte_counts *shown; /* the same figures in shared memory; NULL: not shared */
	uint64_t most; /* that `total` may be; 0: any. A flow that has more for it counts one byte more, and moves none */
	/* Bytes that were read and not written: `passed` of `buffer_bytes`, from `buffer_at` on, may be written. */
	uint8_t *buffer;
	size_t buffer_size, buffer_at, buffer_bytes, passed;
	struct aj_pipe *pipe;
	size_t piped;
	bool ended;          /* the end of `from` was read */
	bool finished;       /* and passed on */
	bool blocked;        /* `to` takes no more now */
	bool queued;         /* in the queue of bulk */
	bool refused;        /* by the gate */
	bool undelayed;      /* `to` has TCP_NODELAY, which only writes behind the first one need */
	int error;           /* of a socket: the flow is broken */
	unsigned small_left; /* reads, until the flow counts as bulk no more */
	struct aj_flow *next;
};

bool aj_bulk_begin(struct aj_bulk *bulk); /* once in a process; false: out of memory */
static inline bool aj_bulk_waits(const struct aj_bulk *bulk)
{
	return bulk->first;
}
/* The first flow's chunk; its `turned` is called. */
void aj_bulk_turn(struct aj_bulk *bulk);

/* Move what can be moved now. Afterwards the flow may be ended, blocked, queued, refused or broken. */
void aj_flow_pump(struct aj_flow *flow);
/* Bytes that were read elsewhere and go first; the flow has no buffer yet. False: no memory. */
bool aj_flow_prepend(struct aj_flow *flow, const uint8_t *data, size_t bytes);
/* Should `from` be watched for bytes, or `to` for room? */
bool aj_flow_wants_bytes(const struct aj_flow *flow);
bool aj_flow_wants_room(const struct aj_flow *flow);
/* Free its buffer and its pipe. */
void aj_flow_end(struct aj_flow *flow);

/* --- network/helper/pipes.c --- */

struct aj_pipe *aj_pipe_take(struct aj_bulk *bulk); /* empty; NULL: none is left */
void aj_pipe_give(struct aj_bulk *bulk, struct aj_pipe *pipe);
/* Close the pipes, if no flow has one: they count against a limit of the user's. */
void aj_bulk_close_pipes(struct aj_bulk *bulk);
