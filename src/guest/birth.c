/* Makes the two processes of a jail from a zygote with one copy of its memory instead of two.
 *
 *   zygote      waits in aj_birth_make() until its copy is made, so the copy is of a process at rest
 *     init      shares the zygote's memory, on a stack of its own, and is born into every new namespace; the supervisor's child.
 *               It may be there before the order, since new namespaces are the dearest part of a birth.
 *               It runs beside the zygote, so it only makes raw system calls: no libc, no errno
 *       guest   init's fork, and so the copy; it returns to the zygote's stack and continues there
 *
 * It builds no wall but init's own; the guest walks the table of steps.h. */
#include "guest/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/capset.h"
#include "base/clone.h"
#include "base/fd.h"
#include "base/prctl.h"
#include "base/syscall.h"
#include "sandbox/caps.h"
#include "sandbox/handshake.h"
#include "sandbox/init.h"

/* The guest starts on its init's stack, and leaves it at once. */
enum { STACK_BYTES = 16 << 10 };
enum { UNBORN = 0, BORN = 1 };
enum { CONTROL_FD = 3 }; /* the zygote's control socket */

/* The stack and state of one init. The kernel clears `tid` when that init has ended, and then the slot is free again. */
struct birth_slot {
	struct birth_slot *next;
	int tid;
	int ordered;   /* may init make its guest? A futex */
	int outcome;   /* UNBORN, BORN or a negative errno: a futex */
	int ready[2];  /* a pipe, to which init writes */
	char name[16]; /* init's comm in /proc, for people */
	struct aj_birth_args *birth;
	char *stack;
};

static struct birth_slot *slots;
static int *guest_tid;         /* libc's copy of the thread id, which fork() would pass to clone */
static void *guest_context[5]; /* the guest's jump buffer */

int *aj_birth_tid(void)
{
	int *found = NULL;
	if (!guest_tid && aj_prctl_tid_address(&found) == 0 && found && *found == (int)syscall(SYS_gettid))
		guest_tid = found;
	return guest_tid;
}

const char *aj_birth_prepare(void)
{
	if (!aj_birth_tid())
		return "the kernel does not say where libc keeps its thread number (CONFIG_CHECKPOINT_RESTORE)";
	/* Init's memory is the zygote's, and both are closed to the guests, which have the same user id. */
	if (aj_prctl_dumpable(false) < 0)
		return "the zygote cannot close its memory to others";
	return NULL;
}

/* Like sandbox/caps.c, without libcap: init shares the zygote's memory, and libcap allocates and sets errno there. guest.so would
 * also have to carry the library into every Python process. */
static long bound_caps(void)
{
	long r = aj_prctl_securebits_raw(AJ_SECUREBITS);
	long cap = 0;
	while (r == 0 && cap < AJ_CAPS_MAX)
		r = aj_prctl_drop_bound_raw(cap++);
	/* The first capability number that the kernel does not know. */
	return r == -EINVAL && cap > CAP_LAST_CAP + 1 ? 0 : r;
}

static long drop_caps(void)
{
	const struct aj_capset none = { 0 };
	long r = aj_prctl_clear_ambient_raw();
	return r < 0 ? r : aj_capset_set_raw(&none);
}

/* The bounding set and the securebits are those of init, which emptied and locked them before it made the guest. */
int aj_birth_drop_caps(void)
{
	long r = drop_caps();
	errno = r < 0 ? (int)-r : 0;
	return r < 0 ? -1 : 0;
}

/* Set the parent-death signal, then check that the supervisor still lives: its socket closes before its children get the signal.
 * The supervisor's end of the report socket is open here too, so the check uses the zygote's control socket. */
static long tie_to_parent(void)
{
	char byte;
	long r = aj_prctl_death_signal_raw(SIGKILL);
	if (r < 0)
		return r;
	long n = aj_syscall_raw(SYS_recvfrom, CONTROL_FD, (long)&byte, 1, MSG_DONTWAIT | MSG_PEEK, 0, 0);
	return n == -EAGAIN || n > 0 ? 0 : n < 0 ? n : -EPIPE; /* a queued order shows that the supervisor lives */
}

_Noreturn static void fail_init(int report_fd, const char *step, long error)
{
	struct aj_msg msg = { .kind = AJ_MSG_FAILED, .exit_code = AJ_EXIT_SETUP, .cause = "in the jail's init" };
	msg.errnum = (int)-error;
	for (size_t i = 0; i < sizeof msg.step - 1 && step[i]; i++)
		msg.step[i] = step[i];
	aj_syscall_raw(SYS_sendto, report_fd, (long)&msg, sizeof msg, MSG_NOSIGNAL, 0, 0);
	for (;;)
		aj_syscall_raw(SYS_exit_group, AJ_EXIT_SETUP, 0, 0, 0, 0, 0);
}

/* A function of its own: __builtin_longjmp must not be called from the function that called __builtin_setjmp. */
__attribute__((noinline, noreturn)) static void jump_to_guest(void)
{
	__builtin_longjmp(guest_context, 1);
}

/* Fork the guest. In the guest this does not return; in init: the guest's pid, or a negative errno. */
__attribute__((noinline)) static long fork_guest(int leaves_fd, const char *leaf)
{
	long cgroup = -1;
	if (*leaf) {
		const long flags = O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
		cgroup = aj_syscall_raw(SYS_openat, leaves_fd, (long)leaf, flags, 0, 0, 0);
		if (cgroup < 0)
			return cgroup;
	}
	long guest = aj_clone3_raw(0, (int)cgroup, NULL, guest_tid);
	if (guest == 0)
		jump_to_guest();
	return guest;
}

