/* The walls of the relay, put up by itself: no descriptors but its own, no ids of root's, no capabilities, few files, few system calls.
 * It reads no byte of the jail's or the network's, and goes on with no wall missing that this kernel has. */
#include "egress/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/loop.h"
#include "egress/relay.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"
#include "seccomp/compile.h"

enum {
	NOBODY = 65534,    /* root's relay gives root's ids up; another user's keeps the one it has */
	FDS_MAX = 1 << 16, /* more serve no jail */
	STACK_BYTES = 1 << 20,
	NAME_SERVER_PORT = 53,
	LANDLOCK_VERSION = 1, /* LANDLOCK_CREATE_RULESET_VERSION */
};

/* A lasting process must not keep the supervisor's descriptors. Numbers 0 to 2 lead nowhere: what libc says of a broken heap must not go
 * into a socket. */
static int keep_own_fds(struct aj_egress_sockets *s, int *socket)
{
	int *own[] = { socket, &s->dns_udp[0], &s->dns_udp[1], &s->dns_tcp[0], &s->dns_tcp[1], &s->listener[0], &s->listener[1] };
	enum { OWN = sizeof own / sizeof *own };
	int keep[OWN];
	for (int i = 0; i < OWN; i++) {
		if (*own[i] >= 0 && aj_fd_move_high(own[i]) < 0)
			return -1;
		keep[i] = *own[i];
	}
	if (aj_fd_close_others(0, keep, OWN) < 0)
		return -1;
	for (int i = 0; i < 3; i++)
		if (open("/dev/null", O_RDWR | O_CLOEXEC) != i)
			return -1;
	return 0;
}

/* LOCALDOMAIN, RES_OPTIONS and HOSTALIASES would change how c-ares resolves; other variables may be secrets of the supervisor's, which are
 * wiped where the kernel put them: our memory is a copy of its memory. */
static void forget_environment(void)
{
	enum { ENV_START = 50, ENV_END = 51, AFTER_NAME = 2 }; /* fields of proc_pid_stat(5) */
	char text[2048];
	uintptr_t ends[2] = { 0 };
	ssize_t n = aj_read_text("/proc/self/stat", text, sizeof text);
	char *at = n > 0 ? strrchr(text, ')') : NULL;
	for (int field = AFTER_NAME; at && field <= ENV_END; field++, at = strchr(at + 1, ' '))
		if (field >= ENV_START)
			ends[field - ENV_START] = strtoul(at + 1, NULL, 10);
	clearenv();
	if (ends[0] && ends[0] < ends[1])
		memset((void *)ends[0], 0, ends[1] - ends[0]);
}

/* Where only one id is mapped (a user namespace), there is no other to take. */
static int give_up_root(void)
{
	if (geteuid() != 0)
		return 0;
	if (syscall(SYS_setgroups, 0, NULL) < 0 && errno != EPERM)
		return -1;
	if (setresgid(NOBODY, NOBODY, NOBODY) < 0 && errno != EINVAL)
		return -1;
	return setresuid(NOBODY, NOBODY, NOBODY) < 0 && errno != EINVAL ? -1 : 0;
}

static int set_limit(int resource, rlim_t most)
{
	struct rlimit limit;
	if (getrlimit(resource, &limit) < 0)
		return -1;
	if (limit.rlim_max > most)
		limit.rlim_max = most;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit);
}

static int set_limits(void)
{
	return set_limit(RLIMIT_NOFILE, FDS_MAX) < 0 || set_limit(RLIMIT_CORE, 0) < 0 || set_limit(RLIMIT_FSIZE, 0) < 0 ||
	               set_limit(RLIMIT_STACK, STACK_BYTES) < 0
	         ? -1
	         : 0;
}

/* The folder of a file that programs replace by renaming a new one to its name: the right must outlast that. Links are followed; a link
 * that leads elsewhere than to /run gets a right for the file alone. */
static char *readable(const char *path, char room[PATH_MAX])
{
	if (!realpath(path, room))
		return NULL;
	if (strncmp(room, "/run/", 5) == 0)
		*strrchr(room, '/') = '\0';
	return strcmp(room, "/run") == 0 ? NULL : room;
}

static int restrict_files_and_ports(const struct aj_rules *rules, uint16_t proxy_port, struct aj_error *err)
{
	static char resolv[PATH_MAX], hosts[PATH_MAX];
	const char *folders[3] = { "/etc" }; /* root's relay is nobody by now */
	size_t folder_count = 1;
	for (int i = 0; i < 2; i++) {
		const char *folder = i ? readable("/etc/hosts", hosts) : readable("/etc/resolv.conf", resolv);
		if (folder)
			folders[folder_count++] = folder;
	}
	uint16_t *ports = calloc(rules->count + 2, sizeof *ports);
	if (!ports)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", ENOMEM, "list the ports");
	size_t port_count = 0;
	ports[port_count++] = NAME_SERVER_PORT;
	if (proxy_port)
		ports[port_count++] = proxy_port;
	for (size_t i = 0; i < rules->count && !proxy_port; i++)
		ports[port_count++] = rules->items[i].port;
	long abi = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_VERSION);
	int r = aj_landlock_relay(abi > 0 ? (int)abi : 0, folders, folder_count, ports, port_count, err);
	free(ports);
	return r;
}

static int put_up_walls(const struct aj_rules *rules, uint16_t proxy_port, pid_t parent, struct aj_error *err)
{
	if (set_limits() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "set the relay's limits");
	if (give_up_root() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "give up root's ids");
	/* After the last change of ids, which would reset it: our memory is a copy of the supervisor's. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "give up privileges");
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() != parent)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "tie the relay to the supervisor");
	if (aj_caps_empty(err) < 0 || restrict_files_and_ports(rules, proxy_port, err) < 0)
		return -1;
	return aj_filter_install(aj_filter_relay(), err);
}

_Noreturn void aj_relay_process(const struct aj_policy *policy, const struct aj_egress_sockets *sockets, int socket, pid_t parent)
{
	struct aj_error err = { 0 };
	struct aj_rules rules;
	struct aj_proxy proxy;
	struct aj_relay *relay = NULL;
	if (chdir("/") < 0) /* no folder is kept busy */
		_exit(1);
	setsid(); /* what a terminal sends to its foreground is not for the relay */
	forget_environment();
	struct aj_loop *loop = NULL;
	struct aj_egress_sockets own = *sockets;
	if (keep_own_fds(&own, &socket) < 0 || !(loop = aj_loop_new()))
		aj_fail(&err, AJ_EXIT_SETUP, "relay", errno, "start the loop");
	else if (aj_rules_parse(&rules, policy) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "relay", ENOMEM, "read the list of hosts");
	else if (aj_proxy_parse(&proxy, policy) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "relay", 0, "the site's upstream proxy is not http://HOST:PORT: %s", policy->upstream_proxy);
	else if (put_up_walls(&rules, proxy.port, parent, &err) == 0)
		relay = aj_relay_new(loop, policy, &rules, &own, socket, &err);
	if (send(socket, &err, sizeof err, MSG_NOSIGNAL) != (ssize_t)sizeof err || !relay)
		_exit(1);
	aj_relay_run(relay);
	_exit(0);
}
