/* The allow-lists: `snippet` is the smallest that runs CPython on pure computation, `command` runs ordinary
 * programs. It compiles nothing and grants nothing by default: a call that is not named here gets ENOSYS.
 *
 * A refused call gets the errno of a kernel without the feature, or of one that denies it to unprivileged processes: programs
 * handle these. Dropping rights is allowed. Probes are allowed, or return 0 without being executed.
 *
 * x32 and i386 are refused by architecture, not by number. */
#include "policy/seccomp/rows.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

/* clang-format off */
#define NULL_POINTER(i) ARG(i, UINT64_MAX, 0)

enum {
	NEW_NAMESPACES = 0x7e020080, /* every CLONE_NEW* flag */
	THREAD = 0x00010100,         /* CLONE_VM | CLONE_THREAD */
	CLONE_THREAD_BIT = 0x00010000,
	PROT_WRITE_BIT = 2,
	PROT_EXEC_BIT = 4,
	SET_UID_BIT = 04000,
	SET_GID_BIT = 02000,
	SET_ID_BITS = SET_UID_BIT | SET_GID_BIT,
	MAKES_A_FILE = 020000100, /* O_CREAT, and O_TMPFILE without O_DIRECTORY */
	GROWS_DOWN = 0x100,
	MAP_TYPE_BITS = 0xf,
	PRIVATE_MAPPING = 2, /* MAP_PRIVATE */
	ANONYMOUS = 0x20,
	HUGE_MAPPING = 0x40000, /* MAP_HUGETLB */
	HUGE_MEMFD = 4,         /* MFD_HUGETLB */
	MEMFD_UNKNOWN = 0x3ffffe0, /* neither flags nor huge page sizes */
	HUGE_SEGMENT = 04000,   /* SHM_HUGETLB */
	WHITEOUT = 4,           /* RENAME_WHITEOUT */
	SUSPEND_SECCOMP = 1 << 21, /* PTRACE_O_SUSPEND_SECCOMP */
	RESET_ON_FORK = 0x40000000, /* SCHED_RESET_ON_FORK */
	OWN_CWD = 0x40200,      /* CLONE_FS | CLONE_SYSVSEM */
};

#define FCNTL(cmd, why_) { "fcntl", .arg = { IS(1, cmd) }, .why = why_ }
/* The errno of an unknown command. */
#define NO_FCNTL \
	{ "fcntl", EINVAL, \
	  REASON("others: leases and notifications stall or spy on other users of a file", "Poll the file instead.") }
#define NO_IOCTL \
	{ "ioctl", EPERM, .arg = { IS(1, 0x540a) }, \
	  REASON("TCXONC stops the caller's terminal", "Write, or do not write; leave out tcflow.") }, \
	{ "ioctl", ENOTTY, REASON("others", "Use a portable function of the library.") }
#define ONLY_UNIX_PAIRS { "socketpair", EAFNOSUPPORT, REASON("other families", "Make a pair of Unix sockets.") }

/* The host keeps a number of them for programs of its own; neither RLIMIT_DATA nor memory.max counts them. ENOMEM is the kernel's
 * own answer where a host keeps none. */
#define HUGE_PAGES \
	"huge pages are taken from the host's, outside the limits", \
	"Map ordinary memory; the kernel makes large pages of it by itself."

/* KSM merges pages with those of any program that asks for it, as virtual machines do, and how long a write takes shows what they
 * hold. 12 is the one advice whose last four bits are 1100. */
#define ADVICE_(mask, value, why_) { "madvise", .arg = { ARG(2, mask, value) }, .why = why_ }
#define ADVICE(why_) ADVICE_(1, 1, why_), ADVICE_(2, 2, why_), ADVICE_(4, 0, why_), ADVICE_(8, 0, why_)
#define NO_MERGING \
	{ "madvise", EINVAL, .arg = { IS(2, 12) }, \
	  REASON("memory that is merged with that of other programs", "Leave MADV_MERGEABLE out.") }

#define SCHEDULER(policy) ARG(1, LOW32 & ~(unsigned)RESET_ON_FORK, policy)
#define REAL_TIME_(policy, why_) \
	{ "sched_setscheduler", EPERM, .arg = { SCHEDULER(policy) }, \
	  REASON(why_ ": real-time scheduling starves the host", "Run with ordinary scheduling; leave this step out.") }
#define REAL_TIME REAL_TIME_(1, "SCHED_FIFO"), REAL_TIME_(2, "SCHED_RR"), REAL_TIME_(6, "SCHED_DEADLINE")

