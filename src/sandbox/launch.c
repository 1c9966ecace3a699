/* Starts one jail. Three processes take part:
 *
 *   supervisor   this process, in the host's namespaces: writes the id maps, watches, reports
 *     init       born by clone3() into the new namespaces and into the jail's cgroup; walks its rows of AJ_STEPS, then is PID 1
 *       guest    walks its rows of AJ_STEPS and becomes the command, or the Python runner of a snippet
 *
 * One SOCK_SEQPACKET pair joins supervisor and init (struct aj_msg); a snippet's guest has a stream to the supervisor
 * as fd 3. When init dies the kernel kills every process of the PID namespace; when the supervisor dies init is killed.
 * This file starts and ends jails; it reads none of their messages and knows no policy. */
#include "sandbox/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/message.h"
#include "base/pidfd.h"
#include "policy/seccomp/notify.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/child.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"
#include "sandbox/init.h"
#include "sandbox/jail_steps.h"
#include "sandbox/mounts/owners.h"
#include "sandbox/network.h"

static int write_maps(const struct aj_plan *plan, pid_t pid, struct aj_error *err)
{
	char dir_path[32];
	snprintf(dir_path, sizeof dir_path, "/proc/%d", pid);
	cleanup_fd int dir = open(dir_path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "id_maps", errno, "open %s", dir_path);
	/* The kernel accepts an unprivileged gid_map only after setgroups is denied; with privilege that still removes one way to
	 * change groups. */
	if (aj_write_text(dir, "setgroups", "deny") < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "id_maps", errno, "deny setgroups");
	const char *file = aj_map_ids(plan, dir, "", plan->host_uid, plan->host_gid);
	if (file)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "id_maps", errno,
		                       "write %s: the jail's ids to %u and %u of the host", file, plan->host_uid, plan->host_gid);
	return 0;
}

/* For the process that connects to published ports. Later init is undumpable, and its namespaces are closed to us. */
static int keep_namespaces(struct aj_process *process, struct aj_error *err)
{
	char path[48];
	const struct {
		const char *name;
		int *fd;
	} rows[] = { { "user", &process->user_ns }, { "net", &process->net_ns } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		snprintf(path, sizeof path, "/proc/%d/ns/%s", process->init_pid, rows[i].name);
		if ((*rows[i].fd = open(path, O_RDONLY | O_CLOEXEC)) < 0)
			return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "publish", errno, "open %s", path);
	}
	return 0;
}

static int tell_to_begin(struct aj_process *process, bool network, struct aj_error *err)
{
	struct aj_msg msg = { .kind = AJ_MSG_MAPS_WRITTEN, .listener = process->listens, .network = network };
	aj_close(&process->user_ns);
	aj_close(&process->net_ns);
	if (aj_msg_send(process->report_fd, &msg) == 0)
		return 0;
	return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "id_maps", errno,
	                       "tell init that the id maps are written");
}

int aj_process_go(struct aj_process *process, struct aj_error *err)
{
	return tell_to_begin(process, false, err);
}

/* While init builds the jail. False: init must be born in its network namespace. */
static bool give_network(const struct aj_process *process, int user_ns)
{
	const struct aj_msg msg = { .kind = AJ_MSG_NETWORK };
	cleanup_fd int network = aj_network_make(user_ns);
	/* Init may have ended: its own message, or its end, says why. */
	return network >= 0 &&
	       (aj_message_send(process->report_fd, &msg, sizeof msg, network) == 0 || errno == EPIPE || errno == ECONNRESET);
}

/* In a multi-threaded program another thread may hold libc's locks at this moment, and init, a copy of this thread alone, would
 * wait for them for ever. libc's fork() resets those locks. Its child makes init, as a sibling, and exits. */
