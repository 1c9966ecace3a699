/* One end of a connection that two flows share: the flow `from` reads its socket, and the flow `to` writes to it. */
#pragma once
#include "base/loop/loop.h"
#include "network/helper/flow.h"

/* Watch for the events that the flows want. -1 with errno. */
int aj_socket_end_watch(struct aj_loop *loop, struct aj_io *io, const struct aj_flow *from, const struct aj_flow *to);
/* Move what an event allows: afterwards both flows have to be looked at. */
void aj_socket_end_pump(uint32_t events, struct aj_flow *from, struct aj_flow *to);
/* Close the socket `fd` (-1: none), watched by `io` or not. Abruptly: the peer gets a reset; needs a socket without duplicate. */
void aj_socket_end_close(struct aj_loop *loop, struct aj_io *io, int fd, bool abruptly);
/* Close a socket that is not watched, so that its peer gets a reset. */
void aj_socket_end_reset(int fd);
