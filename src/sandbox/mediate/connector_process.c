/* The process that makes a jail's connects: joins the jail's namespaces, takes its ids, and answers one reported call after the
 * other. It continues no call; a connect that does not finish at once goes to a worker. */
#include "sandbox/mediate/connector_process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/ids.h"
#include "base/namespaces.h"
#include "base/prctl.h"
#include "base/procfs.h"
#include "sandbox/mediate/endpoint.h"

enum {
	AT_ONCE_US = 2000,       /* a connect that takes longer goes to a worker */
	CALLER_CHECK_US = 50000, /* interval at which a worker checks whether its caller still waits */
	WORKERS_MAX = 64,        /* pending connects of one jail */
};

struct connector_work {
	const struct aj_plan *plan;
	const struct aj_caller *jail;
	const struct aj_notification *first; /* the call that the connector was started for */
	int socket;
	pid_t connector;
	struct aj_reach reach;
	pid_t workers[WORKERS_MAX];
};

/* --- one connect --- */

static void on_alarm(int sig)
{
	(void)sig;
}

static void interrupt_every(long us)
{
	setitimer(ITIMER_REAL, &(struct itimerval){ { 0, us }, { 0, us } }, NULL);
}

/* 0, or errno; EINTR: still pending. */
static int try_connect(const struct connector_work *w, const struct aj_endpoint *e)
{
	struct sockaddr_un file = { .sun_family = AF_UNIX };
	const struct sockaddr *to = (const struct sockaddr *)&e->address.any;
	socklen_t bytes = e->address_bytes;
	if (e->path >= 0) { /* by the file that was checked, without resolving the path again */
		snprintf(file.sun_path, sizeof file.sun_path, "self/fd/%d", e->path);
		to = (const struct sockaddr *)&file;
		bytes = sizeof file;
		if (fchdir(w->reach.holders.proc_fd) < 0)
			return errno;
	}
	return connect(e->socket, to, bytes) == 0 ? 0 : errno;
}

/* A call without an answer would wait for ever, so an error here ends the connector: the supervisor then closes the listener,
 * which ends all held calls. */
static void answer_call(const struct connector_work *w, const struct aj_notification *call, int errnum)
{
	int listener = w->jail->listener_fd;
	int r = errnum ? aj_notify_refuse(listener, call->id, errnum) : aj_notify_done(listener, call->id);
	if (r == 0 || errno == ENOENT) /* ENOENT: the caller is gone */
		return;
	if (getpid() != w->connector)
		kill(w->connector, SIGKILL);
	_exit(1);
}

/* The socket's own timeout (SO_SNDTIMEO); INT64_MAX: none. */
static int64_t send_timeout_us(int socket)
{
	struct timeval t = { 0 };
	socklen_t bytes = sizeof t;
	bool set = getsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &t, &bytes) == 0 && (t.tv_sec || t.tv_usec);
	return set && t.tv_sec < 1 << 30 ? t.tv_sec * 1000000 + t.tv_usec : INT64_MAX;
}

/* Each attempt blocks in the kernel as the caller's would; after an interruption the next attempt joins a TCP connect. */
static int wait_for_connect(const struct connector_work *w, const struct aj_notification *call, const struct aj_endpoint *e,
                            int64_t started_us)
{
	int64_t most_us = send_timeout_us(e->socket);
	int domain = AF_UNIX;
	socklen_t bytes = sizeof domain;
	getsockopt(e->socket, SOL_SOCKET, SO_DOMAIN, &domain, &bytes);
	for (;;) {
		int error = try_connect(w, e);
		if (error != EINTR || !aj_notify_waits(w->jail->listener_fd, call->id) ||
		    aj_procfs_signalled(w->reach.holders.proc_fd, call->tid))
			return error;
		if (aj_now_us() - started_us >= most_us)
			return domain == AF_UNIX ? EAGAIN : EINPROGRESS;
	}
}

static void die_with(pid_t parent)
{
	if (aj_prctl_die_with_parent(parent, SIGKILL) < 0)
		_exit(1);
}

/* 0: a worker took the call. */
static int start_worker(struct connector_work *w, const struct aj_notification *call, struct aj_endpoint *e, int64_t started_us)
{
	pid_t parent = getpid();
	pid_t *free = NULL;
	for (int i = 0; i < WORKERS_MAX && !free; i++)
		if (!w->workers[i] || waitpid(w->workers[i], NULL, WNOHANG) > 0)
			free = &w->workers[i];
	if (!free)
		return EAGAIN;
	pid_t pid = aj_clone3(0, -1, NULL);
	if (pid == 0) {
		die_with(parent);
		close(w->socket);
		interrupt_every(CALLER_CHECK_US);
		int error = wait_for_connect(w, call, e, started_us);
		aj_endpoint_close(e);
		answer_call(w, call, error);
		_exit(0);
	}
	*free = pid > 0 ? pid : 0;
	return pid > 0 ? 0 : EAGAIN;
}

/* Answers a call, or returns it to the supervisor; `waits`: the caller still waits. */
static void finish_call(const struct connector_work *w, const struct aj_notification *call, bool waits, int error)
{
	if (!waits) /* or the kernel did not say: an answer to a caller that is gone has no effect */
		answer_call(w, call, EACCES);
	else if (error != AJ_ENDPOINT_REFUSED)
		answer_call(w, call, error);
	else if (send(w->socket, call, sizeof *call, MSG_NOSIGNAL) != sizeof *call) /* for the supervisor to count and refuse */
		_exit(1);
}

