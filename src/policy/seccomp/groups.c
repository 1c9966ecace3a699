/* The groups of system calls that a policy can deny, on top of either allow-list.
 * It allows nothing: a call that no list names stays out, with or without a group. */
#include <errno.h>

#include "policy/seccomp/rows.h"

/* clang-format off */
#define REFUSE(name_, why_) { .name = name_, .errnum = EPERM, .why = why_, .instead = INSTEAD }
#define CLONE(value_, why_) \
	{ .name = "clone", .errnum = EPERM, .arg = { ARG(0, CLONE_THREAD_BIT, value_) }, .why = why_, \
	  .instead = INSTEAD }

enum { CLONE_THREAD_BIT = 0x00010000, CLONE_FILES_BIT = 0x400, UNSHARE_BIT = 2, SHARED_ANONYMOUS = 0x21 };

/* Deliberately not in `sockets`: calls that only inspect an existing socket or shut it down. Programs check whether standard
 * input is a socket, and only ENOTSOCK shows bash that no remote shell has started it. */
#define INSTEAD "Threads are denied by the policy; work in one thread, or in several processes."
static const struct aj_syscall deny_threads[] = {
	CLONE(CLONE_THREAD_BIT, "threads"),
};
#undef INSTEAD
#define INSTEAD "Sockets are denied by the policy; use files and pipes."
static const struct aj_syscall deny_sockets[] = {
	REFUSE("socket", "no new socket"), REFUSE("socketpair", "no new socket"), REFUSE("bind", "no server"),
	REFUSE("listen", "no server"), REFUSE("accept", "no server"), REFUSE("accept4", "no server"),
	REFUSE("connect", "no client"), REFUSE("sendto", "nothing by an inherited one"),
	REFUSE("sendmsg", "no descriptors passed on"), REFUSE("sendmmsg", "no descriptors passed on"),
	REFUSE("recvfrom", "nothing by an inherited one"), REFUSE("recvmsg", "no descriptors taken"),
	REFUSE("recvmmsg", "no descriptors taken"),
};
#undef INSTEAD
#define INSTEAD "System V and POSIX queues, semaphores and shared memory are denied by the policy; use files and pipes."
static const struct aj_syscall deny_ipc[] = {
	REFUSE("shmget", "System V shared memory"), REFUSE("shmat", "System V shared memory"),
	REFUSE("shmdt", "System V shared memory"), REFUSE("shmctl", "System V shared memory"),
	REFUSE("semget", "System V semaphores"), REFUSE("semop", "System V semaphores"),
	REFUSE("semtimedop", "System V semaphores"), REFUSE("semctl", "System V semaphores"),
	REFUSE("msgget", "System V queues"), REFUSE("msgsnd", "System V queues"), REFUSE("msgrcv", "System V queues"),
	REFUSE("msgctl", "System V queues"), REFUSE("mq_open", "POSIX queues"), REFUSE("mq_unlink", "POSIX queues"),
	REFUSE("mq_timedsend", "POSIX queues"), REFUSE("mq_timedreceive", "POSIX queues"),
	REFUSE("mq_notify", "POSIX queues"), REFUSE("mq_getsetattr", "POSIX queues"),
};
#undef INSTEAD
#define INSTEAD "Watching files is denied by the policy; look at them again from time to time."
static const struct aj_syscall deny_inotify[] = {
	REFUSE("inotify_init", "watching files"), REFUSE("inotify_init1", "watching files"),
	REFUSE("inotify_add_watch", "watching files"), REFUSE("inotify_rm_watch", "watching files"),
};
#undef INSTEAD
#define INSTEAD "Files in memory are denied by the policy; use a file in /tmp."
static const struct aj_syscall deny_memfd[] = { REFUSE("memfd_create", "files without a file system") };
#undef INSTEAD
#define INSTEAD "Shared anonymous memory is denied by the policy; map a file in /tmp, or pass data through pipes."
/* Bit 0 of the flags: set in MAP_SHARED and MAP_SHARED_VALIDATE, clear in MAP_PRIVATE. A shared mapping of /dev/zero has the same
 * effect, so policy/plan/mounts.c omits that device. */
static const struct aj_syscall deny_shared_memory[] = {
	{ .name = "mmap", .errnum = EPERM, .arg = { ARG(3, SHARED_ANONYMOUS, SHARED_ANONYMOUS) },
	  .why = "memory that RLIMIT_AS and RLIMIT_DATA do not count", .instead = INSTEAD },
};
#undef INSTEAD
#define INSTEAD "New processes are denied by the policy; do it in this process."
static const struct aj_syscall deny_fork[] = {
	CLONE(0, "fork and posix_spawn in libc: anything but a thread"),
	REFUSE("fork", "processes"), REFUSE("vfork", "processes"),
};

