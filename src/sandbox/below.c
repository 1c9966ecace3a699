/* Determines which processes are below a zygote's PID namespace, and ends the ones that a dead zygote left there.
 * It believes namespaces alone: names and numbers that a zygote may choose identify no process. */
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

struct pid_ns {
	dev_t device;
	ino_t inode;
};

struct known {
	pid_t pid;
	struct pid_ns ns;
};

struct aj_holder {
	pid_t pid;
	int pidfd;
	struct pid_ns ns;
	pid_t session;       /* of the zygote, its leader; processes born from the zygote are in it */
	struct known *jails; /* excludes the zygote, which uses the holder as well */
	size_t count, room;
	bool zygote;
	struct aj_nursery nursery; /* of zygote and jails; removed with the holder */
};

static void reap(int pidfd)
{
	while (syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | __WALL, NULL) < 0 && errno == EINTR)
		;
}

static void send_sigkill(int pidfd)
{
	syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

/* End the holder last: a PID 1 exits only after all processes of its namespace were reaped. */
static void kill_and_reap(int pidfd)
{
	send_sigkill(pidfd);
	reap(pidfd);
}

/* The PID namespace of a process; -1: the process has ended, or may not be inspected. */
static int open_pid_ns(pid_t pid)
{
	char path[40];
	snprintf(path, sizeof path, "/proc/%d/ns/pid", pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static bool identify(int fd, struct pid_ns *ret)
{
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	*ret = (struct pid_ns){ st.st_dev, st.st_ino };
	return true;
}

static bool same_ns(struct pid_ns a, struct pid_ns b)
{
	return a.device == b.device && a.inode == b.inode;
}

/* 0: `pid` is in the holder's namespace itself; else the number of levels below, and *ret is its ancestor namespace directly below the
 * holder's; -1: elsewhere. The kernel shows no namespace above the caller's own. */
static int levels_below(const struct aj_holder *h, pid_t pid, struct pid_ns *ret)
{
	enum { DEEPEST = 33 };
	struct pid_ns here;
	cleanup_fd int fd = open_pid_ns(pid);
	for (int level = 0; level < DEEPEST && identify(fd, &here); level++) {
		if (same_ns(here, h->ns))
			return level;
		*ret = here;
		int above = ioctl(fd, NS_GET_PARENT);
		close(fd);
		fd = above;
	}
	return -1;
}

/* Find a jail by its namespace or by its init's pid; NULL or 0: not by that. */
static struct known *find_jail(const struct aj_holder *h, const struct pid_ns *ns, pid_t pid)
{
	for (size_t i = 0; i < h->count; i++)
		if ((ns && same_ns(h->jails[i].ns, *ns)) || h->jails[i].pid == pid)
			return &h->jails[i];
	return NULL;
}

/* A pidfd of `pid` if it is a child of the supervisor; a child's number is not reused before it is reaped. */
static int child_pidfd(pid_t pid)
{
	cleanup_fd int fd = pid > 0 ? (int)syscall(SYS_pidfd_open, pid, 0) : -1;
	return fd >= 0 && syscall(SYS_waitid, P_PIDFD, fd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0 ? aj_steal(&fd) : -1;
}

/* Read the step messages until the builder has parted. A step of the new process may have failed before that. */
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
	h->ns = (struct pid_ns){ (dev_t)msg.pid_ns[0], (ino_t)msg.pid_ns[1] };
	*ret_pidfd = child_pidfd(msg.pid);
	if (!err->exit_code && (h->pidfd < 0 || *ret_pidfd < 0 || msg.errnum))
		aj_fail(err, AJ_EXIT_SETUP, "pid_view", msg.errnum ? msg.errnum : errno,
		        "part the zygote from the holder of its PID namespace");
	if (!err->exit_code)
		return h;
	if (*ret_pidfd >= 0)
		kill_and_reap(*ret_pidfd);
	if (h->pidfd >= 0)
		kill_and_reap(h->pidfd);
	aj_close(ret_pidfd);
	aj_close(&h->pidfd);
	free(h);
	return NULL;
}

const char *aj_holder_admit(struct aj_holder *h, pid_t pid)
{
	struct pid_ns ns;
	int level = levels_below(h, pid, &ns);
	if (level < 0)
		return "it names a process that is none of its own";
	if (level != 1)
		return "it names a process that has no namespace of its own";
	if (find_jail(h, &ns, 0))
		return "it names a process of a jail that is there already";
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		h->jails = realloc(h->jails, h->room * sizeof *h->jails);
		if (!h->jails)
			abort();
	}
	h->jails[h->count++] = (struct known){ pid, ns };
	return NULL;
}

static bool has_ended(int pidfd)
{
	return poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 0) > 0;
}

static bool is_our_child(int pidfd)
{
	return syscall(SYS_waitid, P_PIDFD, pidfd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL, NULL) == 0;
}

/* An ordinary user may not inspect the namespaces of a process that has ended: the kernel checks dumpability, which ended with the
 * process. The zygote's processes cannot choose their session, and the session's number is not reused while a process is in it. */
static bool has_ended_in_session(const struct aj_holder *h, pid_t pid, int pidfd)
{
	/* In this order: an ended child of the supervisor keeps its number until it is reaped. */
	return is_our_child(pidfd) && has_ended(pidfd) && getsid(pid) == h->session;
}

/* Open the pidfd first: /proc then describes that process, or another one that got its number because it has ended. */
static bool end_stranger(const struct aj_holder *h, pid_t pid)
{
	struct pid_ns ns;
	cleanup_fd int pidfd = pid == h->pid ? -1 : (int)syscall(SYS_pidfd_open, pid, 0);
	int level = pidfd < 0 ? -1 : levels_below(h, pid, &ns);
	if (level < 0 && pidfd >= 0 && !find_jail(h, NULL, pid) && has_ended_in_session(h, pid, pidfd)) {
		reap(pidfd);
		return true;
	}
	if (level < 0 || (level > 0 && find_jail(h, &ns, 0)))
		return false;
	bool alive = !has_ended(pidfd), ours = is_our_child(pidfd);
	send_sigkill(pidfd);
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
	struct known *jail = find_jail(h, NULL, pid);
	if (jail)
		*jail = h->jails[--h->count];
	else
		h->zygote = false;
	if (h->zygote || h->count)
		return;
	/* The holder exits when all processes in its namespace were reaped, and only the supervisor can reap its own unregistered
	 * children there. */
	send_sigkill(h->pidfd);
	aj_leaf_kill(h->nursery.leaf);
	int tries = TRIES;
	while (poll(&(struct pollfd){ .fd = h->pidfd, .events = POLLIN }, 1, END_MS) == 0 && --tries)
		end_strangers(h);
	if (tries) /* else a hostile zygote has left a process that cannot be found: the holder stays, without memory or descriptors */
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

void aj_holder_zygote_gone(struct aj_holder *h, int zygote_pidfd)
{
	enum { PASSES = 20 };
	reap(zygote_pidfd);
	/* No jail is left: the namespace ends as a whole, and the supervisor's children in it are reaped. */
	if (!h->count)
		send_sigkill(h->pidfd);
	for (int pass = 0; pass < 2 * PASSES && end_strangers(h); pass++)
		/* Processes fork faster than they are ended: end the whole namespace, the jails included. */
		if (pass == PASSES)
			send_sigkill(h->pidfd);
}
