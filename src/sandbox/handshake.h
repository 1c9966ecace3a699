/* The typed messages between the supervisor and the jail's init, over one SOCK_SEQPACKET pair.
 * A closed socket is never consent: a reader gets the message it expects or fails. */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/error.h"
#include "base/message.h"

enum aj_msg_kind {
	AJ_MSG_MAPS_WRITTEN = 0x616a0001, /* supervisor to init */
	AJ_MSG_FAILED,                    /* init or guest to supervisor: a step failed, nothing ran */
	AJ_MSG_NOTE,                      /* init to supervisor: an optional row of the step could not be applied */
	AJ_MSG_LISTENER,                  /* guest to supervisor: the descriptor number of its filter's listener, in the guest */
	AJ_MSG_TAKEN, /* supervisor to guest or newborn's init: descriptors were taken, or not. To a zygote: its pid is known */
	AJ_MSG_BOUND, /* init to supervisor: the folder `cause` is bound directly, as the kernel makes no overlay of it */
	AJ_MSG_BOUND_FILE, /* the same for a file */
	AJ_MSG_EXITED,     /* init to supervisor: the guest, or a branch, has ended */
	AJ_MSG_PARTED,     /* a zygote's builder to supervisor: zygote and holder exist, and the builder exits */
	AJ_MSG_TERMINAL,   /* init to supervisor: with the other side of the guest's terminal; init waits for TAKEN */
	AJ_MSG_STOPPED,    /* init to supervisor: the guest was stopped (SIGTTIN, SIGTTOU: and continues in the foreground) */
	AJ_MSG_NETWORK,    /* supervisor to init: with the jail's network namespace */
	AJ_MSG_SOCKETS,    /* init to supervisor: with the sockets of the network by allow-list; init waits for TAKEN */
};

struct aj_msg {
	uint32_t kind;
	int32_t errnum;
	int32_t wait_status; /* EXITED, STOPPED */
	int32_t exit_code;   /* FAILED: enum aj_exit */
	int32_t pid;         /* EXITED: the process, as numbered in the jail; PARTED: the zygote, as numbered by the supervisor */
	int32_t listener;    /* MAPS_WRITTEN: nonzero: the supervisor can take a listener; LISTENER: its number */
	int32_t network;    /* MAPS_WRITTEN: nonzero: NETWORK follows; else init was born in its network namespace, or has none */
	int32_t holder;     /* PARTED: the holder, as numbered by the supervisor */
	int32_t reason;     /* FAILED: enum aj_reason */
	uint64_t pid_ns[2]; /* PARTED: device and inode of their PID namespace */
	char step[24];      /* FAILED, NOTE; EXITED: target of a scratch mount that is full, or empty */
	char cause[400];
	char fix[300]; /* FAILED: advice, or empty */
};

int aj_msg_send(int fd, const struct aj_msg *msg);
/* The error of a FAILED message. The sender is inside the jail, so only reasons that select advice or a copy count. */
void aj_msg_error(const struct aj_msg *msg, struct aj_error *err);
/* 1: a message; 0: the peer has closed; -1: error (EAGAIN: no message is queued; EPROTO: malformed). */
int aj_msg_recv(int fd, struct aj_msg *msg, int flags);
/* The same; *ret_sender is the sender's process id as the kernel attests it (SO_PASSCRED), else 0. `ret_passed` gets the
 * descriptors of the message, also of a malformed one; NULL: they are closed. */
int aj_msg_recv_from(int fd, struct aj_msg *msg, int flags, pid_t *ret_sender, struct aj_passed *ret_passed);
/* Called by init, for SOCKETS and TERMINAL: the supervisor gets these descriptors, which are closed here, and serves them on this
 * call's return. -1: it does not, with errno, 0 for no answer. */
int aj_msg_hand_over_fds(int fd, enum aj_msg_kind kind, int *fds, size_t count);

/* Has the supervisor ended? For a process that has just set its parent-death signal: the supervisor's socket closes before its
 * children get the signal, so one query is enough. A queued message is no end. */
bool aj_msg_peer_gone(int fd);

/* Called by the guest: waits until the supervisor has taken a copy of its listener, or cannot, then closes its own. -1: no answer
 * from the supervisor. */
int aj_msg_hand_over(int fd, int listener);
