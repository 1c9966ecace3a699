/* Questions of a jail's resolver and our answers: names that trick, messages that are cut, and what is echoed. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "network/inspect/dns.h"

static uint8_t message[1024];
static size_t bytes;

/* A query of one question; `name`: labels, each behind its length, and the root's. */
static void query(const char *name, size_t name_bytes, unsigned type)
{
	memcpy(message, "\x12\x34\x01\x00\0\1\0\0\0\0\0\0", 12);
	memcpy(message + 12, name, name_bytes);
	bytes = 12 + name_bytes;
	memcpy(message + bytes, (uint8_t[]){ (uint8_t)(type >> 8), (uint8_t)type, 0, 1 }, 4);
	bytes += 4;
}
#define QUERY(name, type) query(name, sizeof name, type) /* with the literal's NUL as the root */

Test(dns, names)
{
	struct aj_dns_query q;
	static const struct {
		const char *wire;
		size_t bytes;
		int want;
		const char *name;
	} rows[] = {
		{ "\3api\4TEST", 10, 0, "api.test" },
		{ "\3aPi\4tEsT", 10, 0, "api.test" },
		{ "\5_smtp\4_tcp\1x", 14, 0, "_smtp._tcp.x" },
		{ "\10xn--pypi\4test", 15, 0, "xn--pypi.test" },
		{ "", 1, 0, "" },
		{ "\11localhost", 11, 0, "localhost" },
		{ "\4test\1.", 8, AJ_DNS_NO_NAME, "test.?" },         /* a dot within a label */
		{ "\10api.test", 10, AJ_DNS_NO_NAME, "api?test" },    /* which must not be read as two */
		{ "\4a\0bc\4test", 11, AJ_DNS_NO_NAME, "a?bc.test" }, /* a NUL */
		{ "\2\xc3\xa9\4test", 9, AJ_DNS_NO_NAME, "??.test" },
		{ "\3a b\4test", 10, AJ_DNS_NO_NAME, "a?b.test" },
		{ "\xc0\x0c", 2, AJ_DNS_FORMAT, "" }, /* a pointer to itself */
		{ "\3api\xc0\x0c", 6, AJ_DNS_FORMAT, "" },
		{ "\x40"
		  "a",
		  3, AJ_DNS_FORMAT, "" }, /* reserved kinds of label */
		{ "\x80"
		  "a",
		  3, AJ_DNS_FORMAT, "" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		query(rows[i].wire, rows[i].bytes, AJ_DNS_A);
		int r = aj_dns_parse(message, bytes, &q);
		cr_expect(r == rows[i].want && strcmp(q.name, rows[i].name) == 0, "row %zu: %d %s", i, r, q.name);
	}
}

Test(dns, long_names)
{
	struct aj_dns_query q;
	char wire[300];
	/* Four labels of 63, 63, 63 and `last`: with last = 61 a name of 253 letters, the longest. */
	for (size_t last = 60; last <= 63; last++) {
		size_t at = 0;
		for (int label = 0; label < 4; label++) {
			size_t letters = label < 3 ? 63 : last;
			wire[at++] = (char)letters;
			memset(wire + at, 'a', letters);
			at += letters;
		}
		wire[at++] = '\0';
		query(wire, at, AJ_DNS_A);
		cr_expect_eq(aj_dns_parse(message, bytes, &q), last <= 61 ? 0 : AJ_DNS_FORMAT, "%zu", last);
		cr_expect_eq(strlen(q.name), last <= 61 ? 192 + last : 0);
	}
}

Test(dns, not_a_question)
{
	struct aj_dns_query q;
	QUERY("\3api\4test", AJ_DNS_A);
	for (size_t cut = 0; cut < bytes; cut++) /* nothing behind a cut is read: each one lies in memory of its own size */
	{
		uint8_t *copy = malloc(cut + 1);
		memcpy(copy, message, cut);
		cr_expect_eq(aj_dns_parse(copy, cut, &q), cut < 12 ? -1 : AJ_DNS_FORMAT, "%zu", cut);
		free(copy);
	}
	message[2] |= 0x80; /* an answer, which must never be answered */
	cr_expect_eq(aj_dns_parse(message, bytes, &q), -1);
	message[2] = 0x28; /* an update */
	cr_expect_eq(aj_dns_parse(message, bytes, &q), AJ_DNS_NOT_BUILT);
	message[2] = 1;
	for (int count = 0; count <= 3; count++) {
		message[5] = (uint8_t)count;
		cr_expect_eq(aj_dns_parse(message, bytes, &q), count == 1 ? 0 : AJ_DNS_FORMAT);
	}
	message[5] = 1;
	message[bytes - 1] = 3; /* CHAOS, as in version.bind */
	cr_expect_eq(aj_dns_parse(message, bytes, &q), AJ_DNS_REFUSED);
}

Test(dns, answers)
{
	struct aj_dns_query q;
	uint8_t out[AJ_DNS_ANSWER_BYTES];
	static const uint8_t address[16] = { 198, 18, 0, 7, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
	QUERY("\3ApI\4test", AJ_DNS_A);
	cr_assert_eq(aj_dns_parse(message, bytes, &q), 0);
	size_t got = aj_dns_answer(&q, message, AJ_DNS_OK, address, 60, "", out, sizeof out);
	cr_expect_eq(got, bytes + 16);
	cr_expect_arr_eq(out, "\x12\x34\x81\x80\0\1\0\1\0\0\0\0", 12);
	cr_expect_arr_eq(out + 12, message + 12, bytes - 12, "the question as it came, case included");
	cr_expect_arr_eq(out + bytes, "\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4\xc6\x12\0\7", 16);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_OK, address, 60, "", out, got - 1), 0, "no room");

	QUERY("\3api\4test", AJ_DNS_AAAA);
	cr_assert_eq(aj_dns_parse(message, bytes, &q), 0);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_OK, address, 60, "", out, sizeof out), bytes + 28);

	QUERY("\3api\4test", AJ_DNS_HTTPS); /* no record for other types, whatever the caller gives */
	cr_assert_eq(aj_dns_parse(message, bytes, &q), 0);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_OK, address, 60, "", out, sizeof out), bytes);
	cr_expect_eq(out[7], 0);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_NO_NAME, NULL, 0, "", out, sizeof out), bytes);
	cr_expect_eq(out[3] & 0x0f, AJ_DNS_NO_NAME);
}

