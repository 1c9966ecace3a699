/* Moves bytes between a jail's terminal and its caller's, in the event loop of the run.
 * It keeps no more than one piece for each direction, reads no further while that piece is not written, and interprets no key. */
#include "jail/pty/terminal_relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/fd.h"

enum {
	PATIENCE_MS = 3000,          /* for a terminal that does not read, after a limit has ended the run */
	FOREGROUND_POLL_US = 200000, /* interval at which we check whether we are in the foreground */
	DRAIN_BYTES = 1 << 20        /* more than a pseudoterminal can hold */
};

static void watch_one(struct aj_pty *pty, struct aj_io *io, int fd, uint32_t events)
{
	if (fd < 0 || !events || pty->master < 0)
		aj_loop_unwatch(pty->loop, io);
	else if (aj_loop_watch(pty->loop, io, fd, events) < 0)
		pty->hung_up = true;
}

static void watch(struct aj_pty *pty)
{
	bool full = pty->out.bytes > pty->out.sent;
	watch_one(pty, &pty->jail, pty->master, pty->paused ? 0 : (full ? 0U : EPOLLIN) | (pty->bytes ? EPOLLOUT : 0U));
	watch_one(pty, &pty->keys, pty->hung_up ? -1 : pty->caller.in, pty->attached && !pty->bytes ? EPOLLIN : 0);
	watch_one(pty, &pty->screen, pty->hung_up ? -1 : pty->caller.out, full ? EPOLLOUT : 0);
	if (pty->wanted && !pty->attached && !pty->paused && !pty->hung_up && pty->master >= 0) {
		if (!pty->foreground.place)
			aj_loop_set(pty->loop, &pty->foreground, aj_now_us() + FOREGROUND_POLL_US);
	} else {
		aj_loop_unset(pty->loop, &pty->foreground);
	}
}

static void hang_up(struct aj_pty *pty)
{
	if (pty->hung_up)
		return;
	pty->hung_up = true;
	pty->attached = false;
	aj_buffer_free(&pty->out);
	/* The jail's reads end, as those of any program whose terminal has gone. */
	aj_loop_unwatch(pty->loop, &pty->jail);
	aj_close(&pty->master);
	if (pty->on_hang_up)
		pty->on_hang_up(pty->arg);
}

/* --- output --- */

static void write_screen(struct aj_pty *pty)
{
	struct aj_buffer *out = &pty->out;
	while (out->sent < out->bytes && !pty->hung_up) {
		ssize_t n = write(pty->caller.out, out->data + out->sent, out->bytes - out->sent);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			hang_up(pty);
			return;
		}
		out->sent += (size_t)n;
	}
	out->bytes = out->sent = 0;
}

/* Both terminals would put a carriage return before a line feed: remove the jail's, as the caller's adds its own. `data` has room
 * for one byte before it, for a return that was the last byte read before. */
static size_t strip_returns(struct aj_pty *pty, char **data, size_t bytes)
{
	struct termios jail;
	size_t kept = 0;
	if (pty->returned && (*data)[0] != '\n') {
		*--*data = '\r';
		bytes++;
	}
	pty->returned = false;
	if (!aj_caller_adds_returns(&pty->caller) || pty->master < 0 || tcgetattr(pty->master, &jail) < 0 ||
	    (jail.c_oflag & (OPOST | ONLCR)) != (OPOST | ONLCR))
		return bytes;
	pty->returned = (*data)[bytes - 1] == '\r';
	bytes -= pty->returned;
	for (size_t i = 0; i < bytes; i++)
		if ((*data)[i] != '\r' || i + 1 == bytes || (*data)[i + 1] != '\n')
			(*data)[kept++] = (*data)[i];
	return kept;
}

static void put_screen(struct aj_pty *pty, char *data, size_t bytes)
{
	bytes = strip_returns(pty, &data, bytes);
	char *room = aj_buffer_reserve(&pty->out, bytes + AJ_ESCAPE_MAX);
	aj_escape_time(&pty->filter, aj_now_us());
	pty->out.bytes += aj_escape_filter(&pty->filter, data, bytes, room);
}

