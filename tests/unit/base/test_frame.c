/* Tests of base/frame: frames in whatever pieces they arrive, and lengths that lie.
 * No socket is involved: the reader gets its bytes from memory. */
#include <criterion/criterion.h>
#include <stdlib.h>
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

/* Feed `bytes`, at most `step` at a time; the frames end up in `log`, each ended by `|`. */
static void feed(struct aj_frame_reader *r, const char *data, size_t bytes, size_t step, char *log)
{
	for (size_t at = 0; at < bytes;) {
		size_t piece = bytes - at < step ? bytes - at : step;
		for (size_t used = 0; used < piece;) {
			const char *body;
			long n = aj_frame_feed(r, data + at + used, piece - used, &body);
			cr_assert_gt(n, 0, "no progress at byte %zu", at + used);
			used += (size_t)n;
			cr_expect_eq(body != NULL, r->have && r->have == r->want);
			cr_expect_eq(aj_frame_missing(r) == 0, body != NULL);
			if (!body)
				continue;
			strncat(log, body, r->want);
			strcat(log, "|");
			aj_frame_next(r);
		}
		at += piece;
	}
}

Test(frame, header_is_big_endian_and_counts_the_kind)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, 0x01020303, 'Q');
	cr_expect(memcmp(header, "\x01\x02\x03\x04Q", 5) == 0);
	cr_expect_eq(aj_frame_length(header), 0x01020304);
	aj_frame_put_length(header, 0xfffefdfc);
	cr_expect(memcmp(header, "\xff\xfe\xfd\xfcQ", 5) == 0);
	cr_expect_eq(aj_frame_length(header), 0xfffefdfc);
}

Test(frame, split_at_every_byte)
{
	char stream[64];
	size_t bytes = put(stream, 'A', "", 0);
	bytes += put(stream + bytes, 'R', "hello", 5);
	bytes += put(stream + bytes, 'Q', "x", 1);
	bytes += put(stream + bytes, 'E', "", 0);
	for (size_t cut = 0; cut <= bytes; cut++) {
		struct aj_frame_reader r = { .cap_bytes = 6 };
		char log[64] = "";
		feed(&r, stream, cut, cut + 1, log);
		feed(&r, stream + cut, bytes - cut, bytes, log);
		cr_expect_str_eq(log, "A|Rhello|Qx|E|", "cut at %zu", cut);
		cr_expect_eq(r.have, 0);
	}
	for (size_t step = 1; step <= bytes; step++) {
		struct aj_frame_reader r = { .cap_bytes = 6 };
		char log[64] = "";
		feed(&r, stream, bytes, step, log);
		cr_expect_str_eq(log, "A|Rhello|Qx|E|", "steps of %zu", step);
		cr_expect_null(r.body);
	}
}

Test(frame, a_frame_takes_no_byte_of_the_next)
{
	char stream[64];
	size_t first = put(stream, 'R', "abc", 3);
	size_t bytes = first + put(stream + first, 'R', "def", 3);
	for (size_t cut = 1; cut <= first; cut++) {
		struct aj_frame_reader r = { .cap_bytes = 4 };
		const char *body;
		cr_expect_eq(aj_frame_feed(&r, stream, cut, &body), (long)cut);
		if (!body)
			cr_expect_eq(aj_frame_feed(&r, stream + cut, bytes - cut, &body), (long)(first - cut));
		cr_expect(body && memcmp(body, "Rabc", 4) == 0);
		cr_expect_eq(aj_frame_feed(&r, stream + first, bytes - first, &body), 0, "fed before aj_frame_next()");
		aj_frame_next(&r);
	}
}

Test(frame, a_frame_is_not_empty)
{
	char stream[8];
	struct aj_frame_reader r = { .cap_bytes = 1 };
	const char *body;
	size_t bytes = put(stream, 'A', "", 0);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &body), 5);
	cr_expect(body && *body == 'A' && r.want == 1);
	aj_frame_next(&r);
	bytes = put(stream, 'A', "b", 1);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &body), -1);
	aj_frame_next(&r);
	cr_expect_eq(aj_frame_feed(&r, "\0\0\0\0A", 5, &body), -1);
	cr_expect_null(body);
}

Test(frame, caps)
{
	static const struct {
		uint32_t length, cap;
		bool ok;
	} rows[] = {
		{ 10, 10, true },           { 11, 10, false },  { 0xffffffff, 10, false }, { 0x80000000, 10, false },
		{ 0x01000000, 255, false }, { 255, 255, true }, { 256, 255, false },       { 1, 1, true },
		{ 0, 10, false },           { 1, 0, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_frame_reader r = { .cap_bytes = rows[i].cap };
		char header[AJ_FRAME_LENGTH];
		const char *body;
		aj_frame_put_length(header, rows[i].length);
		long n = aj_frame_feed(&r, header, sizeof header, &body);
		cr_expect_eq(n, rows[i].ok ? 4 : -1, "length %u under cap %u: %ld", rows[i].length, rows[i].cap, n);
		cr_expect_null(body);
		cr_expect(!r.body && !r.room, "a length alone takes no memory");
		if (!rows[i].ok)
			cr_expect_eq(aj_frame_feed(&r, "more", 4, &body), -1, "a refused frame stays refused");
		aj_frame_next(&r);
	}
}

Test(frame, next_drops_a_half_read_body)
{
	char stream[64];
	struct aj_frame_reader r = { .cap_bytes = 100 };
	const char *body;
	put(stream, 'R', "0123456789", 10);
	cr_expect_eq(aj_frame_feed(&r, stream, 9, &body), 9);
	cr_expect_null(body);
	aj_frame_next(&r);
	size_t bytes = put(stream, 'E', "new", 3);
	cr_expect_eq(aj_frame_feed(&r, stream, bytes, &body), (long)bytes);
	cr_expect(body && memcmp(body, "Enew", 4) == 0);
	aj_frame_next(&r);
}

/* Fed or read in place: the bytes are the same, and memory is taken as they arrive. */
Test(frame, a_big_body)
{
	enum { BYTES = 1000000, CHUNK = 65536 };
	for (int in_place = 0; in_place < 2; in_place++) {
		char *data = malloc(BYTES + AJ_FRAME_LENGTH);
		struct aj_frame_reader r = { .cap_bytes = BYTES };
		const char *body = NULL;
		size_t at = 0, placed = 0;
		for (size_t i = 0; i < BYTES; i++)
			data[AJ_FRAME_LENGTH + i] = (char)(i * 7);
		aj_frame_put_length(data, BYTES);
		while (!body) {
			char *room = in_place ? aj_frame_room(&r, CHUNK) : NULL;
			if (room) {
				memcpy(room, data + at, CHUNK);
				body = aj_frame_filled(&r, CHUNK);
				at += CHUNK;
				placed++;
			} else {
				size_t left = BYTES + AJ_FRAME_LENGTH - at;
				long used = aj_frame_feed(&r, data + at, left < CHUNK ? left : CHUNK, &body);
				cr_assert(used > 0);
				at += (size_t)used;
			}
			cr_expect(r.room <= 2 * at + CHUNK, "%zu bytes for %zu", r.room, at);
		}
		cr_expect_eq(placed, in_place ? 14 : 0, "%zu pieces were read in place", placed);
		cr_assert_eq(r.want, BYTES);
		cr_expect(memcmp(body, data + AJ_FRAME_LENGTH, BYTES) == 0);
		aj_frame_next(&r);
		free(data);
	}
}
