/* Tests of base/frame: frames in whatever pieces they arrive, and lengths that lie.
 * No socket is involved: the reader gets its bytes from memory. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/frame.h"

static size_t put(char *out, uint8_t kind, const char *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, (uint32_t)bytes, kind);
	memcpy(out, header, sizeof header);
	memcpy(out + sizeof header, body, bytes);
	return sizeof header + bytes;
}

/* Feed `bytes`, at most `step` at a time; the bodies end up in `log`, each followed by its kind. */
static void feed(struct aj_frame_reader *r, const char *data, size_t bytes, size_t step, char *log)
{
	for (size_t at = 0; at < bytes;) {
		size_t piece = bytes - at < step ? bytes - at : step;
		for (size_t used = 0; used < piece;) {
			bool done;
			long n = aj_frame_feed(r, data + at + used, piece - used, &done);
			cr_assert_gt(n, 0, "no progress at byte %zu", at + used);
			used += (size_t)n;
			if (!done)
				continue;
			cr_assert_eq(r->body[r->body_bytes], '\0');
			strncat(log, r->body, r->body_bytes);
			strncat(log, (char *)&r->kind, 1);
			aj_frame_next(r);
		}
		at += piece;
	}
}

Test(frame, header_is_little_endian)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, 0x01020304, 'Q');
	cr_expect(memcmp(header, "\x04\x03\x02\x01Q", 5) == 0);
}

Test(frame, split_at_every_byte)
{
	char stream[64];
	size_t bytes = put(stream, 'A', "", 0);
	bytes += put(stream + bytes, 'R', "hello", 5);
	bytes += put(stream + bytes, 'Q', "x", 1);
	bytes += put(stream + bytes, 'E', "", 0);
	for (size_t cut = 0; cut <= bytes; cut++) {
		struct aj_frame_reader r = { .cap_bytes = 5 };
		char log[64] = "";
		feed(&r, stream, cut, cut + 1, log);
		feed(&r, stream + cut, bytes - cut, bytes, log);
		cr_expect_str_eq(log, "AhelloRxQE", "cut at %zu", cut);
		cr_expect_eq(r.have, 0);
	}
	for (size_t step = 1; step <= bytes; step++) {
		struct aj_frame_reader r = { .cap_bytes = 5 };
		char log[64] = "";
		feed(&r, stream, bytes, step, log);
		cr_expect_str_eq(log, "AhelloRxQE", "steps of %zu", step);
	}
}

Test(frame, a_frame_takes_no_byte_of_the_next)
{
	char stream[64];
	size_t first = put(stream, 'R', "abc", 3);
	size_t bytes = first + put(stream + first, 'R', "def", 3);
	struct aj_frame_reader r = { .cap_bytes = 3 };
	bool done;
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &done), (long)first);
	cr_expect(done);
	cr_expect_eq(aj_frame_feed(&r, stream + first, bytes - first, &done), 0, "fed before aj_frame_next()");
	cr_expect(done);
	aj_frame_next(&r);
}

Test(frame, zero_length)
{
	char stream[8];
	struct aj_frame_reader r = { 0 }; /* a cap of 0 permits an empty body and nothing else */
	bool done;
	size_t bytes = put(stream, 'A', "", 0);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &done), 5);
	cr_expect(done && r.body_bytes == 0 && r.kind == 'A' && r.body && r.body[0] == '\0');
	aj_frame_next(&r);
	bytes = put(stream, 'A', "b", 1);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &done), -1);
	cr_expect_eq(errno, EMSGSIZE);
}

Test(frame, caps)
{
	static const struct {
		uint32_t length, cap;
		bool ok;
	} rows[] = {
		{ 10, 10, true },           { 11, 10, false },  { 0xffffffff, 10, false }, { 0x80000000, 10, false },
		{ 0x01000000, 255, false }, { 255, 255, true }, { 256, 255, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_frame_reader r = { .cap_bytes = rows[i].cap };
		unsigned char header[AJ_FRAME_HEADER];
		bool done;
		aj_frame_header(header, rows[i].length, 'R');
		errno = 0;
		long n = aj_frame_feed(&r, (char *)header, sizeof header, &done);
		cr_expect_eq(n, rows[i].ok ? 5 : -1, "length %u under cap %u: %ld", rows[i].length, rows[i].cap, n);
		cr_expect_not(done);
		if (!rows[i].ok) {
			cr_expect_eq(errno, EMSGSIZE);
			cr_expect_null(r.body, "memory for a refused body");
			cr_expect_eq(aj_frame_feed(&r, "more", 4, &done), -1, "a refused frame stays refused");
		}
		aj_frame_next(&r);
	}
}

Test(frame, next_drops_a_half_read_body)
{
	char stream[64];
	struct aj_frame_reader r = { .cap_bytes = 100 };
	bool done;
	put(stream, 'R', "0123456789", 10);
	cr_expect_eq(aj_frame_feed(&r, stream, 9, &done), 9);
	cr_expect_not(done);
	aj_frame_next(&r);
	size_t bytes = put(stream, 'E', "new", 3);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &done), (long)bytes);
	cr_expect(done);
	cr_expect_str_eq(r.body, "new");
	aj_frame_next(&r);
}
