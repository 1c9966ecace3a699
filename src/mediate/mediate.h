/* The supervisor's side of a jail's connects: hands each to the connector, and counts those that come back refused. */
#pragma once
#include "mediate/connector.h"
#include "mediate/violations.h"
#include "sandbox/launch.h"

struct aj_mediator {
	struct aj_connector connector; /* started by the first connect: most runs make none */
	struct aj_named_sockets named;
	bool stopped;
};

/* Before the jail is launched: what it could rename is found by then. -1 with err. */
int aj_mediator_open(struct aj_mediator *m, const struct aj_plan *plan, struct aj_error *err);
/* Is this call one that may be made in its caller's place? Then it was handed on, or answered. */
bool aj_mediator_call(struct aj_mediator *m, const struct aj_plan *plan, const struct aj_jail *jail, int listener_fd,
                      const struct aj_notification *call);
/* What came back. false: nobody is there to make connects any more, and the listener is to be closed. */
bool aj_mediator_refused(struct aj_mediator *m, struct aj_violations *v, const struct aj_plan *plan, int listener_fd);
/* No connect is made from now on. Does not wait. */
void aj_mediator_stop(struct aj_mediator *m);
/* When the jail is gone. */
void aj_mediator_close(struct aj_mediator *m);