#undef INSTEAD
#define INSTEAD "Locks on files are denied by the policy; make a folder for a lock, which one process alone succeeds in."
#define FILE_LOCK(cmd, why_) \
	{ .name = "fcntl", .errnum = EPERM, .arg = { IS(1, cmd) }, .why = why_, .instead = INSTEAD }
/* F_GETLK stays, as it changes nothing. Leases and F_NOTIFY are in no allow-list. */
static const struct aj_syscall deny_locks[] = {
	REFUSE("flock", "locks on files"), FILE_LOCK(6, "F_SETLK"), FILE_LOCK(7, "F_SETLKW"), FILE_LOCK(37, "F_OFD_SETLK"),
	FILE_LOCK(38, "F_OFD_SETLKW"),
};
#undef INSTEAD

/* Locks on /dev/null and on the Python tree are on the host's inodes: every jail sees them, and each slows down every close.
 * Where a jail shares no writable file, all lockers are in its one process, so every lock is answered with success. */
#define LOCAL_LOCK(cmd, why_) \
	{ .name = "fcntl", .errnum = AJ_ERRNO_NONE, .arg = { IS(1, cmd) }, .why = why_ }
static const struct aj_syscall local_locks[] = {
	LOCAL_LOCK(6, "F_SETLK"), LOCAL_LOCK(7, "F_SETLKW"), LOCAL_LOCK(37, "F_OFD_SETLK"), LOCAL_LOCK(38, "F_OFD_SETLKW"),
};

/* Both calls write back whole file systems of the host, with the data of all its users, and make all of them wait for the disk. A
 * jail can use fsync on its own files. */
enum { DONTNEED = 4 }; /* POSIX_FADV_DONTNEED takes a file out of the host's page cache, also one that a jail may only read */
static const struct aj_syscall no_sync[] = {
	{ .name = "fadvise64", .errnum = AJ_ERRNO_NONE, .arg = { IS(3, DONTNEED) }, .why = "the page cache of the host" },
	{ .name = "sync", .errnum = AJ_ERRNO_NONE, .why = "file systems of the host" },
	{ .name = "syncfs", .errnum = AJ_ERRNO_NONE, .why = "a file system of the host" },
};
#undef INSTEAD

/* Where locks are allowed, /dev/null, the shared inode of all anonymous files (eventfd and the like) and inherited files must not
 * be locked, and the filter sees only a descriptor's number: so each lock is reported, and continued by sandbox/mediate/locks.c.
 * The checked descriptor must stay the same, so a process shares its descriptor table with no other. */
#define INSTEAD "Lock a file in /tmp or in a writable folder; devices, pipes, terminals and inherited files cannot be locked."
#define NOT_HERE(cmd, why_) \
	{ .name = "fcntl", .errnum = EINVAL, .arg = { IS(1, cmd) }, .why = why_, .instead = INSTEAD }
static const struct aj_syscall mediated_locks[] = {
	{ .name = "flock", .errnum = EINVAL, .why = "a lock on a file that is not the jail's", .instead = INSTEAD },
	NOT_HERE(6, "F_SETLK on a file that is not the jail's"), NOT_HERE(7, "F_SETLKW on a file that is not the jail's"),
	NOT_HERE(37, "F_OFD_SETLK on a file that is not the jail's"),
	NOT_HERE(38, "F_OFD_SETLKW on a file that is not the jail's"),
	{ .name = "clone", .errnum = EPERM, .arg = { ARG(0, CLONE_FILES_BIT | CLONE_THREAD_BIT, CLONE_FILES_BIT) },
	  .why = "a descriptor table shared by two processes",
	  .instead = "Start a thread, or fork without CLONE_FILES. "
	             "LeakSanitizer: ASAN_OPTIONS=detect_leaks=0, or allow process.ptrace." },
	{ .name = "close_range", .errnum = EPERM, .arg = { ARG(2, UNSHARE_BIT, UNSHARE_BIT) },
	  .why = "descriptors of one thread's own", .instead = "Use close_range without CLOSE_RANGE_UNSHARE." },
};

/* No namespace separates a socket file from a jail that can name it. So where host inodes are in reach, connect is reported
 * , and sandbox/mediate/connector.c connects to the sockets that the jail may reach. A datagram needs no connect: the
 * kernel takes a path with each message, and SOCK_RAW for SOCK_DGRAM. Stream and seqpacket sockets take no address. */
