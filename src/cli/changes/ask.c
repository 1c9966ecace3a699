/* The question at the end of a run at a terminal: take the changes into the workspace, look at them, forget them, or keep them for later.
 * No process of the jail is left. Its command saw the keys that its person typed, and chose when it ended: so what was typed before the
 * question is dropped, and an answer that does something has the question's number. Anything else keeps the changes. */
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <termios.h>
#include <unistd.h>

#include "base/fd.h"
#include "cli/changes/changescmd.h"
#include "cli/command.h"

enum { TRIES = 3, FIRST_NUMBER = 10, NUMBERS = 90, ANSWER_MS = 300000 };
enum answer { NONE, APPLY, DIFF, KEEP, DISCARD };

static volatile sig_atomic_t terminated;

static void on_signal(int sig)
{
	(void)sig;
	terminated = 1;
}

/* --- an answer --- */

static enum answer find_answer(const char *line, unsigned number)
{
	static const struct {
		const char *words[2];
		enum answer answer;
		bool numbered;
	} rows[] = { { { "y", "yes" }, APPLY, true },
		     { { "d", "diff" }, DIFF, false },
		     { { "k", "keep" }, KEEP, false },
		     { { "x", "discard" }, DISCARD, true } };
	char full[32];
	if (!*line)
		return KEEP;
	for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
		const char *word = rows[i / 2].words[i % 2];
		snprintf(full, sizeof full, "%s %u", word, number);
		if (strcmp(line, full) == 0 || (!rows[i / 2].numbered && strcmp(line, word) == 0))
			return rows[i / 2].answer;
	}
	return NONE;
}

/* A line without its end. False: none came in time, the terminal is another program's, or a signal asked us to end. */
static bool read_line(char *line, size_t room, const sigset_t *while_waiting)
{
	int64_t until_us = aj_in_ms(ANSWER_MS);
	for (size_t bytes = 0;;) {
		int64_t left_us = until_us - aj_now_us();
		struct timespec left = { .tv_sec = left_us / 1000000, .tv_nsec = left_us % 1000000 * 1000 };
		struct pollfd input = { .fd = 0, .events = POLLIN };
		if (left_us <= 0 || terminated || tcgetpgrp(0) != getpgrp())
			return false;
		if (ppoll(&input, 1, &left, while_waiting) <= 0)
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

/* --- the question --- */

static bool pose(const char *folder, const char *repository, unsigned *number)
{
	unsigned random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		return false;
	*number = FIRST_NUMBER + random % NUMBERS;
	fputs("\nagentjail: apply these changes to `", stderr);
	aj_path_print(folder, stderr);
	if (repository) {
		fputs("` and `", stderr);
		aj_path_print(repository, stderr);
	}
	fputs("`?\n", stderr);
	/* The terminal has the question before it gets the words of an answer, and the keys that were typed until then are dropped. */
	if (fflush(stderr) != 0 || tcdrain(2) < 0 || tcflush(0, TCIFLUSH) < 0)
		return false;
	fprintf(stderr, "  y %u: yes, d: show the diff, Enter: keep them for later, x %u: discard them: ", *number, *number);
	return true;
}

static void act(const char *verb, const char *id)
{
	char *argv[] = { (char *)(uintptr_t) "changes", (char *)(uintptr_t)verb, (char *)(uintptr_t)id, NULL };
	aj_cmd_changes(3, argv);
	fflush(stdout);
}

static enum answer ask(const char *id, const char *folder, const char *repository, const sigset_t *while_waiting)
{
	unsigned number;
	char line[80];
	for (int tries = 0; tries < TRIES && pose(folder, repository, &number);) {
		if (!read_line(line, sizeof line, while_waiting)) {
			fputc('\n', stderr);
			break;
		}
		enum answer answer = find_answer(line, number);
		if (answer == DIFF)
			act("diff", id);
		else if (answer != NONE)
			return answer;
		else
			tries++;
	}
	return KEEP;
}

void aj_changes_ask(const char *id, const char *folder, const char *repository)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	struct sigaction old[sizeof ends / sizeof *ends];
	sigset_t blocked, before;
	sigemptyset(&blocked);
	terminated = 0;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
		const struct sigaction ours = { .sa_handler = on_signal };
		sigaddset(&blocked, ends[i]);
		if (sigaction(ends[i], NULL, &old[i]) == 0 && old[i].sa_handler == SIG_DFL)
			sigaction(ends[i], &ours, NULL);
	}
	sigprocmask(SIG_BLOCK, &blocked, &before);
	enum answer answer = ask(id, folder, repository, &before);
	sigprocmask(SIG_SETMASK, &before, NULL);
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		sigaction(ends[i], &old[i], NULL);
	if (answer == APPLY || answer == DISCARD)
		act(answer == APPLY ? "apply" : "discard", id);
	else
		fprintf(stderr, "agentjail: kept: `agentjail changes apply %s` takes them, and the next run with this policy continues with them\n",
		        id);
}
