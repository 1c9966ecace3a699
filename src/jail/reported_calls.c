/* Answers the calls that a jail's filter reports: locks, calls that are made for the jail, and refusals, which are counted.
 * Lets none pass by itself: sandbox/mediate/ decides on each. */
#include "jail/jail_inner.h"
#include "sandbox/mediate/violations.h"

/* From now on every call that the filter reports fails. The connector has a duplicate of the listener: waiting calls wake up only
 * once that is closed, too. */
static void stop_listening(struct aj_jail *jail)
{
	if (jail->calls.mediator) {
		aj_jail_unwatch(jail, AJ_JAIL_CONNECTOR);
		aj_mediator_stop(jail->calls.mediator);
	}
	aj_jail_close(jail, AJ_JAIL_LISTENER, &jail->calls.listener_fd);
}

static bool mediate_call(void *arg, const struct aj_notification *call)
{
	struct aj_jail *jail = arg;
	const int pipes[AJ_LOCKABLE_PIPES] = { jail->process.stdout_fd, jail->process.stderr_fd };
	enum aj_lock lock = aj_locks_call(&jail->calls.locks, jail->built.plan, pipes, jail->calls.listener_fd, call);
	if (lock == AJ_LOCK_NOT_ALLOWED)
		aj_jail_end_for_lock(jail);
	if (lock != AJ_LOCK_NONE)
		return lock == AJ_LOCK_HANDLED;
	return jail->calls.mediator &&
	       aj_mediator_call(jail->calls.mediator, &jail->built, &jail->process, jail->calls.listener_fd, call);
}

void aj_jail_on_listener(struct aj_jail *jail)
{
	const struct aj_handler handler = { mediate_call, jail };
	/* Calls that Python is refused while it starts are not the code's. */
	bool counts = jail->channel.armed || !jail->built.plan->snippet;
	struct aj_violations *counted = counts ? &jail->outcome.result.violations : NULL;
	if (!aj_violations_answer(counted, &jail->built, jail->calls.listener_fd, &handler))
		stop_listening(jail);
}

void aj_jail_on_connector(struct aj_jail *jail)
{
	if (!aj_mediator_refused(jail->calls.mediator, &jail->outcome.result.violations, &jail->built, jail->calls.listener_fd))
		stop_listening(jail);
}
