/* Verifies an audit file in one pass, one line in memory at a time, and names the first problem. It cannot detect a chain that
 * was rebuilt from some line on, nor lines cut off at the end unless a later head was noted elsewhere. */
#include "jail/audit/verify.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

enum { OPEN_RUNS = 4096, BUFFER_BYTES = 2 * AJ_CHAIN_LINE_BYTES };

static const char *const kinds[] = {
	[AJ_VERIFY_WHOLE] = "whole",       [AJ_VERIFY_CHANGED] = "changed",     [AJ_VERIFY_MISSING] = "missing",
	[AJ_VERIFY_INSERTED] = "inserted", [AJ_VERIFY_REORDERED] = "reordered", [AJ_VERIFY_CUT] = "cut",
};

const char *aj_verify_kind_name(enum aj_verify_kind kind)
{
	return kinds[kind];
}

struct trail_reader {
	int fd;
	off_t at, end; /* end: the file's size while we held the lock; later records are not verified */
	char *buffer;
	size_t start, have;
	uint64_t line;
};

enum piece { PIECE_LINE, PIECE_END, PIECE_CUT, PIECE_LONG, PIECE_ERROR };

/* Read the next line; *ret is in the reader's buffer, without its newline. */
static enum piece next_line(struct trail_reader *r, char **ret, size_t *ret_bytes)
{
	r->line++;
	for (;;) {
		char *line = r->buffer + r->start, *newline = memchr(line, '\n', r->have - r->start);
		size_t bytes = newline ? (size_t)(newline - line) : r->have - r->start;
		if (bytes > AJ_CHAIN_LINE_BYTES)
			return PIECE_LONG;
		if (newline) {
			*ret = line;
			*ret_bytes = bytes;
			r->start += bytes + 1;
			return PIECE_LINE;
		}
		if (r->at == r->end)
			return bytes ? PIECE_CUT : PIECE_END;
		memmove(r->buffer, line, bytes);
		r->start = 0;
		r->have = bytes;
		size_t room = BUFFER_BYTES - bytes;
		size_t left = (size_t)(r->end - r->at);
		ssize_t n = pread(r->fd, r->buffer + bytes, room < left ? room : left, r->at);
		if (n < 0)
			return PIECE_ERROR;
		if (n == 0) /* the file was truncated meanwhile */
			r->end = r->at;
		r->have += (size_t)n;
		r->at += n;
	}
}

static void set_problem(struct aj_verify *v, enum aj_verify_kind kind, uint64_t line, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void set_problem(struct aj_verify *v, enum aj_verify_kind kind, uint64_t line, const char *fmt, ...)
{
	v->kind = kind;
	v->line = line;
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof v->why, fmt, ap);
	va_end(ap);
}

/* A record's number is too high: the rest of the file shows whether lines are missing, moved or doubled. */
static void classify_gap(struct aj_verify *v, struct trail_reader *r, uint64_t expected, uint64_t found)
{
	uint64_t line = r->line;
	bool comes_later = false, comes_again = false;
	char *text, why[160];
	size_t bytes;
	while (next_line(r, &text, &bytes) == PIECE_LINE) {
		struct aj_chain_record record;
		if (!aj_chain_read(text, bytes, &record, why, sizeof why))
			continue;
		comes_later |= record.seq == expected;
		comes_again |= record.seq == found;
		json_decref(record.json);
	}
	if (comes_again)
		set_problem(v, AJ_VERIFY_INSERTED, line,
		            "record %" PRIu64 " is in this line, too early, and again in a later line", found);
	else if (comes_later)
		set_problem(v, AJ_VERIFY_REORDERED, line,
		            "record %" PRIu64 " is in this line, and record %" PRIu64 " comes in a later one", found, expected);
	else if (found == expected + 1)
		set_problem(v, AJ_VERIFY_MISSING, line, "record %" PRIu64 ", which should be here, is not in the file", expected);
	else
		set_problem(v, AJ_VERIFY_MISSING, line,
		            "records %" PRIu64 " to %" PRIu64 ", which should be here, are not in the file", expected, found - 1);
}

static uint64_t key_of(const char *id)
{
	uint64_t key = 14695981039346656037ULL; /* FNV-1a */
	for (; *id; id++)
		key = (key ^ (unsigned char)*id) * 1099511628211ULL;
	return key;
}

