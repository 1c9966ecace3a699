/* Tries, from wherever it is started, what a jail should forbid, and prints what the kernel answered: one verb, one attempt.
 * It judges nothing (the scripts compare its words), and does no lasting harm where an attempt succeeds.
 *
 * Named python3 it plays the runner of a snippet: it arms itself with the filter that the supervisor sends on fd 3, then
 * takes the snippet's text as a verb. The snippet `evil NAME`, or NAME in the file /usr/evil for what comes before the
 * request, breaks that protocol in the way of that name. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { CONTROL_FD = 3, MARK_ERRNO = 999, SWEEP_LAST = 1023 };
#define MARK 0x5eebbeefu

static const char *name_of(int errnum)
{
	static char other[24];
	const char *name = errnum == 0 ? "OK" : strerrorname_np(errnum);
	if (name)
		return name;
	snprintf(other, sizeof other, "E%d", errnum);
	return other;
}

static const char *outcome(long r)
{
	return name_of(r < 0 ? errno : 0);
}

static long number(const char *text)
{
	return (long)strtoull(text, NULL, 0);
}

/* --- who and where am I --- */

static int cat_one(const char *path)
{
	char text[65536];
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text);
	if (n < 0)
		printf("%s %s\n", path, outcome(-1));
	else
		printf("%s OK\n%.*s\n", path, (int)n, text);
	if (fd >= 0)
		close(fd);
	return n < 0;
}

static int v_cat(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		cat_one(argv[i]);
	return 0;
}

static int v_caps(int argc, char **argv)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct data[2] = { { 0 } };
	int bounding = 0, ambient = 0;
	(void)argc, (void)argv;
	for (int cap = 0; cap < 64; cap++) {
		bounding += prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1;
		ambient += prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, cap, 0, 0) == 1;
	}
	printf("capget=%s", outcome(syscall(SYS_capget, &head, data)));
	printf(" given-up=%s", outcome(syscall(SYS_capset, &head, (struct __user_cap_data_struct[2]){ { 0 } })));
	printf(" effective=%08x%08x permitted=%08x%08x inheritable=%08x%08x bounding=%d ambient=%d\n", data[1].effective,
	       data[0].effective, data[1].permitted, data[0].permitted, data[1].inheritable, data[0].inheritable, bounding, ambient);
	printf("no_new_privs=%d seccomp=%d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0), prctl(PR_GET_SECCOMP, 0, 0, 0, 0));
	return cat_one("/proc/self/status");
}

static int v_fds(int argc, char **argv)
{
	int limit = argc > 1 ? atoi(argv[1]) : 65536;
	struct stat st;
	for (int fd = 0; fd < limit; fd++) {
		if (fcntl(fd, F_GETFD) < 0 || fstat(fd, &st) < 0)
			continue;
		printf("fd %d %s\n", fd,
		       S_ISREG(st.st_mode)    ? "file"
		       : S_ISDIR(st.st_mode)  ? "folder"
		       : S_ISCHR(st.st_mode)  ? "device"
		       : S_ISFIFO(st.st_mode) ? "pipe"
		       : S_ISSOCK(st.st_mode) ? "socket"
		                              : "other");
	}
	return 0;
}

static int v_signals(int argc, char **argv)
{
	sigset_t blocked;
	(void)argc, (void)argv;
	sigprocmask(SIG_SETMASK, NULL, &blocked);
	printf("blocked:");
	for (int s = 1; s < NSIG; s++)
		if (sigismember(&blocked, s) == 1)
			printf(" %d", s);
	printf("\nignored:");
	for (int s = 1; s < NSIG; s++) {
		struct sigaction now;
		if (sigaction(s, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			printf(" %d", s);
	}
	printf("\n");
	return 0;
}

static int v_env(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (char **e = environ; *e; e++)
		printf("env %s\n", *e);
	return 0;
}

static int v_ids(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("uid=%d gid=%d pid=%d umask=%03o\n", getuid(), getgid(), getpid(), umask(0));
	return 0;
}

static int v_ls(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		DIR *dir = opendir(argv[i]);
		printf("%s:%s", argv[i], dir ? "" : outcome(-1));
		for (struct dirent *e; dir && (e = readdir(dir));)
			if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0)
				printf(" %s", e->d_name);
		printf("\n");
		if (dir)
			closedir(dir);
	}
	return 0;
}

/* Opens for writing and closes again: whatever could be written stays as it was. */
static int v_open_write(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_WRONLY | O_NONBLOCK);
		printf("%s %s\n", argv[i], outcome(fd));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

static int v_create(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int fd = open(argv[i], O_WRONLY | O_CREAT, 0644);
		printf("%s %s\n", argv[i], outcome(fd));
		if (fd >= 0) {
			close(fd);
			unlink(argv[i]);
		}
	}
	return 0;
}

/* Is there something to read? A folder that opens, a device, or a file with a byte in it; an empty one is HIDDEN. */
static int v_look(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;
		char byte;
		int fd = open(argv[i], O_RDONLY | O_NONBLOCK);
		bool open_up = fd >= 0 && fstat(fd, &st) == 0;
		bool other = open_up && (S_ISDIR(st.st_mode) || (S_ISCHR(st.st_mode) && strncmp(argv[i], "/dev/", 5) == 0));
		ssize_t n = open_up && !other ? read(fd, &byte, 1) : 1;
		printf("%s %s\n", argv[i], !open_up ? outcome(-1) : n == 0 ? "HIDDEN" : outcome(n));
		if (fd >= 0)
			close(fd);
	}
	return 0;
}

/* Can it be changed? A file opens for writing, a folder takes a new file, what is not there can be made. */
static int v_change(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct stat st;
		char made[4096];
		bool there = stat(argv[i], &st) == 0, folder = there && S_ISDIR(st.st_mode);
		snprintf(made, sizeof made, folder ? "%s/probe-new" : "%s", argv[i]);
		int fd = open(made, O_WRONLY | O_NONBLOCK | (there && !folder ? 0 : O_CREAT | O_EXCL), 0644);
		printf("%s %s\n", argv[i], outcome(fd));
		if (fd >= 0)
			close(fd);
		if (fd >= 0 && (folder || !there))
			unlink(made);
	}
	return 0;
}

static int v_rename(int argc, char **argv)
{
	printf("rename %s\n", argc < 3 ? "usage" : outcome(rename(argv[1], argv[2])));
	return 0;
}

/* Which other processes answer to signal 0? */
static int v_pids(int argc, char **argv)
{
	int last = argc > 1 ? atoi(argv[1]) : 70000;
	printf("alive:");
	for (int pid = 1; pid <= last; pid++)
		if (kill(pid, 0) == 0 || errno == EPERM)
			printf(" %d", pid);
	printf("\n");
	return 0;
}

static int v_rlimits(int argc, char **argv)
{
	static const char *const names[] = { "cpu",     "fsize", "data",  "stack",      "core",     "rss",  "nproc",  "nofile",
		                             "memlock", "as",    "locks", "sigpending", "msgqueue", "nice", "rtprio", "rttime" };
	(void)argc, (void)argv;
	for (int i = 0; i < 16; i++) {
		struct rlimit r;
		if (getrlimit((__rlimit_resource_t)i, &r) == 0)
			printf("%s %lld\n", names[i], (long long)r.rlim_max);
	}
	return 0;
}

/* --- system calls --- */

