/* Tests of host/cgroup: which folder of an invented hierarchy is taken, and what is said when none is.
 * Files of the kernel's are ordinary files here; rights are tested as an ordinary user only, as root has them all. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "policy/host/host.h"

static char root[] = "/tmp/test_cgroup.XXXXXX";
static struct aj_arena arena;
static struct aj_host host;

static void make(void)
{
	cr_assert_not_null(mkdtemp(root));
}

static void drop(void)
{
	char command[100];
	snprintf(command, sizeof command, "chmod -R u+w %s; rm -rf %s", root, root);
	cr_assert_eq(system(command), 0);
	aj_arena_free(&arena);
}
TestSuite(host_cgroup, .init = make, .fini = drop);

static void put(const char *dir, const char *file, const char *text)
{
	const char *path = aj_printf(&arena, "%s%s/%s", root, dir, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	cr_assert(fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0, "%s", path);
	close(fd);
}

/* A cgroup with these controllers and processes. */
static void group(const char *dir, const char *controllers, const char *procs)
{
	mkdir(aj_printf(&arena, "%s%s", root, dir), 0755);
	put(dir, "cgroup.controllers", controllers);
	put(dir, "cgroup.procs", procs);
	put(dir, "cgroup.subtree_control", "");
	put(dir, "cgroup.type", "domain\n");
}

static const char *found(const char *path)
{
	aj_host_find_cgroup(&host, &arena, root, path);
	cr_expect_neq(host.cgroup == NULL, host.cgroup_why == NULL, "either a place or a reason");
	return host.cgroup ? host.cgroup + strlen(root) : "(none)";
}

static const char *self(void)
{
	return aj_printf(&arena, "%d\n", getpid());
}

Test(host_cgroup, our_own_when_alone)
{
	group("/d", "cpuset cpu io memory pids\n", self());
	cr_expect_str_eq(found("/d"), "/d");
	cr_expect_eq(host.cgroup_controllers, AJ_CGROUP_MEMORY | AJ_CGROUP_PIDS | AJ_CGROUP_CPU);
	group("/d", "pids\n", self());
	cr_expect_str_eq(found("/d"), "/d");
	cr_expect_eq(host.cgroup_controllers, AJ_CGROUP_PIDS);
	group("/d", "cpuset\n", self());
	cr_expect_str_eq(found("/d"), "(none)", "cpuset is not cpu");
}

/* As a shell does that moved to a child, or systemd with DelegateSubgroup=. */
Test(host_cgroup, the_one_above_when_it_is_empty)
{
	group("/d", "memory pids\n", "");
	group("/d/shell", "", aj_printf(&arena, "77\n%s", self()));
	cr_expect_str_eq(found("/d/shell"), "/d", "controllers are not on yet");
	group("/d/shell", "memory pids\n", aj_printf(&arena, "77\n%s", self()));
	cr_expect_str_eq(found("/d/shell"), "/d");
	group("/d/shell/deep", "", self());
	group("/d/shell", "", "");
	cr_expect_str_eq(found("/d/shell/deep"), "/d", "the nearest that has controllers");
	group("/d", "memory pids\n", "1\n");
	cr_expect_str_eq(found("/d/shell/deep"), "(none)", "somebody is in it");
}

Test(host_cgroup, the_reason_is_that_of_our_own)
{
	group("/d", "memory pids\n", "1\n");
	group("/d/shell", "memory pids\n", aj_printf(&arena, "77\n%s", self()));
	cr_expect_str_eq(found("/d/shell"), "(none)");
	cr_expect(strstr(host.cgroup_why, "other processes are in agentjail's cgroup") && strstr(host.cgroup_why, "/d/shell"),
	          "%s", host.cgroup_why);
	cr_expect_str_eq(found("/missing/place"), "(none)");
	cr_expect_str_eq(found("/../elsewhere"), "(none)");
}

