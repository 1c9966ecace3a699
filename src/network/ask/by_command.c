/* Asks through a shell command of the host, one process for each question: the question on its standard input, the answer as its
 * first line of output. The command's text has no part of a question. A command that is late, or whose supervisor has died, is
 * killed with its process group. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/pidfd.h"
#include "network/ask/ask.h"
#include "network/helper/host_command.h"

static const char no_answer[] = "this name and port are not on the jail's list, and the command that is asked gave no answer";

static void on_output(struct aj_io *io, uint32_t events)
{
	struct aj_asked *q = io->arg;
	uint32_t id;
	enum aj_egress_verdict verdict;
	(void)events;
	ssize_t n = read(io->fd, q->line + q->bytes, sizeof q->line - q->bytes);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	q->bytes += n > 0 ? (size_t)n : 0;
	const char *newline = memchr(q->line, '\n', q->bytes);
	if (!newline && n > 0 && q->bytes < sizeof q->line)
		return;
	size_t bytes = newline ? (size_t)(newline - q->line) : q->bytes;
	/* The id may be left away: there is one question. */
	bool good = aj_ask_read_line(q->line, bytes, &id, &verdict) && (id == 0 || id == q->id);
	aj_asked_end(q, good ? verdict : AJ_EGRESS_DENY,
	             good ? "this name and port are not on the jail's list, and the answer was no" : no_answer);
}

static bool put_question(struct aj_asked *q)
{
	char line[AJ_ASK_LINE_BYTES];
	size_t bytes = aj_ask_write_line(q, line);
	cleanup_fd int in = -1, to = -1, from = -1, out = -1;
	int ends[2];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	in = ends[0], to = ends[1];
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	from = ends[0], out = ends[1];
	/* The line is shorter than a pipe's room, so this does not wait. */
	if (aj_fd_move_high(&in) < 0 || aj_fd_move_high(&out) < 0 || aj_fd_move_high(&from) < 0 ||
	    fcntl(from, F_SETFL, O_NONBLOCK) < 0 || aj_write_all(to, line, bytes) < 0)
		return false;
	pid_t pid = aj_host_command_start(&(struct aj_host_command){
	    .text = q->asker->whom.command, .in = in, .out = out, .whole_group = true });
	if (pid < 0)
		return false;
	q->pid = pid;
	q->pidfd = aj_pidfd_open(pid);
	q->out = (struct aj_io){ .fn = on_output, .arg = q, .fd = -1 };
	return q->pidfd >= 0 && aj_loop_watch(q->asker->loop, &q->out, aj_steal(&from), EPOLLIN) == 0;
}

static void drop_question(struct aj_asked *q)
{
	int fd = q->out.fd;
	aj_loop_unwatch(q->asker->loop, &q->out);
	aj_close(&fd);
	if (q->pid > 0)
		kill(-q->pid, SIGKILL); /* a child of ours that was not reaped: so its process group is its own */
	if (q->pidfd >= 0)
		aj_pidfd_end(&q->pidfd, 0);
	else if (q->pid > 0)
		waitpid(q->pid, NULL, 0);
	q->pid = 0;
}

static void close_way(struct aj_asker *a)
{
	(void)a;
}

const struct aj_ask_way aj_ask_by_command = { no_answer, put_question, drop_question, close_way };