/* Each argument is NR[:arg]...; missing arguments are 0. Child processes that a call makes end at once. */
static int v_syscall(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		long a[7] = { 0 };
		char *save = NULL, *text = strdup(argv[i]), *part = strtok_r(text, ":", &save);
		for (int n = 0; part && n < 7; n++, part = strtok_r(NULL, ":", &save))
			a[n] = number(part);
		pid_t self = getpid();
		long r = syscall(a[0], a[1], a[2], a[3], a[4], a[5], a[6]);
		if (r == 0 && getpid() != self)
			_exit(0);
		printf("%s %s\n", argv[i], outcome(r));
		free(text);
	}
	return 0;
}

/* Every number once, never executed: a filter set before ours (verb `marked`) answers MARK_ERRNO to calls whose sixth
 * argument is MARK, and only where the filter under test would have let the call through. */
static int v_sweep(int argc, char **argv)
{
	static const long tries[][3] = { { 0, 0, 0 },      { 1, 0, 0 },      { 0x10100, 0, 0 }, { 0, 0x5401, 0 },
		                         { 0, 010000, 0 }, { 0, 0, 010000 }, { 2, 0, 0 } };
	static bool doors[SWEEP_LAST + 1];
	int allowed = 0, refused = 0;
	(void)argc, (void)argv;
	for (long nr = 0; nr <= SWEEP_LAST; nr++) {
		bool open_door = false;
		/* uretprobe and uprobe: no filter sees them, and the kernel ends whoever calls them from other than its own code. */
		if (nr == 335 || nr == 336)
			continue;
		for (size_t t = 0; t < sizeof tries / sizeof *tries && !open_door; t++)
			open_door = syscall(nr, tries[t][0], tries[t][1], tries[t][2], 0L, 0L, (long)MARK) < 0 && errno == MARK_ERRNO;
		doors[nr] = open_door;
		allowed += open_door;
		refused += !open_door;
	}
	syscall(SYS_getpid, 0, 0, 0, 0, 0, 0L); /* the mark must not stay behind in a register */
	printf("allowed:");
	for (int nr = 0; nr <= SWEEP_LAST; nr++)
		if (doors[nr])
			printf(" %d", nr);
	printf("\ncount: %d\nrefused: %d\n", allowed, refused);
	return 0;
}

/* `before`, then a call through another door of the kernel, in a child where there can be one. */
static int foreign(const char *what, long nr, long (*call)(long))
{
	int status;
	pid_t pid = fork();
	if (pid <= 0) { /* the child, or a place without children: then the answer is our own death */
		long r = call(nr);
		printf("%s %ld %s\n", what, nr, r < 0 && r > -4096 ? name_of((int)-r) : "OK");
		fflush(stdout);
		if (pid == 0)
			_exit(0);
		return 0;
	}
	waitpid(pid, &status, 0);
	if (WIFSIGNALED(status))
		printf("%s %ld SIG%s\n", what, nr, sigabbrev_np(WTERMSIG(status)));
	return 0;
}

#ifdef __x86_64__
static long call_int80(long nr)
{
	long r;
	__asm__ volatile("int $0x80"
	                 : "=a"(r)
	                 : "a"(nr), "b"(0L), "c"(0L), "d"(0L), "S"(0L)
	                 : "memory", "r8", "r9", "r10", "r11");
	return (int)r;
}

static long call_x32(long nr)
{
	long r = syscall(0x40000000 | nr, 0, 0, 0, 0, 0, 0);
	return r < 0 ? -errno : r;
}
#else
static long call_int80(long nr)
{
	return -ENOSYS - 0 * nr;
}
#define call_x32 call_int80
#endif

static int v_int80(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		foreign("int80", number(argv[i]), call_int80);
	return 0;
}

static int v_x32(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		foreign("x32", number(argv[i]), call_x32);
	return 0;
}

/* CMD[:FD]: the command is passed with all its 64 bits. */
static int v_ioctl(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		char *colon = strchr(argv[i], ':'), text[64] = "i";
		long fd = colon ? number(colon + 1) : 0;
		printf("%s %s\n", argv[i], outcome(syscall(SYS_ioctl, fd, number(argv[i]), text, 0, 0, 0)));
	}
	return 0;
}

/* FAMILY:TYPE:PROTOCOL */
static int v_socket(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		long a[3] = { 0, 1, 0 };
		char *save = NULL, *text = strdup(argv[i]), *part = strtok_r(text, ":", &save);
		for (int n = 0; part && n < 3; n++, part = strtok_r(NULL, ":", &save))
			a[n] = number(part);
		long fd = syscall(SYS_socket, a[0], a[1], a[2]);
		printf("%s %s\n", argv[i], outcome(fd));
		if (fd >= 0)
			close((int)fd);
		free(text);
	}
	return 0;
}

/* New namespaces by clone(2) and unshare(2); each in a child of its own. */
static int v_clone_flags(int argc, char **argv)
{
	static const struct {
		const char *name;
		unsigned long flag;
	} rows[] = { { "plain", 0 },        { "user", 0x10000000 },  { "mount", 0x20000 },
		     { "net", 0x40000000 }, { "pid", 0x20000000 },   { "ipc", 0x8000000 },
		     { "uts", 0x4000000 },  { "cgroup", 0x2000000 }, { "high", 0x1010000000 } };
	(void)argc, (void)argv;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		pid_t pid = (pid_t)syscall(SYS_clone, rows[i].flag | SIGCHLD, 0, 0, 0, 0);
		if (pid == 0)
			_exit(0);
		printf("clone %s %s\n", rows[i].name, outcome(pid));
		if (pid > 0)
			waitpid(pid, NULL, 0);
		pid = rows[i].flag ? fork() : -1;
		if (pid == 0) {
			long r = syscall(SYS_unshare, rows[i].flag);
			_exit(r < 0 ? errno : 0);
		}
		int status = 0;
		if (pid > 0 && waitpid(pid, &status, 0) > 0)
			printf("unshare %s %s\n", rows[i].name, name_of(WEXITSTATUS(status)));
	}
	return 0;
}

static int v_prctl(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		long a[5] = { 0 };
		char *save = NULL, *text = strdup(argv[i]), *part = strtok_r(text, ":", &save);
		for (int n = 0; part && n < 5; n++, part = strtok_r(NULL, ":", &save))
			a[n] = number(part);
		printf("%s %s\n", argv[i], outcome(syscall(SYS_prctl, a[0], a[1], a[2], a[3], a[4])));
		free(text);
	}
	return 0;
}

static int v_mmap_exec(int argc, char **argv)
{
	(void)argc, (void)argv;
	void *p = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("mmap %s\n", p == MAP_FAILED ? outcome(-1) : "OK");
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	printf("mprotect %s\n", p == MAP_FAILED ? "nothing" : outcome(mprotect(p, 4096, PROT_READ | PROT_EXEC)));
	long high = (long)PROT_READ | PROT_EXEC | 1L << 40;
	printf("mprotect-high %s\n", outcome(syscall(SYS_mprotect, p, 4096L, high, 0, 0, 0)));
	return 0;
}

static int v_setid(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "/tmp";
	char path[300];
	snprintf(path, sizeof path, "%s/probe-setid", dir);
	int fd = open(path, O_WRONLY | O_CREAT, 0755);
	printf("file %s\n", outcome(fd));
	printf("chmod %s\n", outcome(chmod(path, 04755)));
	printf("fchmod %s\n", outcome(fchmod(fd, 02755)));
	printf("fchmodat2 %s\n", outcome(syscall(452, AT_FDCWD, path, 04755, 0)));
	close(fd);
	unlink(path);
	fd = open(path, O_WRONLY | O_CREAT, 04755);
	printf("openat %s\n", outcome(fd));
	if (fd >= 0)
		close(fd);
	unlink(path);
	printf("mkdir %s\n", outcome(mkdir(path, 02755)));
	struct stat st;
	printf("mkdir-bits %s\n", stat(path, &st) == 0 && !(st.st_mode & 06000) ? "NONE" : "OK");
	rmdir(path);
	printf("setuid0 %s\n", outcome(setuid(0)));
	return 0;
}

