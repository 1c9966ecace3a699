/* The supervisor's side of a jail's connects: passes each to the connector, and counts the refused ones. */
#pragma once
#include "sandbox/launch.h"
#include "sandbox/mediate/connector.h"
#include "sandbox/mediate/violations.h"

struct aj_mediator {
	struct aj_connector connector; /* started with the first connect: most runs make none */
	struct aj_named_sockets named;
	bool stopped;
};

/* Before the jail is launched, as the jail could rename files later. -1 with err. */
int aj_mediator_open(struct aj_mediator *m, const struct aj_plan *plan, struct aj_error *err);
/* Handle a call that may be made on the caller's behalf; false: it is another call. */
bool aj_mediator_call(struct aj_mediator *m, const struct aj_built *built, const struct aj_process *process, int listener_fd,
                      const struct aj_notification *call);
/* Refuse the calls that the connector returned. false: the connector is gone; close the listener. */
bool aj_mediator_refused(struct aj_mediator *m, struct aj_violations *v, const struct aj_built *built, int listener_fd);
/* Make no more connects. Does not block. */
void aj_mediator_stop(struct aj_mediator *m);
/* Once the jail is gone. */
void aj_mediator_close(struct aj_mediator *m);
