/* Walks the jail's steps, first in init, then in the guest; reports the failing step by name and exits.
 * It decides nothing: every choice was made in the plan, and no step is skipped because another one failed. */
#include "sandbox/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/message.h"
#include "base/prctl.h"
#include "policy/seccomp/compile.h"
#include "sandbox/caps.h"
#include "sandbox/guest_terminal.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"
#include "sandbox/init.h"
#include "sandbox/interpreter.h"
#include "sandbox/jail_steps.h"
#include "sandbox/mounts/handles.h"
#include "sandbox/mounts/mount.h"
#include "sandbox/netns/egress_net.h"
#include "sandbox/netns/loopback.h"
#include "sandbox/network.h"
#include "sandbox/steps.h"

/* If the supervisor ended earlier, `await_maps` or `network`, which wait for it, fail. */
static int step_tie_early(struct aj_steps *w, struct aj_error *err)
{
	(void)w;
	return aj_prctl_death_signal(SIGKILL) < 0 ? aj_step_fail(err, "tie_early", "set the parent-death signal") : 0;
}

static int step_close_parent(struct aj_steps *w, struct aj_error *err)
{
	/* Move them to high numbers first: the plan's descriptors take 0 to 3. */
	int *fds[] = { &w->report, &w->control, &w->out, &w->err };
	close(w->report_parent);
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		if (*fds[i] >= 0 && aj_fd_move_high(fds[i]) < 0)
			return aj_step_fail(err, "close_parent",
			                    "move agentjail's descriptors to high numbers (is the limit on open files below 32?)");
	return 0;
}

static int step_await_maps(struct aj_steps *w, struct aj_error *err)
{
	struct aj_msg msg;
	int r = aj_msg_recv(w->report, &msg, 0);
	if (r <= 0 || msg.kind != AJ_MSG_MAPS_WRITTEN)
		return aj_fail(err, AJ_EXIT_SETUP, "await_maps", r < 0 ? errno : 0,
		               "the supervisor did not report that the id maps are written");
	w->listens = msg.listener;
	w->in_host_net = msg.network;
	return 0;
}

static int step_network(struct aj_steps *w, struct aj_error *err)
{
	struct aj_msg msg;
	int r, network = -1;
	if (!w->in_host_net)
		return 0;
	r = aj_message_recv(w->report, &msg, sizeof msg, &network, 0);
	if (r <= 0 || msg.kind != AJ_MSG_NETWORK || network < 0) {
		aj_close(&network);
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "network", r < 0 ? errno : 0,
		                       "the supervisor did not hand over the jail's network namespace");
	}
	if (aj_network_enter(network) < 0)
		aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "network", errno, "enter the jail's network namespace");
	aj_close(&network);
	return err->exit_code ? -1 : 0;
}

static int step_pid_view(struct aj_steps *w, struct aj_error *err)
{
	return aj_holder_part(w, err);
}

static int step_handles(struct aj_steps *w, struct aj_error *err)
{
	return aj_handles_open(w->leaves, &w->proc_fd, &w->cgroup, err);
}

static int step_sources(struct aj_steps *w, struct aj_error *err)
{
	return aj_mount_sources(w->built, err);
}

static int step_mounts(struct aj_steps *w, struct aj_error *err)
{
	umask(022);
	w->root = aj_mount_rows(w->built, err);
	for (size_t i = 0; w->root >= 0 && i < w->plan->mounts.count; i++) {
		const struct aj_built_mount *b = &w->built->mounts[i];
		const char *target = b->row->target;
		struct aj_msg note = { .kind = b->refused ? AJ_MSG_BOUND : AJ_MSG_BOUND_FILE,
			               .errnum = b->refused ? b->refused : b->file_refused };
		snprintf(note.cause, sizeof note.cause, "%s", target);
		w->built->reaches_sockets |= b->refused != 0;
		if (note.errnum && aj_msg_send(w->report, &note) < 0)
			return aj_step_fail(err, "mounts", "report a folder that could not be shown through an overlay");
		/* A runner gets its filter before the supervisor receives this note. */
		bool tree = strcmp(target, "/usr") == 0;
		if (b->refused && w->plan->snippet && w->plan->profile == AJ_PROFILE_COMMAND && !tree)
			return aj_fail_because(err, AJ_REASON_MOUNT, AJ_EXIT_SETUP, "mounts", b->refused,
			                       "show `%s` through an overlay, without which a snippet that may execute programs reaches sockets in it",
			                       target);
	}
	return w->root < 0 ? -1 : 0;
}

