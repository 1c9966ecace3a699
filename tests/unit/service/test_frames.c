/* Tests of what the service sends to clients: strings of whatever bytes, output in pieces, and frames that a socket takes slowly.
 * Everything is in memory but one socket pair, which takes less than is sent. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base64.h"
#include "base/text.h"
#include "service/protocol/piece.h"
#include "service/sockets/send.h"

static struct aj_buffer out;

static void done(void)
{
	aj_buffer_free(&out);
}
TestSuite(frames, .fini = done);

static const struct {
	const char *raw;
	size_t bytes;
	const char *json;
} strings[] = {
	{ "", 0, "\"\"" },
	{ "a\"b\\c/\n\t\x01\x7f", 10, "\"a\\\"b\\\\c/\\n\\t\\u0001\x7f\"" },
	{ "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, "\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"" },
	{ "\xff", 1, "\"\\ufffd\"" },
	{ "x\xe2\x82", 3, "\"x\\ufffd\\ufffd\"" },
	{ "\xed\xa0\x80", 3, "\"\\ufffd\\ufffd\\ufffd\"" },
	{ "a\0b", 3, "\"a\\u0000b\"" },
	{ "\xf5\x80\x80\x80z", 5, "\"\\ufffd\\ufffd\\ufffd\\ufffdz\"" },
};

Test(frames, strings)
{
	for (size_t i = 0; i < sizeof strings / sizeof *strings; i++) {
		aj_buffer_free(&out);
		aj_buffer_string(&out, strings[i].raw, strings[i].bytes);
		aj_buffer_add(&out, "", 1);
		cr_expect_str_eq(out.data, strings[i].json, "row %zu: %s", i, out.data);
	}
}

/* The members of one event, as JSON and decoded: its text is added to `texts`, and its bytes to `raw` by the next step of the text. */
static void add_piece(char *texts, size_t *raw_bytes, const char *text)
{
	aj_buffer_add(&out, "}", 2);
	json_t *event = json_loads(out.data, 0, NULL);
	const char *data = json_string_value(json_object_get(event, "data")),
		   *bytes = json_string_value(json_object_get(event, "data_base64"));
	cr_assert_not_null(data, "%s", out.data);
	strcat(texts, data);
	size_t n = bytes ? strlen(bytes) / 4 * 3 - (strlen(bytes) && bytes[strlen(bytes) - 1] == '=') -
	                       (strlen(bytes) && bytes[strlen(bytes) - 2] == '=')
	                 : strlen(data);
	cr_assert_eq(bytes != NULL, strstr(data, "\xef\xbf\xbd") != NULL,
	             "base64 where the text is not what was written, and nowhere else: %s", out.data);
	char want[128] = "";
	aj_base64(want, text + *raw_bytes, n);
	if (bytes)
		cr_expect_str_eq(bytes, want);
	else
		cr_expect_eq(memcmp(data, text + *raw_bytes, n), 0);
	*raw_bytes += n;
	json_decref(event);
}

