/* Requests on a plain HTTP connection: fed whole, byte by byte and in pipelines; those of two hosts, or of two readings, are refused. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/inspect/http_head.h"

static struct aj_http h;

/* Feeds in pieces of `piece` bytes, as a relay would: what does not pass waits. Every byte that passed, or SIZE_MAX where it was refused. */
static size_t feed(const char *data, size_t bytes, size_t piece)
{
	size_t passed = 0, there = 0;
	while (there < bytes) {
		there = bytes - there < piece ? bytes : there + piece;
		size_t pass = 99;
		uint8_t *copy = malloc(there - passed + 1);
		memcpy(copy, data + passed, there - passed);
		enum aj_http_verdict verdict = aj_http_feed(&h, copy, there - passed, &pass);
		free(copy);
		cr_assert(verdict == AJ_HTTP_REFUSED ? pass == 0 && *h.why : pass <= there - passed);
		if (verdict == AJ_HTTP_REFUSED)
			return SIZE_MAX;
		passed += pass;
	}
	return passed;
}

static size_t begin_and_feed(const char *host, uint16_t port, const char *text, size_t piece)
{
	aj_http_begin(&h, host, port);
	return feed(text, strlen(text), piece);
}

#define HOST "Host: api.test\r\n"

Test(http_head, passes)
{
	static const char *const rows[] = {
		"GET / HTTP/1.1\r\n" HOST "\r\n",
		"GET / HTTP/1.0\r\nhOST:\tApI.TeST. \r\nAccept: */*\r\n\r\n",
		"GET /a?b#c HTTP/1.1\r\nHost: api.test:80\r\nCookie: a=\xc3\xa9\tb\r\nX-Empty:\r\n\r\n",
		"GET http://api.test/x HTTP/1.1\r\n" HOST "\r\n",
		"GET HTTP://API.TEST:80?x HTTP/1.1\r\n" HOST "\r\n",
		"GET //evil.test/ HTTP/1.1\r\n" HOST "\r\n", /* a path */
		"OPTIONS * HTTP/1.1\r\n" HOST "\r\n",
		"M-SEARCH /\xc3\xa9 HTTP/1.1\r\n" HOST "\r\n",
		"\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n\r\n\0\r\n" /* ends at its NUL: 2 of 5 bytes */,
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"POST / HTTP/1.1\r\n" HOST "Content-Length: 30\r\n\r\nGET / HTTP/1.1\r\nHost: evil\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: Chunked\r\n" HOST
		"\r\n4\r\nabcd\r\n0A\r\n0123456789\r\n0\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" HOST "\r\n0000\r\nX-Sum: 1\r\n\r\nGET / HTTP/1.1\r\n" HOST "\r\n",
		"GET / HTTP/1.1\r\n" HOST "Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AA\r\n\r\n",
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 400; piece = piece * 3 + 1) {
			size_t passed = begin_and_feed("api.test", 80, rows[i], piece);
			cr_expect_eq(passed, strlen(rows[i]), "row %zu in pieces of %zu: %zu, %s", i, piece, passed, h.why);
		}
}

Test(http_head, is_held_until_it_is_whole)
{
	static const char text[] = "GET / HTTP/1.1\r\n" HOST "X: y\r\n\r\n";
	for (size_t cut = 0; cut < sizeof text - 1; cut++) {
		aj_http_begin(&h, "api.test", 80);
		cr_expect_eq(feed(text, cut, 7), 0, "%zu", cut);
	}
}

