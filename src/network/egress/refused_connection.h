/* Refused connections, answered before they are closed (network/inspect/refusal.h). Their number and duration are limited. */
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "network/egress/event.h"

struct aj_relay;
struct aj_refused_connections;

struct aj_refused_connections *aj_refused_connections_new(struct aj_relay *relay); /* NULL: no memory */
/* Takes `fd`, a connection of the jail's that `refusal`, which was reported, is about; `data`: what was read from it so far. */
void aj_refuse_connection(struct aj_refused_connections *all, int fd, const struct aj_egress_event *refusal, const uint8_t *data,
                          size_t bytes);
