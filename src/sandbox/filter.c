/* Installs a ready system call filter, plainly or so that its refusals are reported to who gets the listener.
 * It does not compile one, keeps no listener, and does not need libseccomp: the snippet's runner is linked with this file too. */
#include <errno.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sandbox/seccomp.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV /* Linux 5.19 */
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* Once a millisecond, while too many descriptors of this user are under way. */
enum { SEND_TRIES = 2000 };

static int install(const struct aj_filter *filter, unsigned long flags)
{
	struct sock_fprog program = { .len = filter->count, .filter = (struct sock_filter *)filter->insns };
	if (filter->count == 0) {
		errno = EINVAL;
		return -1;
	}
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

int aj_filter_install(const struct aj_filter *filter, struct aj_error *err)
{
	if (install(filter, SECCOMP_FILTER_FLAG_TSYNC) != 0)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", errno, "install the system call filter");
	return 0;
}

void aj_filter_report(struct sock_filter *insns, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (insns[i].code == (BPF_RET | BPF_K) && (insns[i].k & SECCOMP_RET_ACTION_FULL) == SECCOMP_RET_ERRNO &&
		    (insns[i].k & SECCOMP_RET_DATA) != ENOSYS && (insns[i].k & SECCOMP_RET_DATA) != 0)
			insns[i].k = SECCOMP_RET_USER_NOTIF;
}

enum { PENDING = -1, NONE = -2 };

struct handover {
	int listener; /* PENDING, NONE, or the descriptor; a futex */
	int there;    /* the sender: the kernel clears it at its end, and wakes who waits */
	int socket, sent;
	const void *message;
	size_t bytes;
};

static void send_listener(struct handover *h)
{
	union {
		char data[CMSG_SPACE(sizeof(int))];
		struct cmsghdr align;
	} space = { .data = { 0 } };
	struct iovec iov = { (void *)h->message, h->bytes };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space.data, .msg_controllen = sizeof space.data };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof(int)) };
	memcpy(CMSG_DATA(c), &h->listener, sizeof(int));
	for (int tries = 0; tries < SEND_TRIES; tries++) {
		h->sent = syscall(SYS_sendmsg, h->socket, &msg, MSG_NOSIGNAL) == (long)h->bytes;
		if (h->sent || (errno != ETOOMANYREFS && errno != EINTR))
			break;
		syscall(SYS_nanosleep, &(struct timespec){ .tv_nsec = 1000000 }, NULL);
	}
}

static int send_when_told(void *arg)
{
	struct handover *h = arg;
	while (__atomic_load_n(&h->listener, __ATOMIC_ACQUIRE) == PENDING)
		syscall(SYS_futex, &h->listener, FUTEX_WAIT, PENDING, &(struct timespec){ .tv_nsec = 10000000 }, NULL, 0);
	if (h->listener != NONE)
		send_listener(h);
	return 0;
}

/* Shares memory and descriptors, and will have no filter. The caller ignores SIGCHLD meanwhile: so the kernel reaps the child
 * itself, and it is not there for the guest to find. */
static pid_t start_sender(struct handover *h)
{
	static char stack[64 << 10] __attribute__((aligned(16)));
	return clone(send_when_told, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_CHILD_CLEARTID | SIGCHLD, h, NULL, NULL,
	             &h->there);
}

static int listen_to(const struct aj_filter *filter)
{
	static const unsigned long flags = SECCOMP_FILTER_FLAG_TSYNC | SECCOMP_FILTER_FLAG_TSYNC_ESRCH | SECCOMP_FILTER_FLAG_NEW_LISTENER;
	/* With the last flag a call that was counted is not interrupted by a signal, begun anew and counted again. */
	int fd = install(filter, flags | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	return fd < 0 && errno == EINVAL ? install(filter, flags) : fd;
}

/* For a filter that refuses sendmsg from the moment it stands. */
static void listen_with_sender(const struct aj_filter *filter, struct handover *h)
{
	void (*before)(int) = signal(SIGCHLD, SIG_IGN);
	pid_t sender = before == SIG_ERR ? -1 : start_sender(h);
	int fd = sender > 0 ? listen_to(filter) : -1;
	/* From here on only calls that every list allows and no group takes away: a unit test says so. */
	__atomic_store_n(&h->listener, fd < 0 ? NONE : fd, __ATOMIC_RELEASE);
	syscall(SYS_futex, &h->listener, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (sender > 0 && __atomic_load_n(&h->there, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &h->there, FUTEX_WAIT, 1, NULL, NULL, 0);
	while (sender > 0 && kill(sender, 0) == 0)
		sched_yield();
	signal(SIGCHLD, before);
}

int aj_filter_install_reported(const struct aj_filter *filter, const struct aj_filter *alone, bool may_send, int socket,
                               const void *message, size_t bytes, struct aj_error *err)
{
	struct handover h = { .listener = PENDING, .there = 1, .socket = socket, .message = message, .bytes = bytes };
	static struct sock_filter insns[AJ_FILTER_ROOM]; /* the guest's limits hold by now: nothing may have to be allocated */
	struct aj_filter reported = { insns, filter->count };
	if (filter->count > AJ_FILTER_ROOM)
		return aj_filter_install(alone, err);
	memcpy(insns, filter->insns, filter->count * sizeof *insns);
	aj_filter_report(insns, filter->count);
	if (!may_send)
		listen_with_sender(&reported, &h);
	else if ((h.listener = listen_to(&reported)) >= 0)
		send_listener(&h);
	if (h.listener < 0) /* no such thing here, one listener already in our own ancestry, or no room for a process: unreported */
		return aj_filter_install(alone, err);
	if (close(h.listener) < 0 || !h.sent)
		return aj_fail(err, AJ_EXIT_SETUP, "seccomp", 0, "hand the listener of the filter to the supervisor");
	return 0;
}
