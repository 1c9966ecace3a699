/* Builds and applies a Landlock ruleset from the plan's rows; the only user of those system calls.
 * It asks only for rights that the kernel's ABI knows, and adds none that the mounts do not have. */
#include "sandbox/landlock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

/* From the kernel's UAPI, spelled out here because installed headers may be older than the running kernel. */
enum {
	FS_EXECUTE = 1 << 0,
	FS_WRITE_FILE = 1 << 1,
	FS_READ_FILE = 1 << 2,
	FS_READ_DIR = 1 << 3,
	FS_REMOVE_DIR = 1 << 4,
	FS_REMOVE_FILE = 1 << 5,
	FS_MAKE_CHAR = 1 << 6,
	FS_MAKE_DIR = 1 << 7,
	FS_MAKE_REG = 1 << 8,
	FS_MAKE_SOCK = 1 << 9,
	FS_MAKE_FIFO = 1 << 10,
	FS_MAKE_BLOCK = 1 << 11,
	FS_MAKE_SYM = 1 << 12,
	FS_REFER = 1 << 13,
	FS_TRUNCATE = 1 << 14,
	NET_BIND_TCP = 1 << 0,
	NET_CONNECT_TCP = 1 << 1,
	SCOPE_ABSTRACT_UNIX = 1 << 0,
	SCOPE_SIGNAL = 1 << 1,
	FS_ABI_1 = (1 << 13) - 1,
	RULE_PATH_BENEATH = 1,
	RULE_NET_PORT = 2,
	LOG_SAME_EXEC_OFF = 1 << 0,
	LOG_SUBDOMAINS_OFF = 1 << 2,
};
enum {
	READS = FS_READ_FILE | FS_READ_DIR,
	WRITES = FS_WRITE_FILE | FS_REMOVE_DIR | FS_REMOVE_FILE | FS_MAKE_DIR | FS_MAKE_REG | FS_MAKE_SOCK | FS_MAKE_FIFO |
	         FS_MAKE_SYM | FS_REFER | FS_TRUNCATE,
	FILE_ONLY = FS_EXECUTE | FS_WRITE_FILE | FS_READ_FILE | FS_TRUNCATE,
};

struct ruleset_attr {
	uint64_t handled_access_fs, handled_access_net, scoped;
};
struct path_beneath_attr {
	uint64_t allowed_access;
	int32_t parent_fd;
} __attribute__((packed));
struct net_port_attr {
	uint64_t allowed_access, port;
};

static int allow_beneath(int ruleset, const char *path, uint64_t access, struct aj_error *err)
{
	cleanup_fd int fd = open(path, O_PATH | O_CLOEXEC | O_NOFOLLOW);
	/* ENOENT: an optional row without a source, or a target below a mask. An unreachable file needs no right. If a mask
	 * covers the target itself, the right applies to the mask, which is read-only. */
	if (fd < 0)
		return errno == ENOENT ? 0 : aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "open `%s`", path);
	struct path_beneath_attr rule = { .allowed_access = access, .parent_fd = fd };
	if (syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0)
		return 0;
	/* The kernel refuses folder rights on a file. */
	rule.allowed_access &= FILE_ONLY;
	if (errno == EINVAL && syscall(SYS_landlock_add_rule, ruleset, RULE_PATH_BENEATH, &rule, 0) == 0)
		return 0;
	return aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "add a rule for `%s`", path);
}

/* All that an ABI knows to refuse. */
static struct ruleset_attr everything(int abi, bool network)
{
	return (struct ruleset_attr){
		.handled_access_fs = FS_ABI_1 | (abi >= 2 ? FS_REFER : 0) | (abi >= 3 ? FS_TRUNCATE : 0),
		.handled_access_net = abi >= 4 && network ? NET_BIND_TCP | NET_CONNECT_TCP : 0,
		.scoped = abi >= 6 ? SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL : 0,
	};
}