static int v_nodes(int argc, char **argv)
{
	const char *dir = argc > 1 ? argv[1] : "/tmp";
	char path[300];
	snprintf(path, sizeof path, "%s/probe-node", dir);
	printf("fifo %s\n", outcome(mknod(path, S_IFIFO | 0600, 0)));
	unlink(path);
	printf("mknod-block %s\n", outcome(mknod(path, S_IFBLK | 0600, makedev(8, 0))));
	unlink(path);
	printf("mknod-char %s\n", outcome(mknod(path, S_IFCHR | 0600, makedev(1, 1))));
	unlink(path);
	return 0;
}

static int v_rlimit_raise(int argc, char **argv)
{
	struct rlimit r = { 1 << 20, 1 << 20 };
	(void)argc, (void)argv;
	printf("nofile %s\n", outcome(syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, &r, NULL)));
	r.rlim_cur = r.rlim_max = 1;
	printf("init %s\n", outcome(syscall(SYS_prlimit64, 1, RLIMIT_NOFILE, &r, NULL)));
	return 0;
}

static int v_trace(int argc, char **argv)
{
	char byte = 0;
	uint64_t local[2] = { (uint64_t)(uintptr_t)&byte, 1 }, remote[2] = { 4096, 1 };
	pid_t target = argc > 1 ? atoi(argv[1]) : 1;
	printf("traceme %s\n", outcome(syscall(SYS_ptrace, 0, 0, 0, 0)));
	printf("attach %s\n", outcome(syscall(SYS_ptrace, 16, target, 0, 0)));
	printf("seize %s\n", outcome(syscall(SYS_ptrace, 0x4206, target, 0, 0)));
	printf("readv %s\n", outcome(syscall(SYS_process_vm_readv, target, local, 1, remote, 1, 0)));
	printf("writev %s\n", outcome(syscall(SYS_process_vm_writev, target, local, 1, remote, 1, 0)));
	printf("kcmp %s\n", outcome(syscall(SYS_kcmp, getpid(), target, 0, 0, 0)));
	long pidfd = syscall(434, target, 0); /* pidfd_open */
	printf("pidfd_getfd %s\n", outcome(syscall(438, pidfd, 0, 0)));
	return 0;
}

#ifdef __x86_64__
/* At the stop before the next call of a traced child: `nr` in its place, with that first argument. */
static void replace_call(pid_t child, unsigned long nr, unsigned long argument)
{
	struct user_regs_struct regs;
	ptrace(PTRACE_SYSCALL, child, 0, 0);
	waitpid(child, NULL, 0);
	ptrace(PTRACE_GETREGS, child, 0, &regs);
	regs.orig_rax = nr;
	regs.rdi = argument;
	printf("setregs %s\n", outcome(ptrace(PTRACE_SETREGS, child, 0, &regs)));
}

/* NR ARGUMENT: a tracer puts that call in the place of another one of its child, past the filter, if it can. */
static int v_tracer(int argc, char **argv)
{
	enum { SUSPEND_SECCOMP = 1 << 21 };
	int status = 0;
	pid_t child = fork();
	if (child == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		_exit(syscall(SYS_getppid) < 0 ? errno : 0);
	}
	waitpid(child, &status, 0);
	printf("options %s\n", outcome(ptrace(PTRACE_SETOPTIONS, child, 0, PTRACE_O_TRACESYSGOOD)));
	printf("suspend %s\n", outcome(ptrace(PTRACE_SETOPTIONS, child, 0, SUSPEND_SECCOMP)));
	replace_call(child, argc > 1 ? (unsigned long)number(argv[1]) : 0, argc > 2 ? (unsigned long)number(argv[2]) : 0);
	ptrace(PTRACE_DETACH, child, 0, 0);
	waitpid(child, &status, 0);
	printf("call %s\n", name_of(WEXITSTATUS(status)));
	child = fork();
	if (child == 0)
		_exit(pause());
	printf("seize %s\n", outcome(ptrace(PTRACE_SEIZE, child, 0, SUSPEND_SECCOMP)));
	kill(child, SIGKILL);
	return 0;
}
#else
static int v_tracer(int argc, char **argv)
{
	(void)argc, (void)argv;
	return 0;
}
#endif

/* --- refused calls that somebody counts --- */

/* COUNT [PROCESSES]: ptrace, so often by each. */
static int v_denied(int argc, char **argv)
{
	long count = argc > 1 ? number(argv[1]) : 1, processes = argc > 2 ? number(argv[2]) : 1;
	for (long i = 0; i < processes; i++)
		if (i == processes - 1 || fork() == 0) {
			long same = 0;
			while (same < count && syscall(SYS_ptrace, 0, 0, 0, 0) < 0 && errno == EPERM)
				same++;
			if (i == processes - 1)
				printf("EPERM %ld\n", same);
			else
				_exit(0);
		}
	while (wait(NULL) > 0)
		;
	return 0;
}

static void on_tick(int sig)
{
	(void)sig;
}

/* COUNT: refused calls while signals arrive all the time. */
static int v_interrupted(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	struct itimerval often = { { 0, 50 }, { 0, 50 } };
	sigaction(SIGALRM, &act, NULL);
	setitimer(ITIMER_REAL, &often, NULL);
	return v_denied(argc, argv);
}

/* COUNT: threads in the middle of refused calls when their process is killed, again and again. */
static void *call_on(void *arg)
{
	for (;;)
		syscall(SYS_ptrace, 0, 0, 0, 0);
	return arg;
}
static int v_torn(int argc, char **argv)
{
	for (long i = argc > 1 ? number(argv[1]) : 1; i > 0; i--) {
		pid_t child = fork();
		if (child == 0) {
			pthread_t thread;
			for (int t = 0; t < 4; t++)
				pthread_create(&thread, NULL, call_on, NULL);
			usleep(300);
			kill(getpid(), SIGKILL);
		}
		waitpid(child, NULL, 0);
	}
	printf("torn OK\n");
	return 0;
}

/* Is any descriptor a listener? Then a listener of its own, and a filter that reports without one. */
static int v_listener(int argc, char **argv)
{
	struct sock_filter notify[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ptrace, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof notify / sizeof *notify, notify };
	uint64_t id = 0;
	(void)argc, (void)argv;
	for (int fd = 0; fd < 65536; fd++)
		if (fcntl(fd, F_GETFD) >= 0 && ioctl(fd, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) < 0 && errno == ENOENT)
			printf("fd %d listens\n", fd);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	printf("own-listener %s\n", outcome(fd));
	printf("own-filter %s\n", outcome(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program)));
	printf("ptrace %s\n", fd < 0 ? outcome(syscall(SYS_ptrace, 0, 0, 0, 0)) : "");
	return 0;
}

