/* Tests of the audit file's chain: what is written verifies, and every kind of tampering is found, named and placed.
 * Files are made with aj_audit_write() in a folder of the test's own and edited by hand. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jail/audit/audit.h"
#include "jail/audit/verify.h"

enum { LINES = 5 };

static char folder[256], path[300];
static struct aj_audit audit;
static struct aj_arena arena;
static char *line[LINES]; /* of the file as it was written, newlines included */

static void write_record(const char *event, const char *id)
{
	struct aj_error err = { 0 };
	json_t *record = json_pack("{s:s, s:s, s:s}", "event", event, "id", id, "time", "2024-05-06T07:08:09.010Z");
	cr_assert_eq(aj_audit_write(&audit, false, record, &err), 0, "%s", err.cause);
	json_decref(record);
}

/* The file from `count` lines, the last without its newline when `cut`. */
static void rewrite(size_t count, char *const *lines, bool cut)
{
	FILE *f = fopen(path, "w");
	for (size_t i = 0; i < count; i++)
		fwrite(lines[i], 1, strlen(lines[i]) - (cut && i + 1 == count), f);
	fclose(f);
}

static void prepare(void)
{
	const char *tmp = getenv("TMPDIR");
	char destination[320];
	struct aj_error err = { 0 };
	snprintf(folder, sizeof folder, "%s/aj-unit.XXXXXX", tmp ? tmp : "/tmp");
	cr_assert_not_null(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/audit.log", folder);
	snprintf(destination, sizeof destination, "file:%s", path);
	cr_assert_eq(aj_audit_open(&audit, destination, &err), 0, "%s", err.cause);
	static const char *const rows[LINES][2] = { { "start", "a" }, { "start", "b" }, { "end", "a" }, { "start", "c" }, { "end", "c" } };
	for (size_t i = 0; i < LINES; i++)
		write_record(rows[i][0], rows[i][1]);
	FILE *f = fopen(path, "r");
	size_t room;
	for (size_t i = 0; i < LINES; i++) {
		line[i] = NULL;
		cr_assert_gt(getline(&line[i], &room, f), 0);
	}
	cr_assert_eq(fgetc(f), EOF);
	fclose(f);
}

static void done(void)
{
	for (size_t i = 0; i < LINES; i++)
		free(line[i]);
	unlink(path);
	rmdir(folder);
	aj_arena_free(&arena);
}
TestSuite(chain, .init = prepare, .fini = done);

static struct aj_verify verify(const char *head)
{
	struct aj_verify v;
	struct aj_error err = { 0 };
	cr_assert_eq(aj_verify(path, head, &arena, &v, &err), 0, "%s", err.cause);
	return v;
}

static void expect(enum aj_verify_kind kind, uint64_t at, const char *head)
{
	struct aj_verify v = verify(head);
	cr_expect_str_eq(aj_verify_kind_name(v.kind), aj_verify_kind_name(kind), "at %lu: %s", (unsigned long)v.line, v.why);
	cr_expect_eq(v.line, at, "line %lu: %s", (unsigned long)v.line, v.why);
}

static void hash_of(const char *sealed, char ret[AJ_SHA256_HEX])
{
	snprintf(ret, AJ_SHA256_HEX, "%s", strstr(sealed, "\"hash\":\"") + 8);
}

Test(chain, what_is_written_verifies)
{
	struct aj_verify v = verify(NULL);
	char head[AJ_SHA256_HEX];
	hash_of(line[LINES - 1], head);
	cr_expect_eq(v.kind, AJ_VERIFY_WHOLE, "%s", v.why);
	cr_expect_eq(v.records, LINES);
	cr_expect_eq(v.starts, 3);
	cr_expect_eq(v.open.count, 1);
	cr_expect_str_eq(v.open.items[0].id, "b");
	cr_expect_str_eq(v.first_time, "2024-05-06T07:08:09.010Z");
	cr_expect_str_eq(v.head, head);
	for (size_t i = 0; i < LINES; i++) { /* any head that there was is a good one */
		hash_of(line[i], head);
		expect(AJ_VERIFY_WHOLE, 0, head);
	}
}

/* The definition of the hash, worked out here once more without the code that writes it. */
Test(chain, the_hash_is_of_the_bytes_without_it)
{
	char hash[AJ_SHA256_HEX], claimed[AJ_SHA256_HEX], object[400];
	hash_of(line[1], claimed);
	int bytes = snprintf(object, sizeof object, "%.*s}", (int)(strstr(line[1], ",\"hash\":") - line[1]), line[1]);
	aj_sha256(object, (size_t)bytes, hash);
	cr_expect_str_eq(hash, claimed);
	hash_of(line[0], hash);
	cr_expect_not_null(strstr(line[1], hash), "the second names the first");
	cr_expect_not_null(strstr(line[0], "\"seq\":1,\"prev\":\"0000000000000000000000000000000000000000000000000000000000000000\""));
}

Test(chain, a_changed_byte)
{
	for (size_t i = 0; i < LINES; i++)
		for (size_t at = 0; at + 1 < strlen(line[i]); at++) {
			char was = line[i][at];
			line[i][at] = was == 'x' ? 'y' : 'x';
			rewrite(LINES, line, false);
			struct aj_verify v = verify(NULL);
			cr_expect(v.kind == AJ_VERIFY_CHANGED && v.line == i + 1, "line %zu, byte %zu: %s at %lu", i + 1, at,
			          aj_verify_kind_name(v.kind), (unsigned long)v.line);
			line[i][at] = was;
		}
}

Test(chain, a_changed_line_with_a_new_hash)
{
	struct aj_chain_link before = { .seq = 1 };
	char object[400], *forged[LINES];
	size_t bytes;
	hash_of(line[0], before.hash);
	snprintf(object, sizeof object, "{\"event\":\"start\",\"id\":\"z\"}");
	memcpy(forged, line, sizeof forged);
	forged[1] = aj_chain_seal(object, strlen(object), &before, &bytes);
	rewrite(LINES, forged, false);
	expect(AJ_VERIFY_CHANGED, 2, NULL);
	/* Put in before the real one instead. */
	char *more[LINES + 1] = { line[0], forged[1], line[1], line[2], line[3], line[4] };
	rewrite(LINES + 1, more, false);
	expect(AJ_VERIFY_INSERTED, 3, NULL);
	/* As the last line it shows only to who knows the head. */
	rewrite(2, forged, false);
	expect(AJ_VERIFY_WHOLE, 0, NULL);
	hash_of(line[1], before.hash);
	expect(AJ_VERIFY_CUT, 3, before.hash);
	free(forged[1]);
}

Test(chain, dropped_swapped_doubled_lines)
{
	rewrite(LINES - 1, line + 1, false);
	expect(AJ_VERIFY_MISSING, 1, NULL);
	rewrite(LINES - 1, (char *[]){ line[0], line[1], line[3], line[4] }, false);
	expect(AJ_VERIFY_MISSING, 3, NULL);
	rewrite(LINES - 2, (char *[]){ line[0], line[1], line[4] }, false);
	expect(AJ_VERIFY_MISSING, 3, NULL);
	rewrite(LINES, (char *[]){ line[0], line[2], line[1], line[3], line[4] }, false);
	expect(AJ_VERIFY_REORDERED, 2, NULL);
	rewrite(LINES, (char *[]){ line[1], line[2], line[3], line[4], line[0] }, false);
	expect(AJ_VERIFY_REORDERED, 1, NULL);
	rewrite(LINES + 1, (char *[]){ line[0], line[1], line[1], line[2], line[3], line[4] }, false);
	expect(AJ_VERIFY_INSERTED, 3, NULL);
	rewrite(LINES + 1, (char *[]){ line[0], line[3], line[1], line[2], line[3], line[4] }, false);
	expect(AJ_VERIFY_INSERTED, 2, NULL);
	rewrite(LINES + 1, (char *[]){ line[0], line[1], line[2], line[3], line[4], line[0] }, false);
	expect(AJ_VERIFY_INSERTED, 6, NULL);
}

Test(chain, cut_tails)
{
	char head[AJ_SHA256_HEX];
	hash_of(line[LINES - 1], head);
	rewrite(LINES - 1, line, false);
	expect(AJ_VERIFY_WHOLE, 0, NULL);
	expect(AJ_VERIFY_CUT, LINES, head);
	rewrite(LINES, line, true);
	expect(AJ_VERIFY_CUT, LINES, NULL);
	rewrite(0, line, false);
	expect(AJ_VERIFY_WHOLE, 0, NULL);
	expect(AJ_VERIFY_CUT, 1, head);
	for (size_t bytes = 1; bytes < strlen(line[0]); bytes++) {
		rewrite(1, line, false);
		cr_assert_eq(truncate(path, (off_t)bytes), 0);
		expect(AJ_VERIFY_CUT, 1, NULL);
	}
}

Test(chain, what_is_no_record)
{
	char *wide = malloc(400000);
	memset(wide, 'x', 400000);
	wide[300000] = '\n';
	wide[300001] = '\0';
	rewrite(2, (char *[]){ line[0], wide }, false);
	expect(AJ_VERIFY_CHANGED, 2, NULL);
	rewrite(2, (char *[]){ line[0], wide }, true);
	expect(AJ_VERIFY_CHANGED, 2, NULL);
	free(wide);
	rewrite(2, (char *[]){ line[0], "\n" }, false);
	expect(AJ_VERIFY_CHANGED, 2, NULL);
	/* With hashes that fit: not an object of ours, a key twice. */
	static const char *const objects[] = { "{\"seq\":2,\"a\":1}", "{\"a\":1,\"a\":2}", "{\"a\":}" };
	for (size_t i = 0; i < sizeof objects / sizeof *objects; i++) {
		size_t bytes;
		char *sealed = aj_chain_seal(objects[i], strlen(objects[i]), &aj_chain_start, &bytes);
		rewrite(1, &sealed, false);
		expect(AJ_VERIFY_CHANGED, 1, NULL);
		free(sealed);
	}
}

/* More lines than the buffer holds, of all lengths, so that they lie across its end in every way. */
Test(chain, large_files)
{
	struct aj_chain_link last = aj_chain_start;
	FILE *f = fopen(path, "w");
	for (size_t i = 0; i < 300; i++) {
		size_t bytes, wide = i * 997 % (AJ_CHAIN_RECORD_BYTES - 300);
		char *object = malloc(wide + 100);
		int n = snprintf(object, wide + 100, "{\"event\":\"start\",\"id\":\"r%zu\",\"x\":\"%0*d\"}", i, (int)wide, 0);
		char *sealed = aj_chain_seal(object, (size_t)n, &last, &bytes);
		cr_assert_eq(bytes, strlen(sealed));
		cr_assert_leq(bytes, AJ_CHAIN_RECORD_BYTES);
		fwrite(sealed, 1, bytes, f);
		last.seq++;
		hash_of(sealed, last.hash);
		free(object);
		free(sealed);
	}
	fclose(f);
	struct aj_verify v = verify(NULL);
	cr_expect_eq(v.kind, AJ_VERIFY_WHOLE, "line %lu: %s", (unsigned long)v.line, v.why);
	cr_expect_eq(v.records, 300);
	cr_expect_eq(v.open.count, 300);
	write_record("end", "r7");
	v = verify(last.hash);
	cr_expect_eq(v.kind, AJ_VERIFY_WHOLE, "line %lu: %s", (unsigned long)v.line, v.why);
	cr_expect_eq(v.open.count, 299);
}

Test(chain, eight_writers)
{
	enum { WRITERS = 8, RECORDS = 50 };
	for (int w = 0; w < WRITERS; w++) {
		if (fork() != 0)
			continue;
		for (int i = 0; i < RECORDS; i++) {
			struct aj_error err = { 0 };
			json_t *record = json_pack("{s:s, s:i, s:i}", "event", "test", "writer", w, "i", i);
			if (aj_audit_write(&audit, false, record, &err) < 0)
				_exit(1);
			json_decref(record);
		}
		_exit(0);
	}
	for (int w = 0, status; w < WRITERS; w++) {
		cr_assert_gt(wait(&status), 0);
		cr_expect_eq(status, 0);
	}
	struct aj_verify v = verify(NULL);
	cr_expect_eq(v.kind, AJ_VERIFY_WHOLE, "line %lu: %s", (unsigned long)v.line, v.why);
	cr_expect_eq(v.records, LINES + WRITERS * RECORDS);
}

Test(chain, unreadable_files_are_errors)
{
	struct aj_verify v;
	struct aj_error err = { 0 };
	cr_expect_eq(aj_verify(folder, NULL, &arena, &v, &err), -1);
	cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
	err = (struct aj_error){ 0 };
	cr_expect_eq(aj_verify("/nonexistent/audit.log", NULL, &arena, &v, &err), -1);
	cr_expect_eq(err.exit_code, AJ_EXIT_USAGE);
}