static int step_pivot(struct aj_steps *w, struct aj_error *err)
{
	if (aj_mount_pivot(w->root, err) < 0)
		return -1;
	close(w->root);
	if (chdir(w->plan->chdir) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "chdir", errno, "enter `%s` in the jail", w->plan->chdir);
	return 0;
}

static int step_loopback(struct aj_steps *w, struct aj_error *err)
{
	return w->plan->loopback ? aj_netns_loopback_up(err) : 0;
}

static int step_egress(struct aj_steps *w, struct aj_error *err)
{
	struct aj_egress_made made;
	if (w->plan->network != AJ_NET_ALLOW)
		return 0;
	if (aj_egress_net(w->proc_fd, &made, err) < 0)
		return -1;
	return aj_msg_hand_over_fds(w->report, AJ_MSG_SOCKETS, made.sockets, made.count) < 0
	         ? aj_fail(err, AJ_EXIT_SETUP, "egress", errno, "hand the relay's sockets to the supervisor")
	         : 0;
}

static int step_drop_caps(struct aj_steps *w, struct aj_error *err)
{
	(void)w;
	return aj_caps_drop_all(err);
}

static int step_tie_to_parent(struct aj_steps *w, struct aj_error *err)
{
	/* Not dumpable: init's memory and fds are closed to the guest, which has the same id. */
	if (aj_prctl_dumpable(false) < 0 || aj_prctl_death_signal(SIGKILL) < 0)
		return aj_step_fail(err, "tie_to_parent", "set the parent-death signal");
	if (aj_msg_peer_gone(w->report))
		return aj_fail(err, AJ_EXIT_SETUP, "tie_to_parent", 0, "the supervisor has ended");
	return 0;
}

static int step_seccomp(struct aj_steps *w, struct aj_error *err)
{
	static struct sock_filter insns[AJ_FILTER_ROOM], insns_alone[AJ_FILTER_ROOM];
	const struct aj_plan *plan = w->plan;
	uint64_t deny = aj_built_deny(w->built);
	struct aj_filter filter = plan->snippet ? aj_filter_baseline(plan->profile, plan->network, deny, insns)
	                                        : aj_filter_build(plan->profile, plan->network, deny, insns);
	struct aj_filter alone = filter;
	uint64_t deny_alone = (deny & ~(uint64_t)AJ_DENY_CONNECT) | AJ_DENY_UNIX;
	int listener;
	/* A zygote's filter has no listener: its jails inherit the filter, only one filter of a process may have a listener, and
	 * that is theirs. */
	if (plan->zygote)
		return aj_filter_install(aj_filter_zygote(plan->profile), err);
	if (aj_built_mediated(w->built))
		alone = aj_filter_build(plan->profile, plan->network, deny_alone, insns_alone);
	if (!w->listens)
		return aj_filter_install(&alone, err);
	/* Init made itself undumpable, and so its copy, the guest. Exec undoes that in any case. */
	if (aj_prctl_dumpable(true) < 0)
		return aj_step_fail(err, "seccomp", "let the supervisor take the listener");
	if (aj_filter_install_reported(&filter, &alone, &listener, err) < 0)
		return -1;
	if (listener >= 0 && aj_msg_hand_over(w->report, listener) < 0)
		return aj_step_fail(err, "seccomp", "have the supervisor take the listener");
	return 0;
}

