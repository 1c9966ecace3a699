/* Rows of unsent reports: what a helper has moved, seen from another process, also while it lives and after it was killed. */
#include <criterion/criterion.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "network/helper/unsent.h"

struct row {
	struct aj_unsent_row row;
	int number;
};

enum { ROWS = 3 };

static struct aj_unsent unsent;

static struct row *take(int number)
{
	struct row *row = (struct row *)(void *)aj_unsent_take(&unsent);
	if (row)
		row->number = number;
	return row;
}

/* The numbers of the rows that are in use, as digits. */
static int found(bool killed, uint64_t *ret_written)
{
	struct row row;
	int numbers = 0;
	*ret_written = 0;
	for (size_t at = 0; aj_unsent_next(&unsent, killed, &at, &row);) {
		numbers = 10 * numbers + row.number;
		*ret_written += row.row.out.written;
	}
	return numbers;
}

Test(unsent, rows_of_a_process_that_is_killed)
{
	struct aj_error err = { 0 };
	uint64_t written;
	cr_assert_eq(aj_unsent_open(&unsent, ROWS, sizeof(struct row), "test", &err), 0);
	cr_expect_eq(found(true, &written), 0);
	pid_t pid = fork();
	if (pid == 0) {
		struct row *rows[ROWS] = { take(1), take(2), take(3) };
		for (int i = 0; i < ROWS; i++)
			rows[i]->row.out = (struct aj_byte_counts){ .read = 100, .written = 40 };
		if (aj_unsent_take(&unsent)) /* all are taken */
			_exit(1);
		aj_unsent_release(&unsent, &rows[1]->row);
		kill(getpid(), SIGKILL);
	}
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status));
	cr_expect(found(false, &written) == 13 && written == 80);
	cr_expect(found(true, &written) == 13 && written == 200);
	cr_expect(!aj_unsent_has_stopped(&unsent));
	struct row *again = take(4); /* the one that was given back, zeroed */
	cr_assert(again);
	cr_expect(again->row.out.read == 0 && found(false, &written) == 143);
	cr_expect(!aj_unsent_stop_asked(&unsent));
	aj_unsent_ask_stop(&unsent);
	cr_expect(aj_unsent_stop_asked(&unsent));
	aj_unsent_stopped(&unsent);
	cr_expect(aj_unsent_has_stopped(&unsent));
	aj_unsent_close(&unsent);
	cr_expect_eq(found(true, &written), 0);
}

/* What a helper shares with its supervisor is no memory of the helpers that come later. */
Test(unsent, later_children_do_not_have_it)
{
	struct aj_error err = { 0 };
	cr_assert_eq(aj_unsent_open(&unsent, ROWS, sizeof(struct row), "test", &err), 0);
	aj_unsent_dont_fork(&unsent);
	pid_t pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL); /* a sanitizer's handler exits */
		aj_unsent_ask_stop(&unsent);
		_exit(0);
	}
	int status;
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
	cr_expect(!aj_unsent_stop_asked(&unsent));
	aj_unsent_close(&unsent);
}
