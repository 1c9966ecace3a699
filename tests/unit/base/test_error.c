/* Tests of base/error: first cause wins, advice is given once, long text is cut and terminated.
 * It does not test the wording of any caller. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

Test(error, first_cause_wins)
{
	struct aj_error err = { 0 };
	cr_expect_eq(aj_fail(&err, AJ_EXIT_SETUP, "mounts", EPERM, "mount `%s`", "/proc"), -1);
	cr_expect_eq(aj_fail(&err, AJ_EXIT_USAGE, "later", ENOENT, "another"), -1);
	cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
	cr_expect_eq(err.errnum, EPERM);
	cr_expect_str_eq(err.step, "mounts");
	cr_expect_str_eq(err.cause, "mount `/proc`");
	cr_expect_str_eq(err.fix, "");
}

/* Code decides by the reason; the step and the cause do not matter for it. */
Test(error, reasons)
{
	static const struct {
		int exit_code;
		enum aj_reason reason;
	} rows[] = { { AJ_EXIT_USAGE, AJ_REASON_INPUT }, { AJ_EXIT_SETUP, AJ_REASON_SETUP }, { AJ_EXIT_LIMIT, AJ_REASON_SETUP } };
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_error err = { 0 };
		aj_fail(&err, rows[i].exit_code, "busy", 0, "cause");
		cr_expect_eq(err.reason, rows[i].reason, "row %zu", i);
		aj_fail_because(&err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "later", 0, "another");
		cr_expect_eq(err.reason, rows[i].reason, "row %zu: the first cause wins", i);
	}
	struct aj_error err = { 0 };
	cr_expect_eq(err.reason, AJ_REASON_NONE);
	cr_expect_eq(aj_fail_because(&err, AJ_REASON_CGROUP, AJ_EXIT_SETUP, "cgroup", EBUSY, "make %d", 1), -1);
	cr_expect(err.reason == AJ_REASON_CGROUP && err.exit_code == AJ_EXIT_SETUP && err.errnum == EBUSY);
	cr_expect_str_eq(err.cause, "make 1");
}

Test(error, advice_is_given_once)
{
	struct aj_error err = { 0 };
	aj_advise(&err, "do %d", 1);
	aj_advise(&err, "do %d", 2);
	cr_expect_str_eq(err.fix, "do 1");
}

Test(error, text)
{
	struct aj_error err = { 0 };
	char text[200], want[200];
	aj_fail(&err, AJ_EXIT_SETUP, "clone", ENOENT, "cause");
	snprintf(want, sizeof want, "clone: cause: %s", strerror(ENOENT));
	cr_expect_eq(aj_error_text(&err, text, sizeof text), text);
	cr_expect_str_eq(text, want);
	cr_expect_str_eq(aj_error_cause(&err, text, sizeof text), strchr(want, ' ') + 1);
	err.errnum = 0;
	cr_expect_str_eq(aj_error_text(&err, text, sizeof text), "clone: cause");
	cr_expect_str_eq(aj_error_cause(&err, text, sizeof text), "cause");
	cr_expect_str_eq(aj_error_text(&err, text, 8), "clone: ");
	cr_expect_str_eq(aj_error_text(&err, text, 4), "clo");
}

Test(error, long_text_is_cut)
{
	struct aj_error err = { 0 };
	char big[3000];
	memset(big, 'x', sizeof big - 1);
	big[sizeof big - 1] = '\0';
	aj_fail(&err, AJ_EXIT_SETUP, big, 0, "%s", big);
	aj_advise(&err, "%s", big);
	cr_expect_eq(strlen(err.step), sizeof err.step - 1);
	cr_expect_eq(strlen(err.cause), sizeof err.cause - 1);
	cr_expect_eq(strlen(err.fix), sizeof err.fix - 1);
}

/* Scripts depend on these numbers. */
Test(error, exit_codes_are_fixed)
{
	cr_expect_eq(AJ_EXIT_ERROR, 1);
	cr_expect_eq(AJ_EXIT_USAGE, 2);
	cr_expect_eq(AJ_EXIT_LIMIT, 122);
	cr_expect_eq(AJ_EXIT_PROTOCOL, 123);
	cr_expect_eq(AJ_EXIT_TIMEOUT, 124);
	cr_expect_eq(AJ_EXIT_SETUP, 125);
	cr_expect_eq(AJ_EXIT_REJECTED, 126);
	cr_expect_eq(AJ_EXIT_NOT_FOUND, 127);
	cr_expect_eq(AJ_EXIT_SIGNAL, 128);
	cr_expect_eq(AJ_EXIT_OOM, 137);
}