/* Sufficient for CPython on pure computation, and for numpy once it is loaded. */
static const struct aj_syscall snippet[] = {
	{ "read", .why = "files, and the request" },
	{ "write", .why = "output, and the result" },
	{ "pread64", .why = "sqlite and mapped arrays" },
	{ "pwrite64", .why = "sqlite in /tmp" },
	{ "lseek", .why = "Python file objects" },
	{ "close", .why = "files" },
	{ "openat", .why = "modules, and files in /tmp" },
	{ "fstat", .why = "file objects" },
	{ "newfstatat", .why = "import, os.stat" },
	{ "getdents64", .why = "import lists its folders" },
	{ "readlink", .why = "path resolution" },
	{ "getcwd", .why = "relative paths" },
	FCNTL(0, "F_DUPFD"), FCNTL(1, "F_GETFD"), FCNTL(2, "F_SETFD"), FCNTL(3, "F_GETFL"), FCNTL(4, "F_SETFL"),
	FCNTL(5, "F_GETLK: sqlite"), FCNTL(6, "F_SETLK: sqlite"), FCNTL(7, "F_SETLKW: sqlite"), FCNTL(1030, "F_DUPFD_CLOEXEC"),
	NO_FCNTL,
	{ "ioctl", .arg = { IS(1, 0x5401) }, .why = "TCGETS: is it a terminal?" },
	{ "ioctl", .arg = { IS(1, 0x5451) }, .why = "FIOCLEX" },
	{ "ioctl", .arg = { IS(1, 0x5421) }, .why = "FIONBIO" }, NO_IOCTL,
	{ "ftruncate", .why = "files in /tmp" },
	{ "fdatasync", .why = "sqlite in /tmp" },
	{ "unlink", .why = "files in /tmp" },
	{ "mkdir", .why = "folders in /tmp" },
	{ "rmdir", .why = "folders in /tmp" },
	{ "unlinkat", .why = "tempfile and shutil clean up with it" },
	{ "rename", .why = "files in /tmp" },
	{ "dup", .why = "duplicates of open files" },
	{ "mmap", .arg = { ARG(2, PROT_EXEC_BIT, 0), ARG(3, HUGE_MAPPING, 0) }, .why = "memory, never executable" },
	{ "mprotect", .arg = { ARG(2, PROT_EXEC_BIT, 0) }, .why = "memory, never executable" },
	{ "munmap", .why = "memory" },
	{ "mremap", .why = "realloc of large blocks" },
	ADVICE("allocators give memory back"), NO_MERGING,
	{ "brk", .why = "malloc" },
	{ "rt_sigaction", .why = "signal module; abort" },
	{ "rt_sigprocmask", .why = "threads" },
	{ "rt_sigreturn", .why = "return from a handler" },
	{ "sigaltstack", .why = "thread start" },
	{ "kill", .why = "reaches only this PID namespace" },
	{ "tgkill", .why = "raise and abort" },
	{ "exit", .why = "thread end" },
	{ "exit_group", .why = "the end" },
	{ "futex", .why = "locks" },
	{ "clone", .arg = { ARG(0, NEW_NAMESPACES | THREAD, THREAD) }, .why = "threads only, no processes" },
	{ "set_robust_list", .why = "thread start" },
	{ "rseq", .why = "thread start" },
	{ "gettid", .why = "threads" },
	{ "getpid", .why = "harmless" },
	{ "getuid", .why = "path expansion" },
	{ "geteuid", .why = "sqlite" },
	{ "sched_yield", .why = "locks" },
	{ "sched_getaffinity", .why = "cpu_count" },
	{ "clock_gettime", .why = "where the vDSO does not answer" },
	{ "clock_getres", .why = "time.get_clock_info" },
	{ "clock_nanosleep", .why = "time.sleep" },
	{ "getrandom", .why = "random, hash seeds" },
	{ "getrusage", .why = "time.process_time" },
	{ "uname", .why = "platform, and what imports it" },
	{ "sysinfo", .why = "qsort in libc asks how much memory there is" },
	{ "socketpair", .arg = { IS(0, 1) }, .why = "asyncio uses a pair to wake its loop" }, ONLY_UNIX_PAIRS,
	{ "sendto", .arg = { NULL_POINTER(4) }, .why = "the same pair, and no address: a host's socket may lie in a bind" },
	{ "sendto", EISCONN, REASON("an address for a message", "Sockets of a pair are connected: send without an address.") },
	{ "recvfrom", .why = "the same pair" },
	{ "epoll_create1", .why = "asyncio" },
	{ "epoll_ctl", .why = "asyncio" },
	{ "epoll_wait", .why = "asyncio" },
	{ "poll", .why = "select module, time-outs" },
};

/* With python.native = "tree". The mounts decide which files: what the jail writes and what a caller gives it is noexec.
 * MAP_PRIVATE alone: the map types are numbers. */
static const struct aj_syscall native[] = {
	{ "mmap", .arg = { ARG(2, PROT_EXEC_BIT | PROT_WRITE_BIT, PROT_EXEC_BIT),
	                   ARG(3, MAP_TYPE_BITS | ANONYMOUS | GROWS_DOWN | HUGE_MAPPING, PRIVATE_MAPPING) },
	  .why = "machine code of files of the read-only tree" },
	/* Wheels are linked with older C libraries, or with none. */
	{ "open", .why = "as openat" },
	{ "stat", .why = "as newfstatat" },
	{ "lstat", .why = "the same" },
	{ "access", .why = "the same" },
	{ "eventfd2", .why = "Polars and Arrow wake their threads" },
};

