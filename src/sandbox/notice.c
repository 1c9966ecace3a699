/* Takes reported calls from a filter's listener, and refuses them.
 * It never lets one pass: no flag of the kernel's that would is named in this tree, and no answer of success is sent. */
#include "sandbox/notice.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool aj_notice_listener(int fd)
{
	char path[40], target[40] = "";
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	return readlink(path, target, sizeof target - 1) > 0 && strcmp(target, "anon_inode:seccomp notify") == 0;
}

int aj_notice_take(int listener_fd, struct aj_notice *ret)
{
	/* The kernel wants it zeroed. */
	struct seccomp_notif call;
	struct pollfd p = { .fd = listener_fd, .events = POLLIN };
	memset(&call, 0, sizeof call);
	if (poll(&p, 1, 0) <= 0)
		return 0;
	if (!(p.revents & POLLIN))
		return -1;
	if (ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return errno == ENOENT || errno == EINTR || errno == EAGAIN ? 0 : -1; /* ENOENT: the caller died before */
	*ret = (struct aj_notice){ .id = call.id, .tid = (pid_t)call.pid, .nr = call.data.nr };
	for (int i = 0; i < 6; i++)
		ret->args[i] = call.data.args[i];
	return 1;
}

bool aj_notice_waits(int listener_fd, uint64_t id)
{
	return ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

int aj_notice_refuse(int listener_fd, uint64_t id, int errnum)
{
	struct seccomp_notif_resp answer = { .id = id, .error = errnum > 0 ? -errnum : -EPERM };
	int r;
	do
		r = ioctl(listener_fd, SECCOMP_IOCTL_NOTIF_SEND, &answer);
	while (r < 0 && errno == EINTR);
	return r < 0 && errno != ENOENT ? -1 : 0; /* ENOENT: the caller is gone, and with it the call */
}
