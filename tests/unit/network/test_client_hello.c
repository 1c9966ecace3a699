/* ClientHellos: as clients send them, cut at every byte, split over records, and built to be read in two ways. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "network/inspect/client_hello.h"

/* --- a builder --- */

static uint8_t hello[20000]; /* the handshake message */
static size_t used;
static uint8_t wire[40000]; /* in records */
static size_t bytes;

static void put(const void *data, size_t count)
{
	memcpy(hello + used, data, count);
	used += count;
}

static void put16(unsigned value)
{
	put((uint8_t[]){ (uint8_t)(value >> 8), (uint8_t)value }, 2);
}

static size_t begin_extensions(size_t session, size_t ciphers)
{
	static const uint8_t zeros[256];
	used = 0;
	put("\1\0\0\0\3\3", 6);
	put(zeros, 32);
	put((uint8_t[]){ (uint8_t)session }, 1);
	put(zeros, session);
	put16((unsigned)ciphers);
	put(zeros, ciphers);
	put("\1\0", 2);
	put16(0);
	return used;
}

static void put_extension(unsigned type, const void *data, size_t count)
{
	put16(type);
	put16((unsigned)count);
	put(data, count);
}

/* server_name, with as many names as there are and the type of each. */
static void put_names(const char *const names[], const size_t lengths[], uint8_t type)
{
	size_t list = 0;
	for (size_t i = 0; names[i]; i++)
		list += 3 + lengths[i];
	put16(0);
	put16((unsigned)list + 2);
	put16((unsigned)list);
	for (size_t i = 0; names[i]; i++) {
		put(&type, 1);
		put16((unsigned)lengths[i]);
		put(names[i], lengths[i]);
	}
}

static void put_name(const char *name)
{
	put_names((const char *[]){ name, NULL }, (size_t[]){ strlen(name) }, 0);
}

static void into_records(size_t record)
{
	bytes = 0;
	for (size_t at = 0; at < used; at += record) {
		size_t part = used - at < record ? used - at : record;
		memcpy(wire + bytes, (uint8_t[]){ 22, 3, 1, (uint8_t)(part >> 8), (uint8_t)part }, 5);
		memcpy(wire + bytes + 5, hello + at, part);
		bytes += 5 + part;
	}
}

static void end_hello(size_t extensions, size_t record)
{
	size_t list = used - extensions, body = used - 4;
	hello[extensions - 2] = (uint8_t)(list >> 8);
	hello[extensions - 1] = (uint8_t)list;
	hello[1] = (uint8_t)(body >> 16);
	hello[2] = (uint8_t)(body >> 8);
	hello[3] = (uint8_t)body;
	into_records(record);
}

static void named(const char *name)
{
	size_t at = begin_extensions(32, 32);
	put_extension(0x0a0a, "", 0); /* GREASE of an extension: means nothing */
	put_name(name);
	put_extension(16, "\0\3\2h2", 5);
	end_hello(at, 16384);
}

/* The name that is found, with every byte behind the message out of bounds. */
static enum aj_hello judge_first(size_t count, char name[256])
{
	uint8_t *copy = malloc(count + 1);
	memcpy(copy, wire, count);
	enum aj_hello found = aj_client_hello(copy, count, name);
	free(copy);
	return found;
}

static enum aj_hello judge(void)
{
	char name[256];
	return judge_first(bytes, name);
}

/* --- what is accepted --- */

Test(client_hello, a_name)
{
	char name[256];
	named("API.example.Test");
	cr_expect_eq(judge_first(bytes, name), AJ_HELLO_NAME);
	cr_expect_str_eq(name, "api.example.test");
	named("api.example.test.");
	cr_expect_eq(judge_first(bytes, name), AJ_HELLO_NAME);
	cr_expect_str_eq(name, "api.example.test");
	for (size_t cut = 0; cut < bytes; cut++) {
		cr_expect_eq(judge_first(cut, name), AJ_HELLO_MORE, "%zu of %zu", cut, bytes);
		cr_expect_str_eq(name, "");
	}
	bytes += 5; /* what follows is another record, and no concern of ours */
	memcpy(wire + bytes - 5, "\x14\3\3\0\1", 5);
	cr_expect_eq(judge_first(bytes, name), AJ_HELLO_NAME);
}

Test(client_hello, over_records_and_segments)
{
	char name[256];
	static const uint8_t key[1216]; /* X25519MLKEM768 */
	for (size_t record = 1; record < 2000; record = record * 2 + 1) {
		size_t at = begin_extensions(32, 62);
		put_extension(51, key, sizeof key);
		put_name("api.example.test");
		put_extension(21, key, 200);
		end_hello(at, record);
		cr_expect_eq(judge_first(bytes, name), AJ_HELLO_NAME, "records of %zu", record);
		cr_expect_str_eq(name, "api.example.test");
		for (size_t cut = 0; cut < bytes; cut += 7)
			cr_expect_eq(judge_first(cut, name), AJ_HELLO_MORE, "records of %zu, cut at %zu", record, cut);
	}
}

