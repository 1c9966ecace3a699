/* Gives a zygote a PID namespace whose PID 1 is another process: the part inside (below.c has the supervisor's).
 * The holder runs this file's code and no other, answers no message and keeps no descriptor. */
#include "sandbox/holder.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/namespaces.h"
#include "base/prctl.h"
#include "sandbox/caps.h"
#include "sandbox/handshake.h"
#include "sandbox/init.h"
#include "sandbox/jail_steps.h"

/* PID 1 of the namespace: reaps orphans, which become its children. */
_Noreturn static void hold(struct aj_steps *w)
{
	struct aj_error err = { 0 };
	sigset_t child;
	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	if (aj_init_block_signals() < 0 || aj_step_identity(w, &err) < 0 || aj_caps_drop_all(&err) < 0 ||
	    aj_step_no_new_privs(w, &err) < 0 || aj_prctl_death_signal(SIGKILL) < 0 ||
	    aj_prctl_dumpable(false) < 0 || /* again: a change of ids sets it to the sysctl fs.suid_dumpable */
	    aj_prctl_name("holder") < 0)
		_exit(AJ_EXIT_SETUP);
	if (aj_msg_peer_gone(w->report))
		_exit(AJ_EXIT_SETUP);
	close_range(0, ~0U, 0);
	for (;;) {
		while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
			;
		sigwaitinfo(&child, NULL);
	}
}

/* The supervisor's other descriptors are not for holder and zygote; a listening socket would outlive the supervisor here. */
static void keep_only(const struct aj_steps *w)
{
	int keep[] = { w->proc_fd, w->report, w->control };
	aj_fd_close_others(3, keep, sizeof keep / sizeof *keep);
}

/* The supervisor can reap only known children: until it knows the new zygote, that stays in the builder's session. */
static int await_taken(const struct aj_steps *w, struct aj_error *err)
{
	struct aj_msg msg;
	int r = aj_msg_recv(w->report, &msg, 0);
	if (r > 0 && msg.kind == AJ_MSG_TAKEN)
		return 0;
	return aj_fail(err, AJ_EXIT_SETUP, "pid_view", r < 0 ? errno : 0, "the supervisor did not take the zygote");
}

int aj_holder_part(struct aj_steps *w, struct aj_error *err)
{
	keep_only(w);
	/* By this session the supervisor finds both processes if the builder is killed before it reports them. */
	if (setsid() < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "pid_view", errno, "begin a session for the zygote and its holder");
	/* Before a process exists that could trace it: the holder's memory is a copy of the supervisor's. */
	if (aj_prctl_dumpable(false) < 0 || aj_namespaces_make(CLONE_NEWPID) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "pid_view", errno, "make a PID namespace for the zygote");
	/* Both are siblings: the supervisor reaps them. */
	pid_t holder = aj_clone3(CLONE_PARENT, -1, NULL);
	if (holder == 0)
		hold(w);
	pid_t zygote = holder < 0 ? -1 : aj_clone3(CLONE_PARENT, -1, NULL);
	if (zygote == 0)
		return await_taken(w, err);
	int error = errno;
	struct aj_msg msg = { .kind = AJ_MSG_PARTED, .pid = zygote, .holder = holder };
	/* The builder looks, as an ordinary user may read neither process's namespaces; by this descriptor, as the zygote may
	 * have left the old root. */
	struct stat st = { 0 };
	if (zygote > 0 && fstatat(w->proc_fd, "self/ns/pid_for_children", &st, 0) < 0)
		error = errno;
	else if (zygote > 0)
		error = 0;
	msg.errnum = error;
	msg.pid_ns[0] = st.st_dev;
	msg.pid_ns[1] = st.st_ino;
	_exit(aj_msg_send(w->report, &msg) < 0 ? AJ_EXIT_SETUP : 0);
}
