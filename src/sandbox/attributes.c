/* Resets process attributes that fork and exec preserve and that would give a jail more than its policy allows.
 * It keeps attributes that only restrict the jail (nice above 0, idle classes, a set of processors), and raises none. */
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/prctl.h"
#include "sandbox/handshake.h"
#include "sandbox/jail_steps.h"
#include "sandbox/launch.h"

/* From linux/ioprio.h, which is newer than some distributions' headers. */
enum { IO_WHO_PROCESS = 1, IO_CLASS_SHIFT = 13, IO_CLASS_RT = 1, IO_CLASS_BE = 2, IO_LEVEL = 4 };
enum { DEFAULT_SLACK_NS = 50000 };

static const char *reset_scheduling(void)
{
	int class = sched_getscheduler(0);
	struct sched_param none = { 0 };
	if (class < 0)
		return "read the scheduling class";
	class &= ~SCHED_RESET_ON_FORK;
	if (class != SCHED_OTHER && class != SCHED_BATCH && class != SCHED_IDLE && sched_setscheduler(0, SCHED_OTHER, &none) < 0)
		return "leave the caller's real-time scheduling class";
	errno = 0;
	int nice = getpriority(PRIO_PROCESS, 0);
	if (nice == -1 && errno)
		return "read the nice value";
	return nice < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0 ? "set the nice value back to 0" : NULL;
}

static const char *reset_io_priority(void)
{
	long priority = syscall(SYS_ioprio_get, IO_WHO_PROCESS, 0);
	if (priority >= 0 && priority >> IO_CLASS_SHIFT == IO_CLASS_RT &&
	    syscall(SYS_ioprio_set, IO_WHO_PROCESS, 0, IO_CLASS_BE << IO_CLASS_SHIFT | IO_LEVEL) < 0)
		return "leave the caller's real-time I/O scheduling class";
	return NULL;
}

/* Without address randomisation, or with readable memory executable, a guest is easier to exploit. A service manager's
 * filter may lock the personality (LockPersonality= of systemd): it allows one value, and no query. */
static const char *reset_personality(void)
{
	if (personality(PER_LINUX) < 0 && personality(0xffffffff) != PER_LINUX)
		return "reset the personality";
	return aj_prctl_timer_slack(DEFAULT_SLACK_NS) < 0 ? "reset the timer slack" : NULL;
}

/* A negative oom_score_adj becomes 0; -1 on failure. */
static int reset_oom_score(int proc_fd)
{
	char text[16];
	cleanup_fd int fd = openat(proc_fd, "self/oom_score_adj", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	return n < 1 ? -1 : text[0] == '-' ? aj_write_text(proc_fd, "self/oom_score_adj", "0") : 0;
}

int aj_step_attributes(struct aj_steps *w, struct aj_error *err)
{
	const char *wrong = reset_scheduling();
	if (!wrong)
		wrong = reset_io_priority();
	if (!wrong)
		wrong = reset_personality();
	if (wrong)
		return aj_fail(err, AJ_EXIT_SETUP, "attributes", errno, "%s", wrong);
	/* No policy asks for these two, and some containers deny them: a possessed key of the caller opens nothing as long as the
	 * filter refuses every call that takes keys. */
	struct aj_msg note = { .kind = AJ_MSG_NOTE, .step = "attributes" };
	if (reset_oom_score(w->proc_fd) < 0)
		snprintf(note.cause, sizeof note.cause, "reset oom_score_adj");
	else if (syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) < 0)
		snprintf(note.cause, sizeof note.cause, "leave the caller's session keyring");
	note.errnum = errno;
	if (note.cause[0])
		aj_msg_send(w->report, &note);
	return 0;
}

int aj_process_set_affinity(pid_t pid, unsigned processors)
{
	cpu_set_t ours, its;
	if (!processors)
		return 0;
	if (sched_getaffinity(0, sizeof ours, &ours) < 0)
		return -1;
	CPU_ZERO(&its);
	/* Different processors for different jails. */
	unsigned skip = (unsigned)pid % (unsigned)CPU_COUNT(&ours);
	for (unsigned n = 0; n < 2 * CPU_SETSIZE && (unsigned)CPU_COUNT(&its) < processors; n++) {
		unsigned cpu = n % CPU_SETSIZE;
		if (!CPU_ISSET(cpu, &ours))
			continue;
		if (skip)
			skip--;
		else
			CPU_SET(cpu, &its);
	}
	return sched_setaffinity(pid, sizeof its, &its);
}
