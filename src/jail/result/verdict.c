/* Derives the status from facts, in a fixed order of precedence.
 * It makes no system call, and uses a claim only where no attested fact decides. */
#include "jail/result/verdict.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "jail/result/claim.h"

/* Add a limit to the result's list, once. */
static void add_limit_hit(struct aj_result *r, const char *limit)
{
	for (size_t i = 0; i < r->limits_hit_count; i++)
		if (strcmp(r->limits_hit[i], limit) == 0)
			return;
	if (r->limits_hit_count < AJ_LIMITS_HIT)
		r->limits_hit[r->limits_hit_count++] = limit;
}

/* The first cause wins: no effect once there is a reason. `limit`: the limit that was hit, or NULL. */
static void set_status(struct aj_result *r, enum aj_status status, const char *limit, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void set_status(struct aj_result *r, enum aj_status status, const char *limit, const char *fmt, ...)
{
	if (r->reason[0])
		return;
	if (limit)
		add_limit_hit(r, limit);
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(r->reason, sizeof r->reason, fmt, ap);
	va_end(ap);
	r->status = status;
}

/* CPU time of the processes that init reaped, in user and kernel mode. */
static uint64_t reaped_cpu_us(const struct aj_facts *f)
{
	return (uint64_t)(f->usage.ru_utime.tv_sec + f->usage.ru_stime.tv_sec) * 1000000 +
	       (uint64_t)(f->usage.ru_utime.tv_usec + f->usage.ru_stime.tv_usec);
}

static void fill_usage(const struct aj_facts *f, struct aj_result *r)
{
	r->exit_code = -1;
	if (f->exited && WIFEXITED(f->wait_status))
		r->exit_code = WEXITSTATUS(f->wait_status);
	if (f->exited && WIFSIGNALED(f->wait_status))
		r->signal = WTERMSIG(f->wait_status);
	r->leaf = f->leaf;
	r->cpu_us = f->leaf.knows_cpu ? f->leaf.cpu_us : reaped_cpu_us(f);
	r->peak_memory_bytes = f->leaf.peak_bytes ? f->leaf.peak_bytes : (uint64_t)f->usage.ru_maxrss * 1024;
}

static uint64_t limit_ms(const struct aj_facts *f, const struct aj_plan *plan)
{
	return f->limit_ms ? f->limit_ms : plan->wall_ms;
}

static void from_cause(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	switch (f->cause) {
	case AJ_CAUSE_NONE:
		return;
	case AJ_CAUSE_TIMEOUT:
		set_status(r, AJ_STATUS_TIMEOUT, "wall_clock",
		           f->unarmed
		               ? "wall clock limit of %lu ms reached before Python had installed the filter; no code was handed over, and every process of the jail was killed"
		           : f->interrupt_sent
		               ? "wall clock limit of %lu ms reached; the snippet was interrupted and did not stop, so every process of the jail was killed"
		               : "wall clock limit of %lu ms reached; every process of the jail was killed",
		           limit_ms(f, plan));
		return;
	case AJ_CAUSE_OUTPUT:
		set_status(r, AJ_STATUS_LIMIT, "output", "more than %lu bytes of output; every process of the jail was killed",
		           plan->output_bytes);
		return;
	case AJ_CAUSE_FILE:
		set_status(r, AJ_STATUS_LIMIT, "file_size",
		           "more than %lu bytes to standard output or error, the limit for a file; every process of the jail was killed",
		           f->file_limit_bytes);
		return;
	case AJ_CAUSE_WORKSPACE:
		set_status(r, AJ_STATUS_LIMIT, "workspace", "%s; every process of the jail was killed", f->workspace_why);
		return;
	case AJ_CAUSE_INTERRUPT:
		r->signal = f->interrupt_signal;
		set_status(r, AJ_STATUS_SIGNAL, NULL,
		           plan->snippet ? "interrupted by SIG%s"
		                         : "SIG%s did not end the command; every process of the jail was killed",
		           sigabbrev_np(f->interrupt_signal));
		return;
	case AJ_CAUSE_LOCKS:
		set_status(r, AJ_STATUS_LIMIT, "locks",
		           "a thread replaced a file while it was being locked, and so locked a file that the jail may not lock; every process of the jail was killed");
		return;
	case AJ_CAUSE_CALLS:
		set_status(r, AJ_STATUS_LIMIT, "tool_calls",
		           "too many calls of tools had to be refused; every process of the jail was killed. The last refusal: %s",
		           f->protocol_why);
		return;
	case AJ_CAUSE_PROTOCOL:
		set_status(r, AJ_STATUS_PROTOCOL_ERROR, NULL, "the jail sent a message that is not a result: %s",
		           f->protocol_why);
		return;
	}
}

static bool claims_memory_error(const struct aj_result *r)
{
	const char *type = json_string_value(json_object_get(json_object_get(r->claim, "error"), "type"));
	return type && strcmp(type, "MemoryError") == 0;
}

/* MemoryError alone is a claim. It counts if the attested peak came near the limit in this run. */
static bool rlimit_oom(const struct aj_facts *f, const struct aj_plan *plan, const struct aj_result *r)
{
	return plan->memory_by_rlimit && claims_memory_error(r) && r->peak_memory_bytes >= plan->memory_bytes / 4 * 3 &&
	       r->peak_memory_bytes > f->peak_before_bytes;
}

/* The OOM killer's kills: at the jail's own limit, or because the host or a cgroup above was out of memory. */
static void from_memory(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	if (!f->leaf.oom_kills)
		return;
	if (f->leaf.oom)
		set_status(r, AJ_STATUS_OOM, "memory",
		           "memory limit of %lu bytes reached: the kernel killed the jail (%lu kills)", plan->memory_bytes,
		           f->leaf.oom_kills);
	else
		set_status(r, AJ_STATUS_OOM, NULL,
		           "the host, or a cgroup above the jail, was out of memory: the kernel killed processes of the jail (%lu kills)",
		           f->leaf.oom_kills);
}

static void from_kernel(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	from_memory(f, plan, r);
	if (f->lingered || f->alive)
		return;
	if (!f->exited)
		set_status(r, AJ_STATUS_SIGNAL, NULL,
		           "the jail's init ended without a report on the command: init was probably killed from outside");
	if (!r->signal)
		return;
	if ((r->signal == SIGXCPU || r->signal == SIGKILL) && f->cpu_limit_ms && reaped_cpu_us(f) >= f->cpu_limit_ms * 1000)
		set_status(r, AJ_STATUS_TIMEOUT, "cpu_time", "CPU time limit of %lu ms reached", f->cpu_limit_ms);
	/* The guest can send itself SIGXFSZ, and gains nothing by that. */
	bool of_workspace = f->workspace_limit_bytes && (!f->file_limit_bytes || f->workspace_limit_bytes < f->file_limit_bytes);
	uint64_t file_limit_bytes = of_workspace ? f->workspace_limit_bytes : f->file_limit_bytes;
	if (r->signal == SIGXFSZ && file_limit_bytes)
		set_status(r, AJ_STATUS_LIMIT, of_workspace ? "workspace" : "file_size",
		           "ended by SIGXFSZ, the kernel's signal at the limit of %lu bytes for a file", file_limit_bytes);
	/* The filter's only way to end a process. A program can send itself the signal, so this is not a row of `violations`. */
	if (r->signal == SIGSYS)
		set_status(r, AJ_STATUS_SIGNAL, NULL,
		           "ended by SIGSYS, the kernel's signal for a system call of another architecture (i386 or x32 on x86-64)");
	set_status(r, AJ_STATUS_SIGNAL, NULL, "ended by SIG%s", sigabbrev_np(r->signal) ? sigabbrev_np(r->signal) : "?");
}

/* The snippet was interrupted, and stopped; a snippet that finished anyway is ok. */
static void from_interrupt(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	if (f->stop == AJ_STOP_BY_CLOCK)
		set_status(r, AJ_STATUS_TIMEOUT, "wall_clock",
		           "wall clock limit of %lu ms reached; the snippet was interrupted and stopped", limit_ms(f, plan));
	if (f->stop == AJ_STOP_BY_CALLER)
		set_status(r, AJ_STATUS_SIGNAL, NULL, "the snippet was interrupted by the caller");
}

/* A run that failed counts as limited if an attested limit was hit; a run that finished anyway is ok. */
static void from_limits(const struct aj_facts *f, struct aj_result *r)
{
	if (f->leaf.pids_refused)
		set_status(r, AJ_STATUS_LIMIT, "pids",
		           "process limit of %lu reached: the kernel refused %lu new processes or threads, and the run failed",
		           f->pids_limit, f->leaf.pids_refused);
	if (f->full)
		set_status(r, AJ_STATUS_LIMIT, "disk", "`%s` is full, and the run failed", f->full);
	if (f->workspace_over)
		set_status(r, AJ_STATUS_LIMIT, "workspace", "the workspace has grown beyond its limit, and the run failed");
}

static void from_claim(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	if (!r->claim) {
		from_limits(f, r);
		set_status(r, AJ_STATUS_ERROR, NULL, "the snippet's process ended with exit code %d and no result", r->exit_code);
		return;
	}
	const char *status = aj_claim_status(r->claim);
	if (strcmp(status, "ok") == 0) {
		set_status(r, AJ_STATUS_OK, NULL, "finished");
	} else if (strcmp(status, "rejected") == 0) {
		set_status(r, AJ_STATUS_REJECTED, NULL, "refused by the import check; no line of the snippet ran");
	} else {
		from_interrupt(f, plan, r);
		if (rlimit_oom(f, plan, r))
			set_status(r, AJ_STATUS_OOM, "memory", "memory limit of %lu bytes reached (RLIMIT_AS; peak %lu)",
			           plan->memory_bytes, r->peak_memory_bytes);
		from_limits(f, r);
		/* One allocation above the limit leaves no trace: the kernel counts none that it refuses. */
		if (!r->reason[0] && plan->memory_bytes && claims_memory_error(r))
			r->limit_claimed = "memory";
		set_status(r, AJ_STATUS_ERROR, NULL, "the snippet raised an exception");
	}
}

/* List also the limits that did not decide the status. */
static void list_limits(const struct aj_facts *f, struct aj_result *r)
{
	if (f->leaf.oom_kills && f->leaf.oom)
		add_limit_hit(r, "memory");
	if (f->leaf.pids_refused)
		add_limit_hit(r, "pids");
	if (f->full)
		add_limit_hit(r, "disk");
	if (f->workspace_over)
		add_limit_hit(r, "workspace");
	if (f->stop == AJ_STOP_BY_CLOCK)
		add_limit_hit(r, "wall_clock");
}

/* Messages of programs after a failed allocation. A sanitizer, as in Go's race detector, reserves terabytes at its start, which
 * RLIMIT_DATA counts: no limit is high enough. */
struct sign {
	const char *words, *remedy;
};
static const struct sign memory_signs[] = {
	{ "Sanitizer failed to allocate",
	  "a sanitizer reserves more than any limit: use --memory none, or a memory cgroup (--cgroup DIR)" },
	{ "MemoryError", NULL },
	{ "Cannot allocate memory", NULL },
	{ "out of memory", NULL },
	{ "Out of memory", NULL },
	{ "OutOfMemory", NULL },
	{ "bad_alloc", NULL },
	{ NULL, NULL },
};

/* After a failed fork or clone: of shells, Python, Go, Java, Node.js, Rust and C++. */
static const struct sign process_signs[] = {
	{ "Cannot fork", NULL },    { "fork: Resource temporarily unavailable", NULL },
	{ "fork: retry", NULL },    { "start new thread", NULL },
	{ "new OS thread", NULL },  { "native thread", NULL },
	{ "pthread_create", NULL }, { "failed to spawn thread", NULL },
	{ "spawn EAGAIN", NULL },   { NULL, NULL },
};

static const struct sign *find_sign(const struct aj_output_buffer *output, const struct sign *signs)
{
	size_t bytes;
	char *text = output && output->total_bytes ? aj_output_buffer_text(output, &bytes) : NULL;
	while (text && signs->words && !strstr(text, signs->words))
		signs++;
	bool found = text && signs->words;
	free(text);
	return found ? signs : NULL;
}

/* The kernel counts neither failed allocations nor forks that an rlimit refuses: the status stays and no limit is listed, but a
 * hint names the signs of one. */
static void hint_at_rlimits(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	if (plan->snippet || (r->status != AJ_STATUS_ERROR && r->status != AJ_STATUS_SIGNAL))
		return;
	const struct aj_output_buffer *output = r->err.total_bytes ? &r->err : f->passed_on;
	const struct sign *forks = plan->pids_by_rlimit ? find_sign(output, process_signs) : NULL;
	if (forks) { /* first: Java calls this OutOfMemoryError, too */
		snprintf(r->hint, sizeof r->hint,
		         "the process limit may have been reached: at most %lu processes and threads at a time (RLIMIT_NPROC, no pids cgroup), and the output says `%s`; raise limits.pids (--pids)",
		         f->pids_limit, forks->words);
		return;
	}
	if (!plan->memory_by_rlimit)
		return;
	const struct sign *said = find_sign(output, memory_signs);
	char why[120];
	if (r->peak_memory_bytes >= plan->memory_bytes / 4 * 3)
		snprintf(why, sizeof why, "the largest process used %lu MiB", r->peak_memory_bytes >> 20);
	else if (said)
		snprintf(why, sizeof why, "the output says `%s`", said->words);
	/* A smaller program rarely asks for that much at once. */
	else if (f->unread && r->peak_memory_bytes >= plan->memory_bytes / 16)
		snprintf(why, sizeof why, "its refusals are not counted: look for a failed allocation in the command's output");
	else
		return;
	snprintf(r->hint, sizeof r->hint,
	         "the memory limit may have been reached: each process has at most %lu MiB of private memory (RLIMIT_DATA, no memory cgroup), and %s; %s",
	         plan->memory_bytes >> 20, why, said && said->remedy ? said->remedy : "raise limits.memory (--memory)");
}

void aj_verdict(const struct aj_facts *f, const struct aj_plan *plan, struct aj_result *r)
{
	fill_usage(f, r);
	r->told_to_stop = !f->interrupt_sent ? NULL : f->stop == AJ_STOP_BY_CLOCK ? "wall_clock" : "caller";
	if (r->setup.exit_code) {
		char text[480];
		set_status(r, AJ_STATUS_SETUP_ERROR, NULL, "%s", aj_error_text(&r->setup, text, sizeof text));
		return;
	}
	from_cause(f, plan, r);
	from_kernel(f, plan, r);
	if (plan->snippet) {
		from_claim(f, plan, r);
	} else if (r->exit_code == 0) {
		set_status(r, AJ_STATUS_OK, NULL, "finished");
	} else {
		from_limits(f, r);
		set_status(r, AJ_STATUS_ERROR, NULL, "exit code %d", r->exit_code);
	}
	hint_at_rlimits(f, plan, r);
	list_limits(f, r);
}
