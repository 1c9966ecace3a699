/* Takes the supervisor's orders and answers each with a jail; in the newborn it walks the rows of steps.h that are a jail's own.
 * No byte from a jail comes here, and no agent's code runs here. */
#include "guest/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/fd.h"
#include "guest/atfork.h"
#include "guest/nest.h"
#include "guest/touch.h"
#include "plan/pack.h"
#include "sandbox/init.h"
#include "sandbox/mount.h"
#include "sandbox/steps.h"
#include "sandbox/walls.h"

enum { CONTROL_FD = 3, HIGH_FD = 10, EXIT_BROKEN = 125 };

static int init_ready; /* of the jail that is being built */

static int step_write_maps(struct aj_walls *w, struct aj_error *err)
{
	const struct {
		const char *file;
		unsigned long id;
	} rows[] = { { "self/uid_map", w->plan->uid }, { "self/gid_map", w->plan->gid } };
	/* Without this /proc/self is root's. */
	if (prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || aj_write_text(w->proc_fd, "self/setgroups", "deny") < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "write_maps", errno, "deny setgroups");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char map[64];
		snprintf(map, sizeof map, "%lu %lu 1\n", rows[i].id, rows[i].id);
		if (aj_write_text(w->proc_fd, rows[i].file, map) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "write_maps", errno, "write %s", rows[i].file);
	}
	return 0;
}

static int step_cgroup_ns(struct aj_walls *w, struct aj_error *err)
{
	(void)w;
	return unshare(CLONE_NEWCGROUP) < 0 ? aj_fail(err, AJ_EXIT_SETUP, "cgroup_ns", errno, "leave the supervisor's cgroup namespace")
	                                    : 0;
}

static int step_own_mounts(struct aj_walls *w, struct aj_error *err)
{
	return aj_mount_own(w->plan, err);
}

static int step_drop_own_caps(struct aj_walls *w, struct aj_error *err)
{
	(void)w;
	char byte;
	/* End of file: init is gone, and has said why. */
	if (read(init_ready, &byte, 1) != 1)
		return aj_fail(err, AJ_EXIT_SETUP, "drop_own_caps", 0, "the jail's init has not given up its own");
	if (aj_nest_drop_caps() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "drop_own_caps", errno, "empty the capability sets");
	return 0;
}

/* Rows that only builders and programs of their own walk. */
#define step_close_parent NULL
#define step_await_maps NULL
#define step_attributes NULL
#define step_sources NULL
#define step_mounts NULL
#define step_pivot NULL
#define step_loopback NULL
#define step_drop_caps NULL
#define step_tie_to_parent NULL
#define step_seccomp NULL
#define step_exec NULL
#define step_lock_limits aj_wall_lock_limits
#define step_identity aj_wall_identity
#define step_hostname aj_wall_hostname
#define step_no_new_privs aj_wall_no_new_privs
#define step_stdio aj_wall_stdio
#define step_session aj_wall_session
#define step_rlimits aj_wall_rlimits
#define step_landlock aj_wall_landlock
#define JAIL_ROW(name, who, why) { #name, (who)&AJ_BY_JAIL ? step_##name : NULL },
/* NOLINTNEXTLINE(bugprone-branch-clone): as in sandbox/child.c */
static const struct aj_step jail_steps[] = { AJ_STEPS(JAIL_ROW) };

const char *aj_zygote_prepare(void)
{
	/* Init is born with every signal blocked, and so is the guest, until its handlers are its own. */
	return aj_init_block_signals() < 0 ? "signals cannot be blocked" : aj_nest_prepare();
}

/* The newborn: everything that is not the filter. */
static void build(const struct aj_plan *plan, const int fds[AJ_BIRTH_FDS], int ready)
{
	struct aj_walls w = { .plan = plan,
		              .proc_fd = fds[AJ_BIRTH_PROC],
		              .report_parent = -1,
		              .report = fds[AJ_BIRTH_REPORT],
		              .control = fds[AJ_BIRTH_CONTROL],
		              .out = fds[AJ_BIRTH_OUT],
		              .err = fds[AJ_BIRTH_ERR] };
	sigset_t none;
	init_ready = ready;
	aj_touch();
	aj_atfork_after(true);
	aj_walls_walk(&w, jail_steps, sizeof jail_steps / sizeof *jail_steps);
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

const struct aj_birth *aj_zygote_serve(const char *packed, size_t packed_bytes, void (*trial)(const struct aj_birth *))
{
	static struct aj_plan plan; /* static: init reads it as long as it lives, and a guest returns into this function */
	static bool learnt;
	static struct aj_nest nest;
	static int fds[AJ_BIRTH_FDS];
	if (aj_plan_unpack(&plan, packed, packed_bytes) < 0)
		_exit(EXIT_BROKEN);
	for (;;) {
		int r = aj_birth_recv(CONTROL_FD, &order, sizeof order, fds, AJ_BIRTH_FDS, 0);
		if (r <= 0)
			_exit(r < 0 ? EXIT_BROKEN : 0);
		/* Out of the way of 0 to 3, and of the ranges below and above it that are closed. */
		int report = fcntl(fds[AJ_BIRTH_REPORT], F_DUPFD_CLOEXEC, HIGH_FD);
		aj_close(&fds[AJ_BIRTH_REPORT]);
		fds[AJ_BIRTH_REPORT] = report;
		if (!learnt) {
			learnt = true;
			newborn = trial;
			aj_atfork_before();
			aj_touch_learn(fds[AJ_BIRTH_PROC], try_newborn);
			aj_atfork_after(false);
		}
		nest = (struct aj_nest){ .plan = &plan,
			                 .report_fd = report,
			                 .number = order.number,
			                 .cgroup_fd = order.has_cgroup ? fds[AJ_BIRTH_CGROUP] : -1 };
		aj_atfork_before();
		r = report < 0 ? -1 : aj_nest_birth(&nest);
		if (r == 1) {
			build(&plan, fds, nest.init_ready);
			return &order;
		}
		struct aj_born born = { .pid = nest.init_pid > 0 ? nest.init_pid : 0, .errnum = r < 0 ? errno : 0 };
		aj_atfork_after(false);
		if (aj_birth_send(CONTROL_FD, &born, sizeof born, &nest.init_pidfd, born.pid > 0) < 0)
			_exit(EXIT_BROKEN);
		if (born.pid > 0)
			close(nest.init_pidfd);
		for (size_t i = 0; i < AJ_BIRTH_FDS; i++)
			aj_close(&fds[i]);
	}
}
