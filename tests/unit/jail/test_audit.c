/* Tests of the audit trail's destinations: unfit ones are refused before anything runs, a failed write leaves the file whole.
 * It works in a folder of its own; sockets are in test_datagram.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/audit/audit.h"
#include "jail/audit/trail.h"
#include "jail/audit/verify.h"

static char folder[256], path[300], destination[320];
static struct aj_audit audit;
static struct aj_error err;
static json_t *record;

static void prepare(void)
{
	const char *tmp = getenv("TMPDIR");
	snprintf(folder, sizeof folder, "%s/aj-unit.XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/audit.log", folder);
	snprintf(destination, sizeof destination, "file:%s", path);
	record = json_pack("{s:s, s:s, s:s, s:s}", "event", "end", "id", "unit", "status", "timeout", "x", "line\nline \xc3\xa4");
}

static void done(void)
{
	char command[600];
	snprintf(command, sizeof command, "chmod 700 '%s' && rm -r '%s'", folder, folder);
	cr_expect_eq(system(command), 0);
	json_decref(record);
}
TestSuite(audit, .init = prepare, .fini = done);

static void opens(void)
{
	err = (struct aj_error){ 0 };
	cr_assert_eq(aj_audit_open(&audit, destination, &err), 0, "%s", err.cause);
}

static void refused(const char *what, int exit_code, const char *word)
{
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_audit_open(&audit, what, &err), -1, "%s", what);
	cr_expect_eq(err.exit_code, exit_code, "%s: %s", what, err.cause);
	cr_expect_not_null(strstr(err.cause, word), "%s: %s", what, err.cause);
}

static int writes(void)
{
	err = (struct aj_error){ 0 };
	return aj_audit_write(&audit, false, record, &err);
}

static off_t size(void)
{
	struct stat st;
	return stat(path, &st) < 0 ? -1 : st.st_size;
}

static uint64_t verified(void)
{
	struct aj_arena arena = { 0 };
	struct aj_verify v;
	cr_assert_eq(aj_verify(path, NULL, &arena, &v, &err), 0);
	cr_expect_eq(v.kind, AJ_VERIFY_WHOLE, "line %lu: %s", (unsigned long)v.line, v.why);
	aj_arena_free(&arena);
	return v.records;
}

Test(audit, forms)
{
	static const char *const wrong[] = { "",        "file",       "file:",       "file:log",     "file:./log",
		                             "file:/",  "file:/tmp/", "file:/tmp/.", "file:/tmp/..", "syslog:",
		                             "syslogd", "journal:x",  "/var/log/x",  "File:/x" };
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		refused(wrong[i], AJ_EXIT_USAGE, wrong[i] + (strncmp(wrong[i], "file:", 5) == 0 ? 5 : 0));
		cr_expect_eq(audit.kind, AJ_AUDIT_NONE);
	}
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_audit_parse(&audit, "journal", &err), 0);
	cr_expect_eq(audit.kind, AJ_AUDIT_JOURNAL);
	audit = (struct aj_audit){ 0 };
	cr_expect_eq(aj_audit_ready(&audit, &err), 0, "no trail is asked for");
	cr_expect_eq(writes(), 0);
}

Test(audit, a_file_is_made_for_its_owner_alone)
{
	struct stat st;
	umask(0);
	opens();
	cr_assert_eq(stat(path, &st), 0);
	cr_expect_eq(st.st_mode & 07777, 0600);
	cr_expect_eq(size(), 0);
	int unused = dup(0);
	close(unused);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	cr_expect_eq(verified(), 2);
	int again = dup(0);
	cr_expect_eq(again, unused, "nothing is left open");
	close(again);
}

Test(audit, unfit_places)
{
	char other[320], away[320];
	snprintf(other, sizeof other, "file:%s/none/audit.log", folder);
	refused(other, AJ_EXIT_SETUP, "folder");
	cr_expect_not_null(strstr(err.fix, "install -d"));

	opens();
	snprintf(away, sizeof away, "%s/other", folder);
	cr_assert_eq(link(path, away), 0);
	refused(destination, AJ_EXIT_SETUP, "second hard link");
	unlink(path);
	cr_assert_eq(symlink(away, path), 0);
	refused(destination, AJ_EXIT_SETUP, "symlink");
	unlink(path);
	cr_assert_eq(mkfifo(path, 0600), 0);
	refused(destination, AJ_EXIT_SETUP, "regular");
	unlink(path);
	cr_assert_eq(mkdir(path, 0700), 0);
	refused(destination, AJ_EXIT_SETUP, "open");
	rmdir(path);
	refused("file:/dev/full", AJ_EXIT_SETUP, "");

	opens();
	chmod(path, 0602);
	refused(destination, AJ_EXIT_SETUP, "other users");
	chmod(path, 0620);
	refused(destination, AJ_EXIT_SETUP, "other users");
	chmod(path, 0640);
	opens();
	chmod(folder, 0777);
	refused(destination, AJ_EXIT_SETUP, "every user");
	chmod(folder, 01777);
	opens();
	chmod(folder, 0700);
}

/* A folder above the file's is as good a place to exchange it. */
Test(audit, unfit_folders_above)
{
	char below[320], other[400];
	snprintf(below, sizeof below, "%s/below", folder);
	snprintf(other, sizeof other, "file:%s/audit.log", below);
	cr_assert_eq(mkdir(below, 0700), 0);
	chmod(folder, 0777);
	refused(other, AJ_EXIT_SETUP, "every user");
	chmod(folder, 0700);
	cr_expect_eq(access(strchr(other, '/'), F_OK), -1, "nothing is made where it is refused");
}

