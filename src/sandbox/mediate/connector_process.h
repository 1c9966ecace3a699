/* The connector process's own code, for connector.c alone.
 * It makes the calls that the filter reports, and runs no code of the jail's. */
#pragma once
#include "sandbox/mediate/connector.h"

/* Join the namespaces of the caller of `first`, send one byte over `socket`, and make the calls that come over it. Ends with `parent`. */
_Noreturn void aj_connector_run(const struct aj_plan *plan, const struct aj_caller *jail, const struct aj_notification *first,
                                int socket, pid_t parent);