/* So many descriptors are sent and never taken; how many the kernel lets be under way, and why no more. Holds them so many seconds. */
static int v_inflight(int argc, char **argv)
{
	enum { AT_ONCE = 250, PER_PAIR = 4 };
	long want = argc > 1 ? number(argv[1]) : 1, sent = 0, in_pair = PER_PAIR;
	int pair[2] = { -1, -1 }, error = 0;
	while (sent < want && !error) {
		int fds[AT_ONCE] = { 0 };
		size_t count = (size_t)(want - sent < AT_ONCE ? want - sent : AT_ONCE);
		char space[CMSG_SPACE(sizeof fds)] __attribute__((aligned(8))) = { 0 }, byte = 0;
		struct iovec iov = { &byte, 1 };
		struct msghdr msg = {
			.msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = CMSG_SPACE(count * sizeof *fds)
		};
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(count * sizeof *fds) };
		memcpy(CMSG_DATA(c), fds, count * sizeof *fds);
		if (in_pair++ == PER_PAIR) {
			in_pair = 1;
			error = socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0 ? errno : 0;
		}
		if (!error && sendmsg(pair[0], &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			error = errno;
		sent += error ? 0 : (long)count;
	}
	printf("inflight %ld %s\n", sent, name_of(error));
	fflush(stdout);
	sleep(argc > 2 ? (unsigned)number(argv[2]) : 0);
	return 0;
}

static int v_kill_init(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("kill-init %s\n", outcome(kill(1, SIGKILL)));
	printf("stop-init %s\n", outcome(kill(1, SIGSTOP)));
	printf("end-init %s\n", outcome(kill(1, SIGUSR2)));
	return 0;
}

static int v_handle(int argc, char **argv)
{
	struct {
		unsigned bytes;
		int type;
		unsigned char data[128];
	} h = { 128, 0, { 0 } };
	int mount_id;
	(void)argc, (void)argv;
	printf("name_to_handle_at %s\n", outcome(syscall(SYS_name_to_handle_at, AT_FDCWD, "/", &h, &mount_id, 0)));
	h.bytes = 8;
	h.type = 1;
	h.data[0] = 2; /* the root inode of most file systems */
	int root = open("/", O_RDONLY | O_DIRECTORY);
	printf("open_by_handle_at %s\n", outcome(syscall(SYS_open_by_handle_at, root, &h, O_RDONLY)));
	return 0;
}

/* --- network --- */

static void report(const char *what, const char *where, long r)
{
	printf("%s %s %s\n", what, where, outcome(r));
}

static int inet(int argc, char **argv, int type)
{
	if (argc < 3)
		return 2;
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons((uint16_t)number(argv[2])) };
	inet_pton(AF_INET, argv[1], &to.sin_addr);
	int fd = socket(AF_INET, type | SOCK_NONBLOCK, 0);
	long r = fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, sizeof to);
	if (r == 0 && type == SOCK_DGRAM)
		r = send(fd, "probe", 5, 0);
	report(type == SOCK_DGRAM ? "udp" : "tcp", argv[1], r < 0 && errno == EINPROGRESS ? 0 : r);
	return 0;
}

static int v_tcp(int argc, char **argv)
{
	return inet(argc, argv, SOCK_STREAM);
}

static int v_udp(int argc, char **argv)
{
	return inet(argc, argv, SOCK_DGRAM);
}

static int v_unix(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		struct sockaddr_un to = { .sun_family = AF_UNIX };
		size_t bytes = strlen(argv[i]);
		if (bytes >= sizeof to.sun_path)
			return 2;
		memcpy(to.sun_path, argv[i], bytes);
		if (argv[i][0] == '@')
			to.sun_path[0] = '\0';
		int fd = socket(AF_UNIX, SOCK_STREAM, 0);
		report("unix", argv[i],
		       fd < 0 ? -1 : connect(fd, (struct sockaddr *)&to, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + bytes)));
	}
	return 0;
}

/* Listens on 127.0.0.1 and talks to itself. */
static int v_loopback(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t bytes = sizeof at;
	(void)argc, (void)argv;
	int server = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
	if (server < 0 || bind(server, (struct sockaddr *)&at, sizeof at) < 0 || listen(server, 1) < 0 ||
	    getsockname(server, (struct sockaddr *)&at, &bytes) < 0 || connect(client, (struct sockaddr *)&at, sizeof at) < 0)
		printf("loopback %s\n", outcome(-1));
	else
		printf("loopback OK\n");
	return 0;
}

/* --- bombs --- */

static int v_forkbomb(int argc, char **argv)
{
	long count = 0;
	bool stay = argc > 1;
	(void)argv;
	for (pid_t pid; (pid = fork()) >= 0; count++)
		if (pid == 0)
			for (;;)
				pause();
	printf("forks %ld %s\n", count, outcome(-1));
	fflush(stdout);
	while (stay)
		pause();
	return 0;
}

/* Never stops forking: each process becomes its successor's parent and goes on. */
static int v_forkstorm(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (;;)
		if (fork() < 0)
			sched_yield();
	return 0;
}

static void *wait_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static int v_threadbomb(int argc, char **argv)
{
	long count = 0;
	pthread_t thread;
	pthread_attr_t attr;
	int r;
	(void)argc, (void)argv;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	while ((r = pthread_create(&thread, &attr, wait_forever, NULL)) == 0)
		count++;
	printf("threads %ld %s\n", count, name_of(r));
	fflush(stdout);
	_exit(0);
}

/* One thread locks ranges of a file in /tmp, another one puts /dev/null in its place and back. */
static int race_good, race_bad, race_at = 50;
static volatile bool race_over;

static void *swap(void *arg)
{
	while (!race_over) {
		dup2(race_bad, race_at);
		dup2(race_good, race_at);
	}
	return arg;
}

static int v_lock_race(int argc, char **argv)
{
	long tries = argc > 1 ? number(argv[1]) : 100000, held = 0, refused = 0;
	const char *bad = argc > 2 ? argv[2] : "/dev/null";
	pthread_t thread;
	race_good = open("/tmp/race", O_RDWR | O_CREAT, 0600);
	race_bad = open(bad, O_RDWR);
	if (race_good < 0 || race_bad < 0 || dup2(race_good, race_at) < 0 || pthread_create(&thread, NULL, swap, NULL) != 0)
		return 1;
	for (long i = 0; i < tries; i++) {
		struct flock range = { .l_type = F_WRLCK, .l_start = 2 * i, .l_len = 1 };
		if (argc > 3 ? flock(race_at, LOCK_EX | LOCK_NB) == 0 : fcntl(race_at, F_SETLK, &range) == 0)
			held++;
		else
			refused += errno == EINVAL;
	}
	race_over = true;
	pthread_join(thread, NULL);
	printf("race held %ld refused %ld\n", held, refused);
	return 0;
}

/* A POSIX lock that is late: fcntl(2) has looked up its descriptor and waits for the page of its argument, which a fork(2) of a large mapping
 * holds up, while a second thread puts the other file in its place. argv: seconds, GiB of the mapping. */
enum { LATE_AT = 100 };
static struct late {
	_Atomic int round, ready, swapped;
	_Atomic int forks; /* begun: a short fork is over before a busy processor sees `forking` */
	_Atomic bool fork_wanted, forking;
	_Atomic long start_ns, delay_ns;
	int other;
} * late; /* shared memory, which a fork does not write-protect */

static long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000L + t.tv_nsec;
}

static void *late_swap(void *arg)
{
	for (int seen = 0;;) {
		while (late->round == seen)
			usleep(100);
		late->ready = seen = late->round;
		while (!late->start_ns)
			usleep(20);
		for (long until = late->start_ns + late->delay_ns; now_ns() < until;)
			;
		dup2(late->other, LATE_AT);
		late->swapped = seen;
	}
	return arg;
}

static void *late_fork(void *arg)
{
	for (;;) {
		while (!late->fork_wanted)
			usleep(100);
		late->fork_wanted = false;
		late->forking = true;
		late->forks++;
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		if (pid > 0)
			waitpid(pid, NULL, 0);
		late->forking = false;
	}
	return arg;
}

