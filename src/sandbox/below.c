/* Determines which processes are below a zygote's PID namespace, and ends those that a dead zygote left there.
 * It relies only on namespaces: names and numbers that a zygote may choose identify no process. */
#include <errno.h>
#include <fcntl.h>
#include <linux/nsfs.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/listing.h"
#include "base/pidfd.h"
#include "base/procfs.h"
#include "sandbox/cgroup/create.h"
#include "sandbox/cgroup/leaf.h"
#include "sandbox/handshake.h"
#include "sandbox/holder.h"
#include "sandbox/launch.h"

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
	struct aj_zygote_cgroups cgroups; /* of zygote and jails; removed with the holder */
};

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

/* 0: `pid` is in the holder's namespace itself; else the number of levels below, and *ret is its ancestor namespace directly
 * below the holder's; -1: elsewhere. The kernel shows no namespace above the caller's own. */
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

/* A pidfd of `pid` if it is a child of the supervisor. */
static int child_pidfd(pid_t pid)
{
	cleanup_fd int fd = aj_pidfd_open(pid);
	return fd >= 0 && aj_pidfd_is_child(fd) ? aj_steal(&fd) : -1;
}

/* Call `fn` for each process in /proc; true when one of the calls returned true, or when /proc cannot be listed. */
static bool for_each_process(bool (*fn)(const void *, pid_t), const void *arg)
{
	bool found = false;
	cleanup_listing struct aj_listing processes = aj_listing_open("/proc");
	for (const struct dirent *e; (e = aj_listing_next(&processes));) {
		int pid = 0;
		if (sscanf(e->d_name, "%d", &pid) == 1 && pid > 0)
			found |= fn(arg, pid);
	}
	return found || processes.error;
}

/* Read the step messages until the builder has parted. After its death the processes that it made still hold the socket. */
static int await_parted(const struct aj_process *process, struct aj_msg *ret, struct aj_error *err)
{
	struct pollfd on[] = { { .fd = process->report_fd, .events = POLLIN }, { .fd = process->init_pidfd, .events = POLLIN } };
	struct aj_msg msg;
	int r;
	for (;;) {
		poll(on, sizeof on / sizeof *on, -1);
		/* Before the messages are read: all messages of a builder that has ended are in the socket. */
		bool ended = aj_pidfd_ended(process->init_pidfd);
		while ((r = aj_msg_recv(process->report_fd, &msg, MSG_DONTWAIT)) > 0) {
			if (msg.kind == AJ_MSG_PARTED) {
				*ret = msg;
				return 0;
			}
			if (msg.kind == AJ_MSG_FAILED && !err->exit_code)
				aj_msg_error(&msg, err);
		}
		if (ended || r == 0 || errno != EAGAIN)
			break;
	}
	int error = r < 0 && errno != EAGAIN ? errno : 0;
	return err->exit_code ? -1 : aj_fail(err, AJ_EXIT_SETUP, "pid_view", error, "the zygote's builder process has ended");
}

struct unreported {
	pid_t builder;
	bool first; /* reap PID 1 of the namespace in a second pass: it exits only after all its processes were reaped */
};

