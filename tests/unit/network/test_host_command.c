/* Tests of helper/host_command: a command's descriptors, directory, PATH, signals and exit code, and the end of its whole process
 * group. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "network/helper/host_command.h"

/* Run it without a leader: what it printed, and its wait status. */
static int run(const char *text, int in, bool of_system, char out[4096])
{
	int ends[2], status;
	cr_assert_eq(pipe2(ends, O_CLOEXEC), 0);
	pid_t pid = aj_host_command_start(&(struct aj_host_command){
	    .text = text, .in = in, .out = ends[1], .of_system = of_system });
	cr_assert_gt(pid, 0);
	cr_assert_eq(getpgid(pid), pid);
	close(ends[1]);
	size_t used = 0;
	for (ssize_t n; (n = read(ends[0], out + used, 4095 - used)) > 0;)
		used += (size_t)n;
	out[used] = '\0';
	close(ends[0]);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	return status;
}

Test(host_command, has_the_descriptors_and_gives_its_exit_code)
{
	char out[4096], text[96];
	int ends[2], other = dup(2);
	cr_assert_eq(pipe(ends), 0);
	cr_assert_eq(write(ends[1], "question\n", 9), 9);
	close(ends[1]);
	snprintf(text, sizeof text, "cat; test -e /proc/$$/fd/1 && echo 1; test -e /proc/$$/fd/%d && echo inherited; exit 3",
	         other);
	int status = run(text, ends[0], false, out);
	cr_assert(WIFEXITED(status) && WEXITSTATUS(status) == 3);
	cr_assert_str_eq(out, "question\n1\n");
	close(other);
}

Test(host_command, blocks_and_ignores_no_signal)
{
	char out[4096];
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGTERM, SIG_IGN);
	cr_assert_eq(run("grep SigBlk /proc/self/status; kill -TERM $$; echo ignored", -1, false, out), SIGTERM);
	cr_assert_str_eq(out, "SigBlk:\t0000000000000000\n");
}

Test(host_command, of_the_system_ignores_the_callers_folder_and_path)
{
	char out[4096];
	cr_assert(chdir("/tmp") == 0 && setenv("PATH", "/nowhere", 1) == 0);
	cr_assert_eq(run("pwd; echo $PATH", -1, true, out), 0);
	cr_assert_str_eq(out, "/\n/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin\n");
	cr_assert_eq(run("pwd; echo $PATH", -1, false, out), 0);
	cr_assert_str_eq(out, "/tmp\n/nowhere\n");
}

Test(host_command, whole_group_ends_with_the_caller, .timeout = 60)
{
	int answer[2], in[2];
	pid_t sleeper;
	char line[32] = "";
	cr_assert(pipe(answer) == 0 && pipe(in) == 0);
	pid_t caller = fork();
	if (caller == 0) {
		struct aj_host_command command = {
			.text = "sleep 1000 & echo $!", .in = in[0], .out = answer[1], .whole_group = true
		};
		if (aj_host_command_start(&command) > 0)
			for (;;)
				pause();
		_exit(1);
	}
	cr_assert_gt(caller, 0);
	cr_assert_gt(read(answer[0], line, sizeof line - 1), 1);
	sleeper = (pid_t)strtol(line, NULL, 10);
	cleanup_fd int pidfd = aj_pidfd_open(sleeper);
	cr_assert_geq(pidfd, 0);
	cr_assert_not(aj_pidfd_ended(pidfd));
	kill(caller, SIGKILL);
	cr_assert_eq(waitpid(caller, NULL, 0), caller);
	cr_assert_eq(poll(&(struct pollfd){ .fd = pidfd, .events = POLLIN }, 1, 30000), 1,
	             "the command's process outlives the caller");
}
