/* What a supervisor and a zygote say to each other, over the zygote's control socket: one order, one answer.
 * A zygote has imported packages of others: what it says is checked, and what it is sent is nobody else's. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { AJ_BIRTH_ENTROPY = 64, AJ_BIRTH_LEAF = 64, AJ_BIRTHS_MAX = 8 };

/* What a zygote has open from its first instruction on: /proc, and the folder of the leaves where its jails are born into those. */
enum { AJ_BIRTH_PROC = 4, AJ_BIRTH_CGROUP = 5 };

/* Neither order nor answer carries a descriptor: those under way are counted for all processes of a user together, so that one jail
 * could keep all others from being born. */
struct aj_birth {
	uint32_t number;                         /* counts the orders of this zygote */
	char leaf[AJ_BIRTH_LEAF];                /* the guest is born into it; "": where the zygote is */
	unsigned char entropy[AJ_BIRTH_ENTROPY]; /* for this jail alone */
};

/* The answer. Every number in it is a claim: see pool/newborn.h. */
struct aj_birth_answer {
	int32_t errnum; /* 0, or why there is no jail, though there may be an init, to be waited for */
	int32_t init;   /* a pidfd of the zygote's: the jail's init, a child of the supervisor; -1: there is none */
	int32_t report, control, out, err; /* descriptors of that init: the supervisor's ends of the jail's channels */
};

/* What init calls itself in /proc. */
enum { AJ_BIRTH_NAME = 16 };
#define AJ_BIRTH_NAMED "init-"
void aj_birth_name(char ret[AJ_BIRTH_NAME], uint32_t number);

/* One message, with a descriptor or -1. 0, or -1 with errno. */
int aj_birth_send(int socket, const void *data, size_t bytes, int fd);
/* Waits for all bytes of one (flags: MSG_DONTWAIT does not). *ret_fd is close-on-exec, or -1; where it is NULL none is taken. 1, 0 at the
 * end of the stream, -1 with errno: then none is left open. */
int aj_birth_recv(int socket, void *data, size_t bytes, int *ret_fd, int flags);
