/* Passes a jail's connects to the connector, and refuses those that the connector returns.
 * Reads no address and makes no connect; without a connector the call fails. */
#include "sandbox/mediate/mediate.h"

#include <errno.h>
#include <sys/syscall.h>

#include "policy/seccomp/syscalls.h"

/* Refusals in a row before other events get their turn. */
enum { TURN = 64 };

int aj_mediator_open(struct aj_mediator *m, const struct aj_plan *plan, struct aj_error *err)
{
	*m = (struct aj_mediator){ .connector = { -1, -1 } };
	return aj_named_sockets_open(&m->named, plan, err);
}

bool aj_mediator_call(struct aj_mediator *m, const struct aj_built *built, const struct aj_process *process, int listener_fd,
                      const struct aj_notification *call)
{
	struct aj_error err = { 0 };
	struct aj_caller caller = { .init_pid = process->init_pid, .leaf = process->cgroup, .named = &m->named };
	caller.listener_fd = listener_fd;
	if (call->nr != SYS_connect || !(aj_built_deny(built) & AJ_DENY_CONNECT) || m->stopped)
		return false;
	if (m->connector.socket < 0 && aj_connector_start(&m->connector, built->plan, &caller, call, &err) < 0)
		return false;
	if (aj_connector_give(&m->connector, call) < 0)
		aj_notify_refuse(listener_fd, call->id, errno == EAGAIN ? EAGAIN : EACCES);
	return true;
}

bool aj_mediator_refused(struct aj_mediator *m, struct aj_violations *v, const struct aj_built *built, int listener_fd)
{
	struct aj_notification call;
	int r = -1;
	for (int i = 0; i < TURN && (r = aj_connector_back(&m->connector, &call)) > 0; i++)
		if (listener_fd < 0 || aj_violations_refuse(v, built, listener_fd, &call) < 0)
			return false;
	return r != 0;
}

void aj_mediator_stop(struct aj_mediator *m)
{
	m->stopped = true;
	aj_connector_kill(&m->connector);
}

void aj_mediator_close(struct aj_mediator *m)
{
	aj_connector_end(&m->connector);
	aj_named_sockets_close(&m->named);
}