#undef INSTEAD
#define INSTEAD "Use a stream socket that a program of this jail has made, or have the socket named in filesystem.sockets."
#define DATAGRAM(name_, type_) \
	{ .name = name_, .errnum = EACCES, .arg = { IS(0, 1), ARG(1, 0xf, type_) }, \
	  .why = "Unix datagrams reach any socket file", .instead = "Use a Unix stream socket, or a pipe." }
static const struct aj_syscall mediated_connect[] = {
	{ .name = "connect", .errnum = EACCES, .why = "a socket of the host", .instead = INSTEAD },
	DATAGRAM("socket", 2), DATAGRAM("socket", 3), DATAGRAM("socketpair", 2), DATAGRAM("socketpair", 3),
};
#undef INSTEAD
#define INSTEAD "Nothing here can tell the jail's own Unix sockets from the host's; use pipes, or files in /tmp."
static const struct aj_syscall deny_unix[] = {
	{ .name = "socket", .errnum = EAFNOSUPPORT, .arg = { IS(0, 1) },
	  .why = "a Unix socket reaches any socket file", .instead = INSTEAD },
	DATAGRAM("socketpair", 2), DATAGRAM("socketpair", 3),
};
#undef INSTEAD

/* Without privilege these have the kernel load modules of ciphers, and put the code of kernel TLS below a socket.
 * Other options of TCP that name a module (TCP_CONGESTION) load none for an unprivileged caller. */
#define INSTEAD "Leave the option out: TLS in the program does what kernel TLS does, " \
		"and keys of single connections are for routers."
#define TCP_OPTION(number, errnum_, why_) \
	{ .name = "setsockopt", .errnum = errnum_, .arg = { IS(1, 6), IS(2, number) }, \
	  .why = why_, .instead = INSTEAD }
static const struct aj_syscall tcp_options[] = {
	TCP_OPTION(14, ENOPROTOOPT, "TCP_MD5SIG"), TCP_OPTION(31, ENOENT, "TCP_ULP: kernel TLS"),
	TCP_OPTION(32, ENOPROTOOPT, "TCP_MD5SIG_EXT"), TCP_OPTION(38, ENOPROTOOPT, "TCP_AO_ADD_KEY: loads a cipher by its name"),
};
#undef INSTEAD

/* A tracer's requests are rows of the allow-list. */
#define INSTEAD "Debug with output or logging in the program itself, or allow process.ptrace in the policy."
static const struct aj_syscall deny_ptrace[] = {
	REFUSE("ptrace", "other processes' memory"),
	REFUSE("process_vm_readv", "other processes' memory"), REFUSE("process_vm_writev", "other processes' memory"),
};
#undef INSTEAD

/* The supervisor lets them pass when the branch has its descriptors (jail/fork/fork.c). A snippet's list has neither. */
static const struct aj_syscall branch_steps[] = {
	{ .name = "capset", .errnum = EPERM,
	  .why = "a step of a branch", .instead = "There is no privilege to gain or drop; leave this step out." },
	{ .name = "fchdir", .errnum = EPERM, .arg = { IS(0, 0) },
	  .why = "a step of a branch", .instead = "Open the folder as another descriptor than 0." },
};

#define INSTEAD "Start as many threads as sched_getaffinity shows processors."
static const struct aj_syscall deny_affinity[] = { REFUSE("sched_setaffinity", "the affinity is the jail's CPU limit") };
#undef INSTEAD

/* In the order of the AJ_DENY_* bits. */
static const struct {
	const char *name;
	const struct aj_syscall *rows;
	size_t count;
} groups[AJ_FILTER_GROUPS] = {
#define GROUP(name_, rows_) { name_, rows_, sizeof rows_ / sizeof *rows_ }
	GROUP("threads", deny_threads), GROUP("sockets", deny_sockets), GROUP("ipc", deny_ipc),
	GROUP("inotify", deny_inotify), GROUP("memfd", deny_memfd),     GROUP("shared-memory", deny_shared_memory),
	GROUP("locks", deny_locks),     GROUP("fork", deny_fork),       GROUP("locks", local_locks),
	GROUP("connect", mediated_connect), GROUP("unix", deny_unix),    GROUP("sync", no_sync),
	GROUP("locks", mediated_locks), GROUP("tcp-options", tcp_options), GROUP("ptrace", deny_ptrace),
	GROUP("branch", branch_steps), GROUP("affinity", deny_affinity),
};
/* clang-format on */

int aj_syscalls_denied_each(uint64_t group, aj_syscall_fn *each, void *data)
{
	int number = __builtin_ctzll(group);
	return aj_syscall_rows_each(groups[number].rows, groups[number].count, each, data);
}

const char *aj_deny_name(uint64_t group)
{
	return groups[__builtin_ctzll(group)].name;
}