/* Init, from its first instruction to its end. An error before the order is reported once there is a guest, as a later one is. */
__attribute__((noinline)) static int init_main(void *arg)
{
	struct birth_slot *slot = arg;
	const struct aj_plan *plan = slot->birth->plan;
	int report_fd = slot->birth->report_fd, ready = slot->ready[1];
	long r = bound_caps(), tied = tie_to_parent();
	while (!__atomic_load_n(&slot->ordered, __ATOMIC_ACQUIRE))
		aj_syscall_raw(SYS_futex, (long)&slot->ordered, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, 0, 0, 0, 0);
	long guest = fork_guest(slot->birth->leaves_fd, slot->birth->leaf);
	aj_prctl_name_raw(slot->name);
	/* From here on the zygote runs again, and may reuse `birth`. */
	__atomic_store_n(&slot->outcome, guest > 0 ? BORN : (int)guest, __ATOMIC_RELEASE);
	aj_syscall_raw(SYS_futex, (long)&slot->outcome, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
	if (guest < 0)
		fail_init(report_fd, "fork", guest);
	if (r < 0 || (r = drop_caps()) < 0)
		fail_init(report_fd, "drop_caps", r);
	if (tied < 0)
		fail_init(report_fd, "tie_to_parent", tied);
	char byte = 1;
	aj_syscall_raw(SYS_write, ready, (long)&byte, 1, 0, 0, 0);
	/* The supervisor takes its ends of the channels from this process, which has the only copies: if this process ended, the
	 * guest's output would be lost. */
	struct aj_msg taken;
	taken.kind = 0;
	while ((r = aj_syscall_raw(SYS_recvfrom, report_fd, (long)&taken, sizeof taken, 0, 0, 0)) == -EINTR)
		;
	if (r != (long)sizeof taken || taken.kind != AJ_MSG_TAKEN)
		fail_init(report_fd, "channels", r < 0 ? r : -EPROTO);
	aj_syscall_raw(SYS_close_range, 0, report_fd - 1, 0, 0, 0, 0);
	aj_syscall_raw(SYS_close_range, report_fd + 1, ~0U, 0, 0, 0, 0);
	aj_init_run(report_fd, -1, (pid_t)guest, plan);
}

static struct birth_slot *free_slot(void)
{
	struct birth_slot *slot = slots;
	while (slot && __atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) != 0)
		slot = slot->next;
	if (slot)
		return madvise(slot->stack, STACK_BYTES, MADV_DOFORK) < 0 ? NULL : slot;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	slot = (struct birth_slot *)stack; /* at the low end of the stack, which grows down and never reaches it */
	slot->stack = stack;
	slot->next = slots;
	return slots = slot;
}

/* Wait until the copy is made, or init has ended without making one. */
static int await_birth(struct birth_slot *slot)
{
	int outcome;
	while ((outcome = __atomic_load_n(&slot->outcome, __ATOMIC_ACQUIRE)) == UNBORN) {
		if (__atomic_load_n(&slot->tid, __ATOMIC_ACQUIRE) == 0)
			return -ECHILD;
		syscall(SYS_futex, &slot->outcome, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, UNBORN,
		        &(struct timespec){ .tv_nsec = 10000000 }, NULL, 0);
	}
	return outcome;
}

pid_t aj_birth_fork_trial(void)
{
	return (pid_t)aj_syscall_errno(aj_clone3_raw(0, -1, NULL, guest_tid));
}

/* Of the init that waits; static: the guest returns into aj_birth_make() with the memory of the copy. */
static struct birth_slot *begun;

int aj_birth_begin(struct aj_birth_args *birth)
{
	struct birth_slot *slot = free_slot();
	if (!slot || pipe2(slot->ready, O_CLOEXEC) < 0)
		return -1;
	birth->init_ready = slot->ready[0];
	slot->birth = birth;
	slot->ordered = 0;
	slot->outcome = UNBORN;
	slot->tid = -1;
	unsigned long flags = birth->plan->namespaces | CLONE_NEWPID | CLONE_VM | CLONE_PARENT | CLONE_PIDFD |
	                      CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID;
	pid_t init = aj_clone_shared(init_main, slot, slot->stack + STACK_BYTES, (int)flags, &birth->init_pidfd, &slot->tid);
	int error = init < 0 ? errno : 0;
	close(slot->ready[0]);
	close(slot->ready[1]);
	if (!error) {
		begun = slot;
		return 0;
	}
	slot->tid = 0;
	errno = error;
	return -1;
}

int aj_birth_make(struct aj_birth_args *birth)
{
	if (__builtin_setjmp(guest_context) != 0) {
		munmap(begun->stack, STACK_BYTES); /* the stack may contain what the init of an earlier jail left there */
		return 1;
	}
	snprintf(begun->name, sizeof begun->name, "init-%u", birth->number);
	__atomic_store_n(&begun->ordered, 1, __ATOMIC_RELEASE);
	syscall(SYS_futex, &begun->ordered, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, NULL, NULL, 0);
	int outcome = await_birth(begun);
	if (outcome == BORN) {
		/* Exclude the stack from later copies: init writes its jail's data there, and a later guest would see how this
		 * jail ended. */
		madvise(begun->stack, STACK_BYTES, MADV_DONTFORK);
		return 0;
	}
	errno = -outcome;
	return -1;
}
