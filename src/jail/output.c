/* Reads a jail's standard output and error: into the result, to the owner as it comes, or to the caller's own through a pump.
 * Keeps and passes on no more than the limits, and reads no more than a full pipe at a time. */
#include <errno.h>
#include <unistd.h>

#include "jail/jail_inner.h"

/* A pipe holds at most 1 MiB, which is this many reads. */
enum { DRAIN_READS = (1 << 20) / AJ_CHUNK_BYTES };

/* `r`: the pump's return value. False: the pump is full. */
static bool handle_pump(struct aj_jail *jail, const struct aj_pump *pump, int r)
{
	if (r < 0) {
		aj_fail(&jail->outcome.result.setup, AJ_EXIT_SETUP, "output", errno,
		        "pass on the jail's output; the program ran until then");
		aj_process_kill(&jail->process);
	}
	if (jail->policy->file_bytes && pump->total_bytes > jail->policy->file_bytes)
		aj_jail_end_by(jail, AJ_CAUSE_FILE);
	return r > 0;
}

bool aj_jail_output_paused(const struct aj_jail *jail, int number)
{
	return jail->terminal.paused && (jail->terminal.pump ? jail->terminal.pump[number - 1].terminal : jail->output != NULL);
}

bool aj_jail_on_output(struct aj_jail *jail, int number)
{
	char chunk[AJ_CHUNK_BYTES];
	int *fd = number == 1 ? &jail->process.stdout_fd : &jail->process.stderr_fd;
	struct aj_output_buffer *capture = number == 1 ? &jail->outcome.result.out : &jail->outcome.result.err;
	struct aj_pump *pump = jail->terminal.pump ? &jail->terminal.pump[number - 1] : NULL;
	if (pump && !handle_pump(jail, pump, aj_pump_flush(pump)))
		return false;
	if (*fd < 0 || aj_jail_output_paused(jail, number)) {
		aj_jail_check_flushed(jail);
		return false;
	}
	ssize_t n = read(*fd, chunk, sizeof chunk);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return errno == EINTR;
	if (n < 0) /* truncated output must not pass as the jail's */
		aj_jail_fail(jail, "the jail's output cannot be read; the program ran until then");
	if (n <= 0) {
		aj_jail_close(jail, number == 1 ? AJ_JAIL_OUT : AJ_JAIL_ERR, fd);
		return false;
	}
	if (pump && jail->outcome.facts.cause == AJ_CAUSE_FILE) /* output beyond the limit is dropped */
		return true;
	if (pump && number == 2)
		aj_output_buffer_add(&jail->outcome.passed_on, chunk, (size_t)n);
	if (pump)
		return handle_pump(jail, pump, aj_pump_write(pump, chunk, (size_t)n));
	aj_output_buffer_add(capture, chunk, (size_t)n);
	if (jail->output)
		jail->output(number, chunk, (size_t)n, jail->output_arg);
	if (jail->built.plan->output_bytes &&
	    jail->outcome.result.out.total_bytes + jail->outcome.result.err.total_bytes > jail->built.plan->output_bytes)
		aj_jail_end_by(jail, AJ_CAUSE_OUTPUT);
	return true;
}

/* Another process may hold the pipe's write end: reads at most a full pipe, and does not wait for more. */
void aj_jail_drain(struct aj_jail *jail)
{
	for (int number = 1; number <= 2; number++)
		for (int i = 0; i < DRAIN_READS && aj_jail_on_output(jail, number); i++)
			;
}