/* Cut anywhere, a text comes out as if it had come whole, and no piece ends within a character; no byte is lost. */
Test(frames, pieces_of_text)
{
	static const char text[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z\xff\xe2\x82z\xf4\x90\x80\x80\xc3";
	size_t bytes = sizeof text - 1;
	aj_buffer_string(&out, text, bytes);
	aj_buffer_add(&out, "", 1);
	json_t *whole = json_loads(out.data, JSON_DECODE_ANY, NULL);
	for (size_t step = 1; step <= bytes; step++) {
		struct aj_piece piece = { 0 };
		char *joined = calloc(1, 4096);
		size_t raw_bytes = 0;
		for (size_t at = 0; at < bytes; at += step) {
			out.bytes = 0;
			aj_buffer_text(&out, "{");
			if (aj_piece_data(&piece, &out, text + at, at + step < bytes ? step : bytes - at))
				add_piece(joined, &raw_bytes, text);
			else
				cr_expect_eq(out.bytes, 1, "nothing is written");
			cr_assert(piece.tail_bytes < sizeof piece.tail);
		}
		out.bytes = 0;
		aj_buffer_text(&out, "{");
		aj_piece_end(&piece, &out);
		add_piece(joined, &raw_bytes, text);
		cr_expect_str_eq(joined, json_string_value(whole), "steps of %zu: %s", step, joined);
		cr_expect_eq(raw_bytes, bytes, "steps of %zu", step);
		free(joined);
	}
	json_decref(whole);
}

Test(frames, out)
{
	json_t *value = json_pack("{s:[i,b,n]}", "a", 1, 1);
	aj_buffer_begin(&out);
	aj_buffer_text(&out, "lost");
	aj_buffer_cancel(&out);
	aj_buffer_begin(&out);
	aj_buffer_json(&out, value);
	aj_buffer_number(&out, 18446744073709551615ULL);
	aj_buffer_end(&out);
	json_decref(value);
	cr_expect_eq(out.bytes, 4 + 19 + 20);
	cr_expect(memcmp(out.data, "\0\0\0\x27{\"a\":[1,true,null]}18446744073709551615", 43) == 0);
}

/* Texts that jansson reads, and reads again after they were written. */
Test(frames, values)
{
	static const char *const texts[] = {
		"null",
		"true",
		"false",
		"0",
		"-1",
		"9223372036854775807",
		"-9223372036854775808",
		"1.5",
		"-0.0",
		"1e300",
		"5e-324",
		"0.1",
		"\"\"",
		"\"a\\\"b\\\\c\\n\\t\\u0001\\u007f/\"",
		"\"\\u00e9\\u20ac\\ud83d\\ude00\"",
		"[]",
		"{}",
		"[[],[{}],{\"a\":[]}]",
		"{\"\":1,\"\\u00e9\\n\":{\"x\":[1,2.25,null,true,\"y\"]}}",
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		json_t *value = json_loads(texts[i], JSON_DECODE_ANY, NULL);
		cr_assert_not_null(value, "%s", texts[i]);
		aj_buffer_free(&out);
		aj_buffer_json(&out, value);
		json_t *back = json_loadb(out.data, out.bytes, JSON_DECODE_ANY, NULL);
		cr_expect(json_equal(value, back), "%s became %.*s", texts[i], (int)out.bytes, out.data);
		json_decref(value);
		json_decref(back);
	}
}

/* Longer than the writer takes at a time, with a character across every border. */
Test(frames, long_strings)
{
	for (size_t shift = 0; shift < 4; shift++) {
		char *text = malloc(40000 + shift);
		memset(text, 'x', shift);
		for (size_t i = 0; i < 10000; i++)
			memcpy(text + shift + 4 * i, "\xf0\x9f\x98\x80", 4);
		json_t *value = json_stringn(text, 40000 + shift);
		aj_buffer_free(&out);
		aj_buffer_string(&out, text, 40000 + shift);
		cr_expect_eq(out.bytes, 40002 + shift);
		json_t *back = json_loadb(out.data, out.bytes, JSON_DECODE_ANY, NULL);
		cr_expect(json_equal(value, back), "shifted by %zu", shift);
		json_decref(back);
		aj_buffer_free(&out);
		aj_buffer_json(&out, value);
		back = json_loadb(out.data, out.bytes, JSON_DECODE_ANY, NULL);
		cr_expect(json_equal(value, back), "shifted by %zu", shift);
		json_decref(back);
		json_decref(value);
		free(text);
	}
}

/* More than a socket takes, and more added meanwhile: every byte arrives, in order. */
Test(frames, sending)
{
	int ends[2];
	char *got = malloc(64 << 20), chunk[5000];
	size_t have = 0, added = 0;
	ssize_t n;
	cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
	for (int round = 0; round < 400 || aj_buffer_left(&out); round++) {
		if (round < 400) {
			memset(chunk, 'a' + round % 26, sizeof chunk);
			aj_buffer_begin(&out);
			aj_buffer_add(&out, chunk, sizeof chunk);
			aj_buffer_end(&out);
			added += sizeof chunk + 4;
		}
		cr_assert_eq(aj_buffer_send(&out, ends[0]), 0);
		if (round % 3 == 0 || round >= 400)
			while ((n = recv(ends[1], got + have, round < 400 ? 7000 : 1 << 20, MSG_DONTWAIT)) > 0) {
				have += (size_t)n;
				if (round < 400)
					break;
			}
	}
	while ((n = recv(ends[1], got + have, 1 << 20, MSG_DONTWAIT)) > 0)
		have += (size_t)n;
	cr_assert_eq(have, added);
	for (size_t i = 0; i < 400; i++) {
		const char *frame = got + i * (sizeof chunk + 4);
		cr_assert(memcmp(frame, "\0\0\x13\x88", 4) == 0, "frame %zu", i);
		cr_assert(frame[4] == (char)('a' + i % 26) && frame[5003] == frame[4], "frame %zu", i);
	}
	close(ends[1]);
	aj_buffer_text(&out, "x");
	cr_expect_eq(aj_buffer_send(&out, ends[0]), -1, "nobody is there");
	close(ends[0]);
	free(got);
}
