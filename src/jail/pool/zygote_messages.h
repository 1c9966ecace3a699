/* The messages to and from a zygote. For zygote.c alone. */
#pragma once
#include "jail/pool/zygote.h"

/* Send as much of the plan, policy and filter, which the runner needs to get ready, as the socket takes. 0, or -1 with err set. */
int aj_zygote_send_plan(struct aj_zygote *zygote, struct aj_error *err);
/* Is a part of them not sent yet? */
bool aj_zygote_is_writing(const struct aj_zygote *zygote);
/* The next event; called again until it returns AJ_ZYGOTE_NOTHING. */
enum aj_zygote_found aj_zygote_read(struct aj_zygote *zygote, struct aj_process *ret_process, struct aj_error *ret_err);
/* Set zygote->err: `cause`, the module that it imports, by its own word, and the limit that it reached, by the kernel's. Returns
 * AJ_ZYGOTE_DEAD. */
enum aj_zygote_found aj_zygote_die(struct aj_zygote *zygote, int errnum, const char *cause);
