/* The supervisor's side of the relay: starts the process, reads its reports, stops it.
 * It reads no byte of the jail's or of the network, and never waits for a relay that runs. */
#include "egress/egress.h"

#include <errno.h>
#include <sys/socket.h>

#include "egress/process.h"

int aj_egress_start(struct aj_helper *e, const struct aj_policy *policy, const struct aj_egress_sockets *sockets, struct aj_error *err)
{
	return aj_helper_start(e, aj_relay_process, &(struct aj_relay_of){ policy, sockets }, "relay",
	                       "start the process that relays the network", err);
}

int aj_egress_read(struct aj_helper *e, struct aj_egress_event *ret)
{
	ssize_t n = e->socket < 0 ? 0 : recv(e->socket, ret, sizeof *ret, MSG_DONTWAIT);
	if (n != (ssize_t)sizeof *ret)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
	/* Its own words, but of a process that foreign bytes came near. */
	ret->name[sizeof ret->name - 1] = ret->address[sizeof ret->address - 1] = ret->why[sizeof ret->why - 1] = '\0';
	return 1;
}

void aj_egress_answer(struct aj_helper *e, const struct aj_egress_answer *answer)
{
	/* The relay reads these before all else: a full socket means that it hangs. */
	if (e->socket >= 0 && send(e->socket, answer, sizeof *answer, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		aj_helper_kill(e);
}

void aj_egress_stop(struct aj_helper *e)
{
	if (e->socket >= 0)
		shutdown(e->socket, SHUT_WR);
}
