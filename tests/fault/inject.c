/* Runs a launcher under ptrace, writes down every system call of supervisor, init, guest and runner, and can make one of them
 * fail without executing it. It judges nothing: tests/fault/faults.py compares what it wrote.
 *
 *   inject TRACE SECONDS FAULT COMMAND...      FAULT: `-`, or ROLE:CALL:N:ERRNO, with a `+` behind it: that one and all later ones
 *                                              ERRNO can be KILL: the process stays stopped at that call, and COMMAND is killed
 *
 * Roles: `supervisor` is COMMAND; `init` its child; `network` its child by vfork; `guest` init's child until it executes something; `runner` the same process
 * after that, with a socket as fd 3 (a snippet), until it is handed the request. Where the guest's own program begins the trace gets
 * the walls around it, as the kernel tells them from outside, and the process is let go. Lines of a trace, with tabs between words:
 *   call ROLE NAME N DETAIL | failed ROLE NAME N | began | wall KEY VALUE | end exit CODE | end signal N | hang | left PID
 *
 * x86-64 only: the registers of others have other names, and what cannot be tried there is skipped by name. */
#include <errno.h>
#include <fcntl.h>
#include <seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#ifndef __x86_64__
int main(void)
{
	fprintf(stderr, "inject: x86-64 only\n");
	return 77;
}
#else

enum { NUMBERS = 512, TASKS = 64, LEFT_SECONDS = 2, CONTROL_FD = 3 };
enum role {
	NOBODY,
	SUPERVISOR,
	INIT,
	GUEST,
	RUNNER,
	SENDER,
	NETWORK
}; /* sender: hands the listener of a filter over; network: makes init's */
static const char *const role_names[] = { "nobody", "supervisor", "init", "guest", "runner", "sender", "network" };

struct task {
	pid_t pid;
	enum role role;
	int filters, domains; /* seccomp's and Landlock's, installed by this process */
	long nr;              /* of the call it is in, -1: none */
	bool skipped;
	long heap_end; /* what brk() said last: it fails by saying it again */
	unsigned counts[NUMBERS];
};

static struct task tasks[TASKS];
static FILE *trace;
static volatile sig_atomic_t late;

static struct {
	enum role role;
	long nr;
	unsigned n;
	int errnum;
	bool on;
} fault;

static void on_alarm(int sig)
{
	(void)sig;
	late = 1;
}

static _Noreturn void die(const char *what)
{
	perror(what);
	exit(99);
}

static struct task *find(pid_t pid)
{
	struct task *free_one = NULL;
	for (size_t i = 0; i < TASKS; i++) {
		if (tasks[i].pid == pid)
			return &tasks[i];
		if (!free_one && !tasks[i].pid)
			free_one = &tasks[i];
	}
	if (!free_one)
		exit(98);
	*free_one = (struct task){ .pid = pid, .nr = -1 };
	return free_one;
}

enum { KILL = 0 }; /* in the place of an errno */
static pid_t command;

static int errno_of(const char *name)
{
	if (strcmp(name, "KILL") == 0)
		return KILL;
	for (int e = 1; e < 200; e++)
		if (strerrorname_np(e) && strcmp(strerrorname_np(e), name) == 0)
			return e;
	exit(97);
}

static void parse(const char *text)
{
	char role[16], call[64], name[16];
	if (strcmp(text, "-") == 0)
		return;
	if (sscanf(text, "%15[^:]:%63[^:]:%u:%15[A-Z0-9]", role, call, &fault.n, name) != 4)
		exit(96);
	for (enum role r = SUPERVISOR; r <= NETWORK; r++)
		if (strcmp(role, role_names[r]) == 0)
			fault.role = r;
	fault.nr = seccomp_syscall_resolve_name(call);
	fault.errnum = errno_of(name);
	fault.on = text[strlen(text) - 1] == '+';
	if (!fault.role || fault.nr < 0)
		exit(96);
}

static const char *name_of(long nr)
{
	static char text[32];
	char *name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_X86_64, (int)nr);
	snprintf(text, sizeof text, "%s", name ? name : "");
	free(name);
	if (!text[0])
		snprintf(text, sizeof text, "%ld", nr);
	return text;
}

/* --- what a call is about: a path, an option; enough to tell the table's rows apart --- */

static void put_path(pid_t pid, uint64_t at)
{
	char text[120] = "";
	size_t have = 0;
	/* Page by page: what lies behind its end may not be there. */
	while (have < sizeof text - 1 && !memchr(text, '\0', have)) {
		size_t page = 4096 - ((at + have) & 4095), left = sizeof text - 1 - have;
		struct iovec here = { text + have, page < left ? page : left }, there = { (void *)(uintptr_t)(at + have), here.iov_len };
		ssize_t n = process_vm_readv(pid, &here, 1, &there, 1, 0);
		if (n <= 0)
			break;
		have += (size_t)n;
	}
	text[have] = '\0';
	for (char *c = text; *c; c++)
		fputc(*c > ' ' && *c < 0x7f ? *c : '?', trace);
}

