/* Tests of audit records to syslog and the journal: the bytes of a datagram, and a log that is not there or does not read.
 * They go to sockets of the test's own; no log of the host gets a record. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/audit/audit.h"

static char folder[64], path[80];
static struct aj_audit audit;
static struct aj_error err;
static json_t *record;
static bool notable; /* what the writer says of it */

static void prepare(void)
{
	/* Not in TMPDIR: a socket's name has room for 107 bytes. */
	strcpy(folder, "/tmp/aj-unit.XXXXXX");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/log", folder);
	notable = true;
	record = json_pack("{s:s, s:s, s:s, s:s}", "event", "end", "id", "unit", "status", "timeout", "x", "line\nline \xc3\xa4");
}

static void done(void)
{
	unlink(path);
	cr_expect_eq(rmdir(folder), 0);
	json_decref(record);
}
TestSuite(datagram, .init = prepare, .fini = done);

static int writes(void)
{
	err = (struct aj_error){ 0 };
	return aj_audit_write(&audit, notable, record, &err);
}

static int listen_at(const char *socket_path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	cr_assert_lt(strlen(socket_path), sizeof address.sun_path);
	memcpy(address.sun_path, socket_path, strlen(socket_path) + 1);
	cr_assert_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
	return fd;
}

static size_t receive(int fd, char *out, size_t room)
{
	ssize_t n = recv(fd, out, room - 1, MSG_DONTWAIT);
	cr_assert_gt(n, 0, "%s", strerror(errno));
	out[n] = '\0';
	cr_expect_eq(recv(fd, (char[8]){ 0 }, 8, MSG_DONTWAIT), -1, "one datagram");
	return (size_t)n;
}

static void same_record(const char *text)
{
	json_t *got = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	cr_expect(json_equal(got, record), "%s", text);
	json_decref(got);
}

Test(datagram, syslog)
{
	char got[4096];
	cleanup_fd int fd = listen_at(path);
	audit = (struct aj_audit){ .kind = AJ_AUDIT_SYSLOG };
	strcpy(audit.path, path);
	cr_assert_eq(aj_audit_ready(&audit, &err), 0, "%s", err.cause);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	receive(fd, got, sizeof got);
	int pid = 0, priority = 0, at = 0;
	cr_expect_eq(sscanf(got, "<%d>agentjail[%d]: %n", &priority, &pid, &at), 2, "%s", got);
	cr_expect_eq(priority, 10 * 8 + 5);
	cr_expect_eq(pid, getpid());
	same_record(got + at);
	json_object_set_new(record, "status", json_string("ok"));
	notable = false;
	cr_expect_eq(writes(), 0, "%s", err.cause);
	receive(fd, got, sizeof got);
	cr_expect_eq(strncmp(got, "<86>", 4), 0, "%s", got);
}

Test(datagram, journal)
{
	char got[4096];
	cleanup_fd int fd = listen_at(path);
	audit = (struct aj_audit){ .kind = AJ_AUDIT_JOURNAL };
	strcpy(audit.path, path);
	json_object_set_new(record, "id", json_string("a\nPRIORITY=0"));
	cr_expect_eq(writes(), 0, "%s", err.cause);
	size_t bytes = receive(fd, got, sizeof got), fields = 0;
	static const char *const want[][2] = { { "PRIORITY", "5" },
		                               { "SYSLOG_FACILITY", "10" },
		                               { "SYSLOG_IDENTIFIER", "agentjail" },
		                               { "AGENTJAIL_ID", "a\nPRIORITY=0" },
		                               { "AGENTJAIL_EVENT", "end" },
		                               { "AGENTJAIL_STATUS", "timeout" } };
	for (char *p = got; p < got + bytes; fields++) {
		char *end = p + strcspn(p, "=\n"), *value = end + 1;
		size_t length;
		if (*end == '\n') {
			uint64_t n;
			memcpy(&n, value, sizeof n); /* this test runs where that is little endian */
			length = (size_t)n;
			value += 8;
		} else {
			length = strcspn(value, "\n");
		}
		*end = '\0';
		cr_assert(value + length < got + bytes && value[length] == '\n', "field %s", p);
		value[length] = '\0';
		if (fields == 0) {
			cr_expect_str_eq(p, "MESSAGE");
			same_record(value);
		} else {
			cr_assert_leq(fields, sizeof want / sizeof *want);
			cr_expect_str_eq(p, want[fields - 1][0]);
			cr_expect_str_eq(value, want[fields - 1][1]);
		}
		p = value + length + 1;
	}
	cr_expect_eq(fields, 7);
}

Test(datagram, a_log_that_is_not_there)
{
	for (enum aj_audit_kind kind = AJ_AUDIT_SYSLOG; kind <= AJ_AUDIT_JOURNAL; kind++) {
		int fd = listen_at(path);
		audit = (struct aj_audit){ .kind = kind };
		strcpy(audit.path, path);
		err = (struct aj_error){ 0 };
		cr_expect_eq(aj_audit_ready(&audit, &err), 0);
		close(fd);
		cr_expect_eq(aj_audit_ready(&audit, &err), -1);
		cr_expect_eq(err.exit_code, AJ_EXIT_SETUP);
		cr_expect_eq(err.errnum, ECONNREFUSED);
		cr_expect_eq(writes(), -1);
		unlink(path);
		cr_expect_eq(writes(), -1);
		cr_expect_eq(err.errnum, ENOENT);
	}
}

/* A log that stopped reading is an error after a while, not a hang. */
Test(datagram, a_log_that_does_not_read)
{
	cleanup_fd int fd = listen_at(path);
	audit = (struct aj_audit){ .kind = AJ_AUDIT_SYSLOG };
	strcpy(audit.path, path);
	int sent = 0;
	while (sent < 2000 && writes() == 0)
		sent++;
	cr_expect_lt(sent, 2000);
	cr_expect_not_null(strstr(err.cause, "accepted no data"), "%s", err.cause);
}