Test(client_hello, without_a_name)
{
	size_t at = begin_extensions(0, 2);
	put_extension(16, "\0\3\2h2", 5);
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_NO_NAME);
	begin_extensions(0, 2);
	used -= 2; /* no list of extensions at all */
	hello[3] = (uint8_t)(used - 4);
	into_records(16384);
	cr_expect_eq(judge(), AJ_HELLO_NO_NAME);
}

/* --- what is refused --- */

Test(client_hello, ech)
{
	char name[256];
	static const unsigned types[] = { 0xfe0d, 0xfe0a, 0xffce };
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		for (int first = 0; first < 2; first++) {
			size_t at = begin_extensions(0, 2);
			if (first)
				put_extension(types[i], "\0\0\1\0\1", 5);
			put_name("outer.test");
			if (!first)
				put_extension(types[i], "", 0);
			end_hello(at, 16384);
			cr_expect_eq(judge_first(bytes, name), AJ_HELLO_ECH);
			cr_expect_str_eq(name, "outer.test");
		}
}

Test(client_hello, bad_names)
{
	static const struct {
		const char *name;
		size_t bytes;
	} rows[] = {
		{ "", 0 },      { ".", 1 },
		{ "a..b", 4 },  { ".a", 2 },
		{ "a..", 3 },   { "good.test\0.evil", 15 },
		{ "a b", 3 },   { "a/b", 3 },
		{ "a:443", 5 }, { "\xc3\xa9.test", 7 },
		{ "[::1]", 5 }, { "*.test", 6 },
		{ "a\n", 2 },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		size_t at = begin_extensions(0, 2);
		put_names((const char *[]){ rows[i].name, NULL }, (size_t[]){ rows[i].bytes }, 0);
		end_hello(at, 16384);
		cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "row %zu", i);
	}
	char longest[256];
	for (size_t i = 0; i < 255; i++)
		longest[i] = i % 50 == 49 ? '.' : 'a';
	longest[255] = '\0';
	for (size_t count = 252; count <= 255; count++) {
		size_t at = begin_extensions(0, 2);
		put_names((const char *[]){ longest, NULL }, (size_t[]){ count }, 0);
		end_hello(at, 16384);
		cr_expect_eq(judge(), count <= 253 ? AJ_HELLO_NAME : AJ_HELLO_MALFORMED, "%zu", count);
	}
	memset(longest, 'a', 64);
	longest[64] = '\0';
	named(longest);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "a label of 64");
}

Test(client_hello, two_names)
{
	const char *names[] = { "good.test", "evil.test", NULL };
	size_t lengths[] = { 9, 9 };
	size_t at = begin_extensions(0, 2);
	put_names(names, lengths, 0);
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "in one list");
	at = begin_extensions(0, 2);
	put_name("good.test");
	put_name("good.test");
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "in two extensions");
	at = begin_extensions(0, 2);
	put_names(names, lengths, 1);
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "of another type");
	at = begin_extensions(0, 2);
	put_extension(0, "", 0);
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "as a server answers");
	at = begin_extensions(0, 2);
	put_extension(0, "\0\5\0\0\1a\0\0", 8);
	end_hello(at, 16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "with more behind the list");
}

Test(client_hello, lengths_that_lie)
{
	named("api.example.test");
	enum aj_hello found = judge();
	cr_assert_eq(found, AJ_HELLO_NAME);
	/* Each byte of the message, with each of some values: no other name may come of it but by a change of the name's own letters. */
	size_t name_at = (size_t)((uint8_t *)memmem(wire, bytes, "api.example.test", 16) - wire);
	for (size_t i = 0; i < bytes; i++) {
		static const uint8_t values[] = { 0, 1, 2, 22, 0x40, 0x7f, 0x80, 0xff };
		uint8_t before = wire[i];
		for (size_t v = 0; v < sizeof values; v++) {
			char name[256];
			wire[i] = values[v];
			found = judge_first(bytes, name);
			if (found == AJ_HELLO_NAME && (i < name_at || i >= name_at + 16))
				cr_expect_str_eq(name, "api.example.test", "byte %zu = %d", i, values[v]);
		}
		wire[i] = before;
	}
}

Test(client_hello, records_that_are_none)
{
	named("api.example.test");
	hello[used] = 1; /* another message in the record */
	used++;
	into_records(16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED);
	used--;
	hello[0] = 2;
	into_records(16384);
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "a ServerHello");
	hello[0] = 1;
	into_records(50);
	wire[55] = 21;
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "an alert between two parts");
	into_records(50);
	wire[58] = wire[59] = 0;
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "an empty record");
	into_records(16384);
	wire[3] = 0x41;
	cr_expect_eq(judge(), AJ_HELLO_MALFORMED, "a record of more than 2^14 bytes");
}

