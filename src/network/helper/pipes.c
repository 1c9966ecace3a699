/* The few large pipes for bulk data without copies: made when needed, shared by all flows, closed when none is in use. */
#include <fcntl.h>
#include <unistd.h>

#include "network/helper/flow.h"

enum {
	PIPE_BYTES = 1 << 20,
	PIPE_LEAST_BYTES = 256 << 10, /* smaller ones are slower than copies */
};

struct aj_pipe *aj_pipe_take(struct aj_bulk *bulk)
{
	struct aj_pipe *pipe = bulk->free;
	if (pipe) {
		bulk->free = pipe->next;
		return pipe;
	}
	if (bulk->made == AJ_FLOW_PIPES || bulk->no_more)
		return NULL;
	pipe = &bulk->pipes[bulk->made];
	if (pipe2(pipe->ends, O_CLOEXEC | O_NONBLOCK) < 0)
		return NULL;
	if (fcntl(pipe->ends[0], F_SETPIPE_SZ, PIPE_BYTES) < PIPE_LEAST_BYTES) {
		/* The uid has as many pages in pipes as it may have unprivileged. */
		close(pipe->ends[0]);
		close(pipe->ends[1]);
		bulk->no_more = true;
		return NULL;
	}
	bulk->made++;
	return pipe;
}

void aj_pipe_give(struct aj_bulk *bulk, struct aj_pipe *pipe)
{
	pipe->next = bulk->free;
	bulk->free = pipe;
}

void aj_bulk_close_pipes(struct aj_bulk *bulk)
{
	unsigned unused = 0;
	for (struct aj_pipe *pipe = bulk->free; pipe; pipe = pipe->next)
		unused++;
	if (unused < bulk->made)
		return;
	for (unsigned i = 0; i < bulk->made; i++) {
		close(bulk->pipes[i].ends[0]);
		close(bulk->pipes[i].ends[1]);
	}
	bulk->made = 0;
	bulk->free = NULL;
	bulk->no_more = false;
}