/* False: nothing was there. */
static bool read_jail(struct aj_pty *pty)
{
	char data[1 + AJ_PTY_READ];
	ssize_t n;
	do
		n = read(pty->master, data + 1, AJ_PTY_READ);
	while (n < 0 && errno == EINTR);
	if (n > 0) {
		pty->on_output(pty->arg, data + 1, (size_t)n);
		put_screen(pty, data + 1, (size_t)n);
	} else if (n == 0 || errno != EAGAIN) { /* no process has it open any more */
		aj_loop_unwatch(pty->loop, &pty->jail);
		aj_close(&pty->master);
	}
	return n > 0;
}

/* --- keys --- */

static void write_keys(struct aj_pty *pty)
{
	while (pty->at < pty->bytes) {
		ssize_t n = write(pty->master, pty->typed_keys + pty->at, pty->bytes - pty->at);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0)
			break;
		pty->at += (size_t)n;
	}
	pty->at = pty->bytes = 0;
}

static void read_keys(struct aj_pty *pty)
{
	ssize_t n = read(pty->caller.in, pty->typed_keys, sizeof pty->typed_keys);
	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		hang_up(pty);
		return;
	}
	pty->typed = true;
	pty->bytes = (size_t)n;
	write_keys(pty);
}

/* --- events --- */

static void on_jail(struct aj_io *io, uint32_t events)
{
	struct aj_pty *pty = io->arg;
	if (events & EPOLLOUT)
		write_keys(pty);
	if (events & ~EPOLLOUT && pty->out.bytes == pty->out.sent && read_jail(pty))
		write_screen(pty);
	watch(pty);
}

static void on_keys(struct aj_io *io, uint32_t events)
{
	struct aj_pty *pty = io->arg;
	(void)events;
	if (aj_caller_is_foreground(&pty->caller))
		read_keys(pty);
	else
		aj_pty_refresh(pty);
	watch(pty);
}

static void on_screen(struct aj_io *io, uint32_t events)
{
	struct aj_pty *pty = io->arg;
	(void)events;
	write_screen(pty);
	watch(pty);
	if (pty->paused && aj_pty_is_flushed(pty) && pty->on_flushed)
		pty->on_flushed(pty->arg);
}

static void on_foreground_poll(struct aj_timer *timer)
{
	aj_pty_refresh(timer->arg);
}

/* --- life --- */

int aj_pty_open(struct aj_pty *pty, struct aj_loop *loop, int number, bool whole, enum aj_escapes level)
{
	*pty = (struct aj_pty){ .loop = loop, .master = -1, .wanted = whole };
	pty->jail = (struct aj_io){ .fn = on_jail, .arg = pty, .fd = -1 };
	pty->keys = (struct aj_io){ .fn = on_keys, .arg = pty, .fd = -1 };
	pty->screen = (struct aj_io){ .fn = on_screen, .arg = pty, .fd = -1 };
	pty->foreground = (struct aj_timer){ .fn = on_foreground_poll, .arg = pty };
	aj_escape_init(&pty->filter, level);
	return aj_caller_open(&pty->caller, number, whole);
}

static void copy_size(struct aj_pty *pty)
{
	struct winsize size;
	/* The kernel sends the jail SIGWINCH where it has changed. */
	if (pty->master >= 0 && ioctl(pty->caller.in, TIOCGWINSZ, &size) == 0)
		ioctl(pty->master, TIOCSWINSZ, &size);
}

int aj_pty_start(struct aj_pty *pty, int master)
{
	unsigned number;
	if (pty->master >= 0 || pty->hung_up || ioctl(master, TIOCGPTN, &number) < 0 || fcntl(master, F_SETFL, O_NONBLOCK) < 0 ||
	    tcsetattr(master, TCSANOW, &pty->caller.before) < 0) {
		aj_close(&master);
		return -1;
	}
	pty->master = master;
	aj_pty_refresh(pty);
	return 0;
}

void aj_pty_want(struct aj_pty *pty)
{
	pty->wanted = true;
	aj_pty_refresh(pty);
}

static void attach(struct aj_pty *pty)
{
	if (pty->attached)
		return;
	aj_caller_make_raw(&pty->caller);
	pty->attached = pty->caller.raw;
	pty->typed = false;
}

