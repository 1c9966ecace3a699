/* Tests of inspect/refusal: the protocol of first bytes, and answers that a client of it can read, whatever is in the sentence. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/inspect/refusal.h"

static uint8_t out[AJ_REFUSAL_BYTES + 1];
static size_t got;

static enum aj_refusal answer(const char *data, size_t bytes, bool whole, uint16_t port, const char *sentence)
{
	got = 0;
	memset(out, 0, sizeof out);
	return aj_refusal_answer((const uint8_t *)data, bytes, whole, port, sentence, out, &got);
}

Test(refusal, protocols)
{
	static const struct {
		const char *data;
		size_t bytes;
		uint16_t port;
		enum aj_refusal part, whole; /* with more to come, and without */
		const char *begins;
	} rows[] = {
		{ "", 0, 443, AJ_REFUSAL_MORE, AJ_REFUSAL_NONE, NULL },
		{ "\x16", 1, 443, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "\x15\3\3" },
		{ "\x16\3\1", 3, 80, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "\x15\3\3" },
		{ "G", 1, 80, AJ_REFUSAL_MORE, AJ_REFUSAL_ANSWERED, "HTTP/1.1 403 " },
		{ "G", 1, 8080, AJ_REFUSAL_MORE, AJ_REFUSAL_NONE, NULL },
		{ "GET / H", 7, 8080, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "HTTP/1.1 403 " },
		{ "GET / H", 7, 443, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "HTTP/1.1 403 " },
		{ "\0\0", 2, 80, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "HTTP/1.1 403 " },
		{ "\0\0", 2, 5432, AJ_REFUSAL_NONE, AJ_REFUSAL_NONE, NULL },
		{ "SSH", 3, 22, AJ_REFUSAL_MORE, AJ_REFUSAL_NONE, NULL },
		{ "SSH-", 4, 22, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "SSH-2.0-agentjail\r\n" },
		{ "SSH-2.0-x\r\n", 11, 443, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "SSH-2.0-agentjail\r\n" },
		{ "SHOW / HTTP/1.1\r\n", 17, 22, AJ_REFUSAL_ANSWERED, AJ_REFUSAL_ANSWERED, "HTTP/1.1 403 " },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(answer(rows[i].data, rows[i].bytes, false, rows[i].port, "why"), rows[i].part, "row %zu", i);
		cr_expect_eq(answer(rows[i].data, rows[i].bytes, true, rows[i].port, "why"), rows[i].whole, "row %zu", i);
		cr_expect(!rows[i].begins || strncmp((char *)out, rows[i].begins, strlen(rows[i].begins)) == 0, "row %zu: %.40s",
		          i, (char *)out);
	}
}

Test(refusal, tls_is_told_by_an_alert)
{
	cr_assert_eq(answer("\x16\3\1", 3, false, 443, "why"), AJ_REFUSAL_ANSWERED);
	cr_expect_eq(got, 7);
	cr_expect_arr_eq(out, "\x15\3\3\0\2\2\x31", 7, "fatal, access_denied");
}

Test(refusal, no_sentence_splits_an_answer)
{
	static const char hostile[] = "a\r\n\r\nHTTP/1.1 200 OK\r\nSet-Cookie: a=\x1b]0;b\x80\xff";
	char text[600], want[600];
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	memcpy(text, hostile, sizeof hostile - 1);
	cr_assert_eq(answer("GET / HTTP/1.1\r\n", 16, false, 80, text), AJ_REFUSAL_ANSWERED);
	const char *body = strstr((char *)out, "\r\n\r\n") + 4;
	snprintf(want, sizeof want, "Content-Length: %zu\r\n", strlen(body));
	cr_expect(strstr((char *)out, want), "%s", (char *)out);
	cr_expect(strchr(body, '\n') == body + strlen(body) - 1 && !strpbrk(body, "\r\x1b\x80\xff"), "one line of printable text");
	cr_expect_eq((size_t)(body - (char *)out) + strlen(body), got);
	cr_assert_eq(answer("HEAD / HTTP/1.1\r\n", 17, false, 80, "why"), AJ_REFUSAL_ANSWERED);
	cr_expect(got > 4 && memcmp(out + got - 4, "\r\n\r\n", 4) == 0, "no body");
}

Test(refusal, ssh_is_a_packet_of_whole_blocks)
{
	static char text[4000];
	for (size_t bytes = 0; bytes < sizeof text; bytes += bytes < 40 ? 1 : 977) {
		memset(text, 'y', bytes);
		text[bytes] = '\0';
		cr_assert_eq(answer("SSH-2.0-x\r\n", 11, false, 22, text), AJ_REFUSAL_ANSWERED);
		const uint8_t *packet = out + strlen("SSH-2.0-agentjail\r\n");
		size_t said = bytes < 1023 ? bytes : 1023, packet_bytes = got - strlen("SSH-2.0-agentjail\r\n");
		cr_expect_eq(packet_bytes % 8, 0, "%zu", bytes);
		cr_expect_eq((size_t)packet[2] << 8 | packet[3], packet_bytes - 4);
		cr_expect(packet[4] >= 4 && packet[4] < 16, "padding");
		cr_expect_eq(packet[5], 1, "a disconnection");
		cr_expect_eq((size_t)packet[12] << 8 | packet[13], said);
		cr_expect_eq(packet_bytes, 4 + 1 + 1 + 4 + 4 + said + 4 + packet[4]);
	}
}