Test(client_hello, too_long)
{
	char name[256];
	static const uint8_t zeros[17000];
	size_t at = begin_extensions(0, 2);
	put_extension(21, zeros, 15500);
	put_name("api.example.test");
	end_hello(at, 4000);
	cr_expect_eq(judge_first(bytes, name), AJ_HELLO_NAME);
	at = begin_extensions(0, 2);
	put_extension(21, zeros, 16300);
	put_name("api.example.test");
	end_hello(at, 4000);
	cr_expect_eq(judge_first(1000, name), AJ_HELLO_MORE);
	cr_expect_eq(judge_first(bytes, name), AJ_HELLO_TOO_LONG);
	hello[1] = 1;
	into_records(16384);
	cr_expect_eq(judge_first(9, name), AJ_HELLO_TOO_LONG, "said to be so");
}

Test(client_hello, other_protocols)
{
	static const char *const texts[] = { "GET / HTTP/1.1\r\n", "SSH-2.0-x\r\n",  "\x80\x2e\2",     "\x80\x2e\1\4\1",
		                             "\xff\xfd\1",         "\x16\2\1\1\7\7", "\x16\3\5\1\1\2", "\x16\x10",
		                             "\x15\x10",           "\x15\1\1\1\1",   "\x19\3\1" };
	char name[256];
	cr_expect_eq(aj_client_hello(NULL, 0, name), AJ_HELLO_MORE);
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		cr_expect_eq(aj_client_hello((const uint8_t *)texts[i], strlen(texts[i]), name), AJ_HELLO_NOT_TLS, "%zu", i);
		cr_expect(aj_hello_why(AJ_HELLO_NOT_TLS));
	}
}

/* Some servers pass over such records, or take a ClientHello of SSL 2, which names no server. */
Test(client_hello, other_begins_of_tls)
{
	static const struct {
		const char *bytes;
		size_t count;
		enum aj_hello want;
	} rows[] = {
		{ "\x15\3\1\0\2\1\0", 7, AJ_HELLO_MALFORMED }, /* an alert */
		{ "\x15\3\5\0\2", 5, AJ_HELLO_MALFORMED },
		{ "\x15\2\0\0\2", 5, AJ_HELLO_MALFORMED },
		{ "\x14\3\3", 3, AJ_HELLO_MALFORMED }, /* a change of the cipher */
		{ "\x17\3\3\0\0", 5, AJ_HELLO_MALFORMED },
		{ "\x18\3\3", 3, AJ_HELLO_MALFORMED },
		{ "\x15\3", 2, AJ_HELLO_MORE },
		{ "\x15\2\0\0", 4, AJ_HELLO_MORE },
		{ "\x80\x2e\1\3\1", 5, AJ_HELLO_MALFORMED }, /* SSL 2's form */
		{ "\x80\x2e\1\0\2", 5, AJ_HELLO_MALFORMED },
		{ "\xbf\xff\1\3\3", 5, AJ_HELLO_MALFORMED },
		{ "\x80\x2e\1\3", 4, AJ_HELLO_MORE },
	};
	char name[256];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		cr_expect_eq(aj_client_hello((const uint8_t *)rows[i].bytes, rows[i].count, name), rows[i].want, "row %zu", i);
		cr_expect(aj_hello_may_begin((uint8_t)rows[i].bytes[0]));
	}
	cr_expect(!aj_hello_may_begin('G') && !aj_hello_may_begin(0xff) && !aj_hello_may_begin(25) && !aj_hello_may_begin(19));
}

/* Servers may ignore a record's version, so one that no client sends makes no other protocol of a ClientHello. */
Test(client_hello, odd_versions)
{
	static const uint8_t versions[][2] = { { 3, 5 }, { 3, 0xff }, { 2, 0 }, { 0, 0 }, { 0x0f, 0xff } };
	char name[256];
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		uint8_t record[] = { 22, versions[i][0], versions[i][1], 1, 0, 1, 0, 0 };
		for (size_t cut = 1; cut < 6; cut++)
			cr_expect_eq(aj_client_hello(record, cut, name), AJ_HELLO_MORE, "%zu", cut);
		cr_expect_eq(aj_client_hello(record, sizeof record, name), AJ_HELLO_MALFORMED, "%zu", i);
		record[3] = 0;
		record[5] = 22; /* an empty record, and the next one */
		cr_expect_eq(aj_client_hello(record, sizeof record, name), AJ_HELLO_MALFORMED, "empty");
	}
}