static bool other_is_locked(void)
{
	int status = 0;
	pid_t pid = (pid_t)syscall(SYS_fork);
	if (pid == 0) {
		struct flock any = { .l_type = F_WRLCK };
		fcntl(late->other, F_GETLK, &any);
		_exit(any.l_type != F_UNLCK);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 1;
}

static int v_lock_late(int argc, char **argv)
{
	const struct flock range = { .l_type = F_WRLCK };
	long tries = 0;
	size_t bytes = (size_t)(argc > 2 ? number(argv[2]) : 4) << 30;
	unsigned seed = 1;
	pthread_t thread;
	late = mmap(NULL, sizeof *late, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int own = open("/tmp/late", O_RDWR | O_CREAT, 0600), file = open("/tmp/range", O_RDWR | O_CREAT, 0600);
	if (late == MAP_FAILED || own < 0 || file < 0 || write(file, &range, sizeof range) != sizeof range || ftruncate(file, 4096) < 0)
		return 1;
	struct flock *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
	char *big = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	late->other = open("/dev/null", O_RDWR);
	if (page == MAP_FAILED || big == MAP_FAILED || late->other < 0)
		return 1;
	madvise(big, bytes, MADV_NOHUGEPAGE);
	big[0] = 1;
	for (size_t i = 4096; i < bytes; i += 4096) /* the page of zeros, many times: page tables and no memory */
		(void)*(volatile char *)(big + i);
	if (pthread_create(&thread, NULL, late_swap, NULL) != 0 || pthread_create(&thread, NULL, late_fork, NULL) != 0)
		return 1;
	/* The time begins when the page tables are there, which a busy machine takes long for. */
	for (long end_ns = now_ns() + 1000000000L * (argc > 1 ? number(argv[1]) : 5); tries == 0 || now_ns() < end_ns; tries++) {
		while (late->forking)
			usleep(200);
		dup2(own, LATE_AT);
		madvise(page, 4096, MADV_DONTNEED);
		late->start_ns = 0;
		late->round++;
		while (late->ready != late->round)
			usleep(50);
		late->delay_ns = 20000 + rand_r(&seed) % 150000;
		int forks = late->forks;
		late->fork_wanted = true;
		while (late->forks == forks)
			usleep(50);
		usleep(2000);
		late->start_ns = now_ns();
		int r = fcntl(LATE_AT, F_SETLK, page);
		while (late->swapped != late->round)
			usleep(50);
		if (r == 0 && other_is_locked()) {
			puts("late won");
			sleep(3);
			puts("late kept"); /* a supervisor that looked again has ended us by now */
			return 0;
		}
	}
	printf("late tried %s\n", tries ? "OK" : "nothing");
	return 0;
}

static int v_memhog(int argc, char **argv)
{
	long megabytes = 0, cap = argc > 1 ? number(argv[1]) : 65536;
	for (; megabytes < cap; megabytes++) {
		char *p = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			break;
		for (int i = 0; i < 1 << 20; i += 4096)
			p[i] = 1;
	}
	printf("memory %ld %s\n", megabytes, megabytes < cap ? outcome(-1) : "OK");
	return 0;
}

static int v_fill(int argc, char **argv)
{
	static char block[1 << 16];
	long long total = 0, cap = argc > 2 ? number(argv[2]) : 1LL << 40;
	ssize_t n = 0;
	signal(SIGXFSZ, SIG_IGN);
	int fd = open(argc > 1 ? argv[1] : "/tmp/fill", O_WRONLY | O_CREAT, 0600);
	while (fd >= 0 && total < cap && (n = write(fd, block, sizeof block)) > 0)
		total += n;
	printf("fill %lld %s\n", total, fd < 0 || n < 0 ? outcome(-1) : "OK");
	if (fd >= 0)
		close(fd);
	unlink(argc > 1 ? argv[1] : "/tmp/fill");
	return 0;
}

static int v_inodes(int argc, char **argv)
{
	char path[300];
	long count = 0, cap = 2000000;
	int fd = 0;
	for (; count < cap; count++) {
		snprintf(path, sizeof path, "%s/i%ld", argc > 1 ? argv[1] : "/tmp", count);
		if ((fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600)) < 0)
			break;
		close(fd);
	}
	printf("inodes %ld %s\n", count, outcome(fd));
	return 0;
}

static int v_openmax(int argc, char **argv)
{
	long count = 0;
	(void)argc, (void)argv;
	while (dup(0) >= 0)
		count++;
	printf("open %ld %s\n", count, outcome(-1));
	return 0;
}

static int v_memfd(int argc, char **argv)
{
	(void)argc, (void)argv;
	int fd = (int)syscall(SYS_memfd_create, "probe", 0);
	printf("memfd %s\n", outcome(fd));
	printf("memfd_secret %s\n", outcome(syscall(447, 0)));
	printf("mlock %s\n", outcome(mlock(mmap(NULL, 1 << 24, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1 << 24)));
	return 0;
}

static int v_inotify(int argc, char **argv)
{
	long count = 0;
	(void)argc, (void)argv;
	while (count < 100000 && syscall(SYS_inotify_init1, 0) >= 0)
		count++;
	printf("inotify %ld %s\n", count, outcome(-1));
	return 0;
}

/* --- staying alive --- */

static void ignore_all(void)
{
	for (int s = 1; s < NSIG; s++)
		signal(s, SIG_IGN);
}

/* A process that has left its parent, its session and every signal behind, and keeps the output open. */
static int v_daemon(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)number(argv[1]) : 600;
	if (fork() == 0) {
		setsid();
		if (fork() != 0)
			_exit(0);
		ignore_all();
		sleep(seconds);
		_exit(0);
	}
	printf("started\n");
	return 0;
}

static int v_stopself(int argc, char **argv)
{
	(void)argc, (void)argv;
	printf("stopping\n");
	fflush(stdout);
	kill(0, SIGSTOP);
	printf("continued\n");
	return 0;
}

static int v_stubborn(int argc, char **argv)
{
	ignore_all();
	printf("ready\n");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned)number(argv[1]) : 600);
	return 0;
}

/* Trees of processes that do not want to end, by name. */
static int v_tree(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	static char block[1 << 16];
	int fds[2];
	printf("growing\n");
	fflush(stdout);
	if (strcmp(how, "sessions") == 0) { /* each generation in a session of its own, its parent gone */
		for (int i = 0; i < 50; i++) {
			if (fork() != 0) {
				if (i == 0)
					break;
				_exit(0);
			}
			setsid();
			ignore_all();
		}
	} else if (strcmp(how, "forking") == 0) { /* whoever is killed has just forked */
		ignore_all();
		for (int i = 0; i < 20; i++)
			if (fork() == 0)
				for (;;)
					if (fork() > 0)
						_exit(0);
		for (;;)
			while (waitpid(-1, NULL, 0) > 0)
				;
	} else if (strcmp(how, "zombies") == 0) {
		for (int i = 0; i < 300; i++)
			if (fork() == 0)
				_exit(0);
	} else if (strcmp(how, "vfork") == 0) { /* a parent that waits unkillably for a child that stops itself */
		if (vfork() == 0) {
			kill(getpid(), SIGSTOP);
			for (;;)
				pause();
		}
	} else if (strcmp(how, "stopped") == 0) {
		for (int i = 0; i < 20; i++)
			if (fork() == 0)
				for (;;)
					kill(getpid(), SIGSTOP);
		kill(getppid(), SIGSTOP);
		kill(getpid(), SIGSTOP);
	} else if (strcmp(how, "fifo") == 0) { /* a reader without a writer */
		ignore_all();
		mkfifo("/tmp/fifo", 0600);
		fork();
		open("/tmp/fifo", O_RDONLY);
	} else if (strcmp(how, "pipe") == 0 && pipe(fds) == 0) { /* a writer without a reader */
		ignore_all();
		fork();
		while (write(fds[1], block, sizeof block) > 0)
			;
	} else if (strcmp(how, "flood") == 0) { /* with the output held by a grandchild that left the family */
		if (fork() == 0) {
			setsid();
			ignore_all();
			for (;;)
				if (write(1, "x", 1) < 0)
					pause();
		}
	} else if (strcmp(how, "memory") == 0) { /* much to tear down */
		for (int i = 0; i < 4; i++)
			if (fork() == 0) {
				memset(malloc(64 << 20), 1, 64 << 20);
				for (;;)
					pause();
			}
	} else if (strcmp(how, "threads") == 0) {
		for (int i = 0; i < 8; i++)
			if (fork() == 0) {
				pthread_t thread;
				for (int t = 0; t < 20; t++)
					pthread_create(&thread, NULL, (void *(*)(void *))(void *)pause, NULL);
				for (;;)
					pause();
			}
	}
	for (;;)
		pause();
}

