/* A socket between two flows: when it is watched, what its events move, how it ends.
 * It decides nothing about the connection: the relay and the publisher check both flows after each event. */
#include "network/helper/socket_end.h"

#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket that has hung up would be reported in every turn: once nothing more is written to it, it is watched only while its
 * bytes are read. */
int aj_socket_end_watch(struct aj_loop *loop, struct aj_io *io, const struct aj_flow *from, const struct aj_flow *to)
{
	uint32_t events = (aj_flow_wants_bytes(from) ? EPOLLIN : 0) | (aj_flow_wants_room(to) ? EPOLLOUT : 0);
	if (events || !to->finished)
		return aj_loop_watch(loop, io, from->from, events);
	aj_loop_unwatch(loop, io);
	return 0;
}

void aj_socket_end_pump(uint32_t events, struct aj_flow *from, struct aj_flow *to)
{
	if ((events & EPOLLOUT) && aj_flow_wants_room(to))
		aj_flow_pump(to);
	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		aj_flow_pump(from);
	if ((events & EPOLLERR) && !from->error) {
		socklen_t bytes = sizeof from->error;
		if (getsockopt(from->from, SOL_SOCKET, SO_ERROR, &from->error, &bytes) < 0 || !from->error)
			from->error = ECONNRESET;
	}
}

static void make_abrupt(int fd)
{
	const struct linger now = { .l_onoff = 1 };
	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
}

void aj_socket_end_reset(int fd)
{
	make_abrupt(fd);
	close(fd);
}

void aj_socket_end_close(struct aj_loop *loop, struct aj_io *io, int fd, bool abruptly)
{
	if (fd >= 0 && abruptly)
		make_abrupt(fd);
	if (fd >= 0 && io->fd == fd) {
		aj_loop_close(loop, io);
		return;
	}
	aj_loop_unwatch(loop, io);
	if (fd >= 0)
		close(fd);
}
