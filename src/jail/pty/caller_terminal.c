/* Changes the modes of the caller's terminal, and undoes that, also when a signal ends this process.
 * It never waits for the terminal, and sets no flag on the open file description that our caller shares. */
#include "jail/pty/caller_terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

/* Signals that would end this process at once; those that a run forwards arrive here only after it. */
static const int fatal[] = { SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGILL,  SIGTRAP, SIGABRT,
	                     SIGBUS, SIGFPE, SIGSEGV, SIGSYS,  SIGPIPE, SIGALRM, SIGXCPU };
enum { FATAL = sizeof fatal / sizeof *fatal };

/* For the handler: one terminal at a time. */
static struct {
	volatile sig_atomic_t raw;
	pid_t owner; /* our children inherit the handler */
	int fd;
	struct termios before;
	struct sigaction old[FATAL];
} restored = { .fd = -1 };

static void on_fatal(int sig)
{
	if (restored.raw && getpid() == restored.owner)
		tcsetattr(restored.fd, TCSANOW, &restored.before);
	raise(sig); /* SA_RESETHAND: by default, once this handler returns */
}

static void watch_fatal(void)
{
	restored.owner = getpid();
	for (int i = 0; i < FATAL; i++) {
		struct sigaction ours = { .sa_handler = on_fatal, .sa_flags = SA_RESETHAND };
		if (sigaction(fatal[i], NULL, &restored.old[i]) == 0 && restored.old[i].sa_handler == SIG_DFL)
			sigaction(fatal[i], &ours, NULL);
	}
}

static void unwatch_fatal(void)
{
	for (int i = 0; i < FATAL; i++)
		if (restored.old[i].sa_handler == SIG_DFL)
			sigaction(fatal[i], &restored.old[i], NULL);
}

static int open_own(int number, int mode)
{
	int fd = aj_fd_reopen(number, mode | O_NONBLOCK | O_NOCTTY);
	/* Its file may belong to another user since su(1). */
	return fd >= 0 ? fd : fcntl(number, F_DUPFD_CLOEXEC, 3);
}

int aj_caller_open(struct aj_caller_terminal *t, int number, bool whole)
{
	*t = (struct aj_caller_terminal){ .in = open_own(number, O_RDONLY), .out = open_own(number, O_WRONLY), .whole = whole };
	if (t->in < 0 || t->out < 0 || tcgetattr(t->in, &t->before) < 0) {
		aj_close(&t->in);
		aj_close(&t->out);
		return -1;
	}
	restored.fd = t->in;
	watch_fatal();
	return 0;
}

void aj_caller_close(struct aj_caller_terminal *t)
{
	aj_caller_restore(t);
	unwatch_fatal();
	restored.fd = -1;
	aj_close(&t->in);
	aj_close(&t->out);
}

bool aj_caller_same(int one, int other)
{
	/* Of /dev/tty too this is the number of the terminal itself. */
	unsigned numbers[2];
	return one == other ||
	       (ioctl(one, TIOCGDEV, &numbers[0]) == 0 && ioctl(other, TIOCGDEV, &numbers[1]) == 0 && numbers[0] == numbers[1]);
}

bool aj_caller_is_foreground(const struct aj_caller_terminal *t)
{
	pid_t front = tcgetpgrp(t->in);
	return front <= 0 || front == getpgrp();
}

void aj_caller_make_raw(struct aj_caller_terminal *t)
{
	struct termios raw;
	if (t->raw || tcgetattr(t->in, &t->before) < 0)
		return;
	raw = t->before;
	cfmakeraw(&raw);
	if (!t->whole) {
		raw.c_oflag = t->before.c_oflag;
		raw.c_lflag |= t->before.c_lflag & (ISIG | NOFLSH);
	}
	restored.before = t->before;
	restored.raw = t->raw = true;
	if (tcsetattr(t->in, TCSANOW, &raw) < 0)
		restored.raw = t->raw = false;
}

/* TCSADRAIN would wait for the reader of the terminal's other end. Our signals of job control are blocked, so this works from the
 * background too, but there the modes are others'. */
void aj_caller_restore(struct aj_caller_terminal *t)
{
	if (t->raw && aj_caller_is_foreground(t))
		tcsetattr(t->in, TCSANOW, &t->before);
	restored.raw = t->raw = false;
}

bool aj_caller_adds_returns(const struct aj_caller_terminal *t)
{
	return !(t->raw && t->whole) && (t->before.c_oflag & (OPOST | ONLCR)) == (OPOST | ONLCR);
}