static int v_spin(int argc, char **argv)
{
	(void)argc, (void)argv;
	for (volatile unsigned long n = 0;; n++)
		;
	return 0;
}

static int v_sleep(int argc, char **argv)
{
	printf("ready\n");
	fflush(stdout);
	sleep(argc > 1 ? (unsigned)number(argv[1]) : 600);
	return 0;
}

static int v_exit(int argc, char **argv)
{
	fflush(stdout);
	_exit(argc > 1 ? (int)number(argv[1]) : 0);
}

static int v_die(int argc, char **argv)
{
	fflush(stdout);
	kill(getpid(), argc > 1 ? (int)number(argv[1]) : SIGKILL);
	return 0;
}

static int v_say(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		printf("%s%s", i > 1 ? " " : "", argv[i]);
	printf("\n");
	return 0;
}

/* BYTES of output, the first and the last line telling that they are that. */
static int v_output(int argc, char **argv)
{
	static char block[1 << 16];
	long long left = argc > 1 ? number(argv[1]) : 1 << 30;
	memset(block, 'x', sizeof block);
	printf("HEAD\n");
	fflush(stdout);
	for (ssize_t n; left > 0; left -= n)
		if ((n = write(1, block, left < (long long)sizeof block ? (size_t)left : sizeof block)) <= 0)
			return 1;
	printf("\nTAIL\n");
	return 0;
}

/* --- callers from hell: change what a child inherits, then become the command --- */

static int v_spoil(int argc, char **argv)
{
	struct rlimit r;
	sigset_t all;
	if (argc < 2)
		return 2;
	if (getrlimit(RLIMIT_NOFILE, &r) == 0) {
		r.rlim_cur = r.rlim_max;
		setrlimit(RLIMIT_NOFILE, &r);
	}
	for (int i = 0; i < 3000 && dup(0) >= 0; i++)
		;
	int home = open("/", O_RDONLY | O_DIRECTORY);
	dup2(home, 200);
	ignore_all();
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	umask(0);
	execvp(argv[1], argv + 1);
	return 127;
}

static int v_marked(int argc, char **argv)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args) + 5 * 8),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, MARK, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | MARK_ERRNO),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof code / sizeof *code, code };
	/* An error beats a report. With a listener here there can be none below, so refusals are errors there, too. */
	if (argc < 2 || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return 125;
	long fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (fd < 0 ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) < 0 : fcntl((int)fd, F_SETFD, 0) < 0)
		return 125;
	execvp(argv[1], argv + 1);
	return 127;
}

/* --- all of it, in words that are the same in every run --- */

static int v_walls(int argc, char **argv)
{
	static char *places[] = {
		"",       "/", "/usr", "/etc/passwd", "/etc/x", "/dev/x", "/proc/sys/kernel/hostname", "/proc/sysrq-trigger",
		"/tmp/x", NULL
	};
	static char *folders[] = { "", "/", "/dev", "/etc", "/tmp", NULL };
	/* ptrace, mount, bpf, unshare(user), keyctl, userfaultfd, io_uring_setup, open_by_handle_at */
	static char *calls[] = { "", "101", "165", "321", "272:0x10000000", "250", "323", "425", "304", NULL };
	char name[64] = "";
	(void)argc, (void)argv;
	v_ids(0, NULL);
	v_rlimits(0, NULL);
	v_signals(0, NULL);
	v_fds(2, (char *[]){ "", "1024" });
	v_env(0, NULL);
	v_ls(5, folders);
	v_create(9, places);
	v_syscall(9, calls);
	for (int cap = 0; cap < 64; cap++)
		if (prctl(PR_CAPBSET_READ, cap, 0, 0, 0) == 1)
			printf("bounding %d\n", cap);
	printf("no_new_privs %d securebits %d dumpable %d\n", prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0),
	       prctl(PR_GET_SECUREBITS, 0, 0, 0, 0), prctl(PR_GET_DUMPABLE, 0, 0, 0, 0));
	printf("hostname %s\n", gethostname(name, sizeof name) == 0 ? name : outcome(-1));
	/* A whiteout needs no right but Landlock's; nor does a port. */
	printf("whiteout %s\n", outcome(mknod("/tmp/whiteout", S_IFCHR, 0)));
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	struct sockaddr_in any = { .sin_family = AF_INET };
	printf("bind %s\n", outcome(bind(fd, (struct sockaddr *)&any, sizeof any)));
	int lo = socket(AF_INET, SOCK_DGRAM, 0);
	any.sin_port = htons(9);
	any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	printf("loopback %s\n", outcome(connect(lo, (struct sockaddr *)&any, sizeof any)));
	printf("init's memory %s\n", outcome(open("/proc/1/mem", O_RDONLY)));
	printf("namespaces %s\n", outcome(open("/proc/sys/user/max_user_namespaces", O_WRONLY)));
	return 0;
}

/* --- the table --- */

static const struct verb {
	const char *name;
	int (*run)(int argc, char **argv);
	bool jail_only; /* would hurt the host */
} verbs[] = {
	{ "walls", v_walls, true },
	{ "caps", v_caps, false },
	{ "fds", v_fds, false },
	{ "signals", v_signals, false },
	{ "env", v_env, false },
	{ "ids", v_ids, false },
	{ "ls", v_ls, false },
	{ "cat", v_cat, false },
	{ "open-write", v_open_write, false },
	{ "create", v_create, false },
	{ "look", v_look, false },
	{ "change", v_change, false },
	{ "rename", v_rename, false },
	{ "pids", v_pids, false },
	{ "rlimits", v_rlimits, false },
	{ "syscall", v_syscall, false },
	{ "sweep", v_sweep, false },
	{ "int80", v_int80, false },
	{ "x32", v_x32, false },
	{ "ioctl", v_ioctl, false },
	{ "socket", v_socket, false },
	{ "clone-flags", v_clone_flags, false },
	{ "prctl", v_prctl, false },
	{ "mmap-exec", v_mmap_exec, false },
	{ "setid", v_setid, false },
	{ "nodes", v_nodes, true },
	{ "rlimit-raise", v_rlimit_raise, true },
	{ "trace", v_trace, false },
	{ "tracer", v_tracer, false },
	{ "denied", v_denied, true },
	{ "interrupted", v_interrupted, true },
	{ "torn", v_torn, true },
	{ "listener", v_listener, false },
	{ "inflight", v_inflight, false },
	{ "kill-init", v_kill_init, true },
	{ "handle", v_handle, false },
	{ "tcp", v_tcp, false },
	{ "udp", v_udp, false },
	{ "unix", v_unix, false },
	{ "loopback", v_loopback, false },
	{ "forkbomb", v_forkbomb, true },
	{ "forkstorm", v_forkstorm, true },
	{ "threadbomb", v_threadbomb, true },
	{ "lock-race", v_lock_race, true },
	{ "lock-late", v_lock_late, true },
	{ "memhog", v_memhog, true },
	{ "fill", v_fill, true },
	{ "inodes", v_inodes, true },
	{ "openmax", v_openmax, false },
	{ "memfd", v_memfd, false },
	{ "inotify", v_inotify, true },
	{ "daemon", v_daemon, false },
	{ "stopself", v_stopself, true },
	{ "tree", v_tree, true },
	{ "stubborn", v_stubborn, false },
	{ "spin", v_spin, false },
	{ "sleep", v_sleep, false },
	{ "exit", v_exit, false },
	{ "die", v_die, false },
	{ "say", v_say, false },
	{ "output", v_output, false },
	{ "spoil", v_spoil, false },
	{ "marked", v_marked, false },
};

