/* Makes the two processes of a jail from a zygote with one copy of its memory instead of two.
 *
 *   zygote      waits in aj_birth_birth() until its copy is made, so the copy is of a process at rest
 *     init      shares the zygote's memory, on a stack of its own, and is born into every new namespace; the supervisor's child.
 *               It runs beside the zygote ever after, so it makes system calls and nothing else: no libc, no errno
 *       guest   init's fork, and so the copy; it goes back to the zygote's stack and on from there
 *
 * It builds no wall but init's own; the guest walks the table of steps.h. */
#include "guest/birth.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/syscall.h"
#include "sandbox/birth_protocol.h"
#include "sandbox/handshake.h"
#include "sandbox/init.h"

/* A guest is born on the stack of its own init, and keeps none. */
enum { STACK_BYTES = 16 << 10, CAPS_MAX = 64 };
/* SECBIT_NOROOT, NO_SETUID_FIXUP, NO_CAP_AMBIENT_RAISE, each with its lock, as in sandbox/caps.c. */
enum { SECUREBITS = 0x03 | 0x0c | 0xc0 };
enum { UNBORN = 0, BORN = 1 };
enum { CONTROL_FD = 3 }; /* the zygote's */

/* One init's room. The kernel clears `tid` when that init is gone, and then the room is free again. */
struct room {
	struct room *next;
	int tid;
	int outcome;              /* UNBORN, BORN or a negative errno: a futex */
	int init_ready;           /* init's end of the pipe */
	char name[AJ_BIRTH_NAME]; /* init's, in /proc, for people */
	struct aj_nest *nest;
	char *stack;
};

static struct room *rooms;
static int *guest_tid; /* where libc keeps the thread's number: fork() would tell the kernel so */
static void *home[5];  /* where the guest goes on */

int *aj_birth_tid(void)
{
	int *found = NULL;
	if (!guest_tid && prctl(PR_GET_TID_ADDRESS, &found) == 0 && found && *found == (int)syscall(SYS_gettid))
		guest_tid = found;
	return guest_tid;
}

const char *aj_birth_prepare(void)
{
	if (!aj_birth_tid())
		return "the kernel does not say where libc keeps its thread number (CONFIG_CHECKPOINT_RESTORE)";
	/* Init's memory is the zygote's, and both are closed to the guests, which have the same id. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0)
		return "the zygote cannot close its memory to others";
	return NULL;
}

/* The same as sandbox/caps.c does, without libc. */
static long drop_caps(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	long r = aj_syscall_raw(SYS_prctl, PR_SET_SECUREBITS, SECUREBITS, 0, 0, 0, 0);
	long cap = 0;
	while (r == 0 && cap < CAPS_MAX)
		r = aj_syscall_raw(SYS_prctl, PR_CAPBSET_DROP, cap++, 0, 0, 0, 0);
	/* The kernel knows none from here on. */
	if (r == -EINVAL && cap > CAP_LAST_CAP + 1)
		r = 0;
	if (r == 0)
		r = aj_syscall_raw(SYS_prctl, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0, 0);
	return r < 0 ? r : aj_syscall_raw(SYS_capset, (long)&head, (long)none, 0, 0, 0, 0);
}

int aj_birth_drop_caps(void)
{
	long r = drop_caps();
	errno = r < 0 ? (int)-r : 0;
	return r < 0 ? -1 : 0;
}

/* Dies with the supervisor, which may be gone already: its socket closes before its children are told. Of the report socket the
 * supervisor's end is here as well, so it is the zygote's that says so. */
static long tie_to_parent(void)
{
	char byte;
	long r = aj_syscall_raw(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0, 0);
	if (r < 0)
		return r;
	long n = aj_syscall_raw(SYS_recvfrom, CONTROL_FD, (long)&byte, 1, MSG_DONTWAIT | MSG_PEEK, 0, 0);
	return n == -EAGAIN || n > 0 ? 0 : n < 0 ? n : -EPIPE; /* the next order is a sign of life */
}

_Noreturn static void fail_init(int report_fd, const char *step, long error)
{
	struct aj_msg msg = { .kind = AJ_MSG_FAILED, .errnum = (int)-error, .exit_code = AJ_EXIT_SETUP, .cause = "in the jail's init" };
	for (size_t i = 0; i < sizeof msg.step - 1 && step[i]; i++)
		msg.step[i] = step[i];
	aj_syscall_raw(SYS_sendto, report_fd, (long)&msg, sizeof msg, MSG_NOSIGNAL, 0, 0);
	for (;;)
		aj_syscall_raw(SYS_exit_group, AJ_EXIT_SETUP, 0, 0, 0, 0, 0);
}

/* Apart, as a jump back must not come from the function that it goes to. */
__attribute__((noinline, noreturn)) static void go_home(void)
{
	__builtin_longjmp(home, 1);
}

/* Init, from its first instruction to its end. */
__attribute__((noinline)) static int init_main(void *arg)
{
	struct room *room = arg;
	const struct aj_nest *nest = room->nest;
	const struct aj_plan *plan = nest->plan;
	int report_fd = nest->report_fd, ready = room->init_ready;
	struct clone_args args = { .flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
		                   .child_tid = (uint64_t)(uintptr_t)guest_tid,
		                   .exit_signal = SIGCHLD };
	if (nest->cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)nest->cgroup_fd;
	}
	long guest = aj_syscall_raw(SYS_clone3, (long)&args, sizeof args, 0, 0, 0, 0);
	if (guest == 0)
		go_home();
	aj_syscall_raw(SYS_prctl, PR_SET_NAME, (long)room->name, 0, 0, 0, 0);
	/* From here on the zygote runs again, and `nest` is its own. */
	__atomic_store_n(&room->outcome, guest > 0 ? BORN : (int)guest, __ATOMIC_RELEASE);
	aj_syscall_raw(SYS_futex, (long)&room->outcome, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1, 0, 0, 0);
	if (guest < 0)
		fail_init(report_fd, "fork", guest);
	long r = drop_caps();
	if (r < 0)
		fail_init(report_fd, "drop_caps", r);
	if ((r = tie_to_parent()) < 0)
		fail_init(report_fd, "tie_to_parent", r);
	char byte = 1;
	aj_syscall_raw(SYS_write, ready, (long)&byte, 1, 0, 0, 0);
	/* The supervisor takes its ends from here, which are nowhere else by now: an end of this process would be the end of all that the
	 * guest has said. */
	struct aj_msg taken;
	taken.kind = 0;
	while ((r = aj_syscall_raw(SYS_recvfrom, report_fd, (long)&taken, sizeof taken, 0, 0, 0)) == -EINTR)
		;
	if (r != (long)sizeof taken || taken.kind != AJ_MSG_TAKEN)
		fail_init(report_fd, "channels", r < 0 ? r : -EPROTO);
	aj_syscall_raw(SYS_close_range, 0, report_fd - 1, 0, 0, 0, 0);
	aj_syscall_raw(SYS_close_range, report_fd + 1, ~0U, 0, 0, 0, 0);
	aj_init_run(report_fd, (pid_t)guest, plan);
}

