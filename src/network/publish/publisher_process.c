/* The publisher's set-up before it serves: the jail's namespaces and ids, and its walls.
 * It reads no byte, and does not start if a wall that this kernel has cannot be set up. */
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/ids.h"
#include "base/loop/loop.h"
#include "base/namespaces.h"
#include "network/publish/publish.h"
#include "policy/seccomp/compile.h"
#include "sandbox/caps.h"
#include "sandbox/landlock.h"

/* From here on every socket that this process makes is the jail's. Root's groups cannot be dropped inside the user namespace. */
static int join_jail(const struct aj_publisher_of *of, struct aj_error *err)
{
	const struct aj_plan *plan = of->plan;
	if ((plan->host_uid != geteuid() && aj_groups_clear() < 0) || aj_namespaces_join(of->user_ns, CLONE_NEWUSER) < 0 ||
	    aj_namespaces_join(of->net_ns, CLONE_NEWNET) < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "publish", errno, "enter the jail's network");
	if (aj_ids_take(plan->uid, plan->gid) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "publish", errno, "take the jail's ids");
	return 0;
}

static int put_up_walls(const struct aj_plan *plan, const uint16_t *ports, pid_t parent, struct aj_error *err)
{
	if (aj_helper_limits() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "publish", errno, "set the publisher's limits");
	if (aj_helper_tie(parent, err) < 0 || aj_caps_empty(err) < 0 ||
	    aj_landlock_relay(plan->landlock_abi, NULL, 0, ports, plan->publish.count, err) < 0)
		return -1;
	return aj_filter_install(aj_filter_relay(), err);
}

void aj_publisher_process(void *arg, int socket, pid_t parent)
{
	struct aj_publisher_of *of = arg;
	const struct aj_plan *plan = of->plan;
	struct aj_error err = { 0 };
	uint16_t ports[AJ_PUBLISHED_MAX];
	int *own[AJ_PUBLISHED_MAX + 3] = { &socket, &of->user_ns, &of->net_ns };
	struct aj_publisher *publisher = NULL;
	for (size_t i = 0; i < plan->publish.count; i++) {
		own[3 + i] = &of->listeners[i];
		ports[i] = plan->publish.items[i].rule.guest_port;
	}
	struct aj_loop *loop = NULL;
	if (aj_helper_detach() < 0 || aj_helper_keep(own, 3 + plan->publish.count) < 0 || !(loop = aj_loop_new()))
		aj_fail(&err, AJ_EXIT_SETUP, "publish", errno, "start the loop");
	else if (join_jail(of, &err) == 0) {
		aj_close(&of->user_ns);
		aj_close(&of->net_ns);
		if (put_up_walls(plan, ports, parent, &err) == 0 && !(publisher = aj_publisher_new(loop, of, ports, socket)))
			aj_fail(&err, AJ_EXIT_SETUP, "publish", errno, "prepare the publisher");
	}
	aj_helper_ready(socket, &err);
	aj_publisher_run(publisher);
	_exit(0);
}