/* Ordinary programs: shells, compilers, interpreters, JITs, agents. */
static const struct aj_syscall command[] = {
#define ALLOW(call) { .name = call }
	/* files */
	ALLOW("read"), ALLOW("write"), ALLOW("readv"), ALLOW("writev"), ALLOW("pread64"), ALLOW("pwrite64"),
	ALLOW("preadv"), ALLOW("pwritev"), ALLOW("preadv2"), ALLOW("pwritev2"), ALLOW("lseek"), ALLOW("close"),
	ALLOW("close_range"), ALLOW("dup"), ALLOW("dup2"), ALLOW("dup3"), ALLOW("pipe"), ALLOW("pipe2"),
	ALLOW("flock"), ALLOW("fsync"), ALLOW("fdatasync"), ALLOW("sync_file_range"), ALLOW("syncfs"),
	ALLOW("sync"), ALLOW("ftruncate"), ALLOW("truncate"), ALLOW("fallocate"), ALLOW("fadvise64"), ALLOW("readahead"),
	ALLOW("sendfile"), ALLOW("splice"), ALLOW("tee"), ALLOW("copy_file_range"),
	ALLOW("stat"), ALLOW("lstat"), ALLOW("fstat"), ALLOW("newfstatat"), ALLOW("statx"), ALLOW("statfs"), ALLOW("fstatfs"),
	ALLOW("access"), ALLOW("faccessat"), ALLOW("faccessat2"), ALLOW("getdents"), ALLOW("getdents64"), ALLOW("getcwd"),
	ALLOW("chdir"), ALLOW("fchdir"), ALLOW("rename"), ALLOW("renameat"), ALLOW("link"),
	ALLOW("linkat"), ALLOW("symlink"), ALLOW("symlinkat"), ALLOW("readlink"), ALLOW("readlinkat"), ALLOW("unlink"),
	ALLOW("unlinkat"), ALLOW("rmdir"), ALLOW("chown"), ALLOW("fchown"), ALLOW("lchown"), ALLOW("fchownat"),
	ALLOW("umask"), ALLOW("utime"), ALLOW("utimes"), ALLOW("utimensat"), ALLOW("futimesat"), ALLOW("getxattr"),
	ALLOW("lgetxattr"), ALLOW("fgetxattr"), ALLOW("listxattr"), ALLOW("llistxattr"), ALLOW("flistxattr"),
	ALLOW("inotify_init"), ALLOW("inotify_init1"), ALLOW("inotify_add_watch"), ALLOW("inotify_rm_watch"),
	/* The kernel ignores set-id bits in mkdir. */
	ALLOW("mkdir"), ALLOW("mkdirat"),
#define NO_SET_ID(call, index) \
	{ call, .arg = { ARG(index, SET_ID_BITS, 0) }, .why = "never a set-id file" }, \
	{ call, EPERM, .arg = { ARG(index, SET_UID_BIT, SET_UID_BIT) }, REASON(SET_ID) },   \
	{ call, EPERM, .arg = { ARG(index, SET_ID_BITS, SET_GID_BIT) }, REASON(SET_ID) }
#define SET_ID "a set-id file", "Leave the set-user-ID and set-group-ID bits out of the mode."
	NO_SET_ID("creat", 1), NO_SET_ID("chmod", 1), NO_SET_ID("fchmod", 1), NO_SET_ID("fchmodat", 2),
#undef NO_SET_ID
	/* The kernel ignores the mode of a file that is not made, and some libraries leave any value there. */
#define OPEN(call, index) \
	{ call, .arg = { ARG(index, MAKES_A_FILE, 0) }, .why = "makes no file, so the mode is ignored" }, \
	{ call, .arg = { ARG(index + 1, SET_ID_BITS, 0) }, .why = "never a set-id file" }, \
	{ call, EPERM, REASON(SET_ID) }
	OPEN("open", 1), OPEN("openat", 2),
#undef OPEN
#define NODE(call, index, type, why_) { call, .arg = { ARG(index, 0176000, type) }, .why = why_ }
#define NODES(call, index) \
	NODE(call, index, 0010000, "a FIFO"), NODE(call, index, 0100000, "an empty file"), \
	NODE(call, index, 0, "an empty file"), NODE(call, index, 0140000, "a socket file, as bind makes it"), \
	{ call, EPERM, REASON("devices, whiteouts, set-id files", "Use FIFOs and ordinary files.") }
	NODES("mknod", 1), NODES("mknodat", 2),
#undef NODES
#undef NODE
	{ "renameat2", .arg = { ARG(4, WHITEOUT, 0) }, .why = "never RENAME_WHITEOUT, which makes a device node" },
	{ "renameat2", EINVAL, .arg = { ARG(4, WHITEOUT, WHITEOUT) }, .why = "a device node in place of the old name",
	  .instead = "Rename without RENAME_WHITEOUT." },
	/* memory */
	{ "mmap", .arg = { ARG(3, GROWS_DOWN | HUGE_MAPPING, 0) },
	  .why = "never MAP_GROWSDOWN, which no limit on memory counts, nor MAP_HUGETLB" },
	{ "mmap", EPERM, .arg = { ARG(3, GROWS_DOWN | HUGE_MAPPING, GROWS_DOWN) }, .why = "memory outside the limits",
	  .instead = "Map ordinary memory, without MAP_GROWSDOWN." },
	{ "mmap", ENOMEM, .arg = { ARG(3, HUGE_MAPPING, HUGE_MAPPING) }, REASON(HUGE_PAGES) },
	ALLOW("munmap"), ALLOW("mprotect"), ALLOW("mremap"), ADVICE("all but MADV_MERGEABLE"), NO_MERGING, ALLOW("mincore"),
	ALLOW("msync"), ALLOW("mlock"), ALLOW("mlock2"), ALLOW("munlock"), ALLOW("mlockall"), ALLOW("munlockall"),
	ALLOW("brk"), ALLOW("membarrier"), ALLOW("pkey_alloc"), ALLOW("pkey_free"), ALLOW("pkey_mprotect"),
	ALLOW("shmat"), ALLOW("shmdt"), ALLOW("shmctl"), ALLOW("semget"), ALLOW("semop"),
	ALLOW("semtimedop"), ALLOW("semctl"), ALLOW("msgget"), ALLOW("msgsnd"), ALLOW("msgrcv"), ALLOW("msgctl"),
	ALLOW("mq_open"), ALLOW("mq_unlink"), ALLOW("mq_timedsend"), ALLOW("mq_timedreceive"), ALLOW("mq_notify"),
	ALLOW("mq_getsetattr"),
	{ "memfd_create", .arg = { ARG(1, HUGE_MEMFD, 0) }, .why = "files in memory, never of huge pages" },
	{ "memfd_create", ENOMEM, .arg = { ARG(1, HUGE_MEMFD | MEMFD_UNKNOWN, HUGE_MEMFD) }, REASON(HUGE_PAGES) },
	{ "memfd_create", EINVAL, REASON("unknown flags: programs probe for the call with them", "") },
	{ "shmget", .arg = { ARG(2, HUGE_SEGMENT, 0) }, .why = "System V shared memory, never of huge pages" },
	{ "shmget", ENOMEM, .arg = { ARG(2, HUGE_SEGMENT, HUGE_SEGMENT) }, REASON(HUGE_PAGES) },
	/* processes, threads, signals */
	ALLOW("fork"), ALLOW("vfork"), ALLOW("execve"), ALLOW("execveat"), ALLOW("exit"), ALLOW("exit_group"),
	ALLOW("wait4"), ALLOW("waitid"), ALLOW("pidfd_open"), ALLOW("pidfd_send_signal"), ALLOW("getpid"),
	ALLOW("getppid"), ALLOW("gettid"), ALLOW("getpgid"), ALLOW("getpgrp"), ALLOW("setpgid"), ALLOW("getsid"),
	ALLOW("setsid"), ALLOW("set_tid_address"), ALLOW("set_robust_list"), ALLOW("get_robust_list"), ALLOW("rseq"),
	ALLOW("futex"), ALLOW("futex_waitv"), ALLOW("sched_yield"), ALLOW("sched_getaffinity"),
	ALLOW("sched_setaffinity"), ALLOW("sched_getparam"), ALLOW("sched_setparam"), ALLOW("sched_getscheduler"),
	ALLOW("sched_getattr"), ALLOW("sched_rr_get_interval"), ALLOW("ioprio_get"),
	ALLOW("sched_get_priority_max"), ALLOW("sched_get_priority_min"), ALLOW("getpriority"), ALLOW("setpriority"),
	ALLOW("getcpu"), ALLOW("arch_prctl"), ALLOW("kill"), ALLOW("tkill"), ALLOW("tgkill"),
	ALLOW("rt_sigaction"), ALLOW("rt_sigprocmask"), ALLOW("rt_sigreturn"), ALLOW("rt_sigpending"),
	ALLOW("rt_sigsuspend"), ALLOW("rt_sigtimedwait"), ALLOW("rt_sigqueueinfo"), ALLOW("rt_tgsigqueueinfo"),
	ALLOW("sigaltstack"), ALLOW("signalfd"), ALLOW("signalfd4"), ALLOW("pause"), ALLOW("alarm"),
	ALLOW("restart_syscall"), ALLOW("getrlimit"), ALLOW("getrusage"),
	ALLOW("times"), ALLOW("sysinfo"), ALLOW("uname"), ALLOW("capget"), ALLOW("landlock_create_ruleset"),
	ALLOW("landlock_add_rule"), ALLOW("landlock_restrict_self"),
	ALLOW("capset"), /* without capabilities, it can only drop */
	/* Without a listener (SECCOMP_FILTER_FLAG_NEW_LISTENER, 8): what our filter reports, a newer one would report to the
	 * jail. Without records (SECCOMP_FILTER_FLAG_LOG, 2): the kernel writes them into the host's audit log. */
	{ "seccomp", .arg = { ARG(1, 8 | 2, 0) },
	  .why = "filters of its own, without a listener or records for the host's audit log" },
	{ "seccomp", EINVAL,
	  REASON("a listener, or records for the host's audit log", "Install the filter without these flags.") },
	/* Any limit except RLIMIT_CORE (4), which stays 1: at 1 the kernel starts no core handler on the host, at 0 it does. No
	 * core file is written either way, so setting the limit returns 0. The masks express "not 4" bit by bit. */
#define NOT_CORE(mask, value) { "prlimit64", .arg = { IS(0, 0), ARG(1, mask, value) }, .why = "its own, not RLIMIT_CORE" }
	NOT_CORE(1, 1), NOT_CORE(2, 2), NOT_CORE(8, 8), NOT_CORE(LOW32, 0),
	{ "prlimit64", .arg = { NULL_POINTER(2) }, .why = "reading any limit" },
	{ "prlimit64", AJ_ERRNO_NONE, .arg = { IS(0, 0), IS(1, 4), NULL_POINTER(3) },
	  .why = "RLIMIT_CORE: core files are never written" },
	{ "prlimit64", EPERM,
	  REASON("limits of other processes",
	         "Set only the process's own limits, with pid 0 and without reading the old ones.") },
#undef NOT_CORE
#define NOT_CORE(mask, value) { "setrlimit", .arg = { ARG(0, mask, value) }, .why = "its own, not RLIMIT_CORE" }
	NOT_CORE(1, 1), NOT_CORE(2, 2), NOT_CORE(8, 8), NOT_CORE(LOW32, 0),
	{ "setrlimit", AJ_ERRNO_NONE, .arg = { IS(0, 4) }, .why = "RLIMIT_CORE: core files are never written" },
#undef NOT_CORE
	/* The default I/O priority or a lower one; a higher one would slow down the host's programs. */
	{ "ioprio_set", .arg = { IS(2, 0) }, .why = "IOPRIO_CLASS_NONE" },
	{ "ioprio_set", .arg = { ARG(2, LOW32 & ~3u, 0x4004) }, .why = "IOPRIO_CLASS_BE, levels 4 to 7" },
	{ "ioprio_set", .arg = { ARG(2, LOW32 & ~7u, 0x6000) }, .why = "IOPRIO_CLASS_IDLE" },
	{ "ioprio_set", EPERM, REASON("a higher I/O priority", "Use the class idle, or best-effort with a level of 4 to 7.") },
	{ "clone", .arg = { ARG(0, NEW_NAMESPACES, 0) }, .why = "processes and threads, no new namespaces" },
	{ "sched_setscheduler", .arg = { SCHEDULER(0) }, .why = "SCHED_OTHER, which libzmq sets for each thread" },
	{ "sched_setscheduler", .arg = { SCHEDULER(3) }, .why = "SCHED_BATCH" },
	{ "sched_setscheduler", .arg = { SCHEDULER(5) }, .why = "SCHED_IDLE" },
	REAL_TIME,
	{ "sched_setscheduler", EINVAL, REASON("other schedulers", "Run with ordinary scheduling; leave this step out.") },
	{ "personality", .arg = { ARG(0, LOW32 & ~0x60008u, 0) }, .why = "PER_LINUX, PER_LINUX32, UNAME26, ADDR_NO_RANDOMIZE" },
	{ "personality", .arg = { IS(0, 0xffffffff) }, .why = "query only" },
	{ "personality", EPERM,
	  REASON("READ_IMPLIES_EXEC, MMAP_PAGE_ZERO, other systems", "Run as a plain Linux program; leave this step out.") },
	{ "unshare", .arg = { ARG(0, LOW32 & ~(unsigned)OWN_CWD, 0) },
	  .why = "CLONE_FS, CLONE_SYSVSEM: a working directory per thread" },
	{ "iopl", AJ_ERRNO_NONE, .arg = { IS(0, 0) }, .why = "level 0 is the current one" },
	{ "ioperm", AJ_ERRNO_NONE, .arg = { IS(2, 0) }, .why = "disables ports: none are enabled" },
	/* Tracing of the jail's own processes; group `ptrace` denies it unless the policy allows it.
	 * Never PTRACE_O_SUSPEND_SECCOMP, which before Linux 5.17.2 PTRACE_SEIZE granted without a capability. */
#define TRACE(request, why_) { "ptrace", .arg = { IS(0, request) }, .why = why_ }
#define TRACE_OPTIONS(request, why_) { "ptrace", .arg = { IS(0, request), ARG(3, SUSPEND_SECCOMP, 0) }, .why = why_ }
	TRACE(0, "PTRACE_TRACEME"), TRACE(1, "PTRACE_PEEKTEXT"), TRACE(2, "PTRACE_PEEKDATA"), TRACE(3, "PTRACE_PEEKUSER"),
	TRACE(4, "PTRACE_POKETEXT"), TRACE(5, "PTRACE_POKEDATA"), TRACE(6, "PTRACE_POKEUSER"), TRACE(7, "PTRACE_CONT"),
	TRACE(8, "PTRACE_KILL"), TRACE(9, "PTRACE_SINGLESTEP"), TRACE(12, "PTRACE_GETREGS"), TRACE(13, "PTRACE_SETREGS"),
	TRACE(14, "PTRACE_GETFPREGS"), TRACE(15, "PTRACE_SETFPREGS"), TRACE(16, "PTRACE_ATTACH"), TRACE(17, "PTRACE_DETACH"),
	TRACE(24, "PTRACE_SYSCALL"), TRACE(0x4201, "PTRACE_GETEVENTMSG"), TRACE(0x4202, "PTRACE_GETSIGINFO"),
	TRACE(0x4203, "PTRACE_SETSIGINFO"), TRACE(0x4204, "PTRACE_GETREGSET"), TRACE(0x4205, "PTRACE_SETREGSET"),
	TRACE(0x4207, "PTRACE_INTERRUPT"), TRACE(0x4208, "PTRACE_LISTEN"), TRACE(0x4209, "PTRACE_PEEKSIGINFO"),
	TRACE(0x420a, "PTRACE_GETSIGMASK"), TRACE(0x420b, "PTRACE_SETSIGMASK"), TRACE(0x420e, "PTRACE_GET_SYSCALL_INFO"),
	TRACE_OPTIONS(0x4200, "PTRACE_SETOPTIONS"), TRACE_OPTIONS(0x4206, "PTRACE_SEIZE"),
	{ "ptrace", EPERM,
	  REASON("a request that gdb and strace do not use", "Debug with output or logging in the program itself.") },
#undef TRACE
#undef TRACE_OPTIONS
	ALLOW("process_vm_readv"), ALLOW("process_vm_writev"),
	/* identity: there is one id, so these change nothing */
	ALLOW("getuid"), ALLOW("geteuid"), ALLOW("getgid"), ALLOW("getegid"), ALLOW("getresuid"), ALLOW("getresgid"),
	ALLOW("getgroups"), ALLOW("setuid"), ALLOW("setgid"), ALLOW("setreuid"), ALLOW("setregid"), ALLOW("setresuid"),
	ALLOW("setresgid"), ALLOW("setfsuid"), ALLOW("setfsgid"),
	/* time and events */
	ALLOW("clock_gettime"), ALLOW("clock_getres"), ALLOW("clock_nanosleep"), ALLOW("nanosleep"),
	ALLOW("gettimeofday"), ALLOW("time"), ALLOW("getitimer"), ALLOW("setitimer"), ALLOW("timer_create"),
	ALLOW("timer_settime"), ALLOW("timer_gettime"), ALLOW("timer_getoverrun"), ALLOW("timer_delete"),
	ALLOW("timerfd_create"), ALLOW("timerfd_settime"), ALLOW("timerfd_gettime"), ALLOW("eventfd"), ALLOW("eventfd2"),
	ALLOW("poll"), ALLOW("ppoll"), ALLOW("select"), ALLOW("pselect6"), ALLOW("epoll_create"), ALLOW("epoll_create1"),
	ALLOW("epoll_ctl"), ALLOW("epoll_wait"), ALLOW("epoll_pwait"), ALLOW("epoll_pwait2"), ALLOW("getrandom"),
	/* sockets: which families and protocols is decided in policy/seccomp/sockets.c */
	ALLOW("bind"), ALLOW("listen"), ALLOW("accept"), ALLOW("accept4"), ALLOW("connect"), ALLOW("shutdown"),
	ALLOW("getsockname"), ALLOW("getpeername"), ALLOW("getsockopt"), ALLOW("setsockopt"), ALLOW("sendto"),
	ALLOW("recvfrom"), ALLOW("sendmsg"), ALLOW("recvmsg"), ALLOW("sendmmsg"), ALLOW("recvmmsg"),
	{ "socketpair", .arg = { IS(0, 1) }, .why = "AF_UNIX" }, ONLY_UNIX_PAIRS,
#undef ALLOW
	/* prctl: queries, and dropping rights. The kernel refuses options that need a capability. */
#define PRCTL(option, why_) { "prctl", .arg = { IS(0, option) }, .why = why_ }
	PRCTL(1, "PR_SET_PDEATHSIG"), PRCTL(2, "PR_GET_PDEATHSIG"), PRCTL(3, "PR_GET_DUMPABLE"),
	PRCTL(15, "PR_SET_NAME"), PRCTL(16, "PR_GET_NAME"), PRCTL(21, "PR_GET_SECCOMP"), PRCTL(23, "PR_CAPBSET_READ"),
	PRCTL(29, "PR_SET_TIMERSLACK"), PRCTL(30, "PR_GET_TIMERSLACK"), PRCTL(36, "PR_SET_CHILD_SUBREAPER"),
	PRCTL(37, "PR_GET_CHILD_SUBREAPER"), PRCTL(38, "PR_SET_NO_NEW_PRIVS"), PRCTL(39, "PR_GET_NO_NEW_PRIVS"),
	PRCTL(0x53564d41, "PR_SET_VMA: names for memory"), PRCTL(52, "PR_GET_SPECULATION_CTRL"),
	PRCTL(22, "PR_SET_SECCOMP: tighten"), PRCTL(7, "PR_GET_KEEPCAPS"),
	PRCTL(8, "PR_SET_KEEPCAPS: without capabilities it has no effect"), PRCTL(24, "PR_CAPBSET_DROP"),
	PRCTL(0x59616d61, "PR_SET_PTRACER: Yama's permission to trace it"), PRCTL(25, "PR_GET_TSC"),
	PRCTL(26, "PR_SET_TSC: its own use of rdtsc"), PRCTL(27, "PR_GET_SECUREBITS"),
	PRCTL(28, "PR_SET_SECUREBITS"), PRCTL(41, "PR_SET_THP_DISABLE"),
	PRCTL(42, "PR_GET_THP_DISABLE"), PRCTL(47, "PR_CAP_AMBIENT"),
	PRCTL(65, "PR_SET_MDWE: no new executable memory"), PRCTL(66, "PR_GET_MDWE"),
	{ "prctl", .arg = { IS(0, 4), ARG(1, LOW32 & ~1u, 0) },
	  .why = "PR_SET_DUMPABLE: off or on, which affects only the jail's own processes" },
#define SPECULATION(value, why_) { "prctl", .arg = { IS(0, 53), IS(2, value) }, .why = why_ }
	SPECULATION(4, "PR_SET_SPECULATION_CTRL: PR_SPEC_DISABLE"), SPECULATION(8, "PR_SPEC_FORCE_DISABLE"),
	SPECULATION(16, "PR_SPEC_DISABLE_NOEXEC"),
#undef SPECULATION
	{ "prctl", EPERM, .arg = { IS(0, 53), IS(2, 2) },
	  REASON("PR_SPEC_ENABLE: disables a CPU mitigation", "Leave the option out; the mitigation stays on.") },
	{ "prctl", EINVAL, REASON("other options", "Leave the option out.") },
#undef PRCTL
	FCNTL(0, "F_DUPFD"), FCNTL(1, "F_GETFD"), FCNTL(2, "F_SETFD"), FCNTL(3, "F_GETFL"), FCNTL(4, "F_SETFL"),
	FCNTL(5, "F_GETLK"), FCNTL(6, "F_SETLK"), FCNTL(7, "F_SETLKW"), FCNTL(36, "F_OFD_GETLK"), FCNTL(37, "F_OFD_SETLK"),
	FCNTL(38, "F_OFD_SETLKW"), FCNTL(1030, "F_DUPFD_CLOEXEC"), FCNTL(1032, "F_GETPIPE_SZ"),
	FCNTL(8, "F_SETOWN: nginx; a process of the jail"), FCNTL(9, "F_GETOWN"), FCNTL(15, "F_SETOWN_EX"),
	FCNTL(16, "F_GETOWN_EX"),
	{ "fcntl", .arg = { IS(1, 1031), ARG(2, LOW32 & ~0xffffu, 0) }, .why = "F_SETPIPE_SZ: smaller" },
	{ "fcntl", .arg = { IS(1, 1031), IS(2, 0x10000) },
	  .why = "F_SETPIPE_SZ: what a pipe has; more is taken from all of the user's" },
	FCNTL(1033, "F_ADD_SEALS"), FCNTL(1034, "F_GET_SEALS"), NO_FCNTL,
	/* ioctl: terminals and files. Not TIOCSTI (0x5412) and TIOCLINUX (0x541c), which type into the caller's terminal; not
	 * TIOCSETD and TIOCCONS, which change the terminal for all its users */
#define IOCTL(cmd, why_) { "ioctl", .arg = { IS(1, cmd) }, .why = why_ }
	IOCTL(0x5401, "TCGETS"), IOCTL(0x5402, "TCSETS"), IOCTL(0x5403, "TCSETSW"), IOCTL(0x5404, "TCSETSF"),
	IOCTL(0x5405, "TCGETA"), IOCTL(0x540b, "TCFLSH"),
	{ "ioctl", .arg = { IS(1, 0x5409), IS(2, 1) }, .why = "TCSBRK: tcdrain, no break" },
	IOCTL(0x540e, "TIOCSCTTY"), IOCTL(0x540f, "TIOCGPGRP"), IOCTL(0x5410, "TIOCSPGRP"), IOCTL(0x5411, "TIOCOUTQ"),
	IOCTL(0x5413, "TIOCGWINSZ"), IOCTL(0x5414, "TIOCSWINSZ"), IOCTL(0x541b, "FIONREAD"), IOCTL(0x5420, "TIOCPKT"),
	IOCTL(0x5421, "FIONBIO"), IOCTL(0x5422, "TIOCNOTTY"), IOCTL(0x5429, "TIOCGSID"), IOCTL(0x5450, "FIONCLEX"),
	IOCTL(0x5451, "FIOCLEX"), IOCTL(0x5452, "FIOASYNC"), IOCTL(0x802c542a, "TCGETS2"), IOCTL(0x402c542b, "TCSETS2"),
	IOCTL(0x402c542c, "TCSETSW2"), IOCTL(0x402c542d, "TCSETSF2"), IOCTL(0x80045430, "TIOCGPTN"),
	IOCTL(0x40045431, "TIOCSPTLCK"), IOCTL(0x5441, "TIOCGPTPEER"), IOCTL(0x40049409, "FICLONE"),
	IOCTL(0x4020940d, "FICLONERANGE"), IOCTL(0xc020660b, "FS_IOC_FIEMAP"), IOCTL(0x80086601, "FS_IOC_GETFLAGS"),
	{ "ioctl", EIO, .arg = { IS(1, 0x5412) },
	  REASON("TIOCSTI types into the caller's terminal", "Leave it out: programs must not write to a terminal's input.") },
	NO_IOCTL,
};

