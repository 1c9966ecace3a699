/* Receives notifications from a filter's listener, and refuses the calls, except ordered steps of a branch, and locks.
 * It identifies the calls that it continues by number and register arguments; it never reads the caller's memory. */
#include "policy/seccomp/notify.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/branch_flags.h"
#include "base/fd.h"
#include "base/pidfd.h"

bool aj_notify_listener(int fd)
{
	char target[40];
	return aj_fd_path(fd, target, sizeof target) && strcmp(target, "anon_inode:seccomp notify") == 0;
}

bool aj_notify_may_take(int pidfd)
{
	/* The kernel checks permission first: EBADF means that only the descriptor is missing. */
	int fd = aj_pidfd_copy_fd(pidfd, 0);
	bool may = fd >= 0 || errno == EBADF;
	aj_close(&fd);
	return may;
}

int aj_notify_take_listener(int pidfd, int number)
{
	cleanup_fd int fd = number < 0 ? -1 : aj_pidfd_copy_fd(pidfd, number);
	return fd >= 0 && aj_notify_listener(fd) ? aj_steal(&fd) : -1;
}

int aj_notify_take(int listener_fd, struct aj_notification *ret)
{
	/* The kernel requires a zeroed struct. */
	struct seccomp_notif call;
	struct pollfd p = { .fd = listener_fd, .events = POLLIN };
	memset(&call, 0, sizeof call);
	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (!(p.revents & POLLIN))
		return -1;
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return errno == ENOENT || errno == EINTR || errno == EAGAIN ? 0 : -1; /* ENOENT: the caller has died */
	*ret = (struct aj_notification){ .id = call.id, .tid = (pid_t)call.pid, .nr = call.data.nr };
	for (int i = 0; i < 6; i++)
		ret->args[i] = call.data.args[i];
	return 1;
}

int aj_notify_read(const struct aj_notification *call, int index, void *out, size_t bytes)
{
	struct iovec here = { out, bytes }, there = { (void *)(uintptr_t)call->args[index], bytes };
	return syscall(SYS_process_vm_readv, call->tid, &here, 1UL, &there, 1UL, 0UL) == (long)bytes ? 0 : -1;
}

bool aj_notify_waits(int listener_fd, uint64_t id)
{
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

bool aj_notify_is(const struct aj_notification *call, enum aj_pass which)
{
	switch (which) {
	case AJ_PASS_COPY:
		/* No stack argument: the child returns on a copy of the caller's own stack. */
		return call->nr == SYS_clone && call->args[0] == AJ_BRANCH_FLAGS && call->args[1] == 0;
	case AJ_PASS_DROP:
		return call->nr == SYS_capset;
	case AJ_PASS_FOLDER:
		return call->nr == SYS_fchdir && call->args[0] == 0;
	}
	return false;
}

static int notify_ioctl(int listener_fd, unsigned long request, void *what)
{
	int r;
	do
		r = ioctl(listener_fd, request, what);
	while (r < 0 && errno == EINTR);
	return r < 0 ? -1 : 0;
}

bool aj_notify_is_lock(const struct aj_notification *call)
{
	int command = (int)call->args[1];
	return call->nr == SYS_flock || (call->nr == SYS_fcntl && (command == F_SETLK || command == F_SETLKW ||
	                                                           command == F_OFD_SETLK || command == F_OFD_SETLKW));
}

static int continue_call(int listener_fd, const struct aj_notification *call)
{
	struct seccomp_notif_resp pass = { .id = call->id, .flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE };
	return notify_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &pass);
}

int aj_notify_pass_lock(int listener_fd, const struct aj_notification *call)
{
	return aj_notify_is_lock(call) ? continue_call(listener_fd, call) : -1;
}

bool aj_notify_is_tracer_clone(const struct aj_notification *call)
{
	return call->nr == SYS_clone && call->args[0] == AJ_TRACER_FLAGS;
}

int aj_notify_pass_tracer_clone(int listener_fd, const struct aj_notification *call)
{
	return aj_notify_is_tracer_clone(call) ? continue_call(listener_fd, call) : -1;
}

int aj_notify_pass(int listener_fd, const struct aj_notification *call, enum aj_pass which)
{
	if (!aj_notify_is(call, which)) {
		errno = EPERM;
		return -1;
	}
	return continue_call(listener_fd, call);
}

int aj_notify_place(int listener_fd, uint64_t id, int fd, int number, bool keep_on_exec)
{
	struct seccomp_notif_addfd place = { .id = id,
		                             .flags = SECCOMP_ADDFD_FLAG_SETFD,
		                             .srcfd = (uint32_t)fd,
		                             .newfd = (uint32_t)number,
		                             .newfd_flags = keep_on_exec ? 0 : O_CLOEXEC };
	return notify_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ADDFD, &place);
}

int aj_notify_done(int listener_fd, uint64_t id)
{
	struct seccomp_notif_resp done = { .id = id };
	return notify_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &done);
}

int aj_notify_refuse(int listener_fd, uint64_t id, int errnum)
{
	struct seccomp_notif_resp refusal = { .id = id, .error = errnum > 0 ? -errnum : -EPERM };
	/* ENOENT: the caller is gone, and its call with it */
	return notify_ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &refusal) < 0 && errno != ENOENT ? -1 : 0;
}
