/* The system calls of the relay of a jail's network: a process of ours that reads bytes of the jail and of the network.
 * The list has no call that makes a process, starts a program, signals, traces, mounts, writes a file or listens. */
#include "policy/seccomp/rows.h"

#include <stddef.h>

/* clang-format off */
#define NOT(i, bits) ARG(i, bits, 0)
#define TYPE(t) ARG(1, 0xf, t)

static const struct aj_syscall relay[] = {
	/* The loop. */
	{ .name = "epoll_wait", .why = "waits for bytes" },
	{ .name = "epoll_pwait", .why = "the same, where there is no epoll_wait" },
	{ .name = "epoll_ctl", .why = "watches sockets" },
	{ .name = "clock_gettime", .why = "the processor time that was had; deadlines, where the vDSO has no clock" },
	{ .name = "gettimeofday", .why = "timeouts of c-ares, likewise" },
	/* Sockets: of the jail, of name servers, of hosts. */
	{ .name = "accept4", .why = "connections of the jail" },
	{ .name = "socket", .arg = { IS(0, 2), TYPE(1) }, .why = "IPv4, TCP: hosts, name servers" },
	{ .name = "socket", .arg = { IS(0, 2), TYPE(2) }, .why = "IPv4, UDP: name servers" },
	{ .name = "socket", .arg = { IS(0, 10), TYPE(1) }, .why = "IPv6, TCP: the same" },
	{ .name = "socket", .arg = { IS(0, 10), TYPE(2) }, .why = "IPv6, UDP: the same" },
	{ .name = "connect", .why = "hosts, name servers; Landlock bounds the ports of TCP, where the kernel can" },
	{ .name = "getsockname", .why = "the address that the jail connected to" },
	{ .name = "getpeername", .why = "the address that was reached" },
	{ .name = "getsockopt", .arg = { IS(1, 1) }, .why = "SOL_SOCKET: how a connect ended" },
	{ .name = "getsockopt", .arg = { IS(1, 0), IS(2, 80) }, .why = "SO_ORIGINAL_DST: the address before NAT" },
	{ .name = "getsockopt", .arg = { IS(1, 41), IS(2, 80) }, .why = "IP6T_SO_ORIGINAL_DST: the same" },
	{ .name = "setsockopt", .arg = { IS(1, 1) }, .why = "SOL_SOCKET: SO_LINGER, SO_KEEPALIVE" },
	{ .name = "setsockopt", .arg = { IS(1, 6) }, .why = "IPPROTO_TCP: TCP_NODELAY, keepalive" },
	{ .name = "shutdown", .why = "half of a connection ends" },
	{ .name = "recvfrom", .why = "bytes, queries, the host's routes" },
	{ .name = "recvmsg", .why = "the same" },
	{ .name = "sendto", .why = "bytes, answers, reports, questions about routes" },
	{ .name = "sendmsg", .why = "the same" },
	{ .name = "writev", .why = "c-ares over TCP" },
	{ .name = "pipe2", .why = "bulk data, without a copy" },
	{ .name = "splice", .why = "the same" },
	{ .name = "fcntl", .arg = { IS(1, 1031) }, .why = "F_SETPIPE_SZ" },
	{ .name = "fcntl", .arg = { IS(1, 1) }, .why = "F_GETFD" },
	{ .name = "fcntl", .arg = { IS(1, 2) }, .why = "F_SETFD: c-ares" },
	{ .name = "fcntl", .arg = { IS(1, 3) }, .why = "F_GETFL: c-ares" },
	{ .name = "fcntl", .arg = { IS(1, 4) }, .why = "F_SETFL: c-ares" },
	{ .name = "close", .why = "connections that ended" },
	/* Files that say how names are resolved; Landlock says which. O_WRONLY, O_RDWR, O_CREAT and O_TRUNC are refused. */
	{ .name = "openat", .arg = { NOT(2, 01103) }, .why = "/etc/resolv.conf, /etc/hosts and their like, read-only" },
	{ .name = "read", .why = "the same" },
	{ .name = "lseek", .why = "the same" },
	{ .name = "fstat", .why = "the same" },
	{ .name = "newfstatat", .why = "has resolv.conf changed?" },
	{ .name = "uname", .why = "c-ares: the domain in the host's name" },
	{ .name = "getrandom", .why = "numbers of queries" },
	/* Memory, and the end. */
	{ .name = "brk", .why = "memory" },
	{ .name = "mmap", .arg = { NOT(2, 4) }, .why = "memory, never executable" },
	{ .name = "mprotect", .arg = { NOT(2, 4) }, .why = "the same" },
	{ .name = "munmap", .why = "memory" },
	{ .name = "mremap", .why = "realloc of large blocks" },
	{ .name = "madvise", .why = "free of large blocks" },
	{ .name = "futex", .why = "libc's locks" },
	{ .name = "restart_syscall", .why = "after a stop" },
	{ .name = "exit_group", .why = "the end" },
};
/* clang-format on */

int aj_syscalls_relay_each(aj_syscall_fn *each, void *data)
{
	return aj_syscall_rows_each(relay, sizeof relay / sizeof *relay, each, data);
}