/* EPERM: intentional calls that the kernel would deny to an unprivileged process. With the reason, and advice for a model: */
#define NAMESPACES "other namespaces", "This jail is the isolation; run the program without a container or sandbox of its own."
#define MOUNTS "mounts", "The folders are given by the policy; use those that are there, and write in /tmp."
#define PROCESSES "other processes", "Act on your own process only; talk to others through pipes and files."
#define TRACING "kernel programs and tracing", "Measure inside the program, with timers and counters of its own."
#define URING "files and sockets past the filter", "Use ordinary read, write and poll; switch io_uring off in the library."
#define KEYRINGS "keyrings are not namespaced", "Keep the value in memory or in a file in /tmp."
#define EXPLOITS "helps kernel exploits", "Choose the library's portable way; this one is not needed for ordinary programs."
#define CONTROL "host control", "Nothing in here can change the host; leave this step out."
#define CLOCK "host clock", "The clock cannot be set; pass the time that you need as a value."
#define FIXED "set by the policy", "It cannot be changed from inside; leave this step out."
#define HANDLES "files by number, past every mount", "Open files by their path."
#define XATTR \
	"extended attributes and ACLs leave the jail with the file", \
	"Files are copied without them, with their modes. If the program continues, ignore this refusal."
#define IDS "there is one id", "Everything runs as one user without privileges; leave this step out."
#define REFUSE(name_, ...) { name_, .errnum = EPERM, REASON(__VA_ARGS__) }
/* As of a file system that has none: for cp -p, mv and install a mode is an ACL, and with this errno they set it by chmod(2). */
#define NO_XATTR(name_) { name_, EOPNOTSUPP, REASON(XATTR) }
/* A filter can only compare for equality: a row for each flag. */
#define NAMESPACE_FLAG(flag) { "clone", EPERM, .arg = { ARG(0, flag, flag) }, REASON(NAMESPACES) }
static const struct aj_syscall refused[] = {
	REFUSE("unshare", NAMESPACES), REFUSE("setns", NAMESPACES),
	REFUSE("mount", MOUNTS), REFUSE("umount2", MOUNTS), REFUSE("pivot_root", MOUNTS), REFUSE("chroot", MOUNTS),
	REFUSE("open_tree", MOUNTS), REFUSE("move_mount", MOUNTS), REFUSE("fsopen", MOUNTS), REFUSE("fsconfig", MOUNTS),
	REFUSE("fsmount", MOUNTS), REFUSE("fspick", MOUNTS), REFUSE("mount_setattr", MOUNTS),
	REFUSE("kcmp", PROCESSES), REFUSE("pidfd_getfd", PROCESSES),
	REFUSE("bpf", TRACING), REFUSE("perf_event_open", TRACING), REFUSE("lookup_dcookie", TRACING),
	REFUSE("io_uring_setup", URING), REFUSE("io_uring_enter", URING), REFUSE("io_uring_register", URING),
	REFUSE("keyctl", KEYRINGS), REFUSE("add_key", KEYRINGS), REFUSE("request_key", KEYRINGS),
	REFUSE("userfaultfd", EXPLOITS),
	REFUSE("kexec_load", CONTROL), REFUSE("kexec_file_load", CONTROL), REFUSE("init_module", CONTROL),
	REFUSE("finit_module", CONTROL), REFUSE("delete_module", CONTROL), REFUSE("reboot", CONTROL),
	REFUSE("swapon", CONTROL), REFUSE("swapoff", CONTROL), REFUSE("iopl", CONTROL), REFUSE("ioperm", CONTROL),
	REFUSE("acct", CONTROL), REFUSE("quotactl", CONTROL), REFUSE("vhangup", CONTROL),
	REFUSE("syslog", "kernel log", "The host's log is not for the jail; write messages to standard error."),
	REFUSE("fanotify_init", "watches the host's files", "Look at the files again from time to time, or use inotify."),
	REFUSE("settimeofday", CLOCK), REFUSE("clock_settime", CLOCK), REFUSE("adjtimex", CLOCK), REFUSE("clock_adjtime", CLOCK),
	REFUSE("sethostname", FIXED), REFUSE("setdomainname", FIXED),
	REFUSE("open_by_handle_at", HANDLES),
	{ "name_to_handle_at", EOPNOTSUPP, REASON(HANDLES) }, /* like a file system without handles */
	NO_XATTR("setxattr"), NO_XATTR("lsetxattr"), NO_XATTR("fsetxattr"),
	NO_XATTR("removexattr"), NO_XATTR("lremovexattr"), NO_XATTR("fremovexattr"),
	REFUSE("setgroups", IDS),
	NAMESPACE_FLAG(0x00020000), NAMESPACE_FLAG(0x02000000), NAMESPACE_FLAG(0x04000000), NAMESPACE_FLAG(0x08000000),
	NAMESPACE_FLAG(0x10000000), NAMESPACE_FLAG(0x20000000), NAMESPACE_FLAG(0x40000000),
};

