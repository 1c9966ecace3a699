/* What a supervisor and a zygote say to each other, over the zygote's control socket: one order, one answer, each with fds.
 * Both ends are ours: a zygote runs no agent's code, and these bytes never come from a jail that does. */
#pragma once
#include <stddef.h>
#include <stdint.h>

enum { AJ_BIRTH_ENTROPY = 64 };

/* The descriptors that come with an order, in this sequence; the last one only when `has_cgroup`. */
enum aj_birth_fd { AJ_BIRTH_REPORT, AJ_BIRTH_CONTROL, AJ_BIRTH_OUT, AJ_BIRTH_ERR, AJ_BIRTH_PROC, AJ_BIRTH_CGROUP, AJ_BIRTH_FDS };

struct aj_birth {
	uint32_t number;                         /* counts the orders of this zygote */
	uint32_t has_cgroup;                     /* the guest is born into the last fd */
	unsigned char entropy[AJ_BIRTH_ENTROPY]; /* for this jail alone */
};

/* The answer; with it the pidfd of the jail's init, a child of the supervisor. */
struct aj_born {
	int32_t pid;    /* of that init, as the supervisor sees it; 0: there is none */
	int32_t errnum; /* 0, or why there is no jail, though there may be an init, to be waited for */
};

/* What init calls itself in /proc. */
enum { AJ_BIRTH_NAME = 16 };
#define AJ_BIRTH_NAMED "init-"
void aj_birth_name(char ret[AJ_BIRTH_NAME], uint32_t number);

/* One message with up to AJ_BIRTH_FDS descriptors. 0, or -1 with errno. */
int aj_birth_send(int socket, const void *data, size_t bytes, const int *fds, size_t count);
/* Waits for all bytes of one (flags: MSG_DONTWAIT does not). Fds are close-on-exec; absent ones -1. 1, 0 at the end of the
 * stream, -1 with errno: then none is left open. */
int aj_birth_recv(int socket, void *data, size_t bytes, int *fds, size_t room, int flags);
