/* The helper that furnishes a branch: joins its namespaces, maps its id, mounts scratch space, copies files, reopens descriptors.
 * Runs no code of the jail's; a descriptor that cannot be reopened becomes a dummy. */
#include "jail/fork/copier.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/dirent64.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/message.h"
#include "base/namespaces.h"
#include "base/pidfd.h"
#include "base/prctl.h"
#include "jail/fork/copy_tree.h"
#include "sandbox/jail_steps.h"
#include "sandbox/mounts/mount.h"

enum { SCRATCH_MAX = 4, FIRST_FILE = 4, LIST_BYTES = 4096 };

struct work {
	const struct aj_plan *plan;
	const struct aj_copier_target *copied;
	int socket;
	int files; /* the branch's fd folder in /proc */
	int dummy; /* replaces descriptors that cannot be reopened: neither readable nor writable */
	struct scratch {
		const char *target;
		int old;
		dev_t device;
	} scratch[SCRATCH_MAX];
	size_t count;
};

_Noreturn static void fail_copy(const struct work *w, const char *action)
{
	struct aj_copy_msg msg = { .number = AJ_COPY_FAILED, .errnum = errno };
	memcpy(msg.what, action, strnlen(action, sizeof msg.what - 1));
	aj_message_send(w->socket, &msg, sizeof msg, -1);
	_exit(1);
}

static void send_fd(const struct work *w, int number, int fd)
{
	struct aj_copy_msg msg = { .number = number };
	if (aj_message_send(w->socket, &msg, sizeof msg, fd) < 0)
		_exit(1);
}

/* In the original's user namespace, as the jail's id: the branch's namespace may be mapped by its creator's user there. */
static void map_id(const struct work *w)
{
	const struct aj_plan *plan = w->plan;
	if (aj_namespaces_join(w->copied->parent, CLONE_NEWUSER) < 0)
		fail_copy(w, "join the original's user namespace");
	if (aj_ids_take(plan->uid, plan->gid) < 0)
		fail_copy(w, "set the jail's user and group id");
	if (aj_map_ids(plan, w->copied->proc_fd, "", plan->uid, plan->gid))
		fail_copy(w, "map the jail's id");
}

