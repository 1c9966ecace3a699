/* A UDP socket that is connected to an address of the host's own gets that very address as its source.
 * No packet is sent, and no list of interfaces is kept that could be out of date. */
#include "resolve/own_address.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/sockaddr.h"

bool aj_own_address(int family, const uint8_t *address, bool *ret_unreachable)
{
	union aj_sockaddr to, from = { .any.sa_family = AF_UNSPEC };
	socklen_t bytes = aj_sockaddr_make(&to, family, address, 9), from_bytes = sizeof from;
	cleanup_fd int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	*ret_unreachable = false;
	if (fd < 0 && errno == EAFNOSUPPORT) {
		*ret_unreachable = true;
		return false;
	}
	if (fd < 0)
		return true;
	if (connect(fd, &to.any, bytes) < 0) {
		*ret_unreachable = true;
		return errno != ENETUNREACH && errno != EHOSTUNREACH && errno != EADDRNOTAVAIL && errno != EACCES && errno != EPERM;
	}
	if (getsockname(fd, &from.any, &from_bytes) < 0)
		return true;
	return memcmp(aj_sockaddr_bytes(&to), aj_sockaddr_bytes(&from), family == AF_INET ? 4 : 16) == 0;
}
