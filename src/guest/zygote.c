/* Receives the supervisor's orders and answers each with a jail; in the newborn it walks the rows of steps.h for jails.
 * It reads no byte from a jail, and runs no agent's code. */
#include "guest/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/message.h"
#include "base/prctl.h"
#include "guest/atfork.h"
#include "guest/birth.h"
#include "guest/prefault.h"
#include "policy/plan/pack.h"
#include "sandbox/init.h"
#include "sandbox/jail_steps.h"
#include "sandbox/launch.h"
#include "sandbox/mounts/mount.h"
#include "sandbox/steps.h"

enum { CONTROL_FD = 3, EXIT_BROKEN = 125 };

static int init_ready; /* of the jail that is being built: readable once its init has dropped its privileges */

static int step_write_maps(struct aj_steps *w, struct aj_error *err)
{
	/* An undumpable process's /proc/self belongs to root. */
	if (aj_prctl_dumpable(true) < 0 || aj_write_text(w->proc_fd, "self/setgroups", "deny") < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "write_maps", errno, "deny setgroups");
	const char *file = aj_map_ids(w->plan, w->proc_fd, "self/", w->plan->uid, w->plan->gid);
	return file ? aj_fail(err, AJ_EXIT_SETUP, "write_maps", errno, "write %s", file) : 0;
}

static int step_own_mounts(struct aj_steps *w, struct aj_error *err)
{
	return aj_mount_own(w->plan, err);
}

static int step_drop_own_caps(struct aj_steps *w, struct aj_error *err)
{
	(void)w;
	char byte;
	/* End of file: init has ended, and has reported the reason. */
	if (read(init_ready, &byte, 1) != 1)
		return aj_fail(err, AJ_EXIT_SETUP, "drop_own_caps", 0, "the jail's init has not given up its own");
	if (aj_birth_drop_caps() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "drop_own_caps", errno, "empty the capability sets");
	return 0;
}

/* Rows that only builders, or programs that exec starts, walk. */
#define step_tie_early NULL
#define step_tie_again NULL
#define step_close_parent NULL
#define step_await_maps NULL
#define step_attributes NULL
#define step_pid_view NULL
#define step_handles NULL
#define step_sources NULL
#define step_network NULL
#define step_mounts NULL
#define step_pivot NULL
#define step_loopback NULL
#define step_egress NULL
#define step_drop_caps NULL
#define step_tie_to_parent NULL
#define step_terminal NULL
#define step_seccomp NULL
#define step_exec NULL
#define JAIL_ROW(name, who, why) { #name, (who)&AJ_BY_JAIL ? step_##name : NULL },
/* NOLINTNEXTLINE(bugprone-branch-clone): as in sandbox/child.c */
static const struct aj_jail_step jail_steps[] = { AJ_STEPS(JAIL_ROW) };

const char *aj_zygote_prepare(void)
{
	/* Init is born with every signal blocked, and so is the guest, until it has its own handlers. */
	return aj_init_block_signals() < 0 ? "signals cannot be blocked" : aj_birth_prepare();
}

