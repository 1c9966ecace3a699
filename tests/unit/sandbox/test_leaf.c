/* Tests of a jail's cgroup leaf: what the kernel's files say, and killing where there is no cgroup.kill.
 * The leaves are invented folders: no test needs a cgroup, and none kills anything but its own child. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/cgroup/leaf.h"

static char leaf[] = "/tmp/test_leaf.XXXXXX";

static void make(void)
{
	cr_assert_not_null(mkdtemp(leaf));
}

static void drop(void)
{
	char command[80];
	snprintf(command, sizeof command, "rm -rf %s", leaf);
	cr_assert_eq(system(command), 0);
}
TestSuite(leaf, .init = make, .fini = drop);

static void put(const char *file, const char *text)
{
	char path[100];
	snprintf(path, sizeof path, "%s/%s", leaf, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	cr_assert(fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0);
	close(fd);
}

static const char *text_of(const char *file)
{
	static char text[100];
	char path[100];
	snprintf(path, sizeof path, "%s/%s", leaf, file);
	return aj_read_text(path, text, sizeof text) < 0 ? "(none)" : text;
}

Test(leaf, counts)
{
	struct aj_leaf_usage u;
	put("memory.peak", "67108864\n");
	put("memory.events", "low 1\nhigh 2\nmax 30\noom 4\noom_kill 5\noom_group_kill 6\n");
	put("pids.events", "max 7\n");
	put("cpu.stat", "usage_usec 1234567\nuser_usec 1\nsystem_usec 2\nnr_periods 9\nnr_throttled 8\nthrottled_usec 70000\n");
	put("io.stat",
	    "8:0 rbytes=100 wbytes=20 rios=3 wios=4 dbytes=5 dios=6\n259:1 rbytes=1 wbytes=2 rios=0 wios=0 dbytes=9999 dios=0\n");
	aj_leaf_read(leaf, &u);
	cr_expect_eq(u.peak_bytes, 64 << 20);
	cr_expect_eq(u.oom, 4);
	cr_expect_eq(u.oom_kills, 5);
	cr_expect_eq(u.pids_refused, 7);
	cr_expect(u.knows_cpu && u.cpu_us == 1234567);
	cr_expect(u.knows_throttling && u.throttled == 8 && u.throttled_us == 70000);
	cr_expect(u.knows_io && u.io_read_bytes == 101 && u.io_written_bytes == 22);
}

/* A controller that is off has no files, an old kernel fewer, and lines that are not there count nothing. */
Test(leaf, what_is_not_there)
{
	const char *const leaves[] = { leaf, "", "/nonexistent" };
	struct aj_leaf_usage u;
	for (size_t i = 0; i < sizeof leaves / sizeof *leaves; i++) {
		u = (struct aj_leaf_usage){ 1, 1, 1, 1, true, true, true, 1, 1, 1, 1, 1 };
		aj_leaf_read(leaves[i], &u);
		cr_expect(!u.peak_bytes && !u.oom && !u.oom_kills && !u.pids_refused);
		cr_expect(!u.knows_cpu && !u.knows_throttling && !u.knows_io);
		cr_expect(!u.cpu_us && !u.throttled_us && !u.throttled && !u.io_read_bytes && !u.io_written_bytes);
	}
	put("memory.events", "my_oom 9\noom_kills 9\nxoom_kill 9\noom_killed");
	put("cpu.stat", "usage_usec 5\nuser_usec 5\n");
	put("io.stat", "");
	put("pids.events", "");
	aj_leaf_read(leaf, &u);
	cr_expect(!u.oom && !u.oom_kills && !u.pids_refused && !u.peak_bytes);
	cr_expect(u.knows_cpu && u.cpu_us == 5 && !u.knows_throttling, "without the cpu controller nobody counts periods");
	cr_expect(u.knows_io && !u.io_read_bytes, "nothing was read: that is an answer");
}

Test(leaf, cgroup_kill_where_there_is_one)
{
	put("cgroup.kill", "");
	put("cgroup.freeze", "");
	aj_leaf_kill(leaf);
	cr_expect_str_eq(text_of("cgroup.kill"), "1");
	cr_expect_str_eq(text_of("cgroup.freeze"), "", "not needed then");
}