static void put_detail(pid_t pid, const struct ptrace_syscall_info *info)
{
	const __u64 *a = info->entry.args;
	switch (info->entry.nr) {
	case SYS_open:
	case SYS_readlink:
	case SYS_access:
	case SYS_chdir:
	case SYS_stat:
	case SYS_lstat:
	case SYS_execve:
	case SYS_mkdir:
	case SYS_rmdir:
	case SYS_umount2:
		put_path(pid, a[0]);
		return;
	case SYS_openat:
	case SYS_newfstatat:
	case SYS_open_tree:
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_mkdirat:
	case SYS_openat2:
	case SYS_mknodat:
	case SYS_readlinkat:
	case SYS_mount:
	case SYS_statx:
		if (info->entry.nr != SYS_mount && (int)a[0] >= 0)
			fprintf(trace, "fd:");
		put_path(pid, a[1]);
		return;
	case SYS_symlinkat:
		put_path(pid, a[2]);
		return;
	case SYS_prctl:
	case SYS_arch_prctl:
		fprintf(trace, "%d,%d", (int)a[0], (int)a[1]);
		return;
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_setrlimit:
	case SYS_seccomp:
	case SYS_landlock_create_ruleset:
		fprintf(trace, "%d", (int)a[0]);
		return;
	case SYS_prlimit64:
		fprintf(trace, "%d%s", (int)a[1], a[2] ? "" : ",get");
		return;
	case SYS_fcntl:
	case SYS_ioctl:
		fprintf(trace, "fd %d,0x%x", (int)a[0], (unsigned)a[1]);
		return;
	case SYS_close:
	case SYS_read:
	case SYS_write:
	case SYS_dup2:
	case SYS_sendto:
	case SYS_recvfrom:
	case SYS_recvmsg:
	case SYS_fstat:
		fprintf(trace, "fd %d", (int)a[0]);
		return;
	default:
		return;
	}
}

/* --- the walls around the guest, as its caller sees them --- */

static void wall(const char *key, const char *value)
{
	fprintf(trace, "wall\t%s\t%s\n", key, value);
}

static FILE *proc(pid_t pid, const char *file)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", pid, file);
	return fopen(path, "re");
}

static void wall_status(pid_t pid)
{
	static const char *const keys[] = { "Uid",    "Gid",    "Groups",     "NSpid",   "NSsid",          "NSpgid",
		                            "Umask",  "SigBlk", "SigIgn",     "CapInh",  "CapPrm",         "CapEff",
		                            "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters" };
	char line[4096];
	FILE *f = proc(pid, "status");
	while (f && fgets(line, sizeof line, f)) {
		char *colon = strchr(line, ':');
		if (!colon)
			continue;
		*colon = '\0';
		char *value = colon + 1 + strspn(colon + 1, "\t ");
		value[strcspn(value, "\n")] = '\0';
		/* Of ids in nested namespaces the innermost. */
		if (strncmp(line, "NS", 2) == 0 && strrchr(value, '\t'))
			value = strrchr(value, '\t') + 1;
		for (char *c = value; *c; c++)
			if (*c == '\t')
				*c = ' ';
		for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
			if (strcmp(line, keys[i]) == 0)
				wall(keys[i], value);
	}
	if (f)
		fclose(f);
}

static void wall_lines(pid_t pid, const char *file, const char *key)
{
	char line[4096];
	FILE *f = proc(pid, file);
	if (!f)
		wall(key, "unreadable");
	while (f && fgets(line, sizeof line, f)) {
		line[strcspn(line, "\n")] = '\0';
		char *text = line;
		/* mountinfo: ids and device numbers differ from run to run, so do the numbers of peer groups. */
		if (strcmp(file, "mountinfo") == 0)
			for (int i = 0; i < 3; i++)
				text += strcspn(text, " ") + 1;
		wall(key, text);
	}
	if (f)
		fclose(f);
}