/* In the newborn: every wall except the filter. */
static void build_newborn(const struct aj_plan *plan, const struct aj_process_ends *ends, int ready)
{
	struct aj_steps w = { .plan = plan,
		              .proc_fd = AJ_BIRTH_PROC,
		              .report_parent = -1,
		              .report = ends->report,
		              .control = ends->control,
		              .out = ends->out,
		              .err = ends->err };
	sigset_t none;
	init_ready = ready;
	aj_prefault();
	aj_atfork_after(true);
	aj_steps_walk(&w, jail_steps, sizeof jail_steps / sizeof *jail_steps);
	close(w.report);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static struct aj_birth order;
static void (*newborn)(const struct aj_birth *);

static void try_newborn(void)
{
	aj_atfork_after(true);
	newborn(&order);
}

/* Make both ends of the jail's channels, with high numbers for the jail's ends; init inherits all of them. */
static int make_channels(struct aj_process *ours, struct aj_process_ends *ends)
{
	struct aj_error err = { 0 };
	*ours = (struct aj_process)AJ_NO_PROCESS;
	if (aj_process_channels(&(struct aj_plan){ .control_fd = true, .capture = true }, ours, ends, &err) < 0) {
		errno = err.errnum;
		return -1;
	}
	return aj_fd_move_high(&ends->report);
}

static void close_channels(struct aj_process *ours, struct aj_process_ends *ends)
{
	int *fds[] = { &ours->report_fd, &ours->control_fd, &ours->stdout_fd, &ours->stderr_fd };
	for (size_t i = 0; i < sizeof fds / sizeof *fds; i++)
		aj_close(fds[i]);
	aj_process_ends_close(ends);
}

/* A jail as far as it is made before its order: its channels, and an init in namespaces of its own. */
static struct {
	bool there;
	struct aj_birth_args birth;
	struct aj_process ours;
	struct aj_process_ends ends;
} next; /* static: init reads `birth` as long as it lives, and a guest returns into aj_zygote_serve() */

/* -1 with errno: there is none. */
static int begin_next(const struct aj_plan *plan)
{
	next.birth = (struct aj_birth_args){ .plan = plan, .leaves_fd = AJ_BIRTH_CGROUP, .leaf = "", .init_pidfd = -1 };
	int r = make_channels(&next.ours, &next.ends);
	next.birth.report_fd = next.ends.report;
	if (r == 0)
		r = aj_birth_begin(&next.birth);
	int error = errno;
	/* Init has copies with the same numbers. */
	struct aj_process ours = next.ours;
	struct aj_process_ends ends = next.ends;
	close_channels(&ours, &ends);
	next.there = r == 0;
	errno = error;
	return r;
}

/* While no order comes the next jail's init is made: half a millisecond that the order then does not wait for. Not at once, as
 * the last jail is still being built. Where it cannot be made, the order tries again and reports why. */
static void make_ahead(const struct aj_plan *plan)
{
	enum { AHEAD_MS = 2 };
	struct pollfd on = { .fd = CONTROL_FD, .events = POLLIN };
	if (!next.there && poll(&on, 1, AHEAD_MS) == 0)
		begin_next(plan);
}

static void learn(void (*trial)(const struct aj_birth *))
{
	newborn = trial;
	aj_atfork_before();
	aj_prefault_learn(AJ_BIRTH_PROC, try_newborn);
	aj_atfork_after(false);
}

const struct aj_birth *aj_zygote_serve(const char *packed, size_t packed_bytes, void (*trial)(const struct aj_birth *))
{
	static struct aj_plan plan; /* static: init reads it as long as init lives, and a guest returns into this function */
	/* Kept open until the supervisor has taken the inits' ends, which it has done once it sends that many more orders. */
	static int inits[AJ_BIRTHS_MAX] = { -1, -1, -1, -1, -1, -1, -1, -1 };
	_Static_assert(AJ_BIRTHS_MAX == 8, "as many initial values");
	if (aj_plan_unpack(&plan, packed, packed_bytes) < 0)
		_exit(EXIT_BROKEN);
	for (bool learnt = false;; learnt = true) {
		if (learnt)
			make_ahead(&plan);
		int r = aj_message_recv(CONTROL_FD, &order, sizeof order, NULL, 0);
		if (r <= 0)
			_exit(r < 0 ? EXIT_BROKEN : 0);
		if (!learnt)
			learn(trial);
		order.leaf[sizeof order.leaf - 1] = '\0';
		r = next.there ? 0 : begin_next(&plan);
		next.there = false;
		next.birth.number = order.number;
		next.birth.leaf = order.leaf;
		if (r == 0) {
			aj_atfork_before();
			r = aj_birth_make(&next.birth);
			if (r == 1) {
				build_newborn(&plan, &next.ends, next.birth.init_ready);
				return &order;
			}
			int error = errno;
			aj_atfork_after(false);
			errno = error;
		}
		struct aj_birth_answer born = { .errnum = r < 0 ? errno : 0,
			                        .init = next.birth.init_pidfd,
			                        .report = next.ours.report_fd,
			                        .control = next.ours.control_fd,
			                        .out = next.ours.stdout_fd,
			                        .err = next.ours.stderr_fd };
		int *place = &inits[order.number % AJ_BIRTHS_MAX];
		aj_close(place);
		*place = next.birth.init_pidfd;
		if (aj_write_all(CONTROL_FD, &born, sizeof born) < 0)
			_exit(EXIT_BROKEN);
	}
}
