/* Reads a jail's standard output and error: into the result, to the owner as it comes, or to the caller's own through a pump.
 * Keeps and passes on no more than the limits, and reads no more than a full pipe at a time. */
#include <errno.h>
#include <unistd.h>

#include "jail/inner.h"

/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = (1 << 20) / AJ_CHUNK_BYTES };

/* `r`: the pump's return value. False: the pump is full. */
static bool handle_pump(struct aj_run *run, const struct aj_pump *pump, int r)
{
	if (r < 0) {
		aj_fail(&run->result.setup, AJ_EXIT_SETUP, "output", errno, "pass on the jail's output; the program ran until then");
		aj_jail_kill(&run->jail);
	}
	if (run->policy->file_bytes && pump->total_bytes > run->policy->file_bytes)
		aj_run_end_by(run, AJ_CAUSE_FILE);
	return r > 0;
}

bool aj_run_output_held(const struct aj_run *run, int number)
{
	return run->held && (run->pump ? run->pump[number - 1].terminal : run->output != NULL);
}

bool aj_run_on_output(struct aj_run *run, int number)
{
	char chunk[AJ_CHUNK_BYTES];
	int *fd = number == 1 ? &run->jail.stdout_fd : &run->jail.stderr_fd;
	struct aj_output_buffer *capture = number == 1 ? &run->result.out : &run->result.err;
	struct aj_pump *pump = run->pump ? &run->pump[number - 1] : NULL;
	if (pump && !handle_pump(run, pump, aj_pump_flush(pump)))
		return false;
	if (*fd < 0 || aj_run_output_held(run, number)) {
		aj_run_still(run);
		return false;
	}
	ssize_t n = read(*fd, chunk, sizeof chunk);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n < 0) /* truncated output must not pass as the jail's */
		aj_run_fail(run, "the jail's output cannot be read; the program ran until then");
	if (n <= 0) {
		aj_run_close(run, number == 1 ? AJ_RUN_OUT : AJ_RUN_ERR, fd);
		return false;
	}
	if (pump && run->facts.cause == AJ_CAUSE_FILE) /* output beyond the limit is dropped */
		return true;
	if (pump)
		return handle_pump(run, pump, aj_pump_write(pump, chunk, (size_t)n));
	aj_output_buffer_add(capture, chunk, (size_t)n);
	if (run->output)
		run->output(number, chunk, (size_t)n, run->output_arg);
	if (run->built.plan->output_bytes && run->result.out.total_bytes + run->result.err.total_bytes > run->built.plan->output_bytes)
		aj_run_end_by(run, AJ_CAUSE_OUTPUT);
	return true;
}

/* Another process may hold the pipe's write end: reads at most a full pipe, and does not wait for more. */
void aj_run_drain(struct aj_run *run)
{
	for (int number = 1; number <= 2; number++)
		for (int i = 0; i < DRAIN_READS && aj_run_on_output(run, number); i++)
			;
}
