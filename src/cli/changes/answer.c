/* Reads from the terminal at descriptor 0, in the mode that it has: whole lines, or keys. */
#include "cli/changes/answer.h"

#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"

enum { ANSWER_MS = 300000 };
static const int ends[AJ_ANSWER_SIGNALS] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };

static volatile sig_atomic_t signal_came;

static void on_signal(int sig)
{
	(void)sig;
	signal_came = 1;
}

void aj_answers_begin(struct aj_answers *a)
{
	const struct sigaction ours = { .sa_handler = on_signal };
	sigset_t blocked;
	sigemptyset(&blocked);
	signal_came = 0;
	for (size_t i = 0; i < AJ_ANSWER_SIGNALS; i++) {
		sigaddset(&blocked, ends[i]);
		if (sigaction(ends[i], NULL, &a->old[i]) == 0 && a->old[i].sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, &a->before);
}

void aj_answers_end(const struct aj_answers *a)
{
	sigprocmask(SIG_SETMASK, &a->before, NULL);
	for (size_t i = 0; i < AJ_ANSWER_SIGNALS; i++)
		sigaction(ends[i], &a->old[i], NULL);
}

bool aj_answers_drop_typed(void)
{
	return fflush(stderr) == 0 && tcdrain(2) == 0 && tcflush(0, TCIFLUSH) == 0;
}

bool aj_answers_read(const struct aj_answers *a, char *line, size_t room)
{
	int64_t until_us = aj_in_ms(ANSWER_MS);
	for (size_t bytes = 0;;) {
		int64_t left_us = until_us - aj_now_us();
		struct timespec left = { .tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000 };
		struct pollfd input = { .fd = 0, .events = POLLIN };
		if (left_us <= 0 || signal_came || tcgetpgrp(0) != getpgrp())
			return false;
		if (ppoll(&input, 1, &left, &a->before) <= 0)
			continue;
		ssize_t n = tcgetpgrp(0) == getpgrp() ? read(0, line + bytes, room - 1 - bytes) : -1;
		if (n <= 0)
			return false;
		bytes += (size_t)n;
		if (!strchr("\r\n", line[bytes - 1]) && bytes < room - 1) /* the terminal passes on keys and not lines */
			continue;
		while (bytes && strchr(" \t\r\n", line[bytes - 1]))
			bytes--;
		line[bytes] = '\0';
		return true;
	}
}
