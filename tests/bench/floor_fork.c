/* A fork into the namespaces that a jail has, with as few calls as that takes; a module of the floor's Python.
 * It builds no other wall but the one that it is asked for, whose price is the difference: no mounts but /tmp, no limits, no filter, and the
 * child keeps every right in its namespaces. */
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/landlock.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "policy/seccomp/compile.h"

/* In the order of WALLS in floor.py. */
enum wall { NONE, NO_NETWORK, FILTER, LANDLOCK, COUNTS, CAPABILITIES };

#define MUST(call) ((call) < 0 ? _exit(100 + __LINE__ % 100) : (void)0)

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	MUST(fd);
	MUST(write(fd, text, strlen(text)));
	close(fd);
}

static void map(const char *path, unsigned id)
{
	char text[40];
	snprintf(text, sizeof text, "1000 %u 1", id);
	write_file(path, text);
}

static void install_filter(void)
{
	const struct aj_filter *filter = aj_filter_ready(AJ_PROFILE_SNIPPET, AJ_NET_NONE);
	struct sock_fprog program = { .len = filter->count, .filter = (struct sock_filter *)filter->insns };
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(syscall(SYS_seccomp, 1, 0, &program));
}

static void restrict_files(void)
{
	static const char *const places[] = { "/", "/usr", "/dev", "/tmp" };
	struct landlock_ruleset_attr attr = { .handled_access_fs = (1 << 13) - 1 };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof attr, 0);
	MUST(rules);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct landlock_path_beneath_attr beneath = { LANDLOCK_ACCESS_FS_READ_FILE, open(places[i], O_PATH | O_CLOEXEC) };
		MUST(beneath.parent_fd);
		MUST(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0));
		close(beneath.parent_fd);
	}
	MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	MUST(syscall(SYS_landlock_restrict_self, rules, 0));
}

static void limit_counts(void)
{
	write_file("/proc/sys/user/max_user_namespaces", "0");
	write_file("/proc/sys/user/max_inotify_instances", "8");
	write_file("/proc/sys/user/max_inotify_watches", "8192");
}

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { { 0 }, { 0 } };
	for (int cap = 0; prctl(PR_CAPBSET_DROP, cap, 0, 0, 0) == 0; cap++)
		;
	MUST(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0));
	MUST(syscall(SYS_capset, &head, none));
}

/* As fork(). */
static long birth(enum wall wall)
{
	static void (*const build[])(void) = {
		[FILTER] = install_filter, [LANDLOCK] = restrict_files, [COUNTS] = limit_counts, [CAPABILITIES] = drop_capabilities
	};
	struct clone_args args = { .flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
		                            CLONE_NEWUTS | CLONE_NEWCGROUP,
		                   .exit_signal = SIGCHLD };
	unsigned uid = geteuid(), gid = getegid();
	if (wall == NO_NETWORK)
		args.flags &= ~(__u64)CLONE_NEWNET;
	long pid = syscall(SYS_clone3, &args, sizeof args);
	if (pid != 0)
		return pid;
	write_file("/proc/self/setgroups", "deny");
	map("/proc/self/uid_map", uid);
	map("/proc/self/gid_map", gid);
	MUST(mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=64m"));
	if (wall > NO_NETWORK)
		build[wall]();
	return 0;
}

/* The part of Python's stable interface that a module with one function needs: it has to build without Python's headers. */
typedef struct object object;
object *PyLong_FromLong(long value);
long PyLong_AsLong(object *number);
object *PyModule_Create2(void *definition, int api);
object *PyInit_floor_fork(void);

static object *call(object *self, object *wall)
{
	(void)self;
	return PyLong_FromLong(birth((enum wall)PyLong_AsLong(wall)));
}

enum { ONE_ARGUMENT = 8, API = 1013 };
static struct {
	const char *name;
	object *(*fn)(object *, object *);
	int flags;
	const char *doc;
} methods[] = { { "birth", call, ONE_ARGUMENT, NULL }, { 0 } };
static struct {
	long references, unused[4];
	const char *name, *doc;
	long bytes;
	void *methods, *rest[4];
} definition = { .references = 1, .name = "floor_fork", .bytes = -1, .methods = methods };

object *PyInit_floor_fork(void)
{
	return PyModule_Create2(&definition, API);
}
