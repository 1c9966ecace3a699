/* Starts the service and asks it over its socket, one request at a time.
 * It does not parse what comes: an answer that is not what was expected ends the measurement. */
#include "service.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "floors.h"

enum { HEAD = 4, ROOM = 65536, TRIES = 500 };
extern char **environ;

/* One frame, into a static room. */
static const char *receive(const struct service *s)
{
	static char body[ROOM];
	unsigned char head[HEAD];
	if (recv(s->fd, head, HEAD, MSG_WAITALL) != HEAD)
		die("the service has ended");
	size_t bytes = (size_t)head[0] << 24 | (size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3];
	if (bytes >= ROOM || recv(s->fd, body, bytes, MSG_WAITALL) != (ssize_t)bytes)
		die("the service says more than was asked for");
	body[bytes] = '\0';
	return body;
}

static double ask(const struct service *s, const char *request, const char *expected)
{
	char frame[HEAD + 1024];
	size_t bytes = strlen(request);
	double began = now_us();
	for (int i = 0; i < HEAD; i++)
		frame[i] = (char)(bytes >> (24 - 8 * i));
	memcpy(frame + HEAD, request, bytes);
	if (send(s->fd, frame, HEAD + bytes, MSG_NOSIGNAL) != (ssize_t)(HEAD + bytes))
		die("the service has ended");
	const char *answer = receive(s);
	double us = now_us() - began;
	if (!strstr(answer, expected))
		die("the service answers %s", answer);
	return us;
}

static void open_session(struct service *s)
{
	static const char key[] = "\"session\":\"";
	ask(s, "{\"op\":\"ping\",\"id\":1}", "\"result\"");
	static const char request[] = "{\"op\":\"open\",\"id\":1}";
	char frame[HEAD + sizeof request] = { 0, 0, 0, sizeof request - 1 };
	memcpy(frame + HEAD, request, sizeof request - 1);
	if (send(s->fd, frame, HEAD + sizeof request - 1, MSG_NOSIGNAL) < 0)
		die("the service has ended");
	const char *answer = receive(s), *at = strstr(answer, key);
	if (!at || sscanf(at + strlen(key), "%79[^\"]", s->session) != 1)
		die("the service opens no session: %s", answer);
}

void service_start(struct service *s, const char *agentjail, unsigned depth)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char parked[12];
	strcpy(s->folder, "/tmp/agentjail-bench-XXXXXX");
	if (!mkdtemp(s->folder))
		die("no folder for the service");
	snprintf(address.sun_path, sizeof address.sun_path, "%s/socket", s->folder);
	snprintf(parked, sizeof parked, "%u", depth);
	char *argv[] = { (char *)agentjail, "serve", "--socket", address.sun_path, "--parked", parked, NULL };
	posix_spawn_file_actions_t actions;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
	if (posix_spawn(&s->pid, agentjail, &actions, NULL, argv, environ) != 0)
		die("the service cannot be started");
	posix_spawn_file_actions_destroy(&actions);
	s->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	for (int i = 0; connect(s->fd, (struct sockaddr *)&address, sizeof address) < 0; i++) {
		if (i == TRIES)
			die("the service does not listen");
		usleep(10000);
	}
	if (!strstr(receive(s), "\"hello\""))
		die("the service does not say hello");
	open_session(s);
}

void service_end(struct service *s)
{
	char path[64];
	close(s->fd);
	kill(s->pid, SIGTERM);
	waitpid(s->pid, NULL, 0);
	snprintf(path, sizeof path, "%s/socket", s->folder);
	unlink(path);
	rmdir(s->folder);
}

double service_ping(struct service *s)
{
	return ask(s, "{\"op\":\"ping\",\"id\":1}", "\"result\"");
}

double service_exec(struct service *s, const char *code)
{
	char request[512];
	snprintf(request, sizeof request, "{\"op\":\"exec\",\"id\":1,\"code\":\"%s\"}", code);
	return ask(s, request, "\"status\":\"ok\"");
}

double service_run(struct service *s, const char *code)
{
	char request[512];
	snprintf(request, sizeof request, "{\"op\":\"run\",\"id\":1,\"session\":\"%s\",\"code\":\"%s\"}", s->session, code);
	return ask(s, request, "\"status\":\"ok\"");
}
