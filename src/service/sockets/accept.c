/* Accepts connections, and pauses where accept4 lacks descriptors or memory: epoll would report the waiting ones endlessly. */
#include "service/sockets/accept.h"

#include <errno.h>
#include <sys/epoll.h>

#include "base/fd.h"

static void pause_accepting(struct aj_acceptor *a)
{
	aj_loop_unwatch(a->loop, &a->io);
	aj_loop_set(a->loop, &a->again, aj_now_us() + AJ_ACCEPT_AGAIN_US);
}

static void on_again(struct aj_timer *timer)
{
	struct aj_acceptor *a = timer->arg;
	if (aj_loop_watch(a->loop, &a->io, a->listener.fd, EPOLLIN) < 0)
		pause_accepting(a);
}

static void on_io(struct aj_io *io, uint32_t events)
{
	struct aj_acceptor *a = io->arg;
	(void)events;
	int fd = aj_listen_accept(&a->listener);
	if (fd >= 0) {
		a->on_connection(a->arg, fd);
	} else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
		int errnum = errno;
		pause_accepting(a);
		if (a->on_failure)
			a->on_failure(a->arg, errnum);
	}
}

int aj_accept_begin(struct aj_acceptor *a, struct aj_loop *loop)
{
	a->loop = loop;
	a->io = (struct aj_io){ .fn = on_io, .arg = a, .fd = -1, .quota = a->quota };
	a->again = (struct aj_timer){ .fn = on_again, .arg = a };
	return aj_loop_watch(loop, &a->io, a->listener.fd, EPOLLIN);
}

void aj_accept_end(struct aj_acceptor *a)
{
	if (a->loop) {
		aj_loop_unwatch(a->loop, &a->io);
		aj_loop_unset(a->loop, &a->again);
	}
	aj_listen_end(&a->listener);
}
