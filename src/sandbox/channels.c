/* Makes both ends of a jail's channels: in the supervisor for a cold start, in the zygote for a birth.
 * It reads and writes none of them. */
#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/launch.h"

static int pair(int type, int fds[2], struct aj_error *err)
{
	if (socketpair(AF_UNIX, type | SOCK_CLOEXEC, 0, fds) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "channels", errno, "make a socket pair");
	return 0;
}

static int make_pipe(int fds[2], struct aj_error *err)
{
	/* The supervisor's end must never block: the other end may leave the jail, and outlive it. */
	if (pipe2(fds, O_CLOEXEC) < 0 || fcntl(fds[0], F_SETFL, O_NONBLOCK) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "channels", errno, "make a pipe");
	return 0;
}

int aj_process_channels(const struct aj_plan *plan, struct aj_process *process, struct aj_process_ends *ret_ends,
                        struct aj_error *err)
{
	int report[2] = { -1, -1 }, control[2] = { -1, -1 }, out[2] = { -1, -1 }, errs[2] = { -1, -1 };
	bool capture = plan->capture && !plan->zygote; /* a zygote has no output */
	bool joined = plan->pump & AJ_PUMP_JOINED;
	int r = pair(SOCK_SEQPACKET, report, err) < 0 || (plan->control_fd && pair(SOCK_STREAM, control, err) < 0) ||
	                ((capture || plan->pump & AJ_PUMP_OUT) && make_pipe(out, err) < 0) ||
	                ((capture || plan->pump & AJ_PUMP_ERR) && !joined && make_pipe(errs, err) < 0)
	          ? -1
	          : 0;
	if (r == 0 && joined && (errs[1] = fcntl(out[1], F_DUPFD_CLOEXEC, 0)) < 0)
		r = aj_fail(err, AJ_EXIT_SETUP, "channels", errno, "make standard error a copy of standard output");
	*ret_ends = (struct aj_process_ends){ .report = report[1], .control = control[1], .out = out[1], .err = errs[1] };
	process->report_fd = report[0];
	process->control_fd = control[0];
	process->stdout_fd = out[0];
	process->stderr_fd = errs[0];
	/* The kernel attests each message's sender: enabled before any process exists that could send. */
	int on = 1;
	if (r == 0 && !plan->zygote &&
	    (setsockopt(report[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
	     (control[0] >= 0 && setsockopt(control[0], SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0)))
		return aj_fail(err, AJ_EXIT_SETUP, "channels", errno, "set SO_PASSCRED on the report socket");
	return r;
}

void aj_process_ends_close(struct aj_process_ends *ends)
{
	aj_close(&ends->report);
	aj_close(&ends->control);
	aj_close(&ends->out);
	aj_close(&ends->err);
}
