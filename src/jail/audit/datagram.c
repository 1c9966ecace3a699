/* Sends audit records to a local datagram socket.
 * It waits at most SEND_SECONDS for a log that does not read, and counts only a whole delivery as success. */
#include "jail/audit/datagram.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/error.h"
#include "base/fd.h"

enum {
	FACILITY = 10, /* authpriv: its logs are not readable by all users */
	NOTICE = 5,
	INFO = 6,
	SEND_SECONDS = 5,
};

static int severity(bool notable)
{
	return notable ? NOTICE : INFO;
}

static int connect_to(const char *path, struct aj_error *err)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof address.sun_path)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", ENAMETOOLONG, "socket `%s`", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	cleanup_fd int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct timeval patience = { .tv_sec = SEND_SECONDS };
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "make a socket");
	if (connect(fd, (struct sockaddr *)&address, sizeof address) < 0) {
		aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "no log service listens at `%s`", path);
		aj_advise(err, "start the system's log service, or write the audit trail to a file (file:/absolute/path)");
		return -1;
	}
	return aj_steal(&fd);
}

int aj_datagram_probe(const char *path, struct aj_error *err)
{
	cleanup_fd int fd = connect_to(path, err);
	return fd < 0 ? -1 : 0;
}

static int send_all(const char *path, const char *data, size_t bytes, struct aj_error *err)
{
	cleanup_fd int fd = connect_to(path, err);
	if (fd < 0)
		return -1;
	ssize_t n;
	do
		n = send(fd, data, bytes, MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	if (n == (ssize_t)bytes)
		return 0;
	if (n < 0 && errno == EAGAIN)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", 0, "the log service at `%s` accepted no data for %d seconds", path,
		               SEND_SECONDS);
	return aj_fail(err, AJ_EXIT_SETUP, "audit", n < 0 ? errno : EMSGSIZE, "send a record of %zu bytes to `%s`", bytes, path);
}

int aj_datagram_syslog(const char *path, bool notable, const char *text, struct aj_error *err)
{
	size_t room = strlen(text) + 64;
	char *message = malloc(room);
	if (!message)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", ENOMEM, "compose a record");
	int bytes = snprintf(message, room, "<%d>agentjail[%d]: %s", FACILITY << 3 | severity(notable), (int)getpid(), text);
	int r = send_all(path, message, (size_t)bytes, err);
	free(message);
	return r;
}

/* Write NAME=value, or for a value with newlines: NAME, newline, its length as 8 bytes little endian, value. */
static void write_field(FILE *out, const char *name, const char *value, size_t bytes)
{
	bool plain = !memchr(value, '\n', bytes);
	fputs(name, out);
	fputc(plain ? '=' : '\n', out);
	for (unsigned shift = 0; !plain && shift < 64; shift += 8)
		fputc((int)((uint64_t)bytes >> shift & 0xff), out);
	fwrite(value, 1, bytes, out);
	fputc('\n', out);
}

int aj_datagram_journal(const char *path, bool notable, const json_t *record, const char *text, struct aj_error *err)
{
	static const struct {
		const char *name, *member;
	} members[] = {
		{ "AGENTJAIL_ID", "id" },
		{ "AGENTJAIL_EVENT", "event" },
		{ "AGENTJAIL_STATUS", "status" }, /* only an end has one */
	};
	char *message = NULL, number[16];
	size_t bytes = 0;
	FILE *out = open_memstream(&message, &bytes);
	if (!out)
		return aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "compose a record");
	write_field(out, "MESSAGE", text, strlen(text));
	write_field(out, "PRIORITY", number, (size_t)snprintf(number, sizeof number, "%d", severity(notable)));
	write_field(out, "SYSLOG_FACILITY", number, (size_t)snprintf(number, sizeof number, "%d", FACILITY));
	write_field(out, "SYSLOG_IDENTIFIER", "agentjail", strlen("agentjail"));
	for (size_t i = 0; i < sizeof members / sizeof *members; i++) {
		const json_t *value = json_object_get(record, members[i].member);
		if (json_is_string(value))
			write_field(out, members[i].name, json_string_value(value), json_string_length(value));
	}
	int r = -1;
	if (fclose(out) != 0)
		aj_fail(err, AJ_EXIT_SETUP, "audit", errno, "compose a record");
	else
		r = send_all(path, message, bytes, err);
	free(message);
	return r;
}
