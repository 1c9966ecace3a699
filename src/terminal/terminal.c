/* Decides which of our standard input, output and error a command gets, and restores their state after it.
 * It never waits for a terminal: a stopped one is restarted first, and pending output is not drained. */
#include "terminal/terminal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

/* An ordinary user's jail has that user's id outside, and so may chmod the terminal. */
enum { OF_OTHERS = S_IRGRP | S_IWGRP | S_IROTH | S_IWOTH };
/* The flags that F_SETFL can change. */
enum { CHANGEABLE = O_APPEND | O_ASYNC | O_DIRECT | O_NOATIME | O_NONBLOCK };

/* Is it a terminal whose foreground process group is not ours? A background job must neither read its input nor set its modes. */
static bool is_foreign_terminal(int fd)
{
	pid_t foreground = isatty(fd) ? tcgetpgrp(fd) : -1;
	return foreground > 0 && foreground != getpgrp();
}

/* Is output copied instead of inherited? A holder of a file's descriptor can truncate the file and overwrite what others appended. */
static bool is_pumped(int fd, struct stat *st)
{
	return fstat(fd, st) == 0 && (S_ISREG(st->st_mode) || is_foreign_terminal(fd));
}

/* Reopen a file on 0 that is open for reading and writing as read-only, at the same offset; a write-only one is no input. */
static int reopen_read_only(struct aj_request *request, struct aj_error *err)
{
	struct stat st;
	int flags = fcntl(0, F_GETFL);
	if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY || fstat(0, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	if ((flags & O_ACCMODE) == O_WRONLY) {
		request->no_input = true;
		return 0;
	}
	off_t at = lseek(0, 0, SEEK_CUR);
	cleanup_fd int fd = aj_fd_reopen(0, O_RDONLY | O_NOCTTY);
	if (fd >= 0 && lseek(fd, at, SEEK_SET) == at && dup2(fd, 0) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "input", errno,
	        "standard input is a file that is open for writing too, and it cannot be reopened read-only");
	aj_advise(err, "open the file for reading only: `agentjail run ... <FILE`");
	return -1;
}

/* The name of a terminal's type, as it may stand in the terminfo database; NULL for any other text. */
static const char *terminal_type(void)
{
	const char *term = getenv("TERM");
	size_t bytes = term ? strspn(term, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-+._") : 0;
	return bytes && bytes <= 64 && term[bytes] == '\0' ? term : NULL;
}

int aj_terminal_choose(struct aj_request *request, struct aj_error *err)
{
	struct stat as_out, as_err;
	/* In a pipeline its other processes need the foreground too. */
	request->terminal_fd = tcgetpgrp(0) == getpgrp() && tcgetpgrp(1) == getpgrp() ? 0 : -1;
	request->no_input = is_foreign_terminal(0);
	if (reopen_read_only(request, err) < 0)
		return -1;
	bool pump_out = is_pumped(1, &as_out), pump_err = is_pumped(2, &as_err);
	request->terminal = (!request->no_input && isatty(0)) ||
	                    (!request->capture && ((!pump_out && isatty(1)) || (!pump_err && isatty(2))));
	request->term = request->terminal ? terminal_type() : NULL;
	request->pump = (pump_out ? AJ_PUMP_OUT : 0U) | (pump_err ? AJ_PUMP_ERR : 0U);
	if (pump_out && pump_err && as_out.st_dev == as_err.st_dev && as_out.st_ino == as_err.st_ino)
		request->pump |= AJ_PUMP_JOINED;
	return 0;
}

void aj_terminal_save(struct aj_terminal *saved)
{
	struct stat st;
	saved->terminal_fd = -1;
	for (int fd = 2; fd >= 0; fd--) {
		saved->flags[fd] = fcntl(fd, F_GETFL);
		/* A regular file as output is not inherited, so the command cannot have changed its permissions. */
		bool given = fstat(fd, &st) == 0 && (fd == 0 || !S_ISREG(st.st_mode));
		saved->closed[fd] = given ? ~st.st_mode & OF_OTHERS : 0;
		if (isatty(fd))
			saved->terminal_fd = fd;
	}
	if (saved->terminal_fd >= 0 && tcgetattr(saved->terminal_fd, &saved->modes) < 0)
		saved->terminal_fd = -1;
}

/* Is our process group without other processes, such as the rest of a pipeline? Only then has the command changed the modes. */
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

static void restore_terminal(const struct aj_terminal *saved, bool ours)
{
	struct termios now;
	int fd = saved->terminal_fd;
	if (ours)
		tcsetpgrp(fd, getpgrp());
	else if (tcgetpgrp(fd) != getpgrp())
		return;
	/* TCOOFF first: TCOON restarts only output that TCOOFF has stopped, and a key may have stopped it. */
	tcflow(fd, TCOOFF);
	tcflow(fd, TCOON);
	/* TCSADRAIN would wait for the reader of the terminal's other end. */
	/* If only padding differs, setting the modes again is harmless. NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c) */
	if (tcgetattr(fd, &now) < 0 || (memcmp(&now, &saved->modes, sizeof now) != 0 && (ours || is_alone())))
		tcsetattr(fd, TCSANOW, &saved->modes);
}

void aj_terminal_restore(const struct aj_terminal *saved, bool ours)
{
	sigset_t ttou, before;
	struct stat st;
	for (int fd = 0; fd <= 2; fd++) {
		int now = fcntl(fd, F_GETFL);
		if (now >= 0 && saved->flags[fd] >= 0 && ((now ^ saved->flags[fd]) & CHANGEABLE))
			fcntl(fd, F_SETFL, saved->flags[fd]);
		if (saved->closed[fd] && fstat(fd, &st) == 0 && (st.st_mode & saved->closed[fd]))
			fchmod(fd, st.st_mode & 07777 & ~saved->closed[fd]);
	}
	if (saved->terminal_fd < 0)
		return;
	/* A background process may do this only while it blocks SIGTTOU. */
	sigemptyset(&ttou);
	sigaddset(&ttou, SIGTTOU);
	sigprocmask(SIG_BLOCK, &ttou, &before);
	restore_terminal(saved, ours);
	sigprocmask(SIG_SETMASK, &before, NULL);
}
