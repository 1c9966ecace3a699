/* The typed messages between the supervisor and the jail's init, over one SOCK_SEQPACKET pair.
 * A closed socket is never consent: a reader gets the message it expects or fails. */
#pragma once
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"

enum aj_msg_kind {
	AJ_MSG_MAPS_WRITTEN = 0x616a0001, /* supervisor to init */
	AJ_MSG_FAILED,                    /* init or guest to supervisor: a step failed, nothing ran */
	AJ_MSG_NOTE,                      /* init to supervisor: an optional row of the step could not be applied */
	AJ_MSG_LISTENER,                  /* guest to supervisor: what its filter refuses is reported on this descriptor of it */
	AJ_MSG_TAKEN,      /* supervisor to guest, or to a newborn's init: go on; the descriptors were taken, or cannot be */
	AJ_MSG_BOUND,      /* init to supervisor: the folder `cause` of the jail is bound, as the kernel makes no overlay of it */
	AJ_MSG_BOUND_FILE, /* the same of a file */
	AJ_MSG_EXITED,     /* init to supervisor: the guest, or a branch, is gone */
	AJ_MSG_PARTED,     /* a zygote's builder to supervisor: zygote and holder are there, and the builder ends */
};

struct aj_msg {
	uint32_t kind;
	int32_t errnum;
	int32_t wait_status; /* EXITED */
	int32_t exit_code;   /* FAILED: enum aj_exit */
	int32_t pid;         /* EXITED: as the jail numbers it; PARTED: the zygote, as the supervisor does */
	int32_t listener;    /* MAPS_WRITTEN: nonzero: one can be taken; LISTENER: its number */
	int32_t holder;      /* PARTED: like the zygote */
	uint64_t space[2];   /* PARTED: device and inode of their PID namespace */
	char step[24];       /* FAILED, NOTE; EXITED: target of a scratch mount that is full, or empty */
	char cause[400];
	char fix[300]; /* FAILED: advice, or empty */
};

int aj_msg_send(int fd, const struct aj_msg *msg);
/* What a FAILED says, as an error. */
void aj_msg_error(const struct aj_msg *msg, struct aj_error *err);
/* 1 a message, 0 the peer is gone, -1 error (EAGAIN when nonblocking and nothing is there, EPROTO for a malformed one). */
int aj_msg_recv(int fd, struct aj_msg *msg, int flags);
/* The same; *ret_sender is who sent it, as the kernel says, on a socket that asks for that; else 0. */
int aj_msg_recv_from(int fd, struct aj_msg *msg, int flags, pid_t *ret_sender);

/* The guest's: a copy of its listener is taken, or cannot be, and then its own is closed. -1: the supervisor does not answer. */
int aj_msg_hand_over(int fd, int listener);

/* The sender of what recvmsg() took; 0: the kernel did not say. Descriptors that came along are closed. */
enum { AJ_MSG_SENDER_BYTES = 32 }; /* CMSG_SPACE(sizeof(struct ucred)) */
struct msghdr;
pid_t aj_msg_sender(struct msghdr *msg);