Test(dns, edns)
{
	struct aj_dns_query q;
	uint8_t out[AJ_DNS_ANSWER_BYTES];
	QUERY("\3api\4test", AJ_DNS_A);
	static const uint8_t opt[] = { 0, 0, 41, 0x10, 0, 0, 0, 0x80, 0, 0, 12, 0, 10, 0, 8, 1, 2, 3, 4, 5, 6, 7, 8 };
	memcpy(message + bytes, opt, sizeof opt);
	message[11] = 1;
	cr_assert_eq(aj_dns_parse(message, bytes + sizeof opt, &q), 0);
	cr_expect(q.edns);
	size_t got = aj_dns_answer(&q, message, AJ_DNS_OK, "\1\2\3\4", 0, "", out, sizeof out);
	cr_expect_eq(got, bytes + 16 + 11);
	cr_expect_arr_eq(out + got - 11, "\0\0\x29\x04\xd0\0\0\0\0\0\0", 11, "no cookie of the client's comes back");
	cr_expect_eq(out[11], 1);
	cr_assert_eq(aj_dns_parse(message, bytes + 10, &q), 0); /* cut: as without */
	cr_expect_not(q.edns);
	message[bytes + 6] = 1; /* another version */
	cr_assert_eq(aj_dns_parse(message, bytes + sizeof opt, &q), 0);
	cr_expect_not(q.edns);
}

Test(dns, why_a_name_is_blocked)
{
	struct aj_dns_query q;
	uint8_t out[AJ_DNS_ANSWER_BYTES];
	char text[1000];
	static const uint8_t opt[] = { 0, 0, 41, 0x10, 0, 0, 0, 0, 0, 0, 0 };
	QUERY("\3api\4test", AJ_DNS_A);
	cr_assert_eq(aj_dns_parse(message, bytes, &q), 0);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_NO_NAME, NULL, 0, "why", out, sizeof out), bytes, "no EDNS, no text");
	memcpy(message + bytes, opt, sizeof opt);
	message[11] = 1;
	cr_assert_eq(aj_dns_parse(message, bytes + sizeof opt, &q), 0);
	size_t got = aj_dns_answer(&q, message, AJ_DNS_NO_NAME, NULL, 0, "why", out, sizeof out);
	cr_expect_eq(got, bytes + 11 + 9);
	cr_expect_arr_eq(out + got - 11, "\0\11\0\17\0\5\0\17why", 11);
	memset(text, 'x', sizeof text);
	text[sizeof text - 1] = '\0';
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_OK, "\1\2\3\4", 5, text, out, sizeof out), sizeof out, "cut");
	cr_expect_eq(out[bytes + 16 + 14], (sizeof out - bytes - 16 - 11 - 4) % 256, "its length is that of what is there");
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_OK, "\1\2\3\4", 5, text, out, sizeof out - 1), 0, "no room");
}

Test(dns, an_answer_to_what_was_not_readable)
{
	struct aj_dns_query q;
	uint8_t out[AJ_DNS_ANSWER_BYTES];
	query("\xc0\x0c", 2, AJ_DNS_A);
	cr_assert_eq(aj_dns_parse(message, bytes, &q), AJ_DNS_FORMAT);
	cr_expect_eq(aj_dns_answer(&q, message, AJ_DNS_FORMAT, "\1\2\3\4", 1, "", out, sizeof out), 12);
	cr_expect_arr_eq(out, "\x12\x34\x81\x81\0\0\0\0\0\0\0\0", 12);
}