static void note_run(struct aj_verify *v, struct aj_arena *arena, const json_t *json)
{
	const char *event = json_string_value(json_object_get(json, "event"));
	const char *id = json_string_value(json_object_get(json, "id"));
	if (!event || !id)
		return;
	if (strcmp(event, "start") == 0) {
		v->starts++;
		v->more_open |= v->open.count == OPEN_RUNS;
		if (v->open.count == OPEN_RUNS)
			return;
		struct aj_verify_run *run = AJ_PUSH(arena, &v->open);
		*run = (struct aj_verify_run){ .key = key_of(id) };
		snprintf(run->id, sizeof run->id, "%s", id);
	} else if (strcmp(event, "end") == 0) {
		uint64_t key = key_of(id);
		for (size_t i = v->open.count; i-- > 0;) { /* the newest first: most runs are short */
			if (v->open.items[i].key != key)
				continue;
			memmove(&v->open.items[i], &v->open.items[i + 1], (v->open.count - i - 1) * sizeof *v->open.items);
			v->open.count--;
			return;
		}
	}
}

static void note_time(struct aj_verify *v, const json_t *json)
{
	const char *time = json_string_value(json_object_get(json, "time"));
	if (!v->first_time[0])
		snprintf(v->first_time, sizeof v->first_time, "%s", time ? time : "?");
	snprintf(v->last_time, sizeof v->last_time, "%s", time ? time : "?");
}

/* Check a record against the one before it. False: there is a problem. */
static bool check_link(struct aj_verify *v, struct trail_reader *r, const struct aj_chain_record *record,
                       const struct aj_chain_link *last)
{
	if (record->seq > last->seq + 1)
		classify_gap(v, r, last->seq + 1, record->seq);
	else if (record->seq < last->seq + 1)
		set_problem(v, AJ_VERIFY_INSERTED, r->line,
		            "record %" PRIu64 " occurs twice: this line or an earlier line was inserted", record->seq);
	else if (strcmp(record->prev, last->hash) != 0 && record->seq == 1)
		set_problem(v, AJ_VERIFY_CHANGED, r->line, "the first record refers to an earlier record");
	else if (strcmp(record->prev, last->hash) != 0)
		set_problem(v, AJ_VERIFY_CHANGED, r->line - 1,
		            "its hash is valid, but record %" PRIu64 " was written after another hash", record->seq);
	else
		return true;
	return false;
}

static int verify_lines(struct trail_reader *r, const char *noted_head, struct aj_arena *arena, struct aj_verify *v)
{
	struct aj_chain_link last = aj_chain_start;
	bool head_seen = false;
	for (char *line, why[160];;) {
		size_t bytes;
		struct aj_chain_record record;
		switch (next_line(r, &line, &bytes)) {
		case PIECE_ERROR:
			return -1;
		case PIECE_LONG:
			set_problem(v, AJ_VERIFY_CHANGED, r->line, "the line is longer than any record (%d KiB)",
			            AJ_CHAIN_LINE_BYTES >> 10);
			return 0;
		case PIECE_CUT:
			set_problem(v, AJ_VERIFY_CUT, r->line,
			            "the line does not end: after a crash, on a full disk, or because the file was cut here");
			return 0;
		case PIECE_END:
			memcpy(v->head, last.hash, sizeof v->head);
			if (noted_head && !head_seen)
				set_problem(v, AJ_VERIFY_CUT, r->line,
				            "the chain ends here, and no record has the hash %s: later records were cut off, or all records were written anew",
				            noted_head);
			return 0;
		case PIECE_LINE:
			break;
		}
		if (!aj_chain_read(line, bytes, &record, why, sizeof why)) {
			set_problem(v, AJ_VERIFY_CHANGED, r->line, "%s", why);
			return 0;
		}
		bool good = check_link(v, r, &record, &last);
		if (good) {
			v->records++;
			last.seq = record.seq;
			memcpy(last.hash, record.hash, sizeof last.hash);
			head_seen |= noted_head && strcmp(noted_head, record.hash) == 0;
			note_time(v, record.json);
			note_run(v, arena, record.json);
		}
		json_decref(record.json);
		if (!good)
			return 0;
	}
}

int aj_verify(const char *path, const char *noted_head, struct aj_arena *arena, struct aj_verify *ret, struct aj_error *err)
{
	struct stat st;
	*ret = (struct aj_verify){ 0 };
	cleanup_fd int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "audit", errno, "open `%s`", path);
	if (!S_ISREG(st.st_mode))
		return aj_fail(err, AJ_EXIT_USAGE, "audit", 0, "`%s` is not a regular file", path);
	/* Locked only to read the size, a whole number of lines: writers do not wait for the verification. */
	if (aj_chain_lock(fd, false) < 0 || fstat(fd, &st) < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "audit", errno, "lock `%s`", path);
	aj_chain_unlock(fd);
	struct trail_reader r = { .fd = fd, .end = st.st_size, .buffer = malloc(BUFFER_BYTES) };
	int done = r.buffer ? verify_lines(&r, noted_head, arena, ret) : -1, error = errno;
	free(r.buffer);
	if (done < 0)
		return aj_fail(err, AJ_EXIT_USAGE, "audit", error, "read `%s`", path);
	return 0;
}
