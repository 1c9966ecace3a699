/* Knows which processes are below a zygote's PID namespace, and ends what a dead zygote left there.
 * It believes namespaces alone: neither a name nor a number that a zygote may choose says which process is whose. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "cgroup/create.h"
#include "cgroup/leaf.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"

struct space {
	dev_t device;
	ino_t inode;
};

struct known {
	pid_t pid;
	struct space space;
};

struct aj_holder {
	pid_t pid;
	int pidfd;
	struct space space;
	pid_t session;       /* the zygote's, which is its leader; what is born from it is there too */
	struct known *jails; /* the zygote is none of them, and uses the holder as well */
	size_t count, room;
	bool zygote;
	struct aj_nursery nursery; /* of all of them; gone with the holder */
};

static void reap(int pidfd)
{
	while (syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | __WALL, NULL) < 0 && errno == EINTR)
		;
}

static void stop(int pidfd)
{
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* Of the holder last: it does not end before everybody in its namespace was waited for. */
static void end(int pidfd)
{
	stop(pidfd);
	reap(pidfd);
}

/* The PID namespace that a process is in; -1: it is gone, or not ours to look at. */
static int open_space(pid_t pid)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool identify(int fd, struct space *ret)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ret = (struct space){ st.st_dev, st.st_ino };
	return true;
}

static bool same(struct space a, struct space b)
{
	return a.device == b.device && a.inode == b.inode;
}

/* 0: `pid` is in the holder's namespace itself; else how far below, and then *ret is the namespace directly below the holder's that it is
 * in; -1: elsewhere. The kernel shows no namespace above our own. */
static int depth(const struct aj_holder *h, pid_t pid, struct space *ret)
{
	enum { DEEPEST = 33 };
	struct space here;
	cleanup_fd int fd = open_space(pid);
	for (int level = 0; level < DEEPEST && identify(fd, &here); level++) {
		if (same(here, h->space))
			return level;
		*ret = here;
		int above = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	return -1;
}

/* By either of the two: NULL, 0: not by that. */
static struct known *find(const struct aj_holder *h, const struct space *space, pid_t pid)
{
	for (size_t i = 0; i < h->count; i++)
		if ((space && same(h->jails[i].space, *space)) || h->jails[i].pid == pid)
			return &h->jails[i];
	return NULL;
}

/* A child of ours; its number is its own until we wait for it. */
static int child_pidfd(pid_t pid)
{
	cleanup_fd int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	return fd >= 0 && syscall(SYS_waitid, P_PIDFD, fd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0 ? aj_steal(&fd) : -1;
}

/* What the walk says until its builder has parted. A step of the new process may have failed before its number came. */
static int await_parted(int report_fd, struct aj_msg *ret, struct aj_error *err)
{
	struct aj_msg msg;
	int r;
	while ((r = aj_msg_recv(report_fd, &msg, 0)) > 0) {
		if (msg.kind == AJ_MSG_PARTED) {
			*ret = msg;
			return 0;
		}
		if (msg.kind == AJ_MSG_FAILED && !err->exit_code)
			aj_msg_error(&msg, err);
	}
	return err->exit_code ? -1 : aj_fail(err, AJ_EXIT_SETUP, "pid_view", r < 0 ? errno : 0, "the zygote's builder ended");
}

struct aj_holder *aj_holder_take(int report_fd, int builder_pidfd, const struct aj_nursery *nursery, pid_t *ret_pid,
                                 int *ret_pidfd, struct aj_error *err)
{
	struct aj_msg msg = { .pid = -1, .holder = -1 };
	await_parted(report_fd, &msg, err);
	reap(builder_pidfd);
	struct aj_holder *h = calloc(1, sizeof *h);
	if (!h)
		abort();
	*h = (struct aj_holder){ .pid = msg.holder, .pidfd = child_pidfd(msg.holder), .session = msg.pid, .zygote = true, .nursery = *nursery };
	*ret_pid = msg.pid;
	h->space = (struct space){ (dev_t)msg.space[0], (ino_t)msg.space[1] };
	*ret_pidfd = child_pidfd(msg.pid);
	if (!err->exit_code && (h->pidfd < 0 || *ret_pidfd < 0 || msg.errnum))
		aj_fail(err, AJ_EXIT_SETUP, "pid_view", msg.errnum ? msg.errnum : errno,
		        "part the zygote from the holder of its PID namespace");
	if (!err->exit_code)
		return h;
	if (*ret_pidfd >= 0)
		end(*ret_pidfd);
	if (h->pidfd >= 0)
		end(h->pidfd);
	aj_close(ret_pidfd);
	aj_close(&h->pidfd);
	free(h);
	return NULL;
}

const char *aj_holder_admit(struct aj_holder *h, pid_t pid)
{
	struct space space;
	int level = depth(h, pid, &space);
	if (level < 0)
		return "it names a process that is none of its own";
	if (level != 1)
		return "it names a process that has no namespace of its own";
	if (find(h, &space, 0))
		return "it names a process of a jail that is there already";
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		h->jails = realloc(h->jails, h->room * sizeof *h->jails);
		if (!h->jails)
			abort();
	}
	h->jails[h->count++] = (struct known){ pid, space };
	return NULL;
}

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) > 0;
}

