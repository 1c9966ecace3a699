/* Answers the calls that a jail's filter reports: locks, calls that are made for the jail, and refusals, which are counted.
 * Lets none pass by itself: sandbox/mediate/ decides on each. */
#include "jail/inner.h"
#include "sandbox/mediate/violations.h"

/* From now on every call that the filter reports fails. The connector has a duplicate of the listener: held calls wake only once that is
 * closed, too. */
static void stop_listening(struct aj_run *run)
{
	if (run->mediator) {
		aj_run_unwatch(run, AJ_RUN_CONNECTOR);
		aj_mediator_stop(run->mediator);
	}
	aj_run_close(run, AJ_RUN_LISTENER, &run->listener_fd);
}

static bool mediate_call(void *arg, const struct aj_notification *call)
{
	struct aj_run *run = arg;
	const int pipes[AJ_LOCKABLE_PIPES] = { run->jail.stdout_fd, run->jail.stderr_fd };
	enum aj_lock lock = aj_locks_call(&run->locks, run->built.plan, pipes, run->listener_fd, call);
	if (lock == AJ_LOCK_CHEATED)
		aj_run_cheated(run);
	if (lock != AJ_LOCK_NONE)
		return lock == AJ_LOCK_HANDLED;
	return run->mediator && aj_mediator_call(run->mediator, &run->built, &run->jail, run->listener_fd, call);
}

void aj_run_on_listener(struct aj_run *run)
{
	const struct aj_handler handler = { mediate_call, run };
	/* Calls that Python is refused while it starts are not the code's. */
	struct aj_violations *counted = run->channel.armed || !run->built.plan->snippet ? &run->result.violations : NULL;
	if (!aj_violations_answer(counted, &run->built, run->listener_fd, &handler))
		stop_listening(run);
}

void aj_run_on_connector(struct aj_run *run)
{
	if (!aj_mediator_refused(run->mediator, &run->result.violations, &run->built, run->listener_fd))
		stop_listening(run);
}