static void make_scratch(struct work *w)
{
	struct aj_error err = { 0 };
	struct stat st;
	for (size_t i = 0; i < w->plan->mounts.count; i++) {
		const char *target = w->plan->mounts.items[i].target;
		if (!aj_mount_is_scratch(&w->plan->mounts.items[i]))
			continue;
		if (w->count == SCRATCH_MAX) {
			errno = E2BIG;
			fail_copy(w, "copy this number of scratch spaces");
		}
		int old = open(target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (old < 0 || fstat(old, &st) < 0)
			fail_copy(w, "open the original's scratch space");
		w->scratch[w->count++] = (struct scratch){ target, old, st.st_dev };
	}
	if (aj_mount_own(w->plan, &err) < 0) {
		errno = err.errnum;
		fail_copy(w, "mount scratch space");
	}
	for (size_t i = 0; i < w->count; i++) {
		cleanup_fd int new = open(w->scratch[i].target, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		const char *wrong = new < 0 ? "open the new scratch space" : aj_copy_tree(w->scratch[i].old, new);
		if (wrong)
			fail_copy(w, wrong);
	}
}

static bool in_scratch(const struct work *w, const struct stat *st)
{
	for (size_t i = 0; i < w->count; i++)
		if (st->st_dev == w->scratch[i].device)
			return true;
	return false;
}

/* Reopens a descriptor: same file and flags, but an open file description of its own. -1: not possible. */
static int open_anew(const struct work *w, const char *number, const struct stat *st, int flags, off_t at)
{
	char path[4096];
	bool copied = in_scratch(w, st), folder = S_ISDIR(st->st_mode);
	ssize_t n = readlinkat(w->files, number, path, sizeof path - 1);
	if (n <= 0 || n == (ssize_t)sizeof path - 1 || path[0] != '/' || (!S_ISREG(st->st_mode) && !folder) || (flags & O_PATH))
		return -1;
	path[n] = '\0';
	flags &= O_ACCMODE | O_APPEND | O_NONBLOCK;
	if (folder)
		return aj_copy_open(path, flags | O_DIRECTORY, st, copied);
	cleanup_fd int fd = st->st_nlink       ? aj_copy_open(path, flags, st, copied)
	                  : copied && w->count ? aj_copy_unnamed(w->files, number, w->scratch[0].target, flags)
	                                       : -1;
	return fd < 0 || lseek(fd, at, SEEK_SET) < 0 ? -1 : aj_steal(&fd);
}

static void reopen_file(const struct work *w, const char *number)
{
	struct stat st;
	char name[32], text[512];
	if (fstatat(w->files, number, &st, 0) < 0)
		fail_copy(w, "examine an open file");
	if (S_ISCHR(st.st_mode)) /* /dev/null and the like have no state to share */
		return;
	snprintf(name, sizeof name, "fdinfo/%s", number);
	cleanup_fd int info = openat(w->copied->proc_fd, name, O_RDONLY | O_CLOEXEC);
	ssize_t n = info < 0 ? -1 : read(info, text, sizeof text - 1);
	text[n > 0 ? n : 0] = '\0';
	const char *at = strstr(text, "pos:"), *flags = strstr(text, "flags:");
	if (!at || !flags)
		fail_copy(w, "read the flags of an open file");
	cleanup_fd int fd = open_anew(w, number, &st, (int)strtoul(flags + strlen("flags:"), NULL, 8),
	                              (off_t)strtoul(at + strlen("pos:"), NULL, 10));
	send_fd(w, (int)strtoul(number, NULL, 10), fd < 0 ? w->dummy : fd);
}

static void reopen_files(struct work *w)
{
	_Alignas(struct aj_dirent64) char list[LIST_BYTES];
	int count = 0;
	long n;
	w->files = openat(w->copied->proc_fd, "fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	w->dummy = open("/dev/null", O_ACCMODE | O_CLOEXEC); /* access mode 3: neither readable nor writable */
	if (w->files < 0 || w->dummy < 0)
		fail_copy(w, "list the open files");
	while ((n = syscall(SYS_getdents64, w->files, list, sizeof list)) > 0)
		for (long at = 0; at < n;) {
			const struct aj_dirent64 *e = (const struct aj_dirent64 *)(list + at);
			at += e->bytes;
			if (e->name[0] < '0' || e->name[0] > '9' || strtoul(e->name, NULL, 10) < FIRST_FILE)
				continue;
			if (++count > AJ_COPY_FILES) {
				errno = EMFILE;
				fail_copy(w, "reopen this number of files");
			}
			reopen_file(w, e->name);
		}
	if (n < 0)
		fail_copy(w, "list the open files");
}

_Noreturn static void run_helper(struct work *w)
{
	struct aj_copy_msg done = { .number = AJ_COPY_DONE };
	aj_fd_raise_limit();
	umask(0);
	map_id(w);
	if (aj_namespaces_join(w->copied->branch, CLONE_NEWUSER | CLONE_NEWNS) < 0)
		fail_copy(w, "join the branch's namespaces");
	/* Our memory is a copy of the supervisor's. After the last change of ids, which would reset both. */
	if (aj_prctl_dumpable(false) < 0 || aj_prctl_death_signal(SIGKILL) < 0)
		fail_copy(w, "make the helper undumpable");
	make_scratch(w);
	reopen_files(w);
	cleanup_fd int folder = open(w->plan->chdir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder < 0)
		fail_copy(w, "open the working directory");
	send_fd(w, 0, folder);
	_exit(aj_message_send(w->socket, &done, sizeof done, -1) < 0);
}

int aj_copier_start(struct aj_copier *copier, const struct aj_plan *plan, const struct aj_copier_target *copied,
                    struct aj_error *err)
{
	int sockets[2];
	*copier = (struct aj_copier){ .pidfd = -1, .socket = -1 };
	cleanup_fd int leaf = copied->leaf[0] ? open(copied->leaf, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "branch", errno, "make a socket pair");
	sigset_t all, before;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &before);
	pid_t pid = aj_clone3(0, leaf, &copier->pidfd);
	if (pid == 0)
		run_helper(&(struct work){ .plan = plan, .copied = copied, .socket = sockets[1] });
	int error = errno;
	sigprocmask(SIG_SETMASK, &before, NULL);
	close(sockets[1]);
	if (pid < 0) {
		close(sockets[0]);
		copier->pidfd = -1;
		return aj_fail(err, AJ_EXIT_SETUP, "branch", error, "start the helper that copies");
	}
	copier->socket = sockets[0];
	return 0;
}

int aj_copier_read(struct aj_copier *copier, struct aj_copy_msg *ret, int *ret_fd)
{
	int r = aj_message_recv(copier->socket, ret, sizeof *ret, ret_fd, MSG_DONTWAIT);
	ret->what[sizeof ret->what - 1] = '\0';
	return r;
}

void aj_copier_end(struct aj_copier *copier)
{
	aj_close(&copier->socket);
	aj_pidfd_end(&copier->pidfd, 0);
}