/* Calls that a command may make and a snippet may not. */
#define MEMORY \
	"other processes' memory", \
	"Debug with output or logging in the program itself; no debugger or tracer can attach here."
#define ONE "one snippet, one process", "Compute in this process; threads work, processes do not."
#define NO_EXEC "nothing to execute", "There are no programs in this jail; do it in Python."
#define STAYS "limits and filters stay", "It cannot be changed from inside; leave this step out."
#define SHARING "nothing to share", "Files in /tmp are for this snippet alone; leave this step out."
#define NO_CODE "no new machine code"
#define AT_START "Import extension modules by name in the code, or have the policy allow them: what is allowed is loaded before."
#define FROM_TREE "Only files of the read-only tree are executable: switch off JIT compilers, and compile nothing at run time."
#define NEW_CODE(instead_) \
	REFUSE("mmap", NO_CODE, instead_), /* what no other row matches */ \
	{ "mmap", ENOMEM, .arg = { ARG(3, HUGE_MAPPING, HUGE_MAPPING) }, REASON(HUGE_PAGES) }, \
	{ "mprotect", EPERM, .arg = { ARG(2, PROT_EXEC_BIT, PROT_EXEC_BIT) }, REASON(NO_CODE, instead_) }
static const struct aj_syscall start_refused[] = { NEW_CODE(AT_START) }, native_refused[] = { NEW_CODE(FROM_TREE) };
static const struct aj_syscall snippet_refused[] = {
	{ "clone", EPERM, .arg = { ARG(0, CLONE_THREAD_BIT, 0) }, REASON(ONE) },
	REAL_TIME,
	REFUSE("ptrace", MEMORY), REFUSE("process_vm_readv", MEMORY), REFUSE("process_vm_writev", MEMORY),
	REFUSE("fork", ONE), REFUSE("vfork", ONE), REFUSE("shmget", ONE),
	REFUSE("execve", NO_EXEC), REFUSE("execveat", NO_EXEC),
	REFUSE("socket", AJ_NO_NETWORK), REFUSE("connect", AJ_NO_NETWORK), REFUSE("bind", AJ_NO_NETWORK),
	REFUSE("prlimit64", STAYS), REFUSE("setrlimit", STAYS), REFUSE("prctl", STAYS), REFUSE("seccomp", STAYS),
	REFUSE("personality", STAYS),
	REFUSE("capset", "there are no capabilities", "There is no privilege to gain or drop; leave this step out."),
	REFUSE("memfd_create", "memory outside the limits", "Use a file in /tmp, or io.BytesIO."),
	REFUSE("setuid", IDS), REFUSE("setgid", IDS), REFUSE("chown", IDS),
	REFUSE("chmod", SHARING), REFUSE("symlink", "nothing to link to", "Copy the file, or use its own path."),
	REFUSE("mknod", "no devices", "Use ordinary files in /tmp."),
	/* By number only: the call is reported, and a branch may enter its own folder, which has the same path. */
	REFUSE("fchdir", "the folder stays", "Use absolute paths; the working directory is given."),
};