/* By number, since the supervisor may be out of descriptors: an unreaped child's number is its own. */
static bool end_unreported(const void *arg, pid_t pid)
{
	const struct unreported *u = arg;
	if (pid == u->builder || getsid(pid) != u->builder)
		return false;
	if (waitid(P_PID, (id_t)pid, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL) < 0)
		return false;
	kill(pid, SIGKILL);
	bool reap = (aj_procfs_process(pid).inner == 1) == u->first;
	while (reap && waitid(P_PID, (id_t)pid, NULL, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	return true;
}

/* End what a builder that has ended made and did not report. Both processes are still in the builder's session, and the session's
 * number is not reused before the builder is reaped. */
static void end_all_unreported(pid_t builder)
{
	for_each_process(end_unreported, &(struct unreported){ builder, false });
	for_each_process(end_unreported, &(struct unreported){ builder, true });
}

struct aj_holder *aj_holder_take(struct aj_process *process, const struct aj_zygote_cgroups *cgroups, struct aj_error *err)
{
	const struct aj_msg taken = { .kind = AJ_MSG_TAKEN };
	struct aj_msg msg = { .pid = -1, .holder = -1 };
	pid_t builder = process->init_pid;
	await_parted(process, &msg, err);
	aj_pidfd_signal(process->init_pidfd, SIGKILL);
	aj_pidfd_wait(process->init_pidfd, WNOWAIT | __WALL, NULL);
	close(process->init_pidfd);
	process->init_pid = msg.pid;
	process->init_pidfd = child_pidfd(msg.pid);
	struct aj_holder *h = calloc(1, sizeof *h);
	if (!h)
		abort();
	*h = (struct aj_holder){ .pid = msg.holder, .session = msg.pid, .zygote = true, .cgroups = *cgroups };
	h->pidfd = child_pidfd(msg.holder);
	h->ns = (struct pid_ns){ (dev_t)msg.pid_ns[0], (ino_t)msg.pid_ns[1] };
	if (!err->exit_code && (h->pidfd < 0 || process->init_pidfd < 0 || msg.errnum))
		aj_fail(err, AJ_EXIT_SETUP, "pid_view", msg.errnum ? msg.errnum : errno,
		        "start the zygote and the holder of its PID namespace");
	if (err->exit_code) {
		aj_close(&process->init_pidfd);
		aj_close(&h->pidfd);
		free(h);
		h = NULL;
		end_all_unreported(builder);
	}
	while (waitid(P_PID, (id_t)builder, NULL, WEXITED | __WALL) < 0 && errno == EINTR)
		;
	/* If the zygote has ended, the zygote's owner learns of that from the pidfd. */
	if (h)
		aj_msg_send(process->report_fd, &taken);
	return h;
}

const char *aj_holder_admit(struct aj_holder *h, pid_t pid)
{
	struct pid_ns ns;
	int level = levels_below(h, pid, &ns);
	if (level < 0)
		return "it names a process that the zygote did not make";
	if (level != 1)
		return "it names a process without a PID namespace of its own";
	if (find_jail(h, &ns, 0))
		return "it names a process of another jail";
	if (h->count == h->room) {
		h->room = h->room ? 2 * h->room : 16;
		h->jails = realloc(h->jails, h->room * sizeof *h->jails);
		if (!h->jails)
			abort();
	}
	h->jails[h->count++] = (struct known){ pid, ns };
	return NULL;
}

/* An ordinary user may not inspect the namespaces of a process that is exiting: the kernel checks dumpability, which ends with
 * the process's memory. Its session is the zygote's, unless a hostile package's process began one of its own. */
bool aj_holder_bore(const struct aj_holder *h, pid_t pid, int pidfd)
{
	struct pid_ns ns;
	return getsid(pid) == h->session && aj_pidfd_is_child(pidfd) && !find_jail(h, NULL, pid) && levels_below(h, pid, &ns) < 0;
}

/* Open the pidfd first: /proc then describes that process, or another one that got its number because it has ended. */
static bool end_stranger(const void *arg, pid_t pid)
{
	const struct aj_holder *h = arg;
	struct pid_ns ns;
	bool own = pid == h->pid || (h->zygote && pid == h->session);
	cleanup_fd int pidfd = own ? -1 : aj_pidfd_open(pid);
	int level = pidfd < 0 ? -1 : levels_below(h, pid, &ns);
	if (pidfd < 0 || (level < 0 && !aj_holder_bore(h, pid, pidfd)) || (level > 0 && find_jail(h, &ns, 0)))
		return false;
	bool alive = !aj_pidfd_ended(pidfd), ours = aj_pidfd_is_child(pidfd);
	aj_pidfd_signal(pidfd, SIGKILL);
	if (ours)
		aj_pidfd_wait(pidfd, __WALL, NULL);
	return alive || ours;
}

static bool end_strangers(const struct aj_holder *h)
{
	return for_each_process(end_stranger, h);
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
	aj_pidfd_signal(h->pidfd, SIGKILL);
	aj_leaf_kill(h->cgroups.leaf);
	int tries = TRIES;
	while (poll(&(struct pollfd){ .fd = h->pidfd, .events = POLLIN }, 1, END_MS) == 0 && --tries)
		end_strangers(h);
	if (tries) /* else a hostile zygote left a process that cannot be found, and the holder stays */
		aj_pidfd_wait(h->pidfd, __WALL, NULL);
	aj_close(&h->pidfd);
	aj_zygote_cgroups_remove(&h->cgroups);
	free(h->jails);
	free(h);
}

struct aj_zygote_cgroups *aj_holder_cgroups(struct aj_holder *h)
{
	return &h->cgroups;
}

size_t aj_holder_jails(const struct aj_holder *h)
{
	return h->count;
}

void aj_holder_zygote_gone(struct aj_holder *h, int zygote_pidfd)
{
	enum { PASSES = 20 };
	/* Reaped last: until then the session's number, which is the zygote's, is not reused. */
	aj_pidfd_wait(zygote_pidfd, WNOWAIT | __WALL, NULL);
	/* No jail is left: the namespace ends as a whole, and the supervisor's children in it are reaped. */
	if (!h->count)
		aj_pidfd_signal(h->pidfd, SIGKILL);
	for (int pass = 0; pass < 2 * PASSES && end_strangers(h); pass++)
		/* Processes fork faster than they are ended: end the whole namespace, the jails included. */
		if (pass == PASSES)
			aj_pidfd_signal(h->pidfd, SIGKILL);
	aj_pidfd_wait(zygote_pidfd, __WALL, NULL);
}
