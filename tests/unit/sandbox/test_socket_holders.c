/* Tests of mediate/socket_holders: a duplicate of a jail's socket is dropped without waiting for its peer.
 * Whether a jail holds a socket is for tests/reach/sockets.sh. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sandbox/mediate/socket_holders.h"

/* The timeout stands for "for ever": SO_LINGER would wait for an hour. */
Test(socket_holders, the_last_close_of_a_lingering_socket_does_not_wait, .timeout = 60)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct linger hour = { .l_onoff = 1, .l_linger = 3600 };
	socklen_t bytes = sizeof at;
	static char block[1 << 16];
	int listener = socket(AF_INET, SOCK_STREAM, 0), copy = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
	cr_assert(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0);
	cr_assert_eq(getsockname(listener, (struct sockaddr *)&at, &bytes), 0);
	connect(copy, (struct sockaddr *)&at, sizeof at);
	int peer = accept(listener, NULL, NULL);
	cr_assert_geq(peer, 0);
	while (send(copy, block, sizeof block, 0) > 0) /* until neither side takes more */
		;
	fcntl(copy, F_SETFL, 0);
	cr_assert_eq(setsockopt(copy, SOL_SOCKET, SO_LINGER, &hour, sizeof hour), 0);
	aj_holders_drop(&copy);
	cr_expect_eq(copy, -1);
	close(peer);
	close(listener);
}
