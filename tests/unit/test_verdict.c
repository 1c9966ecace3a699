/* Tests of run/verdict: every order of events, as a table from facts to a status.
 * Nothing is run: facts are invented, also impossible ones, and the first cause must win. */
#include <criterion/criterion.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "run/verdict.h"

#define EXIT(code) ((code) << 8)
#define KILLED(sig) (sig)
#define RAISED "{\"status\":\"error\",\"error\":{\"type\":\"ValueError\"}}"
#define NO_MEMORY "{\"status\":\"error\",\"error\":{\"type\":\"MemoryError\"}}"
#define CLAIM(status) "{\"status\":\"" status "\"}"

struct row {
	const char *what;
	bool snippet;
	struct aj_facts facts;
	const char *claim;
	/* expected */
	enum aj_status status;
	const char *limit;
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
	{ "timeout beats oom", true, { .cause = AJ_CAUSE_TIMEOUT, .cgroup_oom_kills = 1 }, NULL, AJ_STATUS_TIMEOUT, "wall_clock", 124 },
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
	{ "output beats oom", true, { .cause = AJ_CAUSE_OUTPUT, .cgroup_oom_kills = 3 }, NULL, AJ_STATUS_LIMIT, "output", 122 },

	{ "Ctrl-C", true, { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGINT }, NULL, AJ_STATUS_SIGNAL, NULL, 130 },
	{ "SIGTERM",
	  true,
	  { .cause = AJ_CAUSE_INTERRUPT, .interrupt_signal = SIGTERM, .exited = true, .wait_status = KILLED(SIGKILL) },
	  NULL,
	  AJ_STATUS_SIGNAL,
	  NULL,
	  143 },
	{ "protocol", true, { .cause = AJ_CAUSE_PROTOCOL, .protocol_why = "odd" }, NULL, AJ_STATUS_PROTOCOL_ERROR, NULL, 123 },
	{ "protocol beats the claim before", true, { .cause = AJ_CAUSE_PROTOCOL, .exited = true }, CLAIM("ok"), AJ_STATUS_PROTOCOL_ERROR, NULL, 123 },

	{ "oom", true, { .cgroup_oom_kills = 1, .exited = true, .wait_status = KILLED(SIGKILL) }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom, init too", true, { .cgroup_oom_kills = 2 }, NULL, AJ_STATUS_OOM, "memory", 137 },
	{ "oom beats a claim", true, { .cgroup_oom_kills = 1, .exited = true }, CLAIM("ok"), AJ_STATUS_OOM, "memory", 137 },
	{ "oom of a command", false, { .cgroup_oom_kills = 1, .exited = true, .wait_status = EXIT(1) }, NULL, AJ_STATUS_OOM, "memory", 137 },

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
	{ "lingered, oom", true, { .lingered = true, .cgroup_oom_kills = 1 }, CLAIM("ok"), AJ_STATUS_OOM, "memory", 137 },
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
		cr_expect((!r.limit_hit && !row->limit) || (r.limit_hit && row->limit && strcmp(r.limit_hit, row->limit) == 0),
		          "%s: limit %s", row->what, r.limit_hit ? r.limit_hit : "none");
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
		cr_expect_null(r.limit_hit, "%s", rows[i].what);
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
	f.cgroup_peak_bytes = 5 << 20;
	f.wait_status = KILLED(SIGTERM);
	aj_verdict(&f, &plans[false], &r);
	cr_expect_eq(r.peak_memory_bytes, 5 << 20, "the cgroup counts all processes");
	cr_expect(r.exit_code == -1 && r.signal == SIGTERM);
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
	aj_result_free(&r);
}
