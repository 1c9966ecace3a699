/* Which of our standard input, output and error a command gets, and how they are put in order after it.
 * It never waits for a terminal: one that is stopped is started first, and nothing here drains what it has not shown yet. */
#include "cli/lent.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What F_SETFL can change. */
enum { CHANGEABLE = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK };

/* A terminal that belongs to the foreground of somebody else: a job in the background must neither read its keys nor set its modes. */
static bool is_foreign_terminal(int fd)
{
	pid_t foreground = isatty(fd) ? tcgetpgrp(fd) : -1;
	return foreground > 0 && foreground != getpgrp();
}

/* Whoever holds a descriptor of a file can truncate it, and write over what others have appended. */
static bool is_pumped(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && (S_ISREG(st->st_mode) || is_foreign_terminal(fd));
}

/* A file that is open for writing too becomes one for reading, at the same place. */
static void close_for_writing(void)
{
	struct stat st;
	int flags = fcntl(0, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(0, &st) < 0 || !S_ISREG(st.st_mode))
		return;
	off_t at = lseek(0, 0, SEEK_CUR);
	int fd = open("/proc/self/fd/0", O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd >= 0 && lseek(fd, at, SEEK_SET) == at)
		dup2(fd, 0);
	if (fd >= 0)
		close(fd);
}

void aj_lent_choose(struct aj_request *request)
{
	struct stat out, err;
	/* In a pipeline the others need the foreground too. */
	request->terminal_fd = tcgetpgrp(0) == getpgrp() && tcgetpgrp(1) == getpgrp() ? 0 : -1;
	request->no_input = is_foreign_terminal(0);
	close_for_writing();
	bool pump_out = is_pumped(1, &out), pump_err = is_pumped(2, &err);
	request->pump = (pump_out ? AJ_PUMP_OUT : 0U) | (pump_err ? AJ_PUMP_ERR : 0U);
	if (pump_out && pump_err && out.st_dev == err.st_dev && out.st_ino == err.st_ino)
		request->pump |= AJ_PUMP_JOINED;
}

void aj_lent_remember(struct aj_lent *lent)
{
	lent->terminal_fd = -1;
	for (int fd = 2; fd >= 0; fd--) {
		lent->flags[fd] = fcntl(fd, F_GETFL);
		if (isatty(fd))
			lent->terminal_fd = fd;
	}
	if (lent->terminal_fd >= 0 && tcgetattr(lent->terminal_fd, &lent->modes) < 0)
		lent->terminal_fd = -1;
}

/* Nobody else in our process group, as the rest of a pipeline would be: only then are changed modes the command's doing. */
static bool is_alone(void)
{
	DIR *processes = opendir("/proc");
	const struct dirent *entry;
	bool alone = processes;
	while (alone && (entry = readdir(processes))) {
		pid_t pid = (pid_t)strtoul(entry->d_name, NULL, 10);
		alone = pid <= 0 || pid == getpid() || getpgid(pid) != getpgrp();
	}
	if (processes)
		closedir(processes);
	return alone;
}

static void restore_terminal(const struct aj_lent *lent, bool ours)
{
	struct termios now;
	int fd = lent->terminal_fd;
	if (ours)
		tcsetpgrp(fd, getpgrp());
	else if (tcgetpgrp(fd) != getpgrp())
		return;
	/* Off first: the kernel starts by TCOON only what was stopped by TCOOFF, and a key may have stopped it. */
	tcflow(fd, TCOOFF);
	tcflow(fd, TCOON);
	/* TCSADRAIN would wait for whoever reads the terminal's other end. */
	if (tcgetattr(fd, &now) < 0 || (memcmp(&now, &lent->modes, sizeof now) != 0 && (ours || is_alone())))
		tcsetattr(fd, TCSANOW, &lent->modes);
}

void aj_lent_restore(const struct aj_lent *lent, bool ours)
{
	sigset_t ttou, before;
	for (int fd = 0; fd <= 2; fd++) {
		int now = fcntl(fd, F_GETFL);
		if (now >= 0 && lent->flags[fd] >= 0 && ((now ^ lent->flags[fd]) & CHANGEABLE))
			fcntl(fd, F_SETFL, lent->flags[fd]);
	}
	if (lent->terminal_fd < 0)
		return;
	/* From the background all of it takes a blocked SIGTTOU. */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	restore_terminal(lent, ours);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
