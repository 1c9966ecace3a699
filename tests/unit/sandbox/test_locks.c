/* Tests of the recheck of a lock call that passed in a process with several threads: when the call counts as over.
 * The thread's /proc folder is an invented one. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "sandbox/mediate/locks.h"

enum { NUMBER = 100 };

static char folder[] = "/tmp/test_locks.XXXXXX";

static void make(void)
{
	char task[sizeof folder + 8];
	cr_assert_not_null(mkdtemp(folder));
	snprintf(task, sizeof task, "%s/task", folder);
	cr_assert_eq(mkdir(task, 0700), 0);
}

static void drop(void)
{
	char command[sizeof folder + 8];
	snprintf(command, sizeof command, "rm -rf %s", folder);
	cr_assert_eq(system(command), 0);
}
TestSuite(locks, .init = make, .fini = drop);

static void put(const char *file, const char *text)
{
	char path[sizeof folder + 16];
	snprintf(path, sizeof path, "%s/%s", folder, file);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	cr_assert(fd >= 0 && aj_write_all(fd, text, strlen(text)) == 0);
	close(fd);
}

static bool is_over(char state, int user, int system, const char *call)
{
	char stat[128];
	/* The name may have spaces and parentheses; user and system are the 14th and 15th field. */
	snprintf(stat, sizeof stat, "7 (a) R 9) %c 1 7 7 0 -1 64 0 0 0 0 %d %d 0 0 20 0 3 0\n", state, user, system);
	put("stat", stat);
	put("syscall", call);
	struct aj_locks l = { .recheck_us = 1 };
	l.rechecks[0] = (struct aj_lock_recheck){ .tid = 7, .number = NUMBER, .ticks = 10 };
	l.rechecks[0].thread = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	l.rechecks[0].process = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
	cr_assert_not(aj_locks_due(&l, -1));
	bool over = l.rechecks[0].number < 0;
	cr_assert_eq(over, l.recheck_us == 0, "a recheck that is pending has a time");
	aj_locks_close(&l);
	return over;
}

Test(locks, a_call_is_rechecked_until_it_is_over)
{
	char in_call[64], other_number[64], other_call[64];
	snprintf(in_call, sizeof in_call, "%d 0x%x 0x6 0x7f00 0x0 0x0 0x0 0x7ffc 0x7f11\n", SYS_fcntl, NUMBER);
	snprintf(other_number, sizeof other_number, "%d 0x%x 0x6 0x7f00 0x0 0x0 0x0 0x7ffc 0x7f11\n", SYS_fcntl, NUMBER + 1);
	snprintf(other_call, sizeof other_call, "%d 0x%x 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f11\n", SYS_nanosleep, NUMBER);
	const struct {
		const char *name;
		char state;
		int user, system;
		const char *call;
		bool over;
	} rows[] = {
		{ "it sleeps in the call", 'D', 6, 4, in_call, false },
		{ "it runs", 'R', 6, 4, "running\n", false },
		{ "it began to run between the two looks", 'S', 6, 4, "running\n", false },
		{ "it sleeps in another call", 'S', 6, 4, other_call, true },
		{ "it sleeps in a call of another descriptor", 'S', 6, 4, other_number, true },
		{ "it sleeps in no call", 'S', 6, 4, "-1 0x7ffc 0x7f11\n", true },
		/* Both times are rounded down: two ticks can be microseconds, which a thread can choose. */
		{ "each time passed a whole tick", 'D', 7, 5, in_call, false },
		{ "the same, while it runs", 'R', 7, 5, "running\n", false },
		{ "it has used the time of many calls", 'R', 16, 5, "running\n", true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(is_over(rows[i].state, rows[i].user, rows[i].system, rows[i].call), rows[i].over, "%s", rows[i].name);
}