/* A slice is its systemd's, and so is all above it, also where we could write. */
Test(host_cgroup, no_slice)
{
	group("/user.service", "memory pids\n", "");
	group("/user.service/app.slice", "memory pids\n", "");
	group("/user.service/app.slice/a.scope", "memory pids\n", aj_printf(&arena, "77\n%s", self()));
	cr_expect_str_eq(found("/user.service/app.slice/a.scope"), "(none)");
	group("/user.service/app.slice/a.scope", "memory pids\n", "");
	group("/user.service/app.slice/a.scope/shell", "", aj_printf(&arena, "77\n%s", self()));
	cr_expect_str_eq(found("/user.service/app.slice/a.scope/shell"), "/user.service/app.slice/a.scope", "a scope is handed out");
}

/* The real root has no type and takes processes beside controllers: fine for who is in it, but not for those below. */
Test(host_cgroup, root)
{
	put("", "cgroup.controllers", "memory pids\n");
	put("", "cgroup.procs", "");
	put("", "cgroup.subtree_control", "");
	cr_expect_str_eq(found("/"), "");
	group("/init", "memory pids\n", aj_printf(&arena, "1\n%s", self()));
	cr_expect_str_eq(found("/init"), "(none)");
	put("", "cgroup.type", "domain\n");
	cr_expect_str_eq(found("/init"), "", "the root of a namespace is a cgroup like any other");
}

Test(host_cgroup, threads)
{
	group("/d", "pids\n", self());
	put("/d", "cgroup.type", "domain threaded\n");
	cr_expect_str_eq(found("/d"), "(none)");
	cr_expect(strstr(host.cgroup_why, "threaded"), "%s", host.cgroup_why);
}

Test(host_cgroup, rights)
{
	static const char *const files[] = { "", "/cgroup.procs", "/cgroup.subtree_control" };
	if (geteuid() == 0) /* root may write everywhere; criterion has already forked, so this changes nobody else */
		cr_assert(chown(root, 65534, 65534) == 0 && setegid(65534) == 0 && seteuid(65534) == 0);
	if (getuid() != geteuid())
		cr_assert(setreuid(65534, 65534) == 0);
	for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
		group("/d", "memory pids\n", self());
		const char *path = aj_printf(&arena, "%s/d%s", root, files[i]);
		cr_assert_eq(chmod(path, i ? 0444 : 0555), 0);
		cr_expect_str_eq(found("/d"), "(none)", "%s", files[i]);
		cr_expect(strstr(host.cgroup_why, "not delegated"), "%s", host.cgroup_why);
		cr_assert_eq(chmod(path, i ? 0644 : 0755), 0);
		cr_expect_str_eq(found("/d"), "/d");
	}
}

/* Only a lasting error about a cgroup that nobody named does away with it, and a word in an error does not. */
Test(host_cgroup, dropped)
{
	struct aj_arena own = { 0 };
	struct aj_host found = { .cgroup = "/sys/fs/cgroup/x" };
	struct aj_error other = { 0 }, err = { 0 };
	aj_fail(&other, AJ_EXIT_SETUP, "cgroup", EBUSY, "cgroup");
	cr_expect_not(aj_host_drop_cgroup(&found, &own, &other));
	aj_fail_because(&err, AJ_REASON_CGROUP, AJ_EXIT_SETUP, "cgroup", 0, "it is in use");
	static const int transient[] = { 0, EMFILE, ENFILE, ENOMEM, EAGAIN, EINTR, ENOSPC, EIO };
	for (size_t i = 0; i < sizeof transient / sizeof *transient; i++) {
		err.errnum = transient[i];
		cr_expect_not(aj_host_drop_cgroup(&found, &own, &err), "%s", strerror(transient[i]));
	}
	err.errnum = EBUSY;
	found.cgroup_given = true;
	cr_expect_not(aj_host_drop_cgroup(&found, &own, &err));
	found.cgroup_given = false;
	cr_expect_str_eq(found.cgroup, "/sys/fs/cgroup/x");
	cr_expect(aj_host_drop_cgroup(&found, &own, &err));
	cr_expect_null(found.cgroup);
	cr_expect_str_eq(found.cgroup_why, "it is in use");
	aj_arena_free(&own);
}
