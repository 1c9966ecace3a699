/* Messages over a Unix socket with ancillary data: the sender's process id, and descriptors.
 * Descriptors that the receiver did not ask for are closed. */
#pragma once
#include <stddef.h>
#include <sys/types.h>

/* Send one whole message, with a descriptor or -1. 0, or -1 with errno; it never raises SIGPIPE. */
int aj_message_send(int socket, const void *data, size_t bytes, int fd);
/* Wait for one whole message (flags: MSG_DONTWAIT does not wait). *ret_fd is close-on-exec, or -1; with ret_fd NULL a descriptor
 * is discarded. 1, 0 at the end of the stream, -1 with errno and no descriptor left open. */
int aj_message_recv(int socket, void *data, size_t bytes, int *ret_fd, int flags);

/* Descriptors that one message brings: close-on-exec, and the receiver's own. */
enum { AJ_PASSED_MAX = 6 };
struct aj_passed {
	int fds[AJ_PASSED_MAX];
	size_t count;
};
/* Send one whole message with up to AJ_PASSED_MAX descriptors. 0, or -1 with errno; it never raises SIGPIPE. */
int aj_message_send_all(int socket, const void *data, size_t bytes, const int *fds, size_t count);

/* As recvmsg(2). *ret_sender is the sender's process id as the kernel attests it (SO_PASSCRED), else 0. `ret_passed` gets the
 * descriptors that came; NULL: they are closed. */
ssize_t aj_recv_from(int socket, void *data, size_t bytes, int flags, pid_t *ret_sender, struct aj_passed *ret_passed);
