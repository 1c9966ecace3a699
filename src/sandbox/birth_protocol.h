/* The messages between a supervisor and a zygote, over the zygote's control socket: one order, one answer.
 * A zygote has imported foreign packages: its answers are checked, and an order contains no secret of another jail. */
#pragma once
#include <stdint.h>

enum { AJ_BIRTH_ENTROPY = 64, AJ_BIRTH_LEAF = 64, AJ_BIRTHS_MAX = 8 };

/* Descriptors that a zygote holds from its first instruction on: /proc, and the folder of its jails' leaves. */
enum { AJ_BIRTH_PROC = 4, AJ_BIRTH_CGROUP = 5 };

/* Neither order nor answer carries a descriptor: the kernel counts descriptors in flight for all processes of a user together, so
 * one jail could block the births of all others. */
struct aj_birth {
	uint32_t number;                         /* sequence number of this zygote's orders */
	char leaf[AJ_BIRTH_LEAF];                /* the guest is born into this leaf; "": into the zygote's */
	unsigned char entropy[AJ_BIRTH_ENTROPY]; /* unique to this jail */
};

/* The answer. Every number in it is a claim: see jail/pool/newborn.h. */
struct aj_birth_answer {
	int32_t errnum; /* 0, or why there is no jail; an init to wait for may exist anyway */
	int32_t init;   /* number of a pidfd in the zygote, for the jail's init, a child of the supervisor; -1: no init */
	int32_t report, control, out, err; /* descriptor numbers in that init: the supervisor's ends of the jail's channels */
};
