/* Adopts the processes that a zygote reports as born. A zygote has imported third-party packages, so its report is a claim: every
 * part of it is verified with the kernel. */
#pragma once
#include "sandbox/birth_protocol.h"
#include "sandbox/launch.h"

enum aj_newborn {
	AJ_NEWBORN_THERE,   /* *jail has its init and channels */
	AJ_NEWBORN_GONE,    /* no jail: the zygote says so, or init was killed. The remains were ended */
	AJ_NEWBORN_INVALID, /* err names the false claim. Only processes of the zygote's were signalled */
};

/* `zygote` is the zygote's own process, with a holder. `process` has a leaf or none, and no descriptor yet. */
enum aj_newborn aj_newborn_take(const struct aj_process *zygote, const struct aj_birth_answer *claim, struct aj_process *process,
                                struct aj_error *err);

/* NULL when the kernel lets us take descriptors of our child processes; else why there can be no births. */
const char *aj_newborn_why_not(void);