/* On neither list: ENOSYS, like an older kernel or one built without the call. Libraries have fallbacks. */
#define ABSENT(name_, why_) { name_, ENOSYS, .why = why_ }
#define NUMA "memory placement; like a kernel without NUMA"
#define AIO "counts against a limit of the whole host; like a kernel without AIO"
#define FUTEX2 "Linux 6.7: libraries use futex"
#define GONE "removed from the kernel"
static const struct aj_syscall absent[] = {
	ABSENT("clone3", "its flags are behind a pointer, which a filter cannot read; libc uses clone"),
	ABSENT("openat2", "its flags are behind a pointer; callers use openat"),
	ABSENT("sched_setattr", "its scheduler is behind a pointer; callers use sched_setscheduler"),
	ABSENT("vmsplice", "one byte in a pipe would pin a whole huge page, which no limit counts"),
	ABSENT("memfd_secret", "memory that the host cannot swap; off in most kernels"),
	ABSENT("fanotify_mark", "fanotify_init is refused"), ABSENT("quotactl_fd", "quotas of the host"),
	ABSENT("fchmodat2", "Linux 6.6: libc uses fchmodat"),
	ABSENT("cachestat", "Linux 6.5: shows which files other programs of the host read"),
	ABSENT("map_shadow_stack", "Linux 6.6: like a kernel without shadow stacks"),
	ABSENT("futex_wake", FUTEX2), ABSENT("futex_wait", FUTEX2), ABSENT("futex_requeue", FUTEX2),
	ABSENT("process_madvise", "memory of other processes; allocators use madvise"),
	ABSENT("process_mrelease", "memory of other processes"),
	ABSENT("modify_ldt", "useful in kernel exploits; like a kernel without it"),
	ABSENT("remap_file_pages", "mmap does the same"),
	ABSENT("mbind", NUMA), ABSENT("set_mempolicy", NUMA), ABSENT("get_mempolicy", NUMA),
	ABSENT("set_mempolicy_home_node", NUMA), ABSENT("migrate_pages", NUMA), ABSENT("move_pages", NUMA),
	ABSENT("io_setup", AIO), ABSENT("io_destroy", AIO), ABSENT("io_getevents", AIO), ABSENT("io_submit", AIO),
	ABSENT("io_cancel", AIO), ABSENT("io_pgetevents", AIO),
	ABSENT("ustat", "deprecated: statfs"), ABSENT("sysfs", "deprecated: /proc/filesystems"), ABSENT("uselib", GONE),
	ABSENT("_sysctl", GONE), ABSENT("create_module", GONE), ABSENT("get_kernel_syms", GONE), ABSENT("query_module", GONE),
	ABSENT("nfsservctl", GONE), ABSENT("getpmsg", GONE), ABSENT("putpmsg", GONE), ABSENT("afs_syscall", GONE),
	ABSENT("tuxcall", GONE), ABSENT("security", GONE),
	ABSENT("vserver", GONE), ABSENT("epoll_ctl_old", GONE), ABSENT("epoll_wait_old", GONE),
	ABSENT("set_thread_area", "for 32-bit programs"), ABSENT("get_thread_area", "for 32-bit programs"),
};