/* A jail is known by its host name; a snippet may not even ask for one. */
static bool in_a_jail(void)
{
	char name[64] = "";
	return gethostname(name, sizeof name) < 0 || strcmp(name, "jail") == 0;
}

static int run_verb(int argc, char **argv)
{
	for (size_t i = 0; argc > 0 && i < sizeof verbs / sizeof *verbs; i++)
		if (strcmp(verbs[i].name, argv[0]) == 0) {
			if (verbs[i].jail_only && !in_a_jail()) {
				printf("%s: not outside a jail\n", argv[0]);
				return 2;
			}
			int r = verbs[i].run(argc, argv);
			fflush(stdout);
			return r;
		}
	printf("unknown verb\n");
	fflush(stdout);
	return 2;
}

/* --- the runner of a snippet, honest and evil --- */

static void put(const void *data, size_t bytes)
{
	for (const char *at = data; bytes > 0;) {
		ssize_t n = write(CONTROL_FD, at, bytes);
		if (n <= 0)
			_exit(99);
		at += n;
		bytes -= (size_t)n;
	}
}

static void put_header(uint32_t bytes, char kind)
{
	uint32_t length = bytes + 1; /* the kind counts */
	unsigned char head[5] = { (unsigned char)(length >> 24), (unsigned char)(length >> 16), (unsigned char)(length >> 8),
		                  (unsigned char)length, (unsigned char)kind };
	put(head, sizeof head);
}

static void put_frame(char kind, const char *text)
{
	put_header((uint32_t)strlen(text), kind);
	put(text, strlen(text));
}

/* `*kind` is what must come; '?' takes a filter or the module names and says which. */
static char *take_any(char *kind, size_t *ret_bytes)
{
	unsigned char head[5];
	size_t have = 0, bytes;
	for (ssize_t n; have < sizeof head; have += (size_t)n)
		if ((n = read(CONTROL_FD, head + have, sizeof head - have)) <= 0)
			_exit(98);
	bytes = ((size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | (size_t)head[3]) - 1;
	char *body = calloc(1, bytes + 1);
	if ((*kind == '?' ? head[4] != 'F' && head[4] != 'P' : head[4] != (unsigned char)*kind) || !body)
		_exit(97);
	*kind = (char)head[4];
	for (have = 0; have < bytes;) {
		ssize_t n = read(CONTROL_FD, body + have, bytes - have);
		if (n <= 0)
			_exit(96);
		have += (size_t)n;
	}
	*ret_bytes = bytes;
	return body;
}

static char *take_frame(char kind, size_t *ret_bytes)
{
	return take_any(&kind, ret_bytes);
}

static void install_filter(char *filter, size_t bytes)
{
	struct sock_fprog program = { (unsigned short)(bytes / sizeof(struct sock_filter)), (struct sock_filter *)filter };
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		_exit(94);
}

/* The code of a request: behind its head, whose last numbers are the bytes of the file name and of the code, and that name. */
static char *code_of(char *request)
{
	uint32_t name_bytes, code_bytes;
	memcpy(&name_bytes, request + 12, sizeof name_bytes);
	memcpy(&code_bytes, request + 16, sizeof code_bytes);
	char *code = request + 20 + name_bytes;
	code[code_bytes] = '\0';
	return code;
}

#define HONEST "{\"status\":\"ok\",\"repr\":\"\",\"type\":\"NoneType\",\"value\":null}"
#define CLAIM(fields) "{\"status\":\"ok\"," fields "}"

/* An evil runner's messages in place of its result; {kind, text}. */
static const struct lie {
	const char *name;
	char kind;
	const char *text;
} lies[] = {
	{ "duplicate", 'R', CLAIM("\"repr\":\"a\",\"repr\":\"b\"") },
	{ "nan", 'R', CLAIM("\"value\":NaN") },
	{ "infinity", 'R', CLAIM("\"value\":1e999") },
	{ "bad-utf8", 'R', CLAIM("\"repr\":\"\xff\xfe\"") },
	{ "surrogate", 'R', CLAIM("\"repr\":\"\\ud800\"") },
	{ "nul", 'R', CLAIM("\"repr\":\"a\\u0000b\"") },
	{ "unknown-key", 'R', CLAIM("\"exit_code\":0") },
	{ "forged", 'R', CLAIM("\"enforced\":{},\"wall_ms\":0") },
	{ "misshapen", 'R', CLAIM("\"imports\":[1]") },
	{ "no-status", 'R', "{\"repr\":\"\"}" },
	{ "claims-timeout", 'R', "{\"status\":\"timeout\"}" },
	{ "claims-oom", 'R', "{\"status\":\"oom\"}" },
	{ "array", 'R', "[]" },
	{ "empty", 'R', "" },
	{ "text", 'R', "hello" },
	{ "trailing", 'R', HONEST "{}" },
	{ "wrong-kind", 'Q', "{}" },
	{ "unknown-kind", 'z', "{}" },
	{ "armed-twice", 'A', "" },
	{ "failed-late", 'E', "late" },
};

static void lie_about_result(const char *evil)
{
	static char block[1 << 16];
	for (size_t i = 0; i < sizeof lies / sizeof *lies; i++)
		if (strcmp(evil, lies[i].name) == 0) {
			put_frame(lies[i].kind, lies[i].text);
			sleep(600);
		}
	if (strcmp(evil, "deep") == 0) {
		memset(block, '[', sizeof block);
		put_header(sizeof block * 16 + 20, 'R');
		put("{\"status\":\"ok\",\"value\":", 22);
		for (int i = 0; i < 16; i++)
			put(block, sizeof block);
		sleep(600);
	}
	if (strcmp(evil, "second") == 0) {
		put_frame('R', HONEST);
		put_frame('R', HONEST);
		sleep(600);
	}
	if (strcmp(evil, "started-late") == 0) {
		put_frame('R', HONEST);
		put_frame('S', "");
		sleep(600);
	}
	if (strcmp(evil, "started-twice") == 0 || strcmp(evil, "started-rejected") == 0) {
		put_frame('S', "");
		put_frame(strcmp(evil, "started-twice") == 0 ? 'S' : 'R',
		          strcmp(evil, "started-twice") == 0 ? "" : "{\"status\":\"rejected\"}");
		sleep(600);
	}
	if (strcmp(evil, "flood") == 0)
		for (;;)
			put(block, sizeof block);
	if (strcmp(evil, "big") == 0) { /* valid frames beyond the cap, until somebody stops it */
		put_header(200 << 20, 'R');
		for (;;)
			put(block, sizeof block);
	}
	if (strcmp(evil, "truncated") == 0) {
		put_header(1000, 'R');
		put(HONEST, 20);
		_exit(0);
	}
	if (strcmp(evil, "linger") == 0) { /* an honest answer, and then no end */
		put_frame('R', HONEST);
		ignore_all();
		sleep(600);
	}
	if (strcmp(evil, "answer-and-exit-7") == 0) {
		put_frame('R', HONEST);
		_exit(7);
	}
	if (strcmp(evil, "leave") == 0)
		_exit(0);
	if (strcmp(evil, "leave-124") == 0)
		_exit(124);
	if (strcmp(evil, "mute") == 0)
		sleep(600);
	if (strcmp(evil, "hang-up") == 0) {
		close(CONTROL_FD);
		sleep(600);
	}
	if (strcmp(evil, "kill-supervisor") == 0) {
		for (int pid = 2; pid < 70000; pid++)
			if (pid != getpid())
				kill(pid, SIGKILL);
		kill(-1, SIGKILL);
		put_frame('R', HONEST);
		_exit(0);
	}
}

/* Sends a descriptor with a frame, as a listener would come. */
static void put_descriptor(int fd)
{
	unsigned char head[5] = { 0, 0, 0, 1, 'L' };
	char space[CMSG_SPACE(sizeof fd)] __attribute__((aligned(8))) = { 0 };
	struct iovec iov = { head, sizeof head };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(sizeof fd) };
	memcpy(CMSG_DATA(c), &fd, sizeof fd);
	if (sendmsg(CONTROL_FD, &msg, 0) != sizeof head)
		_exit(92);
}

