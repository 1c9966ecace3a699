/* Tests of result/verdict: every order of events, as a table from facts to a status.
 * Nothing is run: facts are invented, also impossible ones, and the first cause must win. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "jail/result/claim.h"
#include "jail/result/verdict.h"

#define EXIT(code) ((code) << 8)
#define KILLED(sig) (sig)
#define RAISED "{\"status\":\"error\",\"error\":{\"type\":\"ValueError\",\"message\":\"\"}}"
#define NO_MEMORY "{\"status\":\"error\",\"error\":{\"type\":\"MemoryError\",\"message\":\"\"}}"
#define OOM                              \
	{                                \
		.oom = 1, .oom_kills = 1 \
	}
#define REFUSED                   \
	{                         \
		.pids_refused = 7 \
	}
#define CLAIM(status) "{\"status\":\"" status "\"}"

struct row {
	const char *what;
	bool snippet;
	struct aj_facts facts;
	const char *claim;
	/* expected */
	enum aj_status status;
	const char *limit; /* limits_hit, joined by blanks; NULL for none */
	int code;
};

static const struct row rows[] = {
	{ "ok", true, { .exited = true }, CLAIM("ok"), AJ_STATUS_OK, NULL, 0 },
	{ "raised", true, { .exited = true }, RAISED, AJ_STATUS_ERROR, NULL, 1 },
	{ "rejected", true, { .exited = true }, CLAIM("rejected"), AJ_STATUS_REJECTED, NULL, 126 },
	{ "no claim, exit 0", true, { .exited = true }, NULL, AJ_STATUS_ERROR, NULL, 1 },
	{ "no claim, exit 124", true, { .exited = true, .wait_status = EXIT(124) }, NULL, AJ_STATUS_ERROR, NULL, 1 },
	{ "no claim, exit 137", true, { .exited = true, .wait_status = EXIT(137) }, NULL, AJ_STATUS_ERROR, NULL, 1 },
	{ "command ok", false, { .exited = true }, NULL, AJ_STATUS_OK, NULL, 0 },
	{ "command 1", false, { .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_ERROR, NULL, 1 },

	/* a command may exit with any of our codes: it is still its own exit code and no cause of ours */
	{ "mimics limit", false, { .exited = true, .wait_status = EXIT(122) }, NULL, AJ_STATUS_ERROR, NULL, 122 },
	{ "mimics timeout", false, { .exited = true, .wait_status = EXIT(124) }, NULL, AJ_STATUS_ERROR, NULL, 124 },
	{ "mimics setup", false, { .exited = true, .wait_status = EXIT(125) }, NULL, AJ_STATUS_ERROR, NULL, 125 },
	{ "mimics rejected", false, { .exited = true, .wait_status = EXIT(126) }, NULL, AJ_STATUS_ERROR, NULL, 126 },
	{ "mimics oom", false, { .exited = true, .wait_status = EXIT(137) }, NULL, AJ_STATUS_ERROR, NULL, 137 },
	{ "mimics a signal", false, { .exited = true, .wait_status = EXIT(139) }, NULL, AJ_STATUS_ERROR, NULL, 139 },
	{ "255", false, { .exited = true, .wait_status = EXIT(255) }, NULL, AJ_STATUS_ERROR, NULL, 255 },

	{ "crash", false, { .exited = true, .wait_status = KILLED(SIGSEGV) }, NULL, AJ_STATUS_SIGNAL, NULL, 139 },
	{ "core flag", false, { .exited = true, .wait_status = KILLED(SIGABRT) | 0x80 }, NULL, AJ_STATUS_SIGNAL, NULL, 134 },
	{ "killed itself", false, { .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_SIGNAL, NULL, 137 },
	{ "real-time signal", false, { .exited = true, .wait_status = KILLED(40) }, NULL, AJ_STATUS_SIGNAL, NULL, 168 },
	{ "crash of a snippet", true, { .exited = true, .wait_status = KILLED(SIGSEGV) }, NULL, AJ_STATUS_SIGNAL, NULL, 139 },
	{ "crash beats a claim", true, { .exited = true, .wait_status = KILLED(SIGSEGV) }, CLAIM("ok"), AJ_STATUS_SIGNAL, NULL, 139 },
	{ "filter", true, { .exited = true, .wait_status = KILLED(SIGSYS) }, NULL, AJ_STATUS_SIGNAL, NULL, 128 + SIGSYS },
	{ "init is gone", true, { .exited = false }, NULL, AJ_STATUS_SIGNAL, NULL, 128 },
	{ "init is gone, claim", true, { .exited = false }, CLAIM("ok"), AJ_STATUS_SIGNAL, NULL, 128 },

	{ "timeout", true, { .cause = AJ_CAUSE_TIMEOUT }, NULL, AJ_STATUS_TIMEOUT, "wall_clock", 124 },
	{ "timeout, SIGKILL seen", true, { .cause = AJ_CAUSE_TIMEOUT, .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_TIMEOUT, "wall_clock", 124 },
	{ "timeout beats exit 0", false, { .cause = AJ_CAUSE_TIMEOUT, .exited = true }, NULL, AJ_STATUS_TIMEOUT, "wall_clock", 124 },
	{ "timeout beats a claim", true, { .cause = AJ_CAUSE_TIMEOUT, .exited = true }, CLAIM("ok"), AJ_STATUS_TIMEOUT, "wall_clock", 124 },
	{ "timeout beats oom", true, { .cause = AJ_CAUSE_TIMEOUT, .leaf = { .oom = 1, .oom_kills = 1 } }, NULL, AJ_STATUS_TIMEOUT, "wall_clock memory", 124 },
	{ "timeout beats CPU time",
	  true,
	  { .cause = AJ_CAUSE_TIMEOUT, .exited = true, .wait_status = KILLED(SIGKILL), .usage = { .ru_utime = { 9, 0 } }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_TIMEOUT,
	  "wall_clock",
	  124 },

	{ "output", true, { .cause = AJ_CAUSE_OUTPUT }, NULL, AJ_STATUS_LIMIT, "output", 122 },
	{ "output beats a claim", true, { .cause = AJ_CAUSE_OUTPUT, .exited = true }, CLAIM("ok"), AJ_STATUS_LIMIT, "output", 122 },
	{ "output of a command", false, { .cause = AJ_CAUSE_OUTPUT, .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_LIMIT, "output", 122 },
	{ "output beats oom", true, { .cause = AJ_CAUSE_OUTPUT, .leaf = { .oom = 1, .oom_kills = 3 } }, NULL, AJ_STATUS_LIMIT, "output memory", 122 },

	{ "workspace", false, { .cause = AJ_CAUSE_WORKSPACE, .workspace_why = "it has grown" }, NULL, AJ_STATUS_LIMIT, "workspace", 122 },
	{ "workspace beats a claim", true, { .cause = AJ_CAUSE_WORKSPACE, .exited = true }, CLAIM("ok"), AJ_STATUS_LIMIT, "workspace", 122 },
	{ "workspace, at the end", false, { .exited = true, .workspace_over = true }, NULL, AJ_STATUS_OK, "workspace", 0 },
	{ "workspace, at the end of a failure", false, { .exited = true, .wait_status = 1 << 8, .workspace_over = true }, NULL, AJ_STATUS_LIMIT, "workspace", 122 },
	{ "a file of the workspace's limit",
	  false,
	  { .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 9, .workspace_limit_bytes = 8 },
	  NULL,
	  AJ_STATUS_LIMIT,
	  "workspace",
	  122 },
	{ "Ctrl-C", true, { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGINT }, NULL, AJ_STATUS_SIGNAL, NULL, 130 },
	{ "SIGTERM",
	  true,
	  { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGTERM, .exited = true, .wait_status = KILLED(SIGKILL) },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  143 },
	{ "SIGTERM, which a command ignored",
	  false,
	  { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGTERM, .exited = true, .wait_status = KILLED(SIGKILL) },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  143 },
	{ "SIGTERM, after which a command ended by itself",
	  false,
	  { .interrupt_signal = SIGTERM, .exited = true, .wait_status = 5 << 8 },
	  NULL,
	  AJ_STATUS_ERROR,
	  NULL,
	  5 },
	{ "protocol", true, { .cause = AJ_CAUSE_PROTOCOL, .protocol_why = "odd" }, NULL, AJ_STATUS_PROTOCOL_ERROR, NULL, 123 },
	{ "calls that had to be refused", true, { .cause = AJ_CAUSE_CALLS, .protocol_why = "odd" }, CLAIM("ok"), AJ_STATUS_LIMIT, "tool_calls", 122 },
	{ "protocol beats the claim before", true, { .cause = AJ_CAUSE_PROTOCOL, .exited = true }, CLAIM("ok"), AJ_STATUS_PROTOCOL_ERROR, NULL, 123 },

	{ "oom", true, { .leaf = { .oom = 1, .oom_kills = 1 }, .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom, init too", true, { .leaf = { .oom = 1, .oom_kills = 2 } }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom beats a claim", true, { .leaf = { .oom = 1, .oom_kills = 1 }, .exited = true }, CLAIM("ok"), AJ_STATUS_OOM, "memory", 137 },
	{ "oom of a command", false, { .leaf = { .oom = 1, .oom_kills = 1 }, .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_OOM, "memory", 137 },

	{ "CPU time",
	  true,
	  { .exited = true, .wait_status = KILLED(SIGXCPU), .usage = { .ru_utime = { 1, 0 } }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_TIMEOUT,
	  "cpu_time",
	  124 },
	{ "CPU time, hard limit",
	  true,
	  { .exited = true, .wait_status = KILLED(SIGKILL), .usage = { .ru_utime = { 0, 600000 }, .ru_stime = { 0, 400000 } }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_TIMEOUT,
	  "cpu_time",
	  124 },
	{ "SIGXCPU, but too early", true, { .exited = true, .wait_status = KILLED(SIGXCPU), .cpu_limit_ms = 1000 }, NULL, AJ_STATUS_SIGNAL, NULL, 128 + SIGXCPU },
	{ "SIGXCPU without a limit",
	  false,
	  { .exited = true, .wait_status = KILLED(SIGXCPU), .usage = { .ru_utime = { 9, 0 } } },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  128 + SIGXCPU },
	{ "SIGSEGV late",
	  true,
	  { .exited = true, .wait_status = KILLED(SIGSEGV), .usage = { .ru_utime = { 9, 0 } }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  139 },

	/* MemoryError is a claim: it counts only where the process was seen to have grown */
	{ "MemoryError, large", true, { .exited = true, .usage = { .ru_maxrss = 90 << 10 } }, NO_MEMORY, AJ_STATUS_OOM, "memory", 137 },
	{ "MemoryError, at three quarters", true, { .exited = true, .usage = { .ru_maxrss = 75 << 10 } }, NO_MEMORY, AJ_STATUS_OOM, "memory", 137 },
	{ "MemoryError, small", true, { .exited = true, .usage = { .ru_maxrss = 10 << 10 } }, NO_MEMORY, AJ_STATUS_ERROR, NULL, 1 },
	{ "another error, large", true, { .exited = true, .usage = { .ru_maxrss = 90 << 10 } }, RAISED, AJ_STATUS_ERROR, NULL, 1 },
	{ "ok, large", true, { .exited = true, .usage = { .ru_maxrss = 90 << 10 } }, CLAIM("ok"), AJ_STATUS_OK, NULL, 0 },

	/* it had answered and stayed: killed for that, the answer counts */
	{ "lingered", true, { .lingered = true }, CLAIM("ok"), AJ_STATUS_OK, NULL, 0 },
	{ "lingered, killed", true, { .lingered = true, .exited = true, .wait_status = KILLED(SIGKILL) }, CLAIM("ok"), AJ_STATUS_OK, NULL, 0 },
	{ "lingered after an error", true, { .lingered = true }, RAISED, AJ_STATUS_ERROR, NULL, 1 },
	{ "lingered, too much output", true, { .cause = AJ_CAUSE_OUTPUT, .lingered = true }, CLAIM("ok"), AJ_STATUS_LIMIT, "output", 122 },
	{ "lingered, oom", true, { .lingered = true, .leaf = { .oom = 1, .oom_kills = 1 } }, CLAIM("ok"), AJ_STATUS_OOM, "memory", 137 },

	/* memory: whichever process it was, and whatever the others did afterwards */
	{ "oom of a child, exit 0", false, { .leaf = OOM, .exited = true }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom of a child, SIGTERM", false, { .leaf = OOM, .exited = true, .wait_status = KILLED(SIGTERM) }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom above the jail", false, { .leaf = { .oom_kills = 1 }, .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_OOM, NULL, 137 },
	{ "at the limit, nobody killed", false, { .leaf = { .oom = 3 }, .exited = true }, NULL, AJ_STATUS_OK, NULL, 0 },
	{ "at the limit, exit 137", false, { .leaf = { .oom = 3 }, .exited = true, .wait_status = EXIT(137) }, NULL, AJ_STATUS_ERROR, NULL, 137 },
	{ "interrupt beats oom", true, { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGINT, .leaf = OOM }, NULL, AJ_STATUS_SIGNAL, "memory", 130 },
	{ "protocol beats oom", true, { .cause = AJ_CAUSE_PROTOCOL, .leaf = OOM }, NULL, AJ_STATUS_PROTOCOL_ERROR, "memory", 123 },
	{ "oom beats CPU time",
	  false,
	  { .leaf = OOM, .exited = true, .wait_status = KILLED(SIGXCPU), .usage = { .ru_utime = { 9, 0 } }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_OOM,
	  "memory",
	  137 },
	{ "oom beats file size",
	  false,
	  { .leaf = OOM, .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 9 },
	  NULL,
	  AJ_STATUS_OOM,
	  "memory",
	  137 },
	{ "oom beats pids",
	  false,
	  { .leaf = { .oom = 1, .oom_kills = 2, .pids_refused = 9 }, .exited = true, .wait_status = EXIT(1) },
	  NULL,
	  AJ_STATUS_OOM,
	  "memory pids",
	  137 },

	/* CPU time is the reaped processes', not the whole jail's: that of init and of others is no reason to die of */
	{ "SIGKILL, the cgroup's time alone",
	  false,
	  { .exited = true, .wait_status = KILLED(SIGKILL), .leaf = { .knows_cpu = true, .cpu_us = 9000000 }, .cpu_limit_ms = 1000 },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  137 },
	{ "CPU time used up, exit 0", false, { .exited = true, .usage = { .ru_utime = { 9, 0 } }, .cpu_limit_ms = 1000 }, NULL, AJ_STATUS_OK, NULL, 0 },
	{ "CPU time beats pids",
	  false,
	  { .exited = true, .wait_status = KILLED(SIGXCPU), .usage = { .ru_utime = { 9, 0 } }, .cpu_limit_ms = 1000, .leaf = REFUSED },
	  NULL,
	  AJ_STATUS_TIMEOUT,
	  "cpu_time pids",
	  124 },

	{ "file size", false, { .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 9 }, NULL, AJ_STATUS_LIMIT, "file_size", 122 },
	{ "file size of a snippet", true, { .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 9 }, NULL, AJ_STATUS_LIMIT, "file_size", 122 },
	{ "SIGXFSZ without a limit", false, { .exited = true, .wait_status = KILLED(SIGXFSZ) }, NULL, AJ_STATUS_SIGNAL, NULL, 128 + SIGXFSZ },
	{ "exit code of SIGXFSZ",
	  false,
	  { .exited = true, .wait_status = EXIT(128 + SIGXFSZ), .file_limit_bytes = 9 },
	  NULL,
	  AJ_STATUS_ERROR,
	  NULL,
	  128 + SIGXFSZ },
	{ "file size and full",
	  false,
	  { .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 9, .full = "/tmp" },
	  NULL,
	  AJ_STATUS_LIMIT,
	  "file_size disk",
	  122 },

	{ "processes refused, failed", false, { .leaf = REFUSED, .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_LIMIT, "pids", 122 },
	{ "processes refused, fine", false, { .leaf = REFUSED, .exited = true }, NULL, AJ_STATUS_OK, "pids", 0 },
	{ "processes refused, signal", false, { .leaf = REFUSED, .exited = true, .wait_status = KILLED(SIGABRT) }, NULL, AJ_STATUS_SIGNAL, "pids", 134 },
	{ "processes refused, timeout", false, { .cause = AJ_CAUSE_TIMEOUT, .leaf = REFUSED }, NULL, AJ_STATUS_TIMEOUT, "wall_clock pids", 124 },
	{ "threads refused, raised", true, { .leaf = REFUSED, .exited = true }, RAISED, AJ_STATUS_LIMIT, "pids", 122 },
	{ "threads refused, ok", true, { .leaf = REFUSED, .exited = true }, CLAIM("ok"), AJ_STATUS_OK, "pids", 0 },
	{ "threads refused, no claim", true, { .leaf = REFUSED, .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_LIMIT, "pids", 122 },
	{ "threads refused, rejected", true, { .leaf = REFUSED, .exited = true }, CLAIM("rejected"), AJ_STATUS_REJECTED, "pids", 126 },
	{ "threads refused, lingered", true, { .leaf = REFUSED, .lingered = true }, CLAIM("ok"), AJ_STATUS_OK, "pids", 0 },

	{ "disk full, failed", false, { .full = "/tmp", .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_LIMIT, "disk", 122 },
	{ "disk full, fine", false, { .full = "/tmp", .exited = true }, NULL, AJ_STATUS_OK, "disk", 0 },
	{ "disk full, raised", true, { .full = "/tmp", .exited = true }, RAISED, AJ_STATUS_LIMIT, "disk", 122 },
	{ "disk full, killed", false, { .full = "/dev/shm", .exited = true, .wait_status = KILLED(SIGTERM) }, NULL, AJ_STATUS_SIGNAL, "disk", 143 },
	{ "disk full, timeout", false, { .full = "/tmp", .exited = true, .cause = AJ_CAUSE_TIMEOUT }, NULL, AJ_STATUS_TIMEOUT, "wall_clock disk", 124 },
	{ "processes refused and full",
	  false,
	  { .leaf = REFUSED, .full = "/tmp", .exited = true, .wait_status = EXIT(1) },
	  NULL,
	  AJ_STATUS_LIMIT,
	  "pids disk",
	  122 },
	{ "MemoryError and full", true, { .full = "/tmp", .exited = true, .usage = { .ru_maxrss = 90 << 10 } }, NO_MEMORY, AJ_STATUS_OOM, "memory disk", 137 },
};

static const struct aj_plan plans[] = {
	[false] = { .snippet = false, .wall_ms = 1000, .memory_bytes = 100 << 20, .output_bytes = 5, .memory_by_rlimit = true },
	[true] = { .snippet = true, .wall_ms = 1000, .memory_bytes = 100 << 20, .output_bytes = 5, .memory_by_rlimit = true },
};

static void judge(const struct row *row, struct aj_result *r)
{
	char why[100];
	if (row->claim)
		cr_assert((r->claim = aj_claim_parse(row->claim, strlen(row->claim), why, sizeof why)), "%s: %s", row->what, why);
	aj_verdict(&row->facts, &plans[row->snippet], r);
}

Test(verdict, facts_to_status)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *row = &rows[i];
		struct aj_result r = { 0 };
		judge(row, &r);
		cr_expect_eq(r.status, row->status, "%s: %s (%s)", row->what, aj_status_name(r.status), r.reason);
		cr_expect(r.reason[0], "%s: no reason", row->what);
		char limits[100] = "";
		for (size_t j = 0; j < r.limits_hit_count; j++)
			sprintf(limits + strlen(limits), "%s%s", j ? " " : "", r.limits_hit[j]);
		cr_expect_str_eq(limits, row->limit ? row->limit : "", "%s: limits hit `%s`", row->what, limits);
		int code = aj_status_exit_code(&r, &plans[row->snippet]);
		cr_expect_eq(code, row->code, "%s: exit code %d", row->what, code);
		aj_result_free(&r);
	}
}

/* Whatever else is known: with a wall that did not stand, nothing ran. */
Test(verdict, a_failed_set_up_beats_everything)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_result r = { 0 };
		aj_fail(&r.setup, AJ_EXIT_NOT_FOUND, "exec", 2, "run `x` in the jail");
		judge(&rows[i], &r);
		cr_expect_eq(r.status, AJ_STATUS_SETUP_ERROR, "%s: %s", rows[i].what, aj_status_name(r.status));
		cr_expect_eq(aj_status_exit_code(&r, &plans[rows[i].snippet]), AJ_EXIT_NOT_FOUND);
		cr_expect(strncmp(r.reason, "exec: ", 6) == 0, "%s", r.reason);
		cr_expect_eq(r.limits_hit_count, 0, "%s", rows[i].what);
		aj_result_free(&r);
	}
}

Test(verdict, usage)
{
	struct aj_result r = { 0 };
	struct aj_facts f = { .exited = true,
		              .wait_status = EXIT(3),
		              .usage = { .ru_utime = { 1, 500000 }, .ru_stime = { 0, 250000 }, .ru_maxrss = 2048 } };
	aj_verdict(&f, &plans[false], &r);
	cr_expect_eq(r.cpu_us, 1750000);
	cr_expect_eq(r.peak_memory_bytes, 2 << 20);
	cr_expect(r.exit_code == 3 && r.signal == 0);
	r = (struct aj_result){ 0 };
	f.leaf.peak_bytes = 5 << 20;
	f.wait_status = KILLED(SIGTERM);
	aj_verdict(&f, &plans[false], &r);
	cr_expect_eq(r.peak_memory_bytes, 5 << 20, "the cgroup counts all processes");
	cr_expect(r.exit_code == -1 && r.signal == SIGTERM);
}

/* With a cgroup its counts go into the result, the orphans' included. */
Test(verdict, usage_by_cgroup)
{
	struct aj_result r = { 0 };
	struct aj_facts f = { .exited = true,
		              .usage = { .ru_utime = { 1, 0 } },
		              .leaf = { .knows_cpu = true, .cpu_us = 0, .knows_io = true, .io_read_bytes = 5 } };
	aj_verdict(&f, &plans[false], &r);
	cr_expect_eq(r.cpu_us, 0, "0 is an answer too");
	cr_expect(r.leaf.knows_io && r.leaf.io_read_bytes == 5 && !r.leaf.knows_throttling);
}

Test(verdict, reasons_say_what_was_seen)
{
	static const struct {
		struct aj_facts facts;
		const char *says, *says_not;
	} table[] = {
		{ { .leaf = { .oom = 1, .oom_kills = 2 } },
		  "memory limit of 104857600 bytes reached: the kernel killed the jail (2 kills)",
		  "above" },
		{ { .leaf = { .oom_kills = 2 } }, "above the jail", "limit of" },
		{ { .exited = true, .wait_status = KILLED(SIGXFSZ), .file_limit_bytes = 77 }, "limit of 77 bytes for a file", "reached" },
		{ { .exited = true, .wait_status = EXIT(1), .leaf = REFUSED, .pids_limit = 8 },
		  "process limit of 8 reached: the kernel refused 7",
		  "exit code" },
		{ { .exited = true, .wait_status = EXIT(1), .full = "/dev/shm" }, "`/dev/shm` is full", "exit code" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct aj_result r = { 0 };
		aj_verdict(&table[i].facts, &plans[false], &r);
		cr_expect(strstr(r.reason, table[i].says) && !strstr(r.reason, table[i].says_not), "row %zu: %s", i, r.reason);
	}
}

/* A MemoryError under a cgroup that saw no kill is the snippet's own affair. */
Test(verdict, memory_error_under_a_cgroup)
{
	struct aj_plan plan = plans[true];
	struct aj_result r = { 0 };
	struct aj_facts f = { .exited = true, .usage = { .ru_maxrss = 99 << 10 } };
	char why[100];
	plan.memory_by_rlimit = false;
	r.claim = aj_claim_parse(NO_MEMORY, strlen(NO_MEMORY), why, sizeof why);
	aj_verdict(&f, &plan, &r);
	cr_expect_eq(r.status, AJ_STATUS_ERROR);
	cr_expect_str_eq(r.limit_claimed, "memory");
	aj_result_free(&r);
}

/* The kernel counts no allocation that it refuses, so a limit that MemoryError names is claimed; it is not claimed where it is attested,
 * where there is none, or by another exception. */
/* Without a cgroup nothing attests a refused allocation or fork of a command: the status stays, and a hint says what points to one. */
Test(verdict, rlimits_of_a_command)
{
	static const struct {
		long peak_kib;
		const char *says;
		bool by_rlimit;
		int exit;
		enum { CAPTURED, PASSED_ON, UNREAD } output;
		const char *hint;
	} cases[] = {
		{ 49 << 10, "", true, 1, CAPTURED, "used 49 MiB" },
		{ 9 << 10, "MemoryError\n", true, 1, PASSED_ON, "says `MemoryError`" },
		{ 9 << 10, "no such file\n", true, 1, PASSED_ON, NULL },
		{ 9 << 10, "sh: 0: Cannot fork\n", true, 2, PASSED_ON, "at most 7 processes" },
		{ 9 << 10, "java.lang.OutOfMemoryError: unable to create native thread\n", true, 2, CAPTURED, "raise limits.pids" },
		{ 9 << 10, "RuntimeError: can't start new thread\n", false, 1, CAPTURED, NULL },
		{ 9 << 10, "read: Resource temporarily unavailable\n", true, 1, CAPTURED, NULL },
		{ 9 << 10, "", true, 1, UNREAD, "are not counted" },
		{ 49 << 10, "", true, 1, UNREAD, "used 49 MiB" },
		{ 3 << 10, "", true, 1, UNREAD, NULL },
		{ 9 << 10, "", false, 1, UNREAD, NULL },
		{ 9 << 10, "", true, 0, UNREAD, NULL },
		{ 9 << 10, "MemoryError\n", true, 1, CAPTURED, "says `MemoryError`" },
		{ 9 << 10, "x: Cannot allocate memory\n", true, 12, CAPTURED, "says `Cannot allocate memory`" },
		{ 9 << 10, "==2==ERROR: AddressSanitizer failed to allocate 0xdfff0001000 bytes\n", true, 1, CAPTURED, "use --memory none" },
		{ 9 << 10, "no such file\n", true, 1, CAPTURED, NULL },
		{ 49 << 10, "", true, 0, CAPTURED, NULL },
		{ 49 << 10, "MemoryError", false, 1, CAPTURED, NULL },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct aj_plan plan = { .memory_by_rlimit = cases[i].by_rlimit,
			                .pids_by_rlimit = cases[i].by_rlimit,
			                .memory_bytes = 64 << 20 };
		struct aj_output_buffer passed_on = { .cap_bytes = 1000 };
		struct aj_facts facts = { .exited = true,
			                  .wait_status = EXIT(cases[i].exit),
			                  .usage.ru_maxrss = cases[i].peak_kib,
			                  .pids_limit = 7,
			                  .passed_on = &passed_on,
			                  .unread = cases[i].output == UNREAD };
		struct aj_result result = { .err.cap_bytes = 1000 };
		aj_output_buffer_add(cases[i].output == PASSED_ON ? &passed_on : &result.err, cases[i].says, strlen(cases[i].says));
		aj_verdict(&facts, &plan, &result);
		cr_expect_eq(result.status, cases[i].exit ? AJ_STATUS_ERROR : AJ_STATUS_OK, "row %zu", i);
		cr_expect(cases[i].hint ? strstr(result.hint, cases[i].hint) != NULL : !result.hint[0], "row %zu: %s", i, result.hint);
		cr_expect_eq(result.limits_hit_count, 0, "row %zu", i);
		aj_output_buffer_free(&result.err);
		aj_output_buffer_free(&passed_on);
	}
}

Test(verdict, claimed_limit)
{
	static const struct {
		const char *claim;
		long peak_kib;
		bool no_limit, claimed;
	} table[] = {
		{ NO_MEMORY, 10 << 10, false, true },    { NO_MEMORY, 90 << 10, false, false },
		{ NO_MEMORY, 10 << 10, true, false },    { RAISED, 10 << 10, false, false },
		{ CLAIM("ok"), 10 << 10, false, false },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct aj_plan plan = plans[true];
		struct aj_result r = { 0 };
		struct aj_facts f = { .exited = true, .usage = { .ru_maxrss = table[i].peak_kib } };
		char why[100];
		if (table[i].no_limit) {
			plan.memory_bytes = 0;
			plan.memory_by_rlimit = false;
		}
		r.claim = aj_claim_parse(table[i].claim, strlen(table[i].claim), why, sizeof why);
		cr_assert_not_null(r.claim, "%s", why);
		aj_verdict(&f, &plan, &r);
		cr_expect_eq(r.limit_claimed != NULL, table[i].claimed, "row %zu", i);
		cr_expect_eq(r.limits_hit_count, r.status == AJ_STATUS_OOM, "row %zu", i);
		aj_result_free(&r);
	}
}

/* A jail that lasts has answered, and nobody waited for it. */
Test(verdict, alive)
{
	static const struct {
		const char *claim;
		enum aj_stop stop;
		enum aj_status status;
		const char *limit, *told;
	} table[] = {
		{ CLAIM("ok"), AJ_STOP_NONE, AJ_STATUS_OK, NULL, NULL },
		{ CLAIM("ok"), AJ_STOP_BY_CLOCK, AJ_STATUS_OK, "wall_clock", "wall_clock" },
		{ CLAIM("ok"), AJ_STOP_BY_CALLER, AJ_STATUS_OK, NULL, "caller" },
		{ NO_MEMORY, AJ_STOP_NONE, AJ_STATUS_ERROR, NULL, NULL },
		{ NO_MEMORY, AJ_STOP_BY_CLOCK, AJ_STATUS_TIMEOUT, "wall_clock", "wall_clock" },
		{ NO_MEMORY, AJ_STOP_BY_CALLER, AJ_STATUS_SIGNAL, NULL, "caller" },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
		struct aj_result r = { 0 };
		struct aj_facts f = { .alive = true,
			              .stop = table[i].stop,
			              .interrupt_sent = table[i].stop != AJ_STOP_NONE,
			              .limit_ms = 500,
			              .usage = { .ru_maxrss = 1 } };
		char why[100];
		r.claim = aj_claim_parse(table[i].claim, strlen(table[i].claim), why, sizeof why);
		cr_assert_not_null(r.claim, "%s", why);
		aj_verdict(&f, &plans[true], &r);
		cr_expect_eq(r.status, table[i].status, "row %zu: %s", i, r.reason);
		cr_expect_eq(r.exit_code, -1, "it did not exit");
		if (table[i].told)
			cr_expect_str_eq(r.told_to_stop, table[i].told);
		else
			cr_expect_null(r.told_to_stop);
		cr_expect_eq(r.limits_hit_count, table[i].limit != NULL, "row %zu", i);
		if (table[i].limit)
			cr_expect_str_eq(r.limits_hit[0], table[i].limit);
		aj_result_free(&r);
	}
}