Test(http_head, refused)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{ "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "the request's Host names `evil.test`, but the connection is for api.test:80" },
		{ "GET / HTTP/1.1\r\n\r\n", "without a Host" },
		{ "GET / HTTP/1.0\r\n\r\n", "without a Host" },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", "the request's Host names ``" },
		{ "GET / HTTP/1.1\r\n" HOST HOST "\r\n", "two Host" },
		{ "GET / HTTP/1.1\r\n" HOST "host: evil.test\r\n\r\n", "two Host" },
		{ "GET / HTTP/1.1\r\nHost: evil.test, api.test\r\n\r\n", "names `evil.test, api.test`" },
		{ "GET / HTTP/1.1\r\nHost: api.test evil.test\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test@evil.test\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: evil@api.test\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test:81\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test:\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test:080\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test:80:80\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test..\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test.evil\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: xapi.test\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test/x\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: [api.test]\r\n\r\n", "names" },
		{ "GET / HTTP/1.1\r\nHost: api.test\x7f\r\n\r\n", "control" },
		{ "GET / HTTP/1.1\r\nHost : api.test\r\n\r\n", "name: value" },
		{ "\x81\x85", "not an HTTP request" }, /* and not held for its end */
		{ "GET / HTTP/1.1\r\n Host: api.test\r\n\r\n", "name: value" },
		{ "GET / HTTP/1.1\r\n" HOST " evil.test\r\n\r\n", "name: value" }, /* folded */
		{ "GET / HTTP/1.1\r\n" HOST "\tX: y\r\n\r\n", "name: value" },
		{ "GET / HTTP/1.1\r\n" HOST "nonsense\r\n\r\n", "name: value" },
		{ "GET / HTTP/1.1\r\n" HOST ": x\r\n\r\n", "name: value" },
		{ "GET / HTTP/1.1\r\n" HOST "X\xc3\xa9: x\r\n\r\n", "name: value" },
		{ "GET / HTTP/1.1\nHost: api.test\n\n", "CR LF" },
		{ "GET / HTTP/1.1\r\nHost: api.test\n\r\n", "CR LF" },
		{ "GET / HTTP/1.1\r\nHost: api.test\r\n\n", "CR LF" },
		{ "GET / HTTP/1.1\r\nX: a\rHost: evil.test\r\n" HOST "\r\n", "CR LF" },
		{ "\nGET / HTTP/1.1\r\n" HOST "\r\n", "CR LF" },
		{ "GET http://evil.test/ HTTP/1.1\r\n" HOST "\r\n", "target names `evil.test`" },
		{ "GET http://api.test@evil.test/ HTTP/1.1\r\n" HOST "\r\n", "target names" },
		{ "GET http://evil@api.test/ HTTP/1.1\r\n" HOST "\r\n", "target names" },
		{ "GET http://api.test:8080/ HTTP/1.1\r\n" HOST "\r\n", "target names" },
		{ "GET http:///x HTTP/1.1\r\n" HOST "\r\n", "target names" },
		{ "GET http://api.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "Host names" },
		{ "GET https://api.test/ HTTP/1.1\r\n" HOST "\r\n", "neither" },
		{ "GET ftp://api.test/ HTTP/1.1\r\n" HOST "\r\n", "neither" },
		{ "GET evil.test HTTP/1.1\r\n" HOST "\r\n", "neither" },
		{ "GET * HTTP/1.1\r\n" HOST "\r\n", "neither" },
		{ "GET  / HTTP/1.1\r\n" HOST "\r\n", "not HTTP/1.1" },
		{ "GET /\tHTTP/1.1\r\n" HOST "\r\n", "version" },
		{ "GET / x HTTP/1.1\r\n" HOST "\r\n", "not HTTP/1.1" },
		{ "GET /\r\n\r\n", "version" },
		{ "GET / HTTP/2.0\r\n" HOST "\r\n", "not HTTP/1.1" },
		{ "GET / HTTP/1.1 \r\n" HOST "\r\n", "not HTTP/1.1" },
		{ "GET / HTTP/1.2\r\n" HOST "\r\n", "not HTTP/1.1" },
		{ "CONNECT evil.test:443 HTTP/1.1\r\n" HOST "\r\n", "CONNECT" },
		{ "connect evil.test:443 HTTP/1.1\r\n" HOST "\r\n", "CONNECT" },
		{ "CONNECT api.test:80 HTTP/1.1\r\nHost: api.test:80\r\n\r\n", "CONNECT" },
		{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2" },
		{ "G\xc3\xa9T / HTTP/1.1\r\n" HOST "\r\n", "not an HTTP request" },
		{ "EHLO\r\n\r\n", "not an HTTP request" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nContent-Length: 1\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 1, 1\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: +1\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 0x1\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: -1\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length:\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 9999999999999999999\r\n\r\n", "Content-Length" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", "beside" },
		{ "POST / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n", "HTTP/1.0" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: gzip, chunked\r\n\r\n", "chunked" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: identity\r\n\r\n", "chunked" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: \"chunked\"\r\n\r\n", "chunked" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n", "chunked" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding:\r\n\r\n", "chunked" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\n\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\na\r\n0\r\n\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n 1\r\na\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0x1\r\na\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\rxa\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n10000000000000000\r\n", "hexadecimal" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", "longer" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n1\r\na\n\r\n", "longer" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: evil.test\r\n\r\n", "names" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nHost: api.test\r\n\r\n", "trailers" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\nContent-Length: 3\r\n\r\n", "trailers" },
		/* a second request */
		{ "GET / HTTP/1.1\r\n" HOST "\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "evil.test" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 2\r\n\r\nabGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "evil.test" },
		{ "POST / HTTP/1.1\r\n" HOST "Content-Length: 3\r\n\r\nabGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "evil.test" },
		{ "POST / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
		  "evil.test" },
		/* what follows an upgrade is read as a request as well: h2c, and the frames of a websocket */
		{ "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "HTTP/2" },
		{ "GET / HTTP/1.1\r\n" HOST "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n\x81\x85\r\n\r\n", "not an HTTP request" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 400; piece = piece * 5 + 1) {
			size_t passed = begin_and_feed("api.test", 80, rows[i].text, piece);
			cr_expect_eq(passed, SIZE_MAX, "row %zu in pieces of %zu: %s", i, piece, rows[i].text);
			cr_expect(strstr(h.why, rows[i].why), "row %zu: `%s`, not `%s`", i, h.why, rows[i].why);
			size_t pass;
			cr_expect_eq(aj_http_feed(&h, (const uint8_t *)"GET / HTTP/1.1\r\n" HOST "\r\n", 34, &pass),
			             AJ_HTTP_REFUSED, "and stays so");
		}
}

Test(http_head, a_nul)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: api.test\0evil\r\n\r\n";
	aj_http_begin(&h, "api.test", 80);
	cr_expect_eq(feed(text, sizeof text - 1, 400), SIZE_MAX);
	cr_expect(strstr(h.why, "NUL"));
}

Test(http_head, other_ports_and_addresses)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *value;
		bool passes;
	} rows[] = {
		{ "api.test", 8080, "api.test:8080", true },       { "api.test", 8080, "api.test", true },
		{ "api.test", 8080, "api.test:80", false },        { "203.0.113.7", 80, "203.0.113.7", true },
		{ "203.0.113.7", 80, "203.0.113.07", false },      { "203.0.113.7", 80, "api.test", false },
		{ "203.0.113.7", 80, "3405803783", false },        { "2001:db8::7", 80, "[2001:db8::7]", true },
		{ "2001:db8::7", 80, "[2001:DB8:0::7]:80", true }, { "2001:db8::7", 80, "[2001:db8::8]", false },
		{ "2001:db8::7", 80, "[2001:db8::7", false },      { "2001:db8::7", 80, "[2001:db8::7]x", false },
		{ "2001:db8::7", 80, "[2001:db8::7%lo]", false },  { "2001:db8::7", 80, "[]", false },
		{ "2001:db8::7", 80, "[2001:db8::7]:81", false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char text[200];
		int bytes = snprintf(text, sizeof text, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", rows[i].value);
		cr_expect_eq(begin_and_feed(rows[i].host, rows[i].port, text, 400), rows[i].passes ? (size_t)bytes : SIZE_MAX,
		             "row %zu", i);
	}
}

Test(http_head, bounds)
{
	static char text[40000];
	size_t pass;
	for (size_t length = 16000; length <= 16800; length += 100) {
		int head = snprintf(text, sizeof text, "GET / HTTP/1.1\r\n" HOST "X: ");
		memset(text + head, 'a', length - (size_t)head);
		memcpy(text + length, "\r\n\r\n", 5);
		size_t passed = begin_and_feed("api.test", 80, text, 1000);
		cr_expect_eq(passed, length < AJ_HTTP_HEAD_MAX_BYTES - 4 ? length + 4 : SIZE_MAX, "%zu: %s", length, h.why);
	}
	/* A body is not held, however long its head says it is. */
	snprintf(text, sizeof text, "POST / HTTP/1.1\r\n" HOST "Content-Length: 999999999999999999\r\n\r\n");
	aj_http_begin(&h, "api.test", 80);
	cr_expect_eq(feed(text, strlen(text), 400), strlen(text));
	for (int i = 0; i < 100; i++) {
		cr_expect_eq(aj_http_feed(&h, (const uint8_t *)text, sizeof text, &pass), AJ_HTTP_PASS);
		cr_expect_eq(pass, sizeof text);
	}
	cr_expect_eq(h.body_left, 999999999999999999 - 100 * sizeof text);
	/* A jail's escapes are no terminal's. */
	cr_expect_eq(begin_and_feed("api.test", 80, "GET / HTTP/1.1\r\nHost: \xc3\xa9\xc2\x9b[2J\r\n\r\n", 400), SIZE_MAX);
	for (const char *c = h.why; *c; c++)
		cr_expect(*c >= ' ' && *c < 0x7f);
}

/* A server that looks for no body of a GET takes it for the next request. */
Test(http_head, bodies_of_methods_without_one)
{
	static const struct {
		const char *method, *body;
		bool passes;
	} rows[] = {
		{ "GET", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false },
		{ "HEAD", "\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", false },
		{ "DELETE", "GET http://evil.test/", false },
		{ "FOO", "G1 / HTTP/1.0\r\n\r\n", false },
		{ "GET", "{\"query\": \"GET / HTTP/1.1\"}", true },
		{ "REPORT", "<?xml version=\"1.0\"?>\n<x/>", true },
		{ "DELETE", "id=7&x=GET / HTTP/1.1", true },
		{ "GET", "hello", true },
		{ "GET", "h", true },
		{ "PUT", "GET / HTTP/1.1\r\nHost: a.test\r\n\r\n", true },
	};
	static const char next[] = "GET / HTTP/1.1\r\n" HOST "\r\n";
	char text[400];
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (size_t piece = 1; piece < 400; piece = piece * 3 + 1) {
			snprintf(text, sizeof text, "%s / HTTP/1.1\r\n" HOST "Content-Length: %zu\r\n\r\n%s%s", rows[i].method,
			         strlen(rows[i].body), rows[i].body, next);
			size_t want = rows[i].passes ? strlen(text) : SIZE_MAX;
			cr_expect_eq(begin_and_feed("api.test", 80, text, piece), want, "row %zu, by %zu", i, piece);
		}
}

Test(http_head, looks)
{
	static const struct {
		const char *text;
		enum aj_http_looks want;
	} rows[] = {
		{ "", AJ_HTTP_MORE },
		{ "G", AJ_HTTP_MORE },
		{ "GET ", AJ_HTTP_MORE },
		{ "GET /", AJ_HTTP_YES },
		{ "\r\nGET /", AJ_HTTP_YES },
		{ "\nget /", AJ_HTTP_YES },
		{ "GET h", AJ_HTTP_MORE },
		{ "GET HTTP://evil", AJ_HTTP_MORE },
		{ "GET HTTP://evil HTTP/1.1\n", AJ_HTTP_YES },
		{ "GET https://evil.test/ HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "GET key\r\n", AJ_HTTP_NO },
		{ "GET k\1y\r\n", AJ_HTTP_NO },
		{ "GET http://evil.test/\1 HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "CONNECT evil.test:443", AJ_HTTP_MORE },
		{ "CONNECT evil.test:443 HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "CONNECT {\"verbose\":false}\r\n", AJ_HTTP_NO }, /* NATS */
		{ "CONNECT\nhost:x\n", AJ_HTTP_NO },               /* STOMP */
		{ "OPTIONS rtsp://x RTSP/1.0\r\n", AJ_HTTP_NO },
		{ "PRI * HTTP/2.0\r\n", AJ_HTTP_YES },
		{ "SSH-2.0-OpenSSH_9.2 /\r\n", AJ_HTTP_NO },
		{ "0032git-upload-pack /p", AJ_HTTP_MORE },
		{ "RFB 003.008\n", AJ_HTTP_NO },
		{ "a001 LOGIN x y\r\n", AJ_HTTP_NO },
		{ "*1\r\n$4\r\n", AJ_HTTP_NO }, /* Redis */
		{ "PING\r\n", AJ_HTTP_NO },
		{ "\x16\3\1", AJ_HTTP_NO },
		{ " GET /", AJ_HTTP_YES },
		{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", AJ_HTTP_MORE },
		{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\n", AJ_HTTP_YES },
		/* Servers take other methods, other blanks and other spellings of the version. */
		{ "_GET / HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "GET1 / HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "!G / http/1.0\n", AJ_HTTP_YES },
		{ "GET\t/ HTTP/1.1\r\n", AJ_HTTP_YES },
		{ "GET\v/\fHTTP/1.1\r\n", AJ_HTTP_YES },
		{ "GET\r/\rHTTP/1.1\r\n", AJ_HTTP_YES },
		{ " \t\r\nG1 / HTTP/1.1\r\n", AJ_HTTP_YES },
		/* HTTP/0.9, for another host, and words of other protocols. */
		{ "GET http://evil.test/\r\n", AJ_HTTP_YES },
		{ "get \tHTTPS://evil.test/\n", AJ_HTTP_YES },
		{ "GET  /\n", AJ_HTTP_YES },
		{ "CONNECT evil.test:443\r\n", AJ_HTTP_YES },
		{ "connect\tevil.test:443\n", AJ_HTTP_YES },
		{ "DESCRIBE rtsp://x/ RTSP/1.0\r\n", AJ_HTTP_NO },
		{ "get a/b\r\n", AJ_HTTP_NO },
	}, ended[] = {
		/* which ends a line, too */
		{ "GET http://evil.test/", AJ_HTTP_YES },
		{ "GET http://evil.test/ HTTP/1.1", AJ_HTTP_YES },
		{ "CONNECT evil.test:443", AJ_HTTP_YES },
		{ "GET key", AJ_HTTP_NO },
		{ "GET", AJ_HTTP_NO },
		{ "", AJ_HTTP_NO },
	};
	static const char git[] = "0032git-upload-pack /p HTTP/\0host=x\0";
	static char method[AJ_HTTP_HEAD_MAX_BYTES];
	memset(method, 'A', sizeof method);
	cr_expect_eq(aj_http_looks((const uint8_t *)method, sizeof method - 1, false), AJ_HTTP_MORE);
	cr_expect_eq(aj_http_looks((const uint8_t *)method, sizeof method, false), AJ_HTTP_YES);
	cr_expect_eq(aj_http_looks((const uint8_t *)git, sizeof git, false), AJ_HTTP_NO);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_eq(aj_http_looks((const uint8_t *)rows[i].text, strlen(rows[i].text), false), rows[i].want, "%s",
		             rows[i].text);
	for (size_t i = 0; i < sizeof ended / sizeof *ended; i++)
		cr_expect_eq(aj_http_looks((const uint8_t *)ended[i].text, strlen(ended[i].text), true), ended[i].want, "%s",
		             ended[i].text);
}
