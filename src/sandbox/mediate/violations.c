/* Answers the calls that a jail's filter refuses, each with the error of its row, and counts them.
 * Continues no call. */
#include "sandbox/mediate/violations.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "policy/seccomp/compile.h"
#include "policy/seccomp/notify.h"

/* Calls answered in a row before other events get their turn. */
enum { TURN = 16 };
/* A hostile runner that kept the listener could receive a notification between our poll() and our ioctl(), which would then
 * block: for this long at most. */
enum { STUCK_US = 20000 };

static bool leave_signals;

void aj_violations_leave_signals(void)
{
	leave_signals = true;
}

static void on_stuck(int sig)
{
	(void)sig;
}

/* A timer and SIGURG of our own: SIGALRM may be the caller's way to end us. 0: off. */
static void interrupt_after(long us)
{
	static timer_t timer;
	static bool ready;
	if (leave_signals)
		return;
	if (!ready) {
		struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGURG };
		sigset_t set;
		sigemptyset(&set);
		sigaddset(&set, SIGURG);
		sigaction(SIGURG, &(struct sigaction){ .sa_handler = on_stuck }, NULL);
		sigprocmask(SIG_UNBLOCK, &set, NULL);
		ready = timer_create(CLOCK_MONOTONIC, &event, &timer) == 0;
	}
	struct itimerspec t = { { 0, us * 1000 }, { 0, us * 1000 } };
	if (ready)
		timer_settime(timer, 0, &t, NULL);
}

static void add_pid(struct aj_violation *one, int listener_fd, const struct aj_notification *call)
{
	if (one->pids_count == AJ_VIOLATION_PIDS || call->tid == one->last_tid)
		return;
	one->last_tid = call->tid;
	pid_t pid = aj_procfs_process(call->tid).inner;
	if (pid <= 0 || !aj_notify_waits(listener_fd, call->id))
		return;
	for (size_t i = 0; i < one->pids_count; i++)
		if (one->pids[i] == pid)
			return;
	one->pids[one->pids_count++] = pid;
}

static void count_violation(struct aj_violations *v, const struct aj_syscall *row, int listener_fd,
                            const struct aj_notification *call)
{
	struct aj_violation *one = v->items;
	while (one < v->items + v->count && strcmp(one->row->name, row->name) != 0)
		one++;
	if (one == v->items + AJ_VIOLATIONS_MAX)
		return;
	if (one == v->items + v->count) {
		*one = (struct aj_violation){ .row = row };
		v->count++;
	}
	one->count++;
	add_pid(one, listener_fd, call);
}

int aj_violations_take(int listener_fd, struct aj_notification *ret)
{
	interrupt_after(STUCK_US);
	int r = aj_notify_take(listener_fd, ret);
	interrupt_after(0);
	return r;
}

void aj_violations_listen(struct aj_violations *v, int *listener_fd, pid_t process, pid_t parent, int number)
{
	struct aj_process_info info;
	cleanup_fd int pidfd = *listener_fd < 0 ? aj_procfs_open_child(process, parent, &info) : -1;
	int fd = pidfd < 0 ? -1 : aj_notify_take_listener(pidfd, number);
	if (fd < 0)
		return;
	*listener_fd = fd;
	v->seen = true;
}

int aj_violations_refuse(struct aj_violations *v, const struct aj_built *built, int listener_fd,
                         const struct aj_notification *call)
{
	const char *name = call->nr >= 0 && call->nr < AJ_SYSCALL_NUMBERS ? aj_syscall_names[call->nr] : "";
	const struct aj_plan *plan = built->plan;
	const struct aj_syscall *row = NULL;
	if (*name)
		row = aj_syscalls_refusal(plan->profile, plan->network, aj_built_deny(built), name, call->args);
	if (v) {
		v->total++;
		if (row)
			count_violation(v, row, listener_fd, call);
	}
	return aj_notify_refuse(listener_fd, call->id, row ? row->errnum : EPERM);
}

bool aj_violations_answer(struct aj_violations *v, const struct aj_built *built, int listener_fd,
                          const struct aj_handler *handler)
{
	struct aj_notification call;
	int r = 0;
	interrupt_after(STUCK_US);
	for (int i = 0; i < TURN && (r = aj_notify_take(listener_fd, &call)) > 0; i++) {
		if (!(handler && handler->fn(handler->arg, &call)) && aj_violations_refuse(v, built, listener_fd, &call) < 0) {
			r = -1;
			break;
		}
	}
	interrupt_after(0);
	return r >= 0 && (!v || v->total < AJ_VIOLATIONS_END);
}
