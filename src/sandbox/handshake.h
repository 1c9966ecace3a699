/* The typed messages between the supervisor and the jail's init, over one SOCK_SEQPACKET pair.
 * A closed socket is never consent: a reader gets the message it expects or fails. */
#pragma once
#include <stdint.h>

#include "base/error.h"

enum aj_msg_kind {
	AJ_MSG_MAPS_WRITTEN = 0x616a0001, /* supervisor to init */
	AJ_MSG_FAILED,                    /* init or guest to supervisor: a step failed, nothing ran */
	AJ_MSG_NOTE,                      /* init to supervisor: an optional row of the step could not be applied */
	AJ_MSG_LISTENER,                  /* guest to supervisor, with a descriptor: what its filter refuses is reported there */
	AJ_MSG_EXITED,                    /* init to supervisor: the guest, or a branch, is gone */
};

struct aj_msg {
	uint32_t kind;
	int32_t errnum;
	int32_t wait_status; /* EXITED */
	int32_t exit_code;   /* FAILED: enum aj_exit */
	int32_t pid;         /* EXITED: as the jail numbers it */
	char step[24];       /* FAILED, NOTE; EXITED: target of a scratch mount that is full, or empty */
	char cause[400];
	char fix[300]; /* FAILED: advice, or empty */
};

int aj_msg_send(int fd, const struct aj_msg *msg);
/* 1 a message, 0 the peer is gone, -1 error (EAGAIN when nonblocking and nothing is there, EPROTO for a malformed one). */
int aj_msg_recv(int fd, struct aj_msg *msg, int flags);
/* The same, and *ret_fd is the descriptor that came with it, or -1. Elsewhere such descriptors are dropped. */
int aj_msg_recv_fd(int fd, struct aj_msg *msg, int flags, int *ret_fd);

/* The one descriptor that recvmsg() was given room for, or -1. */
struct msghdr;
int aj_msg_fd(struct msghdr *msg);