static void wall_links(pid_t pid)
{
	static const char *const spaces[] = { "cgroup", "ipc", "mnt", "net", "pid", "user", "uts" };
	char path[64], mine[64], its[64], text[256], key[32];
	for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
		ssize_t m, n;
		snprintf(path, sizeof path, "/proc/self/ns/%s", spaces[i]);
		m = readlink(path, mine, sizeof mine);
		snprintf(path, sizeof path, "/proc/%d/ns/%s", pid, spaces[i]);
		n = readlink(path, its, sizeof its);
		snprintf(key, sizeof key, "ns-%s", spaces[i]);
		wall(key, m <= 0 || n <= 0                              ? "unreadable"
		          : m == n && memcmp(mine, its, (size_t)n) == 0 ? "the host's"
		                                                        : "its own");
	}
	static const char *const links[] = { "cwd", "root" };
	for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
		snprintf(path, sizeof path, "/proc/%d/%s", pid, links[i]);
		ssize_t n = readlink(path, text, sizeof text - 1);
		text[n < 0 ? 0 : n] = '\0';
		wall(links[i], text);
	}
	for (int fd = 0; fd < 1024; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
		ssize_t n = readlink(path, text, sizeof text - 1);
		if (n < 0)
			continue;
		text[n] = '\0';
		char *bracket = strchr(text, '[');
		if (bracket)
			*bracket = '\0';
		snprintf(key, sizeof key, "fd-%d", fd);
		wall(key, text);
	}
}

static void wall_environ(pid_t pid)
{
	char *line = NULL;
	size_t room = 0;
	FILE *f = proc(pid, "environ");
	while (f && getdelim(&line, &room, '\0', f) > 0)
		wall("env", line);
	free(line);
	if (f)
		fclose(f);
}

static void began(const struct task *t)
{
	pid_t pid = t->pid;
	fprintf(trace, "began\n");
	fprintf(trace, "wall\tlandlock\t%d\n", t->domains); /* /proc does not tell */
	wall_status(pid);
	wall_lines(pid, "limits", "limit");
	wall_lines(pid, "mountinfo", "mount");
	wall_lines(pid, "uid_map", "uid_map");
	wall_lines(pid, "gid_map", "gid_map");
	wall_lines(pid, "setgroups", "setgroups");
	wall_links(pid);
	wall_environ(pid);
}

/* --- the walk --- */

static bool has_control(pid_t pid)
{
	char path[64], text[64];
	snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, CONTROL_FD);
	ssize_t n = readlink(path, text, sizeof text - 1);
	return n > 7 && strncmp(text, "socket:", 7) == 0;
}

/* False: the process was let go. */
static bool on_syscall(struct task *t)
{
	struct ptrace_syscall_info info;
	if (ptrace(PTRACE_GET_SYSCALL_INFO, t->pid, sizeof info, &info) < 0)
		return true;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		long nr = (long)info.entry.nr;
		if (nr < 0 || nr >= NUMBERS)
			return true;
		unsigned n = ++t->counts[nr];
		t->nr = nr;
		fprintf(trace, "call\t%s\t%s\t%u\t", role_names[t->role], name_of(nr), n);
		put_detail(t->pid, &info);
		fprintf(trace, "\n");
		t->skipped = t->role == fault.role && nr == fault.nr && (n == fault.n || (fault.on && n > fault.n));
		if (t->skipped && fault.errnum == KILL) {
			fprintf(trace, "failed\t%s\t%s\t%u\n", role_names[t->role], name_of(nr), n);
			kill(command, SIGKILL);
			return false;
		}
		if (t->skipped) {
			ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user_regs_struct, orig_rax), -1L);
			fprintf(trace, "failed\t%s\t%s\t%u\n", role_names[t->role], name_of(nr), n);
		}
		return true;
	}
	if (info.op != PTRACE_SYSCALL_INFO_EXIT)
		return true;
	long result = !t->skipped ? (long)info.exit.rval : t->nr == SYS_brk ? t->heap_end : -fault.errnum;
	if (t->skipped)
		ptrace(PTRACE_POKEUSER, t->pid, offsetof(struct user_regs_struct, rax), result);
	if (t->nr == SYS_brk)
		t->heap_end = result;
	t->filters += t->role == RUNNER && t->nr == SYS_seccomp && result >= 0; /* a listener is a number above 0 */
	t->domains += t->nr == SYS_landlock_restrict_self && result == 0;
	/* The first thing that is read behind the filters is the request. */
	bool handed = t->role == RUNNER && t->filters && t->nr == SYS_read && result > 0;
	t->skipped = false;
	t->nr = -1;
	if (!handed)
		return true;
	began(t);
	t->role = NOBODY;
	ptrace(PTRACE_DETACH, t->pid, 0, 0);
	return false;
}

/* Stops at calls are most of what a run takes: with a fault to inject, only processes of its role need them until it has struck, and
 * those whose filters are counted. An undisturbed run shows every call. */
static enum __ptrace_request next_stop(const struct task *t)
{
	bool amid_a_call = t->nr != -1, counted = t->role == GUEST || t->role == RUNNER;
	bool to_come = t->role == fault.role && (fault.on || t->counts[fault.nr] < fault.n);
	return !fault.role || amid_a_call || counted || to_come ? PTRACE_SYSCALL : PTRACE_CONT;
}