static int step_exec(struct aj_steps *w, struct aj_error *err)
{
	extern char **environ;
	environ = w->plan->env;
	execvp(w->plan->argv[0], w->plan->argv);
	int code = errno == ENOENT ? AJ_EXIT_NOT_FOUND : errno == EACCES || errno == ENOEXEC ? AJ_EXIT_REJECTED : AJ_EXIT_SETUP;
	if (code == AJ_EXIT_NOT_FOUND && !w->plan->snippet)
		aj_interpreter_missing(w->plan->argv[0], err);
	aj_fail(err, w->plan->snippet ? AJ_EXIT_SETUP : code, "exec", errno, "run `%s` in the jail", w->plan->argv[0]);
	const char *mask = aj_plan_masked_programs(w->plan);
	if (mask)
		aj_advise(err, "the policy hides `%s` (filesystem.masks), which may be what is missing", mask);
	else if (w->plan->snippet)
		aj_advise(err, "the rootfs is damaged: `agentjail rootfs verify`, or build it again");
	return -1;
}

#define step_tie_again step_tie_early

/* Rows that only jails born from a zygote walk, which do so in guest/zygote.c. */
#define step_write_maps NULL
#define step_own_mounts NULL
#define step_drop_own_caps NULL
#define step_attributes aj_step_attributes
#define step_terminal aj_step_terminal

#define INIT_ROW(name, walkers, why) { #name, (walkers)&AJ_BY_INIT ? step_##name : NULL },
#define GUEST_ROW(name, walkers, why) { #name, (walkers)&AJ_BY_GUEST ? step_##name : NULL },
#define ZYGOTE_ROW(name, walkers, why) { #name, (walkers)&AJ_BY_ZYGOTE ? step_##name : NULL },
/* NOLINTBEGIN(bugprone-branch-clone): a step that this file does not implement is NULL in both branches */
static const struct aj_jail_step init_steps[] = { AJ_STEPS(INIT_ROW) };
static const struct aj_jail_step guest_steps[] = { AJ_STEPS(GUEST_ROW) };
static const struct aj_jail_step zygote_steps[] = { AJ_STEPS(ZYGOTE_ROW) };
/* NOLINTEND(bugprone-branch-clone) */

_Noreturn static void start_program(struct aj_steps *w, const struct aj_jail_step *steps, size_t count)
{
	if (aj_init_unblock_signals() < 0)
		aj_steps_give_up(w->report, AJ_REASON_SETUP, "signals", "unblock signals for the guest");
	aj_steps_walk(w, steps, count);
	_exit(AJ_EXIT_SETUP);
}

_Noreturn void aj_child(struct aj_built *built, const struct aj_child_fds *fds)
{
	const struct aj_plan *plan = built->plan;
	struct aj_steps w = { .plan = plan,
		              .built = built,
		              .proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC),
		              .leaves = fds->leaves,
		              .cgroup = -1,
		              .report = fds->report,
		              .report_parent = fds->report_parent,
		              .control = fds->control,
		              .out = fds->out,
		              .err = fds->err,
		              .terminal = -1 };
	/* First: PID 1 loses every signal that it has neither blocked nor a handler for. */
	if (aj_init_block_signals() < 0)
		aj_steps_give_up(fds->report, AJ_REASON_SETUP, "signals", "block signals in init");
	if (plan->zygote)
		start_program(&w, zygote_steps, sizeof zygote_steps / sizeof *zygote_steps);
	aj_steps_walk(&w, init_steps, sizeof init_steps / sizeof *init_steps);
	pid_t guest = aj_fork_bare();
	if (guest < 0)
		aj_steps_give_up(w.report, AJ_REASON_PROCESS, "fork", "start the guest");
	if (guest == 0)
		start_program(&w, guest_steps, sizeof guest_steps / sizeof *guest_steps);
	/* Only the report socket and the terminal stay open in init. */
	int keep[] = { w.report, w.terminal };
	aj_fd_close_others(0, keep, 2);
	aj_init_run(w.report, w.terminal, guest, plan);
}
