/* The main loop of a zygote: waits for orders, and makes one jail for each. */
#pragma once
#include <stddef.h>

#include "sandbox/birth_protocol.h"

/* `trial` does what a newborn will do before its first snippet; it runs in a copy that is discarded. Serves orders from fd 3
 * until the supervisor closes it, and then ends the process. Returns only in a newborn jail, whose walls stand but for the
 * filter, with the order that it was born for. `plan` is the packed one. */
const struct aj_birth *aj_zygote_serve(const char *plan, size_t plan_bytes, void (*trial)(const struct aj_birth *));
/* Check and set up what a zygote requires; NULL, or the missing requirement. */
const char *aj_zygote_prepare(void);