/* clang-format on */

struct table {
	const struct aj_syscall *rows;
	size_t count;
};
#define TABLE(t)                        \
	{                               \
		t, sizeof t / sizeof *t \
	}

int aj_syscalls_native_each(aj_syscall_fn *each, void *data)
{
	return aj_syscall_rows_each(native, sizeof native / sizeof *native, each, data);
}

int aj_syscalls_each(enum aj_profile profile, enum aj_network network, aj_syscall_fn *each, void *data)
{
	enum { TABLES = 5 };
	const struct table tables[AJ_PROFILE_COUNT][TABLES] = {
		[AJ_PROFILE_SNIPPET] = { TABLE(snippet), TABLE(refused), TABLE(snippet_refused), TABLE(start_refused) },
		[AJ_PROFILE_NATIVE] = { TABLE(native), TABLE(snippet), TABLE(refused), TABLE(snippet_refused),
		                        TABLE(native_refused) },
		[AJ_PROFILE_COMMAND] = { TABLE(command), TABLE(refused) },
	};
	int r = 0;
	for (size_t t = 0; t < TABLES && !r; t++)
		r = aj_syscall_rows_each(tables[profile][t].rows, tables[profile][t].count, each, data);
	return r || aj_profile_is_pure(profile) ? r : aj_syscalls_sockets_each(network, each, data);
}

int aj_syscalls_absent_each(aj_syscall_fn *each, void *data)
{
	return aj_syscall_rows_each(absent, sizeof absent / sizeof *absent, each, data);
}

struct counter {
	const char *names[512];
	int count;
};

/* A call with several rows counts once. */
static int count_allowed(const struct aj_syscall *row, void *data)
{
	struct counter *c = data;
	if (row->errnum || c->count == (int)(sizeof c->names / sizeof *c->names))
		return 0;
	for (int i = c->count - 1; i >= 0; i--)
		if (strcmp(c->names[i], row->name) == 0)
			return 0;
	c->names[c->count++] = row->name;
	return 0;
}

int aj_syscalls_allowed(enum aj_profile profile, enum aj_network network)
{
	struct counter c = { .count = 0 };
	aj_syscalls_each(profile, network, count_allowed, &c);
	return c.count;
}

const char *aj_profile_name(enum aj_profile profile)
{
	static const char *const names[] = { "snippet", "snippet-native", "command" };
	return names[profile];
}