static int create_ruleset(int abi, const struct ruleset_attr *attr, struct aj_error *err)
{
	size_t bytes = abi >= 6 ? sizeof *attr : abi >= 4 ? 2 * sizeof(uint64_t) : sizeof(uint64_t);
	int ruleset = (int)syscall(SYS_landlock_create_ruleset, attr, bytes, 0);
	return ruleset < 0 ? aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "create the ruleset") : ruleset;
}

/* The kernel keeps a record of each refusal in the host's audit log, tens of thousands a second if a jail likes: not of these,
 * nor of those by rulesets of the jail's own. */
static long restrict_self(int abi, int ruleset)
{
	return syscall(SYS_landlock_restrict_self, ruleset, abi >= 7 ? LOG_SAME_EXEC_OFF | LOG_SUBDOMAINS_OFF : 0);
}

int aj_landlock_restrict(const struct aj_plan *plan, struct aj_error *err)
{
	int abi = plan->landlock_abi;
	struct ruleset_attr attr = everything(abi, plan->network == AJ_NET_NONE);
	cleanup_fd int ruleset = create_ruleset(abi, &attr, err);
	if (ruleset < 0)
		return -1;
	uint64_t exec = plan->profile == AJ_PROFILE_COMMAND ? FS_EXECUTE : 0;
	/* Execution stays allowed below /usr: the runner and its libraries are executed before the filter forbids it. */
	/* A rule applies to an existing file system: only the root above can cover what a branch will mount over /tmp. The mounts
	 * enforce read-only as well. */
	uint64_t everywhere = READS | (plan->branching ? WRITES & attr.handled_access_fs : 0);
	if (allow_beneath(ruleset, "/", everywhere, err) < 0 || allow_beneath(ruleset, "/usr", READS | FS_EXECUTE, err) < 0 ||
	    allow_beneath(ruleset, "/dev", READS | FS_WRITE_FILE, err) < 0)
		return -1;
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		bool tree = m->kind == AJ_MOUNT_TMPFS || m->kind == AJ_MOUNT_BIND || m->kind == AJ_MOUNT_DEVPTS;
		uint64_t more = (m->flags & AJ_NOEXEC ? 0 : exec) | (m->flags & AJ_RO ? 0 : WRITES & attr.handled_access_fs);
		if (!tree || !more || (m->flags & AJ_DEV))
			continue;
		uint64_t access = READS | more;
		if (access == (READS | FS_EXECUTE) && strcmp(m->target, "/usr") == 0)
			continue; /* stands above */
		if (allow_beneath(ruleset, m->target, access, err) < 0)
			return -1;
	}
	if (restrict_self(abi, ruleset) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "restrict the guest");
	return 0;
}

int aj_landlock_relay(int abi, const char *const *folders, size_t folder_count, const uint16_t *ports, size_t port_count,
                      struct aj_error *err)
{
	if (abi < 1)
		return 0;
	struct ruleset_attr attr = everything(abi, ports);
	cleanup_fd int ruleset = create_ruleset(abi, &attr, err);
	if (ruleset < 0)
		return -1;
	for (size_t i = 0; i < folder_count; i++)
		if (allow_beneath(ruleset, folders[i], FS_READ_FILE, err) < 0)
			return -1;
	for (size_t i = 0; i < port_count && attr.handled_access_net; i++) {
		struct net_port_attr rule = { .allowed_access = NET_CONNECT_TCP, .port = ports[i] };
		if (syscall(SYS_landlock_add_rule, ruleset, RULE_NET_PORT, &rule, 0) < 0)
			return aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "add a rule for port %u", ports[i]);
	}
	if (syscall(SYS_landlock_restrict_self, ruleset, 0) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "restrict the relay");
	return 0;
}

int aj_landlock_scope(int abi, struct aj_error *err)
{
	struct ruleset_attr attr = { .scoped = SCOPE_ABSTRACT_UNIX | SCOPE_SIGNAL };
	if (abi < 6)
		return 0;
	cleanup_fd int ruleset = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	if (ruleset < 0 || restrict_self(abi, ruleset) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "landlock", errno, "restrict signals and abstract sockets to the jail");
	return 0;
}