static enum role child_role(enum role parent)
{
	return parent == SUPERVISOR ? INIT : parent == INIT ? GUEST : parent == GUEST || parent == RUNNER ? SENDER : NOBODY;
}

/* One stop of one process: says with which signal it goes on, or -1 when it was let go. */
static int on_stop(struct task *t, int status)
{
	int sig = WSTOPSIG(status), event = status >> 16;
	unsigned long child;
	switch (event) {
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
	case PTRACE_EVENT_CLONE:
		if (ptrace(PTRACE_GETEVENTMSG, t->pid, 0, &child) == 0) {
			struct task *c = find((pid_t)child);
			bool waiting = c->skipped; /* it stopped before we knew whose it is */
			c->role = t->role == SUPERVISOR && event == PTRACE_EVENT_VFORK ? NETWORK : child_role(t->role);
			c->skipped = false;
			if (waiting)
				ptrace(next_stop(c), c->pid, 0, 0);
		}
		return 0;
	case PTRACE_EVENT_EXEC:
		if (t->role != GUEST)
			return 0;
		if (has_control(t->pid)) {
			t->role = RUNNER;
			memset(t->counts, 0, sizeof t->counts);
			return 0;
		}
		began(t);
		t->role = NOBODY;
		ptrace(PTRACE_DETACH, t->pid, 0, 0);
		return -1;
	}
	if (sig == (SIGTRAP | 0x80))
		return on_syscall(t) ? 0 : -1;
	/* A fault of its own ends PID 1 of a namespace, as libc's abort() brings about, but not if it is traced: that one would repeat it for ever. */
	siginfo_t why;
	if ((sig == SIGSEGV || sig == SIGILL || sig == SIGBUS || sig == SIGFPE) &&
	    ptrace(PTRACE_GETSIGINFO, t->pid, 0, &why) == 0 && why.si_code > 0)
		kill(t->pid, SIGKILL);
	return sig;
}

static void kill_all(const char *what)
{
	for (size_t i = 0; i < TASKS; i++)
		if (tasks[i].pid && kill(tasks[i].pid, SIGKILL) == 0)
			fprintf(trace, "%s\t%d %s\n", what, tasks[i].pid, role_names[tasks[i].role]);
}

static void walk(pid_t main_pid, unsigned seconds)
{
	bool ended = false;
	command = main_pid;
	alarm(seconds);
	for (;;) {
		int status, sig;
		pid_t pid = waitpid(-1, &status, __WALL);
		if (pid < 0 && errno == EINTR && late) {
			kill_all(ended ? "left" : "hang");
			late = 0;
			ended = true;
			alarm(LEFT_SECONDS);
			continue;
		}
		if (pid < 0 && errno == EINTR)
			continue;
		if (pid < 0)
			return;
		struct task *t = find(pid);
		if (WIFEXITED(status) || WIFSIGNALED(status)) {
			if (pid == main_pid) {
				fprintf(trace, "end\t%s\t%d\n", WIFEXITED(status) ? "exit" : "signal",
				        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
				/* Orphans come to us: what is still there after this is left. */
				ended = true;
				alarm(fault.role && fault.errnum == KILL ? seconds : LEFT_SECONDS);
			}
			t->pid = 0;
			continue;
		}
		if (!WIFSTOPPED(status))
			continue;
		if (t->role == NOBODY) { /* a child whose parent's event is still to come */
			t->skipped = true;
			continue;
		}
		bool first = t->nr == -1 && WSTOPSIG(status) == SIGSTOP && status >> 16 == 0;
		sig = first ? 0 : on_stop(t, status);
		if (sig >= 0)
			ptrace(next_stop(t), pid, 0, (long)sig);
	}
}

int main(int argc, char **argv)
{
	if (argc < 5)
		return 96;
	parse(argv[3]);
	trace = fopen(argv[1], "we");
	if (!trace)
		die(argv[1]);
	struct sigaction action = { .sa_handler = on_alarm };
	sigaction(SIGALRM, &action, NULL);
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		execvp(argv[4], argv + 4);
		_exit(99);
	}
	int status;
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		die("fork");
	/* Before exec it is not yet the supervisor: those calls are ours. */
	if (ptrace(PTRACE_SETOPTIONS, pid, 0,
	           PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
	               PTRACE_O_TRACEEXEC) < 0 ||
	    ptrace(PTRACE_CONT, pid, 0, 0) < 0 || waitpid(pid, &status, 0) != pid || status >> 16 != PTRACE_EVENT_EXEC)
		die("ptrace");
	find(pid)->role = SUPERVISOR;
	ptrace(next_stop(find(pid)), pid, 0, 0);
	walk(pid, (unsigned)atoi(argv[2]));
	fclose(trace);
	return 0;
}
#endif
