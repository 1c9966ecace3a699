/* Reads the variables of socket activation and notifies the service manager, as sd_listen_fds(3) and sd_notify(3) define them.
 * It links no library, ignores variables that are meant for another process, and never waits. */
#include "service/sockets/sd_notify.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/fd.h"
#include "base/text.h"

bool aj_listen_fds_parse(const char *listen_pid, const char *listen_fds, const char *names, int64_t pid,
                         struct aj_listen_fds *ret)
{
	uint64_t number, count;
	*ret = (struct aj_listen_fds){ 0 };
	if (!listen_pid && !listen_fds)
		return true;
	if (!listen_pid || !listen_fds || !aj_parse_count(listen_pid, &number) || !aj_parse_count(listen_fds, &count))
		return false;
	if ((int64_t)number != pid)
		return true; /* meant for our parent, whose environment we inherited */
	if (count > AJ_LISTEN_MAX)
		return false;
	ret->count = count;
	for (size_t i = 0; i < count; i++) {
		ret->items[i].fd = AJ_LISTEN_FIRST + (int)i;
		size_t bytes = names ? strcspn(names, ":") : 0;
		if (bytes >= sizeof ret->items[i].name)
			return false;
		memcpy(ret->items[i].name, names ? names : "", bytes);
		if (names)
			names += bytes + (names[bytes] == ':');
	}
	return true;
}

int64_t aj_watchdog_us(const char *watchdog_usec, const char *watchdog_pid, int64_t pid)
{
	uint64_t us, number;
	if (!watchdog_usec || !aj_parse_count(watchdog_usec, &us))
		return 0;
	if (watchdog_pid && (!aj_parse_count(watchdog_pid, &number) || (int64_t)number != pid))
		return 0;
	return (int64_t)(us / 2);
}

int aj_sd_notify(const char *path, const char *state)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	if (!path)
		return 0;
	size_t bytes = strlen(path);
	if ((path[0] != '/' && path[0] != '@') || bytes < 2 || bytes >= sizeof to.sun_path) {
		errno = EINVAL;
		return -1;
	}
	memcpy(to.sun_path, path, bytes);
	if (path[0] == '@')
		to.sun_path[0] = '\0';
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t length = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes);
	if (fd < 0)
		return -1;
	return sendto(fd, state, strlen(state), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&to, length) < 0 ? -1 : 0;
}
