/* Decides each of a jail's file locks, makes those that it can make, and checks again those that passed in a process with several
 * threads. It waits for no lock, and caches no decision. */
#include "sandbox/mediate/locks.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "sandbox/mediate/socket_holders.h"

/* Of processor time: no call needs that long to take its lock. stat rounds user and system time down: two ticks may be none. */
enum { DONE_TICKS = 10 };

#define cleanup_duplicate __attribute__((cleanup(aj_holders_drop)))

static int open_folder(const struct aj_locks *l, pid_t pid)
{
	char name[16];
	snprintf(name, sizeof name, "%d", pid);
	return openat(l->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* The thread's own folder: the times in its process's are those of all threads. */
static int open_thread(const struct aj_locks *l, pid_t tid)
{
	char name[40];
	snprintf(name, sizeof name, "%d/task/%d", tid, tid);
	return openat(l->proc_fd, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static uint64_t ticks_of(const struct aj_lock_recheck *recheck, char *ret_state)
{
	char text[1024];
	cleanup_fd int fd = openat(recheck->thread, "stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strrchr(text, ')');
	*ret_state = 'X';
	if (at && at[1])
		*ret_state = at[2];
	/* state is the first of these fields, utime the twelfth */
	for (int field = 0; at && field < 12; field++)
		at = strchr(at + 1, ' ');
	char *end;
	uint64_t user = at ? strtoul(at, &end, 10) : 0;
	return at ? user + strtoul(end, NULL, 10) : 0;
}

/* Does the thread's process hold a lock through this descriptor, against the rules? -1: no such descriptor or thread. */
static int holds_lock(const struct aj_locks *l, int thread, pid_t tid, int number)
{
	struct flock any = { .l_type = F_WRLCK };
	int r = aj_lockable_at(&l->files, thread, 0, number);
	if (r >= 0)
		return r == 0 && aj_lockable_has_lock(thread, number);
	if (errno != EACCES)
		return -1;
	/* The process is not dumpable any more. */
	cleanup_fd int pidfd = aj_holders_pidfd(l->proc_fd, tid);
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_pidfd_copy_fd(pidfd, number);
	if (copy < 0)
		return errno == EBADF || errno == ESRCH ? -1 : 1;
	return aj_lockable_fd(&l->files, copy) <= 0 && (fcntl(copy, F_GETLK, &any) < 0 || any.l_type != F_UNLCK);
}

static bool is_not_allowed(const struct aj_locks *l, const struct aj_lock_recheck *recheck)
{
	int r = holds_lock(l, recheck->thread, recheck->tid, recheck->number);
	if (r >= 0)
		return r;
	/* The descriptor is closed, or the thread is gone: check the process's other threads, which may share the table. */
	int folder = openat(recheck->process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_listing struct aj_listing list = aj_listing_take(folder);
	for (const struct dirent *entry; r <= 0 && (entry = aj_listing_next(&list));) {
		pid_t tid = (pid_t)strtoul(entry->d_name, NULL, 10);
		cleanup_fd int thread = tid > 0 ? openat(folder, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		if (thread >= 0)
			r = holds_lock(l, thread, tid, recheck->number);
	}
	/* A process that cannot be examined counts as one that holds the lock; one that has ended holds none. */
	return r > 0 || (list.error && list.error != ENOENT && list.error != ESRCH);
}

static void free_recheck(struct aj_lock_recheck *recheck)
{
	if (recheck->thread > 0)
		close(recheck->thread);
	if (recheck->process > 0)
		close(recheck->process);
	*recheck = (struct aj_lock_recheck){ .number = -1 };
}

/* Does the thread sleep in that very call? fcntl(2) looks up the descriptor, and then may wait for a page of its argument or for
 * the lock of another process: it locks last. A thread that cannot be read counts as one that sleeps there. */
static bool sleeps_in_call(const struct aj_lock_recheck *recheck)
{
	char text[256], *end;
	cleanup_fd int fd = openat(recheck->thread, "syscall", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n < 0)
		return errno != ENOENT && errno != ESRCH;
	text[n] = '\0';
	long nr = (long)strtoul(text, &end, 10);
	return end == text || (nr == SYS_fcntl && (int)strtoul(end, NULL, 16) == recheck->number);
}

static bool call_is_over(const struct aj_lock_recheck *recheck)
{
	char state;
	uint64_t ticks = ticks_of(recheck, &state);
	return ticks >= recheck->ticks + DONE_TICKS || (state != 'R' && !sleeps_in_call(recheck));
}

static struct aj_lock_recheck *find_recheck(struct aj_locks *l, pid_t tid, bool *ret_not_allowed)
{
	struct aj_lock_recheck *free_row = NULL;
	for (int i = 0; i < AJ_LOCK_RECHECKS; i++) {
		struct aj_lock_recheck *recheck = &l->rechecks[i];
		if (recheck->thread > 0 && recheck->tid == tid && faccessat(recheck->thread, "stat", F_OK, 0) == 0)
			return recheck;
		if (!recheck->thread && !free_row)
			free_row = recheck;
	}
	for (int i = 0; i < AJ_LOCK_RECHECKS && !free_row; i++) {
		struct aj_lock_recheck *recheck = &l->rechecks[i];
		if (recheck->number >= 0 && !call_is_over(recheck))
			continue;
		*ret_not_allowed |= recheck->number >= 0 && is_not_allowed(l, recheck);
		free_recheck(recheck);
		free_row = recheck;
	}
	struct aj_process_info info = free_row ? aj_procfs_process(tid) : (struct aj_process_info){ 0 };
	if (!free_row || info.process <= 0)
		return NULL;
	*free_row = (struct aj_lock_recheck){ tid, open_thread(l, tid), open_folder(l, info.process), -1, 0 };
	if (free_row->thread > 0 && free_row->process > 0)
		return free_row;
	free_recheck(free_row);
	return NULL;
}

enum {
	TRY_FIRST_US = 500,
	TRY_LATER_US = 20000,
	RECHECK_US = 5000,
};

static bool waits_for_it(const struct aj_notification *call)
{
	int command = (int)call->args[1]; /* the kernel ignores the upper half */
	return call->nr == SYS_flock ? !(command & LOCK_NB) : command == F_SETLKW || command == F_OFD_SETLKW;
}

static bool is_posix(const struct aj_notification *call)
{
	return call->nr == SYS_fcntl && ((int)call->args[1] == F_SETLK || (int)call->args[1] == F_SETLKW);
}

static enum aj_lock answer_call(int listener_fd, const struct aj_notification *call, int errnum)
{
	if (errnum)
		aj_notify_refuse(listener_fd, call->id, errnum);
	else
		aj_notify_done(listener_fd, call->id);
	return AJ_LOCK_HANDLED;
}

/* For a process with a single descriptor table, as aj_lockable_at(). Its /proc folder may be closed to us (not dumpable). */
static int check_descriptor(const struct aj_locks *l, const struct aj_notification *call)
{
	int number = (int)call->args[0];
	int r = aj_lockable_at(&l->files, l->proc_fd, call->tid, number);
	if (r >= 0 || errno != EACCES)
		return r;
	cleanup_fd int pidfd = aj_holders_pidfd(l->proc_fd, call->tid);
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_pidfd_copy_fd(pidfd, number);
	if (copy < 0 && errno == EBADF)
		errno = ENOENT;
	return copy < 0 ? -1 : aj_lockable_fd(&l->files, copy);
}

/* --- locks made on a duplicate --- */

/* 0, or errno. The kernel checks the operation; only waiting is taken out. */
static int try_lock(int copy, const struct aj_notification *call, const struct flock *range)
{
	struct flock own = *range;
	int r = call->nr == SYS_flock ? flock(copy, (int)call->args[1] | LOCK_NB) : fcntl(copy, F_OFD_SETLK, &own);
	return r < 0 ? errno : 0;
}

static enum aj_lock lock_duplicate(struct aj_locks *l, int listener_fd, const struct aj_notification *call)
{
	struct flock range = { 0 };
	/* First without a duplicate: the last close() of a file can take its time. */
	int lockable = check_descriptor(l, call);
	int error = lockable < 0 ? errno : 0;
	cleanup_fd int pidfd = lockable > 0 ? aj_holders_pidfd(l->proc_fd, call->tid) : -1;
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_pidfd_copy_fd(pidfd, (int)call->args[0]);
	if (lockable > 0 && copy < 0)
		error = errno == EBADF ? ENOENT : errno;
	int no_range = copy < 0 || call->nr == SYS_flock ? 0 : aj_lockable_range(call, &range);
	/* From here on all that was read is known to be the caller's. */
	if (!aj_notify_waits(listener_fd, call->id))
		return AJ_LOCK_HANDLED;
	if (copy < 0)
		return error == ENOENT ? answer_call(listener_fd, call, EBADF) : AJ_LOCK_REFUSED;
	if (aj_lockable_fd(&l->files, copy) <= 0)
		return AJ_LOCK_REFUSED;
	error = no_range;
	if (!error)
		error = try_lock(copy, call, &range);
	if ((error == EAGAIN || error == EACCES) && waits_for_it(call)) {
		if (l->waiting == AJ_LOCK_WAITS)
			return answer_call(listener_fd, call, ENOLCK);
		l->waits[l->waiting++] = (struct aj_lock_wait){ .call = *call, .copy = aj_steal(&copy), .range = range };
		l->step_us = TRY_FIRST_US;
		l->try_us = aj_now_us() + l->step_us;
		return AJ_LOCK_HANDLED;
	}
	/* Close before answering: our duplicate must not outlive the caller's close(). */
	aj_holders_drop(&copy);
	return answer_call(listener_fd, call, error);
}

static void retry_locks(struct aj_locks *l, int listener_fd)
{
	for (size_t i = 0; i < l->waiting;) {
		struct aj_lock_wait *w = &l->waits[i];
		bool there = listener_fd >= 0 && aj_notify_waits(listener_fd, w->call.id);
		int error = there ? try_lock(w->copy, &w->call, &w->range) : 0;
		if (there && (error == EAGAIN || error == EACCES)) {
			if (!aj_procfs_signalled(l->proc_fd, w->call.tid)) {
				i++;
				continue;
			}
			error = EINTR;
		}
		aj_holders_drop(&w->copy);
		if (there)
			answer_call(listener_fd, &w->call, error);
		*w = l->waits[--l->waiting];
	}
	l->step_us = l->step_us * 2 < TRY_LATER_US ? l->step_us * 2 : TRY_LATER_US;
	l->try_us = l->waiting ? aj_now_us() + l->step_us : 0;
}

/* --- locks that pass --- */

static enum aj_lock pass_threaded(struct aj_locks *l, int listener_fd, const struct aj_notification *call)
{
	bool not_allowed = false;
	struct aj_lock_recheck *recheck = find_recheck(l, call->tid, &not_allowed);
	/* The thread makes a new call, so its earlier call is done and can be checked. */
	not_allowed |= recheck && recheck->number >= 0 && is_not_allowed(l, recheck);
	if (not_allowed)
		return AJ_LOCK_NOT_ALLOWED;
	if (!aj_notify_waits(listener_fd, call->id))
		return AJ_LOCK_HANDLED;
	if (!recheck)
		return answer_call(listener_fd, call, ENOLCK);
	int r = aj_lockable_at(&l->files, recheck->thread, 0, (int)call->args[0]);
	if (r < 0 && errno == ENOENT)
		return answer_call(listener_fd, call, EBADF);
	if (r <= 0) /* also a descriptor that could not be re-checked */
		return AJ_LOCK_REFUSED;
	char state;
	recheck->number = (int)call->args[0];
	recheck->ticks = ticks_of(recheck, &state);
	if (!l->recheck_us)
		l->recheck_us = aj_now_us() + RECHECK_US;
	if (aj_notify_pass_lock(listener_fd, call) < 0)
		recheck->number = -1;
	return AJ_LOCK_HANDLED;
}

static enum aj_lock pass_single(const struct aj_locks *l, int listener_fd, const struct aj_notification *call)
{
	int r = check_descriptor(l, call);
	if (r < 0 && errno == ENOENT)
		return answer_call(listener_fd, call, EBADF);
	if (r <= 0)
		return aj_notify_waits(listener_fd, call->id) ? AJ_LOCK_REFUSED : AJ_LOCK_HANDLED;
	/* Fails if the call does not wait any more: so the checked descriptor was, and still is, the caller's. */
	aj_notify_pass_lock(listener_fd, call);
	return AJ_LOCK_HANDLED;
}

/* --- */

/* Not while a passed call is still to be rechecked: the recheck relies on a descriptor table that ends with its process. */
static enum aj_lock pass_tracer_clone(struct aj_locks *l, int listener_fd, const struct aj_notification *call)
{
	for (int i = 0; i < AJ_LOCK_RECHECKS; i++)
		if (l->rechecks[i].thread > 0 && l->rechecks[i].number >= 0)
			return answer_call(listener_fd, call, EAGAIN);
	l->shared = true;
	aj_notify_pass_tracer_clone(listener_fd, call);
	return AJ_LOCK_HANDLED;
}

static enum aj_lock decide_lock(struct aj_locks *l, int listener_fd, const struct aj_notification *call)
{
	int threads = call->tid > 0 ? aj_lockable_threads(l->proc_fd, call->tid) : 0;
	if (l->shared && threads > 0)
		return is_posix(call) ? answer_call(listener_fd, call, ENOLCK) : lock_duplicate(l, listener_fd, call);
	if (threads == 1)
		return pass_single(l, listener_fd, call);
	if (threads > 1)
		return is_posix(call) ? pass_threaded(l, listener_fd, call) : lock_duplicate(l, listener_fd, call);
	return aj_notify_waits(listener_fd, call->id) ? AJ_LOCK_REFUSED : AJ_LOCK_HANDLED;
}

enum aj_lock aj_locks_call(struct aj_locks *l, const struct aj_plan *plan, const int pipes[AJ_LOCKABLE_PIPES], int listener_fd,
                           const struct aj_notification *call)
{
	if (!(plan->deny & AJ_LOCKS_MEDIATED))
		return AJ_LOCK_NONE;
	if (plan->profile == AJ_PROFILE_COMMAND && !(plan->deny & AJ_DENY_PTRACE) && aj_notify_is_tracer_clone(call))
		return pass_tracer_clone(l, listener_fd, call);
	if (!aj_notify_is_lock(call))
		return AJ_LOCK_NONE;
	if (l->proc_fd <= 0 && (l->proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC)) < 0)
		return AJ_LOCK_REFUSED;
	if (!l->files.known || l->many) {
		if (aj_lockable_find(&l->files, plan, call->tid, pipes) < 0)
			return AJ_LOCK_REFUSED;
		if (!aj_notify_waits(listener_fd, call->id)) { /* the mounts may be those of another process with this id */
			l->files.known = false;
			return AJ_LOCK_HANDLED;
		}
	}
	return decide_lock(l, listener_fd, call);
}

int64_t aj_locks_deadline_us(const struct aj_locks *l)
{
	if (!l->try_us || !l->recheck_us)
		return l->try_us ? l->try_us : l->recheck_us ? l->recheck_us : INT64_MAX;
	return l->try_us < l->recheck_us ? l->try_us : l->recheck_us;
}

bool aj_locks_due(struct aj_locks *l, int listener_fd)
{
	int64_t now_us = aj_now_us();
	bool not_allowed = false;
	if (l->try_us && now_us >= l->try_us)
		retry_locks(l, listener_fd);
	if (!l->recheck_us || now_us < l->recheck_us)
		return false;
	l->recheck_us = 0;
	for (int i = 0; i < AJ_LOCK_RECHECKS; i++) {
		struct aj_lock_recheck *recheck = &l->rechecks[i];
		if (!recheck->thread || recheck->number < 0)
			continue;
		bool past = call_is_over(recheck); /* before the check, not after */
		not_allowed |= is_not_allowed(l, recheck);
		if (past)
			recheck->number = -1;
		else
			l->recheck_us = now_us + RECHECK_US;
	}
	return not_allowed;
}

void aj_locks_close(struct aj_locks *l)
{
	for (size_t i = 0; i < l->waiting; i++)
		aj_holders_drop(&l->waits[i].copy);
	for (int i = 0; i < AJ_LOCK_RECHECKS; i++)
		free_recheck(&l->rechecks[i]);
	if (l->proc_fd > 0)
		close(l->proc_fd);
	aj_lockable_free(&l->files);
	*l = (struct aj_locks){ 0 };
}
