/* The second look at a lock call that passed in a process with several threads: does the process now hold a lock that it may not have?
 * It lets no call pass and answers none; a thread that cannot be examined counts as one that is still in its call. */
#include "sandbox/mediate/lock_recheck.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/procfs.h"
#include "sandbox/mediate/socket_holders.h"

enum { DONE_TICKS = 2 }; /* of processor time: no call needs that long to look up its descriptor */

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

uint64_t aj_lock_look_ticks(const struct aj_lock_look *look, char *ret_state)
{
	char text[1024];
	cleanup_fd int fd = openat(look->thread, "stat", O_RDONLY | O_CLOEXEC);
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

/* Does the thread's process hold a lock through this descriptor, which must not be locked? -1: no such descriptor, or no such thread. */
static int holds_lock(const struct aj_locks *l, int thread, pid_t tid, int number)
{
	struct flock any = { .l_type = F_WRLCK };
	int r = aj_lockable_at(&l->files, thread, 0, number);
	if (r >= 0)
		return r == 0 && aj_lockable_held(thread, number);
	if (errno != EACCES)
		return -1;
	/* The process is not dumpable any more. */
	cleanup_fd int pidfd = aj_holders_pidfd(l->proc_fd, tid);
	cleanup_duplicate int copy = pidfd < 0 ? -1 : aj_holders_fetch(pidfd, number);
	if (copy < 0)
		return errno == EBADF || errno == ESRCH ? -1 : 1;
	return aj_lockable_fd(&l->files, copy) <= 0 && (fcntl(copy, F_GETLK, &any) < 0 || any.l_type != F_UNLCK);
}

bool aj_lock_look_cheated(const struct aj_locks *l, const struct aj_lock_look *look)
{
	int r = holds_lock(l, look->thread, look->tid, look->number);
	if (r >= 0)
		return r;
	/* The descriptor is closed, or the thread is gone: check the process's other threads, which may share the table. */
	int folder = openat(look->process, "task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	cleanup_listing struct aj_listing list = aj_listing_take(folder);
	for (const struct dirent *entry; r <= 0 && (entry = aj_listing_next(&list));) {
		pid_t tid = (pid_t)strtoul(entry->d_name, NULL, 10);
		cleanup_fd int thread = tid > 0 ? openat(folder, entry->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
		if (thread >= 0)
			r = holds_lock(l, thread, tid, look->number);
	}
	/* A process that cannot be examined counts as one that holds the lock; one that has ended holds none. */
	return r > 0 || (list.error && list.error != ENOENT && list.error != ESRCH);
}

void aj_lock_look_free(struct aj_lock_look *look)
{
	if (look->thread > 0)
		close(look->thread);
	if (look->process > 0)
		close(look->process);
	*look = (struct aj_lock_look){ .number = -1 };
}

/* Does the thread sleep in that very call? fcntl(2) looks up the descriptor, and then may wait for a page of its argument or for the lock
 * of another process: it locks last. A thread that cannot be read counts as one that sleeps there. */
static bool sleeps_in_call(const struct aj_lock_look *look)
{
	char text[256], *end;
	cleanup_fd int fd = openat(look->thread, "syscall", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
	if (n < 0)
		return errno != ENOENT && errno != ESRCH;
	text[n] = '\0';
	long nr = (long)strtoul(text, &end, 10);
	return end == text || (nr == SYS_fcntl && (int)strtoul(end, NULL, 16) == look->number);
}

bool aj_lock_look_past(const struct aj_lock_look *look)
{
	char state;
	uint64_t ticks = aj_lock_look_ticks(look, &state);
	return ticks >= look->ticks + DONE_TICKS || (state != 'R' && !sleeps_in_call(look));
}

struct aj_lock_look *aj_lock_look_find(struct aj_locks *l, pid_t tid, bool *ret_cheated)
{
	struct aj_lock_look *free_row = NULL;
	for (int i = 0; i < AJ_LOCK_LOOKS; i++) {
		struct aj_lock_look *look = &l->looks[i];
		if (look->thread > 0 && look->tid == tid && faccessat(look->thread, "stat", F_OK, 0) == 0)
			return look;
		if (!look->thread && !free_row)
			free_row = look;
	}
	for (int i = 0; i < AJ_LOCK_LOOKS && !free_row; i++) {
		struct aj_lock_look *look = &l->looks[i];
		if (look->number >= 0 && !aj_lock_look_past(look))
			continue;
		*ret_cheated |= look->number >= 0 && aj_lock_look_cheated(l, look);
		aj_lock_look_free(look);
		free_row = look;
	}
	struct aj_process_info info = free_row ? aj_procfs_process(tid) : (struct aj_process_info){ 0 };
	if (!free_row || info.process <= 0)
		return NULL;
	*free_row = (struct aj_lock_look){ tid, open_thread(l, tid), open_folder(l, info.process), -1, 0 };
	if (free_row->thread > 0 && free_row->process > 0)
		return free_row;
	aj_lock_look_free(free_row);
	return NULL;
}
