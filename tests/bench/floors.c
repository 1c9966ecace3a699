/* Asks the floor's Python and starts command lines, each timed from here.
 * It takes no answer for granted: one that is not what was expected ends the measurement. */
#include "floors.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS_MAX = 64, HEAD = 5 };
extern char **environ;

double now_us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

void die(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(2);
}

void floor_start(struct floor *f, const char *python, const char *script, const char *folder, char *const modules[])
{
	char *argv[512] = { (char *)python, "-I", "-S", "-B", (char *)script, (char *)folder };
	int ends[2];
	for (size_t i = 0; modules[i] && i < 500; i++)
		argv[6 + i] = modules[i];
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0 || (f->pid = fork()) < 0)
		die("the floor cannot be started");
	if (f->pid == 0) {
		if (dup2(ends[1], 3) == 3 && (ends[1] != 3 || fcntl(3, F_SETFD, 0) == 0))
			execv(python, argv);
		_exit(127);
	}
	close(ends[1]);
	f->fd = ends[0];
	floor_ask(f, 'x', "import sys", NULL);
}

void floor_end(struct floor *f)
{
	close(f->fd);
	waitpid(f->pid, NULL, 0);
}

static void take(const struct floor *f, char *body, size_t room)
{
	unsigned char head[HEAD];
	if (recv(f->fd, head, HEAD, MSG_WAITALL) != HEAD)
		die("the floor has ended");
	size_t bytes = head[0] | (size_t)head[1] << 8;
	if (head[2] || head[3] || bytes >= room || recv(f->fd, body, bytes, MSG_WAITALL) != (ssize_t)bytes)
		die("the floor says something that is no answer");
	body[bytes] = '\0';
}

double floor_ask(const struct floor *f, char kind, const char *text, double *ret)
{
	char frame[HEAD + 1024], body[1024];
	size_t bytes = strlen(text);
	if (bytes > 1024)
		die("too long for the floor");
	double began = now_us();
	memcpy(frame, &(uint32_t){ (uint32_t)bytes }, 4);
	frame[4] = kind;
	memcpy(frame + HEAD, text, bytes);
	if (send(f->fd, frame, HEAD + bytes, MSG_NOSIGNAL) != (ssize_t)(HEAD + bytes))
		die("the floor has ended");
	take(f, body, sizeof body);
	double us = now_us() - began;
	if (ret)
		*ret = strtod(body, NULL);
	return us;
}

void floor_rest(const struct floor *f)
{
	char body[1024];
	take(f, body, sizeof body);
}

static pid_t start(char *const argv[])
{
	posix_spawn_file_actions_t actions;
	pid_t pid;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&pid, argv[0], &actions, NULL, argv, environ) != 0)
		die("`%s` cannot be started", argv[0]);
	posix_spawn_file_actions_destroy(&actions);
	return pid;
}

static void reap(pid_t pid, char *const argv[])
{
	int status;
	if (waitpid(pid, &status, 0) != pid || status)
		die("`%s` fails with wait status %d", argv[0], status);
}

double spawn_once(char *const argv[])
{
	double began = now_us();
	reap(start(argv), argv);
	return now_us() - began;
}

/* By pidfds: other children of ours are not to be reaped here. */
double spawn_flow(char *const argv[], int clients, double us)
{
	struct pollfd fds[CLIENTS_MAX];
	pid_t pids[CLIENTS_MAX];
	int ended = 0, running = clients;
	double began = now_us(), took = 0;
	for (int i = 0; i < clients; i++) {
		pids[i] = start(argv);
		fds[i] = (struct pollfd){ .fd = (int)syscall(SYS_pidfd_open, pids[i], 0), .events = POLLIN };
	}
	while (running > 0) {
		if (poll(fds, (nfds_t)clients, -1) < 0)
			continue;
		for (int i = 0; i < clients; i++) {
			if (fds[i].fd < 0 || !fds[i].revents)
				continue;
			reap(pids[i], argv);
			close(fds[i].fd);
			fds[i].fd = -1;
			if (now_us() - began > us) {
				running--;
				continue;
			}
			ended++;
			took = now_us() - began;
			pids[i] = start(argv);
			fds[i].fd = (int)syscall(SYS_pidfd_open, pids[i], 0);
		}
	}
	return took > 0 ? ended / took * 1e6 : 0;
}