static pid_t clone_by_child(uint64_t namespaces, int cgroup_fd, int *ret_pidfd)
{
	int ends[2];
	struct made {
		int32_t pid, errnum;
	} born = { .errnum = ECHILD };
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return -1;
	pid_t child = aj_fork();
	if (child == 0) {
		int pidfd = -1;
		pid_t pid = aj_clone3(namespaces | CLONE_PARENT, cgroup_fd, &pidfd);
		if (pid != 0) {
			born = (struct made){ .pid = pid > 0 ? pid : 0, .errnum = errno };
			aj_fd_raise_limit(); /* no other process reads this socket: init exists already */
			aj_message_send(ends[1], &born, sizeof born, pidfd);
			_exit(0);
		}
		close(ends[0]);
		close(ends[1]);
		return 0;
	}
	int error = errno;
	close(ends[1]);
	if (child > 0) {
		if (aj_message_recv(ends[0], &born, sizeof born, ret_pidfd, 0) <= 0)
			born.pid = 0;
		error = born.errnum;
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	close(ends[0]);
	errno = error;
	return born.pid > 0 ? born.pid : -1;
}

static pid_t clone_init(uint64_t namespaces, int cgroup_fd, int *ret_pidfd, struct aj_error *err)
{
	/* Init is born with every signal blocked: a forwarded signal that arrived before init blocked them itself would be lost,
	 * as on any PID 1. */
	sigset_t all, before;
	sigfillset(&all);
	if (sigprocmask(SIG_SETMASK, &all, &before) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "signals", errno, "block signals for the jail's init");
	pid_t pid = __libc_single_threaded ? aj_clone3(namespaces, cgroup_fd, ret_pidfd)
	                                   : clone_by_child(namespaces, cgroup_fd, ret_pidfd);
	int error = errno;
	if (pid != 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	errno = error;
	if (pid < 0)
		aj_fail_because(err, AJ_REASON_PROCESS, AJ_EXIT_SETUP, "clone", errno, "create the jail's namespaces");
	return pid;
}

/* Let init begin. 0, or -1: with err, or without where init, which has ended, must be born in its network namespace. */
static int start_init(struct aj_built *built, bool beside, int cgroup, struct aj_process *process, const struct aj_child_fds *fds,
                      struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	struct aj_groups groups = { 0 };
	cleanup_fd int user_ns = -1;
	char path[48];
	uint64_t namespaces = plan->namespaces & ~(uint64_t)(beside ? CLONE_NEWNET : 0);
	/* Root's supplementary groups open files too: dropped until the jail is made. An ordinary user cannot drop groups. */
	if (plan->host_uid != geteuid() && aj_groups_drop(&groups) < 0)
		process->init_pid = aj_fail(err, AJ_EXIT_SETUP, "groups", errno, "drop the supplementary groups");
	else
		process->init_pid = clone_init(namespaces, cgroup, &process->init_pidfd, err);
	if (process->init_pid == 0)
		aj_child(built, fds);
	if (aj_groups_restore(&groups) < 0)
		aj_fail(err, AJ_EXIT_SETUP, "groups", errno, "restore the supplementary groups");
	if (process->init_pid < 0) {
		process->init_pidfd = -1;
		return -1;
	}
	/* Before init is told that its maps are written, as it may make itself undumpable then. */
	process->listens = aj_notify_may_take(process->init_pidfd);
	process->baseline = plan->snippet;
	if (aj_process_set_affinity(process->init_pid, plan->zygote ? 0 : plan->processors) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "affinity", errno, "set the affinity of the jail to %u processors",
		               plan->processors);
	if (err->exit_code || write_maps(plan, process->init_pid, err) < 0)
		return -1;
	if (plan->publish.count)
		return keep_namespaces(process, err);
	if (!beside)
		return tell_to_begin(process, false, err);
	snprintf(path, sizeof path, "/proc/%d/ns/user", process->init_pid);
	user_ns = open(path, O_RDONLY | O_CLOEXEC);
	if (user_ns >= 0 && tell_to_begin(process, true, err) < 0)
		return -1;
	if (user_ns >= 0 && give_network(process, user_ns))
		return 0;
	aj_pidfd_signal(process->init_pidfd, SIGKILL);
	aj_pidfd_wait(process->init_pidfd, 0, NULL);
	aj_close(&process->init_pidfd);
	return -1;
}

/* An init that was not given its network namespace may have left messages in both directions. */
static void close_channels(struct aj_process *process, struct aj_process_ends *ends)
{
	aj_process_ends_close(ends);
	aj_close(&process->report_fd);
	aj_close(&process->control_fd);
	aj_close(&process->stdout_fd);
	aj_close(&process->stderr_fd);
}

/* Is all there that this plan needs before its launch? */
static int check_built(const struct aj_built *built, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	if (plan->inspect)
		return aj_fail(err, AJ_EXIT_SETUP, "plan", 0,
		               "this plan was built for inspection: walls that it names may not exist");
	if (plan->writable_workspace && plan->protect.count && !built->searched)
		return aj_fail(err, AJ_EXIT_SETUP, "protect", 0, "the protected places of the workspace were not searched for");
	if (plan->staged_workspace && !built->changes)
		return aj_fail(err, AJ_EXIT_SETUP, "workspace", 0, "no folder was made for the workspace's changes");
	return 0;
}

int aj_launch(struct aj_built *built, struct aj_process *ret_process, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	struct aj_process process = AJ_NO_PROCESS;
	struct aj_process_ends ends = AJ_NO_ENDS;
	struct aj_zygote_cgroups cgroups = { 0 };
	cleanup_fd int cgroup = -1;
	bool own_leaves = plan->host_uid == geteuid(); /* a process with another id must not use root's leaves */

	if (check_built(built, err) < 0)
		return -1;
	if (aj_mount_owners_open(built, err) < 0)
		goto out;
	if (plan->cgroup && plan->zygote && (cgroup = aj_zygote_cgroups_create(plan, &cgroups, err)) < 0)
		goto out;
	if (plan->cgroup && !plan->zygote &&
	    (cgroup = aj_cgroup_create(plan, plan->cgroup, process.cgroup, sizeof process.cgroup, err)) < 0)
		goto out;
	for (bool beside = aj_network_beside(plan), started = false; !started && !err->exit_code; beside = false) {
		close_channels(&process, &ends);
		if (aj_process_channels(plan, &process, &ends, err) < 0)
			goto out;
		const struct aj_child_fds fds = { .report = ends.report,
			                          .report_parent = process.report_fd,
			                          .control = ends.control,
			                          .out = ends.out,
			                          .err = ends.err,
			                          .leaves = own_leaves && cgroups.folder[0] ? cgroups.folder : NULL };
		started = start_init(built, beside, cgroup, &process, &fds, err) == 0;
	}
out:
	aj_mount_owners_close(built);
	aj_process_ends_close(&ends);
	/* For a zygote the cloned process is the builder, which makes the zygote and the holder of its namespace, and exits. */
	if (plan->zygote && !err->exit_code)
		process.holder = aj_holder_take(&process, &cgroups, err);
	if (err->exit_code) {
		aj_process_kill(&process);
		aj_process_end(&process, NULL);
		aj_zygote_cgroups_remove(&cgroups);
		return -1;
	}
	*ret_process = process;
	return 0;
}

void aj_process_stop(struct aj_process *process)
{
	if (process->branch) {
		aj_process_kill(process);
		return;
	}
	aj_leaf_unthrottle(process->cgroup);
	if (process->init_pidfd >= 0)
		aj_pidfd_signal(process->init_pidfd, AJ_SIGNAL_END);
}

void aj_process_kill(struct aj_process *process)
{
	if (!process->branch) {
		aj_leaf_unthrottle(process->cgroup);
		aj_leaf_kill(process->cgroup);
	}
	if (process->init_pidfd >= 0)
		aj_pidfd_signal(process->init_pidfd, SIGKILL);
}

void aj_process_end(struct aj_process *process, struct rusage *ret_usage)
{
	/* A branch is reaped by its init. */
	if (process->init_pidfd >= 0 && !process->branch)
		aj_pidfd_wait(process->init_pidfd, 0, ret_usage);
	aj_close(&process->init_pidfd);
	if (!process->branch)
		aj_leaf_remove(process->cgroup);
	process->cgroup[0] = '\0';
	/* After the leaf: the folder that contains the leaf is removed with the last user. */
	if (process->holder && !process->branch)
		aj_holder_leave(process->holder, process->init_pid);
	process->holder = NULL;
	aj_close(&process->user_ns);
	aj_close(&process->net_ns);
	aj_close(&process->report_fd);
	aj_close(&process->control_fd);
	aj_close(&process->stdout_fd);
	aj_close(&process->stderr_fd);
}
