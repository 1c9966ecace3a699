/* Takes in what a zygote says that it has born. A zygote has imported packages of others, so its answer is a claim, and the kernel is
 * asked for every part of it. */
#pragma once
#include "sandbox/birth_protocol.h"
#include "sandbox/launch.h"

enum aj_newborn {
	AJ_NEWBORN_THERE, /* *jail has its init and channels */
	AJ_NEWBORN_GONE, /* there is none: the zygote says so, or init was killed meanwhile. What there was of it has been ended */
	AJ_NEWBORN_LIE,  /* err says what is not so. Nobody was signalled who is not the zygote's */
};

/* `zygote` is the zygote's own, with a holder. `jail` has a leaf or none, and no descriptor yet. */
enum aj_newborn aj_newborn_take(const struct aj_jail *zygote, const struct aj_birth_answer *claim, struct aj_jail *jail,
                                struct aj_error *err);

/* NULL when the kernel lets us take descriptors of processes that we have started; else why births are not to be had. */
const char *aj_newborn_why_not(void);