static bool is_ours(int pidfd)
{
	return syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0;
}

/* An ordinary user may not look at the namespaces of what has ended: the kernel asks whether it could be dumped, which it no longer can. Its
 * session it cannot have chosen, and that number is nobody else's as long as somebody is in it. */
static bool has_ended_there(const struct aj_holder *h, pid_t pid, int pidfd)
{
	/* In this order: a child of ours that has ended keeps its number until it is waited for. */
	return is_ours(pidfd) && has_ended(pidfd) && getsid(pid) == h->session;
}

/* First the descriptor: what /proc says then is of that process, or of one that has its number because it is gone. */
static bool end_stranger(const struct aj_holder *h, pid_t pid)
{
	struct space space;
	cleanup_fd int pidfd = pid == h->pid ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	int level = pidfd < 0 ? -1 : depth(h, pid, &space);
	if (level < 0 && pidfd >= 0 && !find(h, NULL, pid) && has_ended_there(h, pid, pidfd)) {
		reap(pidfd);
		return true;
	}
	if (level < 0 || (level > 0 && find(h, &space, 0)))
		return false;
	bool alive = !has_ended(pidfd), ours = is_ours(pidfd);
	stop(pidfd);
	if (ours)
		reap(pidfd);
	return alive || ours;
}

static bool end_strangers(const struct aj_holder *h)
{
	bool found = false;
	DIR *dir = opendir("/proc");
	for (struct dirent *e; dir && (e = readdir(dir));) {
		int pid = 0;
		if (sscanf(e->d_name, "%d", &pid) == 1 && pid > 0)
			found |= end_stranger(h, pid);
	}
	if (dir)
		closedir(dir);
	return found;
}

void aj_holder_leave(struct aj_holder *h, pid_t pid)
{
	enum { END_MS = 50, TRIES = 40 };
	struct known *jail = find(h, NULL, pid);
	if (jail)
		*jail = h->jails[--h->count];
	else
		h->zygote = false;
	if (h->zygote || h->count)
		return;
	/* It ends when everybody in its namespace was waited for, and a child of ours that we did not know of is waited for by us alone. */
	stop(h->pidfd);
	aj_leaf_kill(h->nursery.leaf);
	int tries = TRIES;
	while (poll(&(struct pollfd){ .fd = h->pidfd, .events = POLLIN }, 1, END_MS) == 0 && --tries)
		end_strangers(h);
	if (tries) /* else a hostile zygote has left what nobody can name: it stays until we end, without memory or descriptors */
		reap(h->pidfd);
	aj_close(&h->pidfd);
	aj_nursery_remove(&h->nursery);
	free(h->jails);
	free(h);
}

struct aj_nursery *aj_holder_nursery(struct aj_holder *h)
{
	return &h->nursery;
}

size_t aj_holder_jails(const struct aj_holder *h)
{
	return h->count;
}

void aj_holder_bereave(struct aj_holder *h, int zygote_pidfd)
{
	enum { PASSES = 20 };
	reap(zygote_pidfd);
	/* Nobody else is there: the namespace ends as a whole, and what was ours in it is waited for. */
	if (!h->count)
		stop(h->pidfd);
	for (int pass = 0; pass < 2 * PASSES && end_strangers(h); pass++)
		/* Processes that make processes faster than we end them: all of them end, the jails too. */
		if (pass == PASSES)
			stop(h->pidfd);
}