static struct room *free_room(void)
{
	struct room *room = rooms;
	while (room && __atomic_load_n(&room->tid, __ATOMIC_ACQUIRE) != 0)
		room = room->next;
	if (room)
		return madvise(room->stack, STACK_BYTES, MADV_DOFORK) < 0 ? NULL : room;
	char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
	if (stack == MAP_FAILED)
		return NULL;
	room = (struct room *)stack; /* at the low end, where a stack that grows down never gets */
	room->stack = stack;
	room->next = rooms;
	return rooms = room;
}

/* Until the copy is made, or init is gone without having made one. */
static int await_birth(struct room *room)
{
	int outcome;
	while ((outcome = __atomic_load_n(&room->outcome, __ATOMIC_ACQUIRE)) == UNBORN) {
		if (__atomic_load_n(&room->tid, __ATOMIC_ACQUIRE) == 0)
			return -ECHILD;
		syscall(SYS_futex, &room->outcome, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, UNBORN,
		        &(struct timespec){ .tv_nsec = 10000000 }, NULL, 0);
	}
	return outcome;
}

pid_t aj_birth_copy(void)
{
	struct clone_args args = { .flags = CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID,
		                   .child_tid = (uint64_t)(uintptr_t)guest_tid,
		                   .exit_signal = SIGCHLD };
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

int aj_birth_birth(struct aj_nest *nest)
{
	static struct room *room; /* static: the guest comes back to this function with what was in memory */
	static int ready[2];
	room = free_room();
	if (!room || pipe2(ready, O_CLOEXEC) < 0)
		return -1;
	nest->init_ready = ready[0];
	room->init_ready = ready[1];
	room->nest = nest;
	aj_birth_name(room->name, nest->number);
	room->outcome = UNBORN;
	room->tid = -1;
	if (__builtin_setjmp(home) != 0) {
		munmap(room->stack, STACK_BYTES); /* what an init of a sibling, which had it before, may have left there */
		return 1;
	}
	unsigned long flags = nest->plan->namespaces | CLONE_NEWPID | CLONE_VM | CLONE_PARENT | CLONE_PIDFD | CLONE_CHILD_SETTID |
	                      CLONE_CHILD_CLEARTID;
	int error = clone(init_main, room->stack + STACK_BYTES, (int)flags, room, &nest->init_pidfd, NULL, &room->tid) < 0 ? errno : 0;
	if (error)
		room->tid = 0;
	else if ((error = -await_birth(room)) < 0)
		error = 0;
	close(ready[0]);
	close(ready[1]);
	if (!error) {
		/* Not in the copies that come next: what init does there is its jail's. Without it they would see how that one ended. */
		madvise(room->stack, STACK_BYTES, MADV_DONTFORK);
		return 0;
	}
	errno = error;
	return -1;
}
