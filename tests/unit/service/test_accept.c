/* Tests of serve/accept: connections come one by one, and when there is no descriptor left for one the loop is not kept busy with it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "service/sockets/accept.h"

static struct aj_loop *loop;
static char folder[] = "/tmp/accept-XXXXXX", path[64];
static unsigned connections, failures;

static void on_connection(void *arg, int fd)
{
	(void)arg;
	connections++;
	close(fd);
}

static void on_failure(void *arg, int errnum)
{
	(void)arg;
	cr_expect_eq(errnum, EMFILE);
	failures++;
}

static int come(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	strcpy(address.sun_path, path);
	cr_assert_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

/* With the lowest number that is free as the limit nothing more can be opened. */
static struct rlimit no_descriptors(void)
{
	struct rlimit before, none;
	int lowest = dup(0);
	cr_assert(lowest >= 0 && getrlimit(RLIMIT_NOFILE, &before) == 0);
	close(lowest);
	none = (struct rlimit){ (rlim_t)lowest, before.rlim_max };
	cr_assert_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	return before;
}

Test(accept, pauses_where_there_is_no_descriptor_left)
{
	struct aj_error err = { 0 };
	struct aj_acceptor acceptor = { .listener = AJ_NO_LISTENER, .on_connection = on_connection, .on_failure = on_failure };
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/s", folder);
	loop = aj_loop_new();
	cr_assert_eq(aj_listen_unix(&acceptor.listener, path, &err), 0, "%s", err.cause);
	cr_assert_eq(aj_accept_begin(&acceptor, loop), 0);
	int first = come(), second = come();
	struct rlimit before = no_descriptors();
	aj_loop_turn(loop, INT64_MAX);
	cr_expect(failures == 1 && !connections && acceptor.again.place);
	aj_loop_turn(loop, 0);
	cr_expect_eq(failures, 1u, "it is not told again meanwhile");
	setrlimit(RLIMIT_NOFILE, &before);
	while (connections < 2)
		aj_loop_turn(loop, INT64_MAX);
	cr_expect_eq(failures, 1u);
	aj_accept_end(&acceptor);
	cr_expect_eq(access(path, F_OK), -1);
	cr_expect_eq(aj_loop_next_us(loop), INT64_MAX);
	close(first);
	close(second);
	rmdir(folder);
	aj_loop_free(loop);
}
