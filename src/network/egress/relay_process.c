/* The relay's process sets up its own walls before it reads a byte: its own descriptors, ids other than root's, no capabilities,
 * few files, few system calls. It does not start if a wall that this kernel has cannot be set up. */
#include "network/egress/relay_process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/ids.h"
#include "base/loop/loop.h"
#include "network/egress/relay_loop.h"
#include "network/resolve/own_address.h"
#include "policy/host/host.h"
#include "policy/seccomp/compile.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"

enum {
	NOBODY = 65534, /* root's relay gives root's ids up; another user's keeps the one it has */
	NAME_SERVER_PORT = 53,
};

/* Where only one id is mapped (a user namespace), there is no other to take. */
static int give_up_root(void)
{
	if (geteuid() != 0)
		return 0;
	if (aj_groups_clear() < 0 && errno != EPERM)
		return -1;
	return aj_ids_take_mapped(NOBODY, NOBODY);
}

/* The folder of a file that programs replace by rename: the rule must cover the new file. Links are followed; a link that leads
 * out of /run gets a rule for the file alone. */
static char *readable(const char *path, char room[PATH_MAX])
{
	if (!realpath(path, room))
		return NULL;
	if (strncmp(room, "/run/", 5) == 0)
		*strrchr(room, '/') = '\0';
	return strcmp(room, "/run") == 0 ? NULL : room;
}

/* Where a person may allow more, no list of ports can be made beforehand. */
static int restrict_files_and_ports(const struct aj_rules *rules, uint16_t proxy_port, bool any_port, struct aj_error *err)
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
	for (size_t i = 0; i < rules->count; i++)
		if (!proxy_port || rules->items[i].kind == AJ_HOST_LOOPBACK)
			ports[port_count++] = rules->items[i].port;
	const uint16_t *allowed_ports = any_port && !proxy_port ? NULL : ports;
	int r = aj_landlock_relay(aj_host_landlock_abi(), folders, folder_count, allowed_ports, port_count, err);
	free(ports);
	return r;
}

static int put_up_walls(const struct aj_rules *rules, uint16_t proxy_port, bool any_port, pid_t parent, struct aj_error *err)
{
	if (aj_helper_limits() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "set the relay's limits");
	if (give_up_root() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "relay", errno, "give up root's ids");
	if (aj_helper_tie(parent, err) < 0 || aj_caps_empty(err) < 0 ||
	    restrict_files_and_ports(rules, proxy_port, any_port, err) < 0)
		return -1;
	return aj_filter_install(aj_filter_relay(), err);
}

void aj_relay_process(void *arg, int socket, pid_t parent)
{
	const struct aj_relay_of *of = arg;
	const struct aj_policy *policy = of->policy;
	struct aj_error err = { 0 };
	struct aj_rules rules;
	struct aj_proxy proxy;
	struct aj_relay *relay = NULL;
	struct aj_loop *loop = NULL;
	struct aj_egress_sockets s = *of->sockets;
	int *const own[] = {
		&socket, &s.dns_udp[0], &s.dns_udp[1], &s.dns_tcp[0], &s.dns_tcp[1], &s.listener[0], &s.listener[1],
	};
	if (aj_proxy_parse(&proxy, policy) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "relay", 0, "the site's upstream proxy is not http://HOST:PORT: %s",
		        policy->upstream_proxy);
	else if (proxy.port && aj_credentials_read(policy->upstream_credentials, proxy.authorization, &err) < 0)
		; /* before the environment is cleared: the site's command may need it */
	else if (aj_helper_detach() < 0 || aj_helper_keep(own, sizeof own / sizeof *own) < 0 || !(loop = aj_loop_new()))
		aj_fail(&err, AJ_EXIT_SETUP, "relay", errno, "start the loop");
	else if (aj_rules_parse(&rules, policy) < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "relay", ENOMEM, "read the list of hosts");
	else if (aj_own_address_open() < 0)
		aj_fail(&err, AJ_EXIT_SETUP, "relay", errno, "open a routing socket (rtnetlink)");
	else if (put_up_walls(&rules, proxy.port, policy->ask, parent, &err) == 0)
		relay = aj_relay_new(loop, of, &rules, &proxy, &s, socket, &err);
	aj_helper_ready(socket, &err);
	if (relay)
		aj_relay_run(relay);
	_exit(!relay);
}