static void lie_before_armed(const char *evil)
{
	if (strcmp(evil, "unfiltered") == 0) {
		put_frame('A', "");
		sleep(600);
	}
	if (strcmp(evil, "early") == 0 || strcmp(evil, "early-started") == 0) {
		put_frame(strcmp(evil, "early") == 0 ? 'R' : 'S', strcmp(evil, "early") == 0 ? HONEST : "");
		sleep(600);
	}
	if (strcmp(evil, "child-armed") == 0) { /* another process vouches, or this one, where there can be no other: under the baseline alone */
		if (fork() <= 0)
			put_frame('A', "");
		sleep(600);
	}
	if (strcmp(evil, "impatient") == 0) { /* says so before it has read what it was sent */
		put_frame('A', "");
		sleep(600);
	}
	if (strcmp(evil, "no-listener") == 0 || strcmp(evil, "false-listener") == 0) {
		if (strcmp(evil, "no-listener") == 0)
			put_frame('L', "");
		else
			put_descriptor(1);
		sleep(600);
	}
	if (strcmp(evil, "garbage") == 0) {
		put("GET / HTTP/1.1\r\nHost: x\r\n\r\n", 27);
		sleep(600);
	}
	if (strcmp(evil, "huge") == 0) {
		put_header(0xffffffffu, 'A');
		sleep(600);
	}
	if (strcmp(evil, "failed") == 0) {
		put_frame('E', "no \033[31mPython\nSECOND LINE");
		_exit(125);
	}
	if (strcmp(evil, "mute-early") == 0)
		sleep(600);
	if (strcmp(evil, "leave-early") == 0)
		_exit(0);
	if (strcmp(evil, "hang-up-early") == 0) {
		close(CONTROL_FD);
		sleep(600);
	}
}

/* Installs the filter with its refusals reported, and hands the listener on; but another process, which has no filter, keeps
 * it and takes away what it can, while this one calls without end. */
static void keep_listener(char *filter, size_t bytes)
{
	struct sock_fprog program = { (unsigned short)(bytes / sizeof(struct sock_filter)), (struct sock_filter *)filter };
	int numbers[2];
	for (size_t i = 0; i < program.len; i++)
		if (program.filter[i].code == BPF_RET && program.filter[i].k == (SECCOMP_RET_ERRNO | EPERM))
			program.filter[i].k = SECCOMP_RET_USER_NOTIF;
	if (pipe(numbers) < 0)
		_exit(92);
	if (syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0) == 0) {
		int fd;
		if (read(numbers[0], &fd, sizeof fd) == sizeof fd)
			put_descriptor(fd);
		for (struct seccomp_notif call;; memset(&call, 0, sizeof call))
			ioctl(fd, SECCOMP_IOCTL_NOTIF_RECV, &call);
	}
	int fd = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &program);
	if (fd < 0 || write(numbers[1], &fd, sizeof fd) != sizeof fd)
		_exit(92);
	for (volatile long i = 0; i < 200000000; i++) /* until it was sent */
		;
}

/* `before VERB...`: as the first thing that this tree does. Into a file of the folder /mnt/w, where there is one: of what is said now a
 * session's output knows nothing. */
static void act_before(char *text)
{
	char *words[64];
	int count = 0, kept = dup(1), file = open("/mnt/w/before", O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (file >= 0 && close(1) == 0) /* there is no dup2 here: a dup takes the lowest number */
		file = dup(file) == 1 ? file : -1;
	for (char *save = NULL, *word = strtok_r(text, " ", &save); word && count < 64; word = strtok_r(NULL, " ", &save))
		words[count++] = word;
	run_verb(count, words);
	fflush(stdout);
	if (file >= 0) {
		close(1);
		dup(kept);
		close(file);
	}
	close(kept);
}

static int play_runner(void)
{
	size_t filter_bytes[16], bytes;
	char evil[512] = "", *filters[16], *words[64], kind;
	int count = 0, walls = 0, file = open("/usr/evil", O_RDONLY);
	if (file >= 0 && read(file, evil, sizeof evil - 1) > 0)
		evil[strcspn(evil, "\n")] = '\0';
	if (file >= 0)
		close(file);
	if (strncmp(evil, "before ", 7) == 0)
		act_before(evil + 7);
	if (strcmp(evil, "impatient") == 0)
		lie_before_armed(evil);
	for (;; walls++) {
		char *body = take_any((kind = '?', &kind), &bytes);
		if (kind == 'P' || walls == 16)
			break;
		filters[walls] = body;
		filter_bytes[walls] = bytes;
	}
	lie_before_armed(evil);
	if (strcmp(evil, "one-more") == 0) { /* one that allows everything */
		struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		install_filter((char *)&allow, sizeof allow);
	}
	if (strcmp(evil, "kept-listener") == 0) {
		keep_listener(filters[0], filter_bytes[0]);
		walls = 0;
	}
	for (int i = 0; i < walls; i++)
		install_filter(filters[i], filter_bytes[i]);
	put_frame('A', "");
	char *code = code_of(take_frame('Q', &bytes));
	for (char *save = NULL, *word = strtok_r(code, " \n", &save); word && count < 63; word = strtok_r(NULL, " \n", &save))
		words[count++] = word;
	words[count] = NULL;
	if (count > 1 && strcmp(words[0], "evil") == 0) {
		lie_about_result(words[1]);
		_exit(93); /* no such lie */
	}
	run_verb(count, words);
	put_frame('R', HONEST);
	_exit(0);
}

int main(int argc, char **argv)
{
	const char *name = strrchr(argv[0], '/');
	setvbuf(stdout, NULL, _IOLBF, 1 << 16);
	if (strcmp(name ? name + 1 : argv[0], "python3") == 0)
		return play_runner();
	if (argc < 2) {
		for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++)
			puts(verbs[i].name);
		return 2;
	}
	return run_verb(argc - 1, argv + 1);
}
