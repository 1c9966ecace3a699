/* The relay's loop. For relay_process.c alone. */
#pragma once
#include "network/egress/relay.h"

/* NULL with an error. It reads from the sockets only in aj_relay_run(). */
struct aj_relay *aj_relay_new(struct aj_loop *loop, const struct aj_relay_of *of, const struct aj_rules *rules,
                              const struct aj_proxy *proxy, const struct aj_egress_sockets *sockets, int supervisor,
                              struct aj_error *err);
/* Until the supervisor ends it. */
void aj_relay_run(struct aj_relay *relay);
