/* The supervisor's side of the relay: starts the process, reads its reports, stops it.
 * It reads no byte of the jail's or of the network, and never waits for a running relay. */
#include "network/egress/egress.h"

#include <errno.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "network/egress/relay.h"
#include "network/egress/relay_process.h"

int aj_egress_start(struct aj_helper *e, const struct aj_policy *policy, const struct aj_egress_sockets *sockets,
                    struct aj_error *err)
{
	struct aj_relay_of of = { .policy = policy, .sockets = sockets };
	size_t most = AJ_EGRESS_CONNECTIONS_MAX;
	if (policy->connections && policy->connections < most)
		most = policy->connections;
	return aj_helper_start_mover(e, aj_relay_process, &of, &of.unsent, most + AJ_RELAY_REPORTS_MAX,
	                             sizeof(struct aj_egress_row), "relay", "start the process that relays the network", err);
}

/* The relay handles the jail's bytes and may be compromised: do not trust its texts to end with NUL. */
static void end_texts(struct aj_egress_event *event)
{
	event->name[sizeof event->name - 1] = '\0';
	event->address[sizeof event->address - 1] = '\0';
	event->why[sizeof event->why - 1] = '\0';
}

int aj_egress_read(struct aj_helper *e, struct aj_egress_event *ret)
{
	ssize_t n = e->socket < 0 ? 0 : recv(e->socket, ret, sizeof *ret, MSG_DONTWAIT);
	if (n != (ssize_t)sizeof *ret)
		return n < 0 && (errno == EAGAIN || errno == EINTR) ? -1 : 0;
	end_texts(ret);
	return 1;
}

void aj_egress_answer(struct aj_helper *e, const struct aj_egress_answer *answer)
{
	/* The relay reads these before all else: a full socket means that it hangs. */
	if (e->socket >= 0 && send(e->socket, answer, sizeof *answer, MSG_DONTWAIT | MSG_NOSIGNAL) < 0)
		aj_helper_kill(e);
}

void aj_egress_stop(const struct aj_helper *e)
{
	aj_helper_stop(e);
}

bool aj_egress_next_unsent(const struct aj_helper *e, bool lives, size_t *at, struct aj_egress_event *ret, bool *ret_open)
{
	struct aj_egress_row found;
	if (!aj_unsent_next(&e->unsent, !lives && !aj_unsent_has_stopped(&e->unsent), at, &found))
		return false;
	*ret = found.event;
	end_texts(ret);
	ret->bytes_out = found.row.out.written;
	ret->bytes_in = found.row.in.written;
	*ret_open = ret->lasted_us == 0;
	if (*ret_open)
		ret->lasted_us = aj_now_us() - ret->opened_us;
	return true;
}