static void detach(struct aj_pty *pty)
{
	aj_caller_restore(&pty->caller);
	pty->attached = false;
}

void aj_pty_refresh(struct aj_pty *pty)
{
	bool front = !pty->hung_up && !pty->paused && pty->master >= 0 && aj_caller_is_foreground(&pty->caller);
	copy_size(pty);
	if (front && pty->wanted)
		attach(pty);
	else
		detach(pty);
	watch(pty);
}

/* The caller's terminal as it was before the run; then as the jail had it. */
static void undo_modes(struct aj_pty *pty)
{
	char text[AJ_MODES_TEXT];
	aj_buffer_add(&pty->out, text, aj_modes_undo(&pty->filter.modes, text));
}

static void set_modes_again(struct aj_pty *pty)
{
	char text[AJ_MODES_TEXT];
	aj_buffer_add(&pty->out, text, aj_modes_again(&pty->filter.modes, text));
	write_screen(pty);
	aj_pty_refresh(pty);
}

int64_t aj_pty_suspend(struct aj_pty *pty, bool group)
{
	sigset_t stop, before;
	int64_t began_us = aj_now_us();
	if (!pty->paused)
		undo_modes(pty);
	write_screen(pty); /* the rest is written after the pause */
	detach(pty);
	pty->typed = false;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	kill(group ? 0 : getpid(), SIGTSTP); /* ignored in a group that no shell could continue */
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (!pty->paused)
		set_modes_again(pty);
	return aj_now_us() - began_us;
}

/* A program that has the whole screen draws it anew when its size changes. */
static void have_redrawn(const struct aj_pty *pty)
{
	struct winsize size;
	if (pty->master < 0 || ioctl(pty->master, TIOCGWINSZ, &size) < 0)
		return;
	size.ws_row++;
	ioctl(pty->master, TIOCSWINSZ, &size);
	size.ws_row--;
	ioctl(pty->master, TIOCSWINSZ, &size);
}

void aj_pty_pause(struct aj_pty *pty, bool paused)
{
	if (pty->paused == paused || pty->hung_up)
		return;
	pty->paused = paused;
	if (!paused) {
		set_modes_again(pty);
		have_redrawn(pty);
		return;
	}
	undo_modes(pty);
	aj_buffer_text(&pty->out, AJ_MODES_ON_CLEAN_LINES);
	write_screen(pty);
	detach(pty);
	watch(pty);
}

bool aj_pty_is_flushed(const struct aj_pty *pty)
{
	return pty->out.bytes == pty->out.sent;
}

void aj_pty_drain(struct aj_pty *pty)
{
	while (pty->master >= 0 && pty->out.bytes < DRAIN_BYTES && read_jail(pty))
		;
	aj_close(&pty->master);
	watch(pty);
}

/* False: the terminal does not read. */
static bool write_rest(struct aj_pty *pty, int timeout_ms)
{
	while (!pty->hung_up && pty->out.bytes > pty->out.sent) {
		if (poll(&(struct pollfd){ .fd = pty->caller.out, .events = POLLOUT }, 1, timeout_ms) == 0)
			return false;
		write_screen(pty);
	}
	return true;
}

/* Drop the terminal's output queue, and restart output stopped by ^S: else our last line and the caller's would wait as well. */
static void discard_output(struct aj_pty *pty)
{
	char line[80];
	snprintf(line, sizeof line, "\030\r\nagentjail: %zu bytes were not shown\r\n", pty->out.bytes - pty->out.sent);
	pty->out.bytes = pty->out.sent = 0;
	tcflush(pty->caller.out, TCOFLUSH);
	tcflow(pty->caller.out, TCOON);
	undo_modes(pty);
	aj_buffer_text(&pty->out, line);
	write_screen(pty);
}

void aj_pty_close(struct aj_pty *pty, bool overdue)
{
	pty->on_hang_up = NULL;
	aj_close(&pty->master);
	watch(pty);
	if (pty->returned)
		aj_buffer_add(&pty->out, "\r", 1);
	undo_modes(pty);
	if (!write_rest(pty, overdue ? PATIENCE_MS : -1))
		discard_output(pty);
	aj_buffer_free(&pty->out);
	aj_caller_close(&pty->caller);
}