static void make_connect(struct connector_work *w, const struct aj_notification *call)
{
	struct aj_endpoint e;
	int error = aj_endpoint_find(&w->reach, call, &e);
	/* The tid may have been reused, before or while we looked: then the call does not wait any more. */
	bool waits = aj_notify_waits(w->jail->listener_fd, call->id), elsewhere = false;
	if (waits && error == 0) {
		int64_t started_us = aj_now_us();
		interrupt_every(AT_ONCE_US);
		error = try_connect(w, &e);
		interrupt_every(0);
		if (error == EINTR)
			elsewhere = (error = start_worker(w, call, &e, started_us)) == 0;
	}
	/* Close before answering: our duplicate must not outlive the caller's close(). */
	aj_endpoint_close(&e);
	if (!elsewhere)
		finish_call(w, call, waits, error);
}

/* --- the process --- */

_Noreturn static void end_workers(struct connector_work *w)
{
	for (int i = 0; i < WORKERS_MAX; i++)
		if (w->workers[i] > 0)
			kill(w->workers[i], SIGKILL);
	while (wait(NULL) > 0 || errno == EINTR)
		;
	_exit(0);
}

/* A lasting process must not keep the supervisor's descriptors: a reader may wait for the last duplicate to be closed. */
static int close_other_fds(const struct connector_work *w)
{
	int keep[AJ_SOCKETS_MAX + 3] = { w->socket, w->reach.holders.proc_fd, w->jail->listener_fd };
	size_t count = 3;
	for (size_t i = 0; i < w->jail->named->count; i++)
		keep[count++] = w->jail->named->fds[i];
	return aj_fd_close_others(0, keep, count);
}

/* A mount on top of a scratch space may be the host's. */
static bool is_on_top(const struct aj_plan *plan, size_t row)
{
	for (size_t i = row + 1; i < plan->mounts.count; i++)
		if (strcmp(plan->mounts.items[i].target, plan->mounts.items[row].target) == 0)
			return false;
	return true;
}

static int find_file_systems(struct connector_work *w)
{
	for (size_t i = 0; i < w->plan->mounts.count; i++) {
		const struct aj_mount *m = &w->plan->mounts.items[i];
		bool scratch = aj_mount_is_scratch(m) && w->reach.scratch_count < AJ_SCRATCH_MAX;
		struct stat st;
		if (!scratch || !is_on_top(w->plan, i))
			continue;
		if (lstat(m->target, &st) < 0)
			return -1;
		w->reach.scratch[w->reach.scratch_count++] = st.st_dev;
	}
	return 0;
}

static int join_jail(struct connector_work *w)
{
	const struct aj_plan *plan = w->plan;
	int spaces = CLONE_NEWUSER | CLONE_NEWNS | (int)(plan->namespaces & CLONE_NEWNET);
	/* Root's groups would open files too, and cannot be dropped inside the user namespace. */
	if (plan->host_uid != geteuid() && aj_groups_clear() < 0)
		return -1;
	/* All processes of a jail have the same namespaces. Init's cannot be joined, since its memory began as that of a process
	 * outside: so join those of the caller, if its call still waits. */
	cleanup_fd int caller = aj_holders_pidfd(w->reach.holders.proc_fd, w->first->tid);
	if (caller < 0 || !aj_notify_waits(w->jail->listener_fd, w->first->id) || aj_namespaces_join(caller, spaces) < 0)
		return -1;
	if (aj_ids_take(plan->uid, plan->gid) < 0)
		return -1;
	/* After the last change of ids, which would reset it: our memory is a copy of the supervisor's. */
	if (aj_prctl_dumpable(false) < 0 || aj_prctl_no_new_privs() < 0)
		return -1;
	return aj_endpoint_rights(false) < 0 || find_file_systems(w) < 0 ? -1 : 0;
}

_Noreturn void aj_connector_run(const struct aj_plan *plan, const struct aj_caller *jail, const struct aj_notification *first,
                                int socket, pid_t parent)
{
	struct connector_work work = { .plan = plan, .jail = jail, .first = first, .socket = socket }, *w = &work;
	sigset_t alarm;
	struct aj_notification call;
	signal(SIGALRM, SIG_IGN);
	w->connector = getpid();
	struct aj_holders holders = { .proc_fd = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC), .init_pid = w->jail->init_pid };
	w->reach = (struct aj_reach){ .named = w->jail->named,
		                      .holders = holders,
		                      .listener_fd = w->jail->listener_fd,
		                      .own_network = w->plan->namespaces & CLONE_NEWNET };
	if (w->reach.holders.proc_fd < 0 || close_other_fds(w) < 0 || join_jail(w) < 0)
		_exit(1);
	die_with(parent);
	if (send(w->socket, "", 1, MSG_NOSIGNAL) != 1)
		_exit(1);
	sigemptyset(&alarm);
	sigaddset(&alarm, SIGALRM);
	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	sigprocmask(SIG_UNBLOCK, &alarm, NULL);
	for (;;) {
		ssize_t n = recv(w->socket, &call, sizeof call, 0);
		if (n == (ssize_t)sizeof call)
			make_connect(w, &call);
		else if (n >= 0 || errno != EINTR)
			end_workers(w);
	}
}
