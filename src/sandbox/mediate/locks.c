/* Decides each of a jail's file locks, makes those that it can make, and has those checked again that passed (lock_look.c).
 * It waits for no lock, has every call checked again that passed on a descriptor which may have been replaced, and caches no decision. */
#include "sandbox/mediate/locks.h"

#include <errno.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/procfs.h"
#include "sandbox/mediate/lock_recheck.h"
#include "sandbox/mediate/socket_holders.h"

enum {
	TRY_FIRST_US = 500,
	TRY_LATER_US = 20000,
	LOOK_US = 5000,
};

#define cleanup_duplicate __attribute__((cleanup(aj_holders_drop)))

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
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_holders_fetch(pidfd, number);
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
	/* First without a duplicate: what must not be locked is not worth one, and the last close() of a file can take its time. */
	int lockable = check_descriptor(l, call);
	int error = lockable < 0 ? errno : 0;
	cleanup_fd int pidfd = lockable > 0 ? aj_holders_pidfd(l->proc_fd, call->tid) : -1;
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_holders_fetch(pidfd, (int)call->args[0]);
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
	bool cheated = false;
	struct aj_lock_look *look = aj_lock_look_find(l, call->tid, &cheated);
	/* The thread makes a new call, so its earlier call is done and can be checked. */
	cheated |= look && look->number >= 0 && aj_lock_look_cheated(l, look);
	if (cheated)
		return AJ_LOCK_CHEATED;
	if (!aj_notify_waits(listener_fd, call->id))
		return AJ_LOCK_HANDLED;
	if (!look)
		return answer_call(listener_fd, call, ENOLCK);
	int r = aj_lockable_at(&l->files, look->thread, 0, (int)call->args[0]);
	if (r < 0 && errno == ENOENT)
		return answer_call(listener_fd, call, EBADF);
	if (r <= 0) /* also a descriptor that could not be re-checked */
		return AJ_LOCK_REFUSED;
	char state;
	look->number = (int)call->args[0];
	look->ticks = aj_lock_look_ticks(look, &state);
	if (!l->look_us)
		l->look_us = aj_now_us() + LOOK_US;
	if (aj_notify_pass_lock(listener_fd, call) < 0)
		look->number = -1;
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
	for (int i = 0; i < AJ_LOCK_LOOKS; i++)
		if (l->looks[i].thread > 0 && l->looks[i].number >= 0)
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
	if (!l->try_us || !l->look_us)
		return l->try_us ? l->try_us : l->look_us ? l->look_us : INT64_MAX;
	return l->try_us < l->look_us ? l->try_us : l->look_us;
}

bool aj_locks_due(struct aj_locks *l, int listener_fd)
{
	int64_t now_us = aj_now_us();
	bool cheated = false;
	if (l->try_us && now_us >= l->try_us)
		retry_locks(l, listener_fd);
	if (!l->look_us || now_us < l->look_us)
		return false;
	l->look_us = 0;
	for (int i = 0; i < AJ_LOCK_LOOKS; i++) {
		struct aj_lock_look *look = &l->looks[i];
		if (!look->thread || look->number < 0)
			continue;
		bool past = aj_lock_look_past(look); /* before the check, not after */
		cheated |= aj_lock_look_cheated(l, look);
		if (past)
			look->number = -1;
		else
			l->look_us = now_us + LOOK_US;
	}
	return cheated;
}

void aj_locks_close(struct aj_locks *l)
{
	for (size_t i = 0; i < l->waiting; i++)
		aj_holders_drop(&l->waits[i].copy);
	for (int i = 0; i < AJ_LOCK_LOOKS; i++)
		aj_lock_look_free(&l->looks[i]);
	if (l->proc_fd > 0)
		close(l->proc_fd);
	aj_lockable_free(&l->files);
	*l = (struct aj_locks){ 0 };
}