static pid_t sleeper(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGTERM, SIG_IGN);
		for (;;)
			pause();
	}
	cr_assert(pid > 0);
	return pid;
}

static bool killed(pid_t pid)
{
	int status = 0;
	return waitpid(pid, &status, WNOHANG) == pid && WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
}

Test(leaf, kill_one_by_one)
{
	char procs[100];
	pid_t first = sleeper(), second = sleeper(), other = sleeper();
	/* As the kernel shows them: 0 is a process of another PID namespace. 1 and we ourselves are never the jail's. */
	snprintf(procs, sizeof procs, "0\n1\n%d\n%d\n%d\n", getpid(), first, second);
	put("cgroup.procs", procs);
	put("cgroup.freeze", "");
	aj_leaf_kill(leaf);
	usleep(10000);
	cr_expect(killed(first) && killed(second));
	cr_expect_eq(kill(other, 0), 0);
	cr_expect_not(killed(other), "it is not listed");
	cr_expect_str_eq(text_of("cgroup.freeze"), "0", "thawed: the frozen do not leave the cgroup");
	kill(other, SIGKILL);
}

/* The list of an invented leaf never empties: the killer must end all the same. */
Test(leaf, the_killer_gives_up)
{
	char procs[20];
	pid_t pid = sleeper(); /* not reaped: a signal to it always succeeds */
	snprintf(procs, sizeof procs, "%d\n", pid);
	put("cgroup.procs", procs);
	int64_t before_us = aj_now_us();
	aj_leaf_kill(leaf);
	cr_expect_lt(aj_now_us() - before_us, 2000000);
	cr_expect(killed(pid));
}

Test(leaf, without_effect)
{
	aj_leaf_kill("");
	aj_leaf_unthrottle("");
	aj_leaf_remove("");
	aj_leaf_kill("/nonexistent");
	aj_leaf_unthrottle(leaf);
	cr_expect_str_eq(text_of("cpu.max"), "(none)", "made what was not there");
	put("cpu.max", "1000 100000");
	aj_leaf_unthrottle(leaf);
	cr_expect(strncmp(text_of("cpu.max"), "max", 3) == 0);
}

Test(leaf, remove)
{
	char inner[100];
	snprintf(inner, sizeof inner, "%s/jail", leaf);
	cr_assert_eq(mkdir(inner, 0755), 0);
	aj_leaf_remove(inner);
	cr_expect_eq(access(inner, F_OK), -1);
}

Test(leaf, counts_since)
{
	struct aj_leaf_usage before = { .oom = 1, .oom_kills = 2, .pids_refused = 3, .cpu_us = 100, .io_read_bytes = 7, .peak_bytes = 50 };
	struct aj_leaf_usage now = {
		.oom = 2, .oom_kills = 2, .pids_refused = 9, .cpu_us = 140, .io_read_bytes = 3, .peak_bytes = 60, .knows_cpu = true
	};
	aj_leaf_since(&now, &before);
	cr_expect_eq(now.oom, 1);
	cr_expect_eq(now.oom_kills, 0);
	cr_expect_eq(now.pids_refused, 6);
	cr_expect_eq(now.cpu_us, 40);
	cr_expect_eq(now.io_read_bytes, 0, "never below nothing");
	cr_expect_eq(now.peak_bytes, 60, "the peak is the leaf's");
	cr_expect(now.knows_cpu);
}

Test(leaf, one_count_alone)
{
	put("pids.events", "max 4\n");
	cr_expect_eq(aj_leaf_pids_refused(leaf), 4);
	cr_expect_eq(aj_leaf_pids_refused(""), 0);
}

Test(leaf, take)
{
	put("cgroup.procs", "");
	cr_expect_eq(aj_leaf_take(leaf, 4711), 0);
	cr_expect_str_eq(text_of("cgroup.procs"), "4711");
	cr_expect_eq(aj_leaf_take("", 1), 0, "no leaf");
	cr_expect_eq(aj_leaf_take("/nonexistent", 1), -1);
}