Test(audit, foreign_owners)
{
	if (getuid() != 0)
		cr_skip_test("only root can give a file away");
	opens();
	cr_assert_eq(chown(path, 12345, 12345), 0);
	refused(destination, AJ_EXIT_SETUP, "another user");
	unlink(path);
	cr_assert_eq(chown(folder, 12345, 12345), 0);
	refused(destination, AJ_EXIT_SETUP, "another user");
}

Test(audit, a_file_that_went_bad_is_not_continued)
{
	opens();
	cr_assert_eq(writes(), 0);
	off_t whole = size();
	cr_assert_eq(writes(), 0);
	cr_assert_eq(truncate(path, size() - 3), 0);
	off_t cut = size();
	cr_expect_eq(writes(), -1);
	cr_expect_not_null(strstr(err.cause, path));
	cr_expect_not_null(strstr(err.cause, "cut"), "%s", err.cause);
	cr_expect_not_null(strstr(err.fix, "agentjail audit verify"), "%s", err.fix);
	cr_expect_eq(size(), cut, "left as it is");
	refused(destination, AJ_EXIT_SETUP, "cut");
	cr_assert_eq(truncate(path, whole), 0);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	int fd = open(path, O_WRONLY);
	cr_assert_eq(pwrite(fd, "E", 1, whole + 12), 1);
	close(fd);
	refused(destination, AJ_EXIT_SETUP, "not a valid record");
}

Test(audit, a_full_disk_leaves_the_file_whole)
{
	opens();
	cr_assert_eq(writes(), 0);
	off_t one = size();
	signal(SIGXFSZ, SIG_IGN);
	/* Every place in the second record where the room can end. */
	for (off_t room = 0; room < one; room += 7) {
		struct rlimit limit = { (rlim_t)(one + room), RLIM_INFINITY };
		cr_assert_eq(setrlimit(RLIMIT_FSIZE, &limit), 0);
		cr_expect_eq(writes(), -1);
		cr_expect_eq(err.errnum, EFBIG);
		cr_expect_eq(size(), one);
	}
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){ RLIM_INFINITY, RLIM_INFINITY }), 0);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	cr_expect_eq(verified(), 2);
}

Test(audit, records_that_cannot_be)
{
	opens();
	char *wide = malloc(AJ_CHAIN_RECORD_BYTES + 1);
	memset(wide, 'x', AJ_CHAIN_RECORD_BYTES);
	wide[AJ_CHAIN_RECORD_BYTES] = '\0';
	json_object_set_new(record, "wide", json_string(wide));
	free(wide);
	cr_expect_eq(writes(), -1);
	cr_expect_eq(err.errnum, EMSGSIZE);
	json_object_del(record, "wide");
	json_object_set_new(record, "bytes", json_stringn_nocheck("\xff", 1));
	cr_expect_eq(writes(), -1);
	json_object_del(record, "bytes");
	json_object_set_new(record, "hash", json_string("mine"));
	cr_expect_eq(writes(), -1);
	cr_expect_eq(size(), 0);
}

/* Removed or moved away between two records: the next goes to a new file, with a chain of its own. */
Test(audit, rotation)
{
	char old[320];
	opens();
	cr_assert_eq(writes(), 0);
	snprintf(old, sizeof old, "%s.1", path);
	cr_assert_eq(rename(path, old), 0);
	cr_expect_eq(writes(), 0, "%s", err.cause);
	cr_expect_eq(verified(), 1);
	cr_assert_eq(rename(old, path), 0);
	cr_expect_eq(verified(), 1);
}

Test(audit, a_lock_is_waited_for)
{
	opens();
	int fd = open(path, O_RDWR | O_CLOEXEC);
	cr_assert_eq(flock(fd, LOCK_EX), 0);
	if (fork() == 0) {
		usleep(300000);
		_exit(0); /* the last who holds it */
	}
	close(fd);
	int64_t before_us = aj_now_us();
	cr_expect_eq(writes(), 0, "%s", err.cause);
	cr_expect_gt(aj_now_us() - before_us, 100000);
}

Test(audit, visible)
{
	char sibling[300], alias[320];
	opens();
	snprintf(sibling, sizeof sibling, "%s/audit", folder);
	snprintf(alias, sizeof alias, "%s/alias", folder);
	cr_assert_eq(symlink(".", alias), 0);
	cr_expect(aj_audit_visible(&audit, "/"));
	cr_expect(aj_audit_visible(&audit, folder));
	cr_expect(aj_audit_visible(&audit, path));
	cr_expect(aj_audit_visible(&audit, alias), "another way to the same folder");
	cr_expect_not(aj_audit_visible(&audit, sibling), "a common prefix is no folder");
	cr_expect_not(aj_audit_visible(&audit, "/usr"));
	unlink(path);
	cr_expect(aj_audit_visible(&audit, folder), "not there yet, but it will be");
	cr_expect_not(aj_audit_visible(&audit, "/usr"));
	audit = (struct aj_audit){ .kind = AJ_AUDIT_JOURNAL, .path = "/run/systemd/journal/socket" };
	cr_expect(aj_audit_visible(&audit, "/run/systemd"));
	cr_expect_not(aj_audit_visible(&audit, "/usr"));
	audit = (struct aj_audit){ 0 };
	cr_expect_not(aj_audit_visible(&audit, "/"));
}

Test(audit, ids_of_runs)
{
	struct aj_arena arena = { 0 };
	const char *one = aj_trail_new_id(&arena), *two = aj_trail_new_id(&arena);
	cr_expect_eq(strlen(one), 16);
	cr_expect_eq(strspn(one, "0123456789abcdef"), 16);
	cr_expect_str_neq(one, two);
	aj_arena_free(&arena);
}
