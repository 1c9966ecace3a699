/* The floor: the same walls as `agentjail run` with as few calls as they take, to see what a launcher could cost at least.
 * It is no launcher: it watches nothing, explains nothing, fails with a number, and takes its filter from fd 9 unseen. */
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	FILTER_FD = 9,
	SECUREBITS = 0xcf,
	NAMESPACES = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | 0x02000000 /* cgroup */
};
#define MUST(call) ((call) < 0 ? _exit(100 + __LINE__ % 100) : (void)0)

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	MUST(fd);
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

static void bind_to(const char *source, const char *target, uint64_t attributes)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_NOSUID | attributes, .propagation = MS_PRIVATE };
	int tree = open_tree(AT_FDCWD, source, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	MUST(tree);
	MUST(mount_setattr(tree, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr));
	MUST(move_mount(tree, "", AT_FDCWD, target, MOVE_MOUNT_F_EMPTY_PATH));
	close(tree);
}

/* `extra`: a program of the caller's, or NULL; it becomes /opt/true. */
static void tree(const char *extra)
{
	static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
	char target[32];
	MUST(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755"));
	MUST(chdir("/tmp"));
	MUST(mkdir("usr", 0755) | mkdir("dev", 0755) | mkdir("proc", 0755) | mkdir("tmp", 0755));
	bind_to("/usr", "usr", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
	MUST(symlink("usr/bin", "bin") | symlink("usr/lib", "lib") | symlink("usr/lib64", "lib64"));
	for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
		char source[32];
		snprintf(source, sizeof source, "/dev/%s", devices[i]);
		snprintf(target, sizeof target, "dev/%s", devices[i]);
		MUST(mknod(target, S_IFREG | 0444, 0));
		bind_to(source, target, MOUNT_ATTR_NOEXEC);
	}
	if (extra) {
		MUST(mkdir("opt", 0755) | mknod("opt/true", S_IFREG | 0444, 0));
		bind_to(extra, "opt/true", MOUNT_ATTR_RDONLY | MOUNT_ATTR_NODEV);
	}
	MUST(mount("proc", "proc", "proc", MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL));
	MUST(mount("tmpfs", "tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=1g"));
}

static void give_up_rights(void)
{
	struct {
		uint32_t version;
		int pid;
	} header = { 0x20080522, 0 };
	uint32_t none[6] = { 0 };
	MUST(prctl(PR_SET_SECUREBITS, SECUREBITS));
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap) >= 0; cap++)
		MUST(prctl(PR_CAPBSET_DROP, cap));
	MUST(syscall(SYS_capset, &header, none));
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
}

static void filter(void)
{
	static struct sock_filter insns[4096];
	ssize_t bytes = read(FILTER_FD, insns, sizeof insns);
	if (bytes <= 0)
		_exit(99);
	struct sock_fprog program = { (unsigned short)((size_t)bytes / sizeof *insns), insns };
	close(FILTER_FD);
	MUST(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program));
}

static _Noreturn void inside(const int go[2], const char *extra, char **argv)
{
	static char *env[] = { "PATH=/usr/bin:/bin", NULL };
	char byte;
	close(go[1]);
	if (read(go[0], &byte, 1) != 1)
		_exit(98);
	MUST(prctl(PR_SET_PDEATHSIG, SIGKILL));
	MUST(setresgid(1000, 1000, 1000));
	MUST(setresuid(1000, 1000, 1000));
	tree(extra);
	MUST(syscall(SYS_pivot_root, ".", "."));
	MUST(umount2(".", MNT_DETACH));
	MUST(chdir("/tmp"));
	MUST(sethostname("jail", 4));
	MUST(setsid());
	give_up_rights();
	filter();
	execve(argv[0], argv, env);
	_exit(127);
}

int main(int argc, char **argv)
{
	int go[2], status;
	char path[40], map[40];
	const char *extra = argc > 3 && strcmp(argv[1], "--bind") == 0 ? argv[2] : NULL;
	if (argc < 2 || pipe2(go, O_CLOEXEC) < 0)
		return 96;
	struct clone_args args = { .flags = NAMESPACES, .exit_signal = SIGCHLD };
	long child = syscall(SYS_clone3, &args, sizeof args);
	if (child == 0)
		inside(go, extra, argv + (extra ? 3 : 1));
	MUST(child);
	unsigned uid = geteuid() ? geteuid() : 65534, gid = geteuid() ? getegid() : 65534;
	snprintf(path, sizeof path, "/proc/%ld/setgroups", child);
	write_file(path, "deny");
	snprintf(path, sizeof path, "/proc/%ld/uid_map", child);
	snprintf(map, sizeof map, "1000 %u 1", uid);
	write_file(path, map);
	snprintf(path, sizeof path, "/proc/%ld/gid_map", child);
	snprintf(map, sizeof map, "1000 %u 1", gid);
	write_file(path, map);
	MUST(write(go[1], "", 1));
	MUST(waitpid((pid_t)child, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 97;
}
