/* A state for each part of a request (head, body, chunks, trailers), and the checks of a complete head. Where the standards leave
 * servers a choice only one spelling passes, so that ours and the server's idea of where a request ends are the same. */
#include "network/inspect/http_head.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "network/inspect/slice.h"

bool aj_http_token_char(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

/* The blanks that lenient servers take between the words of a request's first line (RFC 9112, section 3). */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* Whether the first line, perhaps incomplete, ends with a version of HTTP. Servers stop reading at a NUL; some accept other
 * control characters. A line beyond the longest head is left to the strict parser. */
static enum aj_http_looks ends_with_version(const char *at, const char *end, bool ended)
{
	static const char version[] = "HTTP/";
	const char *line = memchr(at, '\n', (size_t)(end - at)), *stop = line ? line : end;
	if (!line && ended)
		line = end;
	if (memchr(at, '\0', (size_t)(stop - at)))
		return AJ_HTTP_NO;
	if (!line)
		return end - at < AJ_HTTP_HEAD_MAX_BYTES / 2 ? AJ_HTTP_MORE : AJ_HTTP_YES;
	for (; line - at >= (ptrdiff_t)sizeof version; at++)
		if (is_blank(*at) && strncasecmp(at + 1, version, sizeof version - 1) == 0)
			return AJ_HTTP_YES;
	return AJ_HTTP_NO;
}

/* A line without a version (HTTP/0.9) whose target names a host: a URL, or HOST:PORT of CONNECT. (NATS begins with CONNECT too,
 * followed by JSON.) */
static bool names_host(struct aj_slice method, const char *target, const char *end)
{
	static const char *const schemes[] = { "http://", "https://" };
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if ((size_t)(end - target) >= strlen(schemes[i]) && strncasecmp(target, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return aj_slice_is_word(method, "CONNECT") && target < end && *target != '{';
}

/* As lenient as servers that accept the first words as a request: in doubt they count as one, and the strict parser below refuses
 * them. Servers accept any token as a method, and some of them blanks before it. Usual methods have letters and `-` alone; the
 * first words of other protocols, such as git and ssh, have digits, so a path after such a word proves nothing. */
enum aj_http_looks aj_http_looks(const uint8_t *data, size_t bytes, bool ended)
{
	const char *at = (const char *)data, *end = at + bytes;
	bool letters = true;
	while (at < end && (is_blank(*at) || *at == '\n'))
		at++;
	const char *method = at;
	for (; at < end && aj_http_token_char(*at); at++)
		letters = letters && (isalpha((unsigned char)*at) || *at == '-');
	if (at == end)
		return ended ? AJ_HTTP_NO : bytes < AJ_HTTP_HEAD_MAX_BYTES ? AJ_HTTP_MORE : AJ_HTTP_YES;
	if (at == method || !is_blank(*at))
		return AJ_HTTP_NO;
	const char *target = at;
	while (target < end && is_blank(*target))
		target++;
	if (letters && target < end && *target == '/')
		return AJ_HTTP_YES;
	enum aj_http_looks looks = ends_with_version(at, end, ended);
	const struct aj_slice word = { method, (size_t)(at - method) };
	return looks == AJ_HTTP_NO && letters && names_host(word, target, end) ? AJ_HTTP_YES : looks;
}

enum { HEAD, BODY_BEGIN, BODY, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS, REFUSED };
enum { METHOD_MAX = 32, LENGTH_DIGITS_MAX = 18, HEX_DIGITS_MAX = 15 };

struct head {
	size_t hosts, lengths, encodings;
	uint64_t body_bytes;
	bool chunked, old; /* old: HTTP/1.0 */
	bool bare;         /* a method without a body: some servers ignore one, and parse it as the next request */
};

void aj_http_begin(struct aj_http *h, const char *host, uint16_t port)
{
	*h = (struct aj_http){ .port = port, .state = HEAD };
	snprintf(h->host, sizeof h->host, "%s", host);
}

__attribute__((format(printf, 2, 3))) static bool refuse(struct aj_http *h, const char *format, ...)
{
	char text[sizeof h->why];
	va_list args;
	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	aj_ascii(h->why, sizeof h->why, text);
	h->state = REFUSED;
	return false;
}

static bool is_token(struct aj_slice s)
{
	for (size_t i = 0; i < s.bytes; i++)
		if (!aj_http_token_char(s.at[i]))
			return false;
	return s.bytes > 0;
}

/* --- the host that a request names --- */

static bool is_port(struct aj_slice s, uint16_t port)
{
	char text[8];
	int bytes = snprintf(text, sizeof text, "%u", port);
	return s.bytes == (size_t)bytes && memcmp(s.at, text, s.bytes) == 0;
}

/* Is `s` the host, as a name or as another spelling of the address? */
static bool is_host(const struct aj_http *h, struct aj_slice s)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t ours[16], theirs[16];
	if (s.bytes > 2 && s.at[0] == '[') {
		if (s.at[s.bytes - 1] != ']' || s.bytes - 2 >= sizeof text)
			return false;
		snprintf(text, sizeof text, "%.*s", (int)(s.bytes - 2), s.at + 1);
		return inet_pton(AF_INET6, text, theirs) == 1 && inet_pton(AF_INET6, h->host, ours) == 1 &&
		       memcmp(ours, theirs, 16) == 0;
	}
	if (s.bytes && s.at[s.bytes - 1] == '.')
		s.bytes--;
	return s.bytes && s.bytes == strlen(h->host) && strncasecmp(s.at, h->host, s.bytes) == 0;
}

/* HOST or HOST:PORT, and nothing else: no user, blank or list. Without a port: any, since programs leave it out. */
static bool check_authority(struct aj_http *h, struct aj_slice s, const char *place)
{
	struct aj_slice host = s, port = { NULL, 0 };
	const char *bracket = s.bytes && *s.at == '[' ? memchr(s.at, ']', s.bytes) : NULL;
	const char *from = bracket ? bracket : s.at, *colon = s.bytes ? memchr(from, ':', s.bytes - (size_t)(from - s.at)) : NULL;
	if (colon) {
		host.bytes = (size_t)(colon - s.at);
		port = (struct aj_slice){ colon + 1, s.bytes - host.bytes - 1 };
	}
	if (is_host(h, host) && (!colon || is_port(port, h->port)))
		return true;
	return refuse(h, "%s names `%.*s`, but the connection is for %s:%u", place, (int)(s.bytes < 80 ? s.bytes : 80), s.at,
	              h->host, h->port);
}

/* --- a head --- */

static bool check_target(struct aj_http *h, struct aj_slice target, bool options)
{
	static const char scheme[] = "http://";
	for (size_t i = 0; i < target.bytes; i++)
		if (aj_is_control(target.at[i]))
			return refuse(h, "the request's target has a control character");
	if (target.bytes && *target.at == '/')
		return true;
	if (options && target.bytes == 1 && *target.at == '*')
		return true;
	if (target.bytes < sizeof scheme || strncasecmp(target.at, scheme, sizeof scheme - 1) != 0)
		return refuse(h, "the request's target is neither a path nor an http:// URL");
	target.at += sizeof scheme - 1;
	target.bytes -= sizeof scheme - 1;
	size_t bytes = 0;
	while (bytes < target.bytes && !strchr("/?#", target.at[bytes]))
		bytes++;
	return check_authority(h, (struct aj_slice){ target.at, bytes }, "the request's target");
}

static bool check_request_line(struct aj_http *h, struct aj_slice line, struct head *head)
{
	struct aj_slice method, target;
	if (!aj_slice_split(&line, ' ', &method) || method.bytes > METHOD_MAX || !is_token(method))
		return refuse(h, "bytes that are not an HTTP request");
	if (method.bytes == 3 && memcmp(method.at, "PRI", 3) == 0)
		return refuse(h, "HTTP/2 in plain text, whose requests are not checked: HTTP/1.1 or https works");
	if (aj_slice_is_word(method, "CONNECT"))
		return refuse(h, "CONNECT asks the server for a connection to another host");
	head->bare = !aj_slice_is_word(method, "POST") && !aj_slice_is_word(method, "PUT") && !aj_slice_is_word(method, "PATCH");
	if (!aj_slice_split(&line, ' ', &target))
		return refuse(h, "a request without a version of HTTP");
	if (line.bytes != 8 || (memcmp(line.at, "HTTP/1.1", 8) != 0 && memcmp(line.at, "HTTP/1.0", 8) != 0))
		return refuse(h, "a request that is not HTTP/1.1 or HTTP/1.0");
	head->old = line.at[7] == '0';
	return check_target(h, target, method.bytes == 7 && memcmp(method.at, "OPTIONS", 7) == 0);
}

static bool read_length(struct aj_slice s, uint64_t *ret)
{
	uint64_t value = 0;
	if (s.bytes == 0 || s.bytes > LENGTH_DIGITS_MAX)
		return false;
	for (size_t i = 0; i < s.bytes; i++) {
		if (!isdigit((unsigned char)s.at[i]))
			return false;
		value = value * 10 + (uint64_t)(s.at[i] - '0');
	}
	*ret = value;
	return true;
}

static bool check_field(struct aj_http *h, struct aj_slice line, struct head *head)
{
	struct aj_slice name, value = line;
	if (!aj_slice_split(&value, ':', &name) || !is_token(name))
		return refuse(h, "a header line that is not `name: value`, or continues on a second line");
	value = aj_slice_trimmed(value);
	for (size_t i = 0; i < value.bytes; i++)
		if (aj_is_control(value.at[i]) && value.at[i] != '\t')
			return refuse(h, "a header with a control character");
	if (aj_slice_is_word(name, "Host"))
		return head->hosts++ ? refuse(h, "a request with two Host headers")
		                     : check_authority(h, value, "the request's Host");
	if (aj_slice_is_word(name, "Content-Length"))
		return head->lengths++ || !read_length(value, &head->body_bytes)
		         ? refuse(h, "a Content-Length that occurs twice, or is not a number")
		         : true;
	if (aj_slice_is_word(name, "Transfer-Encoding")) {
		head->chunked = true;
		return head->encodings++ || !aj_slice_is_word(value, "chunked")
		         ? refuse(h, "a Transfer-Encoding that is not `chunked` alone")
		         : true;
	}
	return true;
}

/* The line at the start of `rest`, which a CRLF ends: `rest` has no other line feed or carriage return (see head_bytes()). */
static struct aj_slice take_line(struct aj_slice *rest)
{
	const char *end = memchr(rest->at, '\n', rest->bytes);
	struct aj_slice line = { rest->at, (size_t)(end - rest->at) - 1 };
	*rest = (struct aj_slice){ end + 1, rest->bytes - line.bytes - 2 };
	return line;
}

static bool check_head(struct aj_http *h, struct aj_slice rest)
{
	struct head head = { 0 };
	if (!check_request_line(h, take_line(&rest), &head))
		return false;
	for (struct aj_slice line = take_line(&rest); line.bytes; line = take_line(&rest))
		if (!check_field(h, line, &head))
			return false;
	if (!head.hosts)
		return refuse(h, "a request without a Host header");
	if (head.chunked && (head.lengths || head.old))
		return refuse(h, "a Transfer-Encoding beside a Content-Length, or in HTTP/1.0");
	h->body_left = head.body_bytes;
	h->state = head.chunked ? CHUNK_SIZE : !head.body_bytes ? HEAD : head.bare ? BODY_BEGIN : BODY;
	return true;
}

static bool check_trailers(struct aj_http *h, struct aj_slice rest)
{
	struct head head = { 0 };
	for (struct aj_slice line = take_line(&rest); line.bytes; line = take_line(&rest)) {
		if (!check_field(h, line, &head))
			return false;
		if (head.hosts || head.lengths || head.encodings)
			return refuse(h, "trailers that name a host or a length");
	}
	h->state = HEAD;
	return true;
}

/* --- the connection --- */

/* The bytes of a head including the final empty line; 0: incomplete or refused. A line feed without a carriage return, or the
 * reverse, refuses the connection: servers differ in how they read these. */
static size_t head_bytes(struct aj_http *h, struct aj_slice s)
{
	size_t end = s.bytes < AJ_HTTP_HEAD_MAX_BYTES ? s.bytes : AJ_HTTP_HEAD_MAX_BYTES;
	for (size_t i = h->scanned; i < end; i++) {
		char c = s.at[i], before = '\0';
		if (i)
			before = s.at[i - 1];
		if ((c == '\n') != (before == '\r') || c == '\0') {
			refuse(h, "a line of a request that does not end with CR LF, or has a NUL");
			return 0;
		}
		if (c == '\n' && (i == 1 || s.at[i - 2] == '\n')) {
			h->scanned = 0;
			return i + 1;
		}
	}
	h->scanned = end;
	if (end == AJ_HTTP_HEAD_MAX_BYTES)
		refuse(h, "a request's head of more than 16 KiB");
	return 0;
}

/* The bytes of a complete line `HEX CR LF`; 0: incomplete or refused. Servers ignore chunk extensions: they are refused. */
static size_t chunk_line(struct aj_http *h, struct aj_slice s)
{
	uint64_t size = 0;
	size_t digits = 0;
	for (; digits < s.bytes && isxdigit((unsigned char)s.at[digits]) && digits <= HEX_DIGITS_MAX; digits++) {
		char c = (char)tolower((unsigned char)s.at[digits]);
		size = size << 4 | (uint64_t)(isdigit((unsigned char)c) ? c - '0' : c - 'a' + 10);
	}
	bool cut = s.bytes < digits + 2;
	if (digits > HEX_DIGITS_MAX || (digits == 0 && s.bytes) || (s.bytes > digits && s.at[digits] != '\r') ||
	    (!cut && s.at[digits + 1] != '\n')) {
		refuse(h, "a chunk of a body whose size is not hexadecimal digits alone");
		return 0;
	}
	if (cut)
		return 0;
	h->body_left = size;
	h->state = size ? CHUNK : TRAILERS;
	return digits + 2;
}

static size_t chunk_end(struct aj_http *h, struct aj_slice s)
{
	if (s.bytes && (s.at[0] != '\r' || (s.bytes > 1 && s.at[1] != '\n'))) {
		refuse(h, "a chunk of a body that is longer than its size");
		return 0;
	}
	if (s.bytes < 2)
		return 0;
	h->state = CHUNK_SIZE;
	return 2;
}

static size_t take_body(struct aj_http *h, struct aj_slice s, uint8_t next)
{
	size_t bytes = h->body_left < s.bytes ? (size_t)h->body_left : s.bytes;
	h->body_left -= bytes;
	if (!h->body_left)
		h->state = next;
	return bytes;
}

/* Buffer the begin of the body until it is known whether it is a request line. */
static size_t take_body_begin(struct aj_http *h, struct aj_slice s)
{
	const bool whole = h->body_left <= s.bytes;
	switch (aj_http_looks((const uint8_t *)s.at, whole ? (size_t)h->body_left : s.bytes, whole)) {
	case AJ_HTTP_MORE:
		break;
	case AJ_HTTP_YES:
		refuse(h, "a body that begins like another request, for a method without a body");
		break;
	case AJ_HTTP_NO:
		h->state = BODY;
		return take_body(h, s, HEAD);
	}
	return 0;
}

static size_t take_head(struct aj_http *h, struct aj_slice s, bool request)
{
	/* Empty lines before a request, which servers skip. */
	if (request && s.at[0] == '\r' && (s.bytes == 1 || s.at[1] == '\n'))
		return s.bytes == 1 ? 0 : 2;
	/* Frames of another protocol may never have a line's end. */
	if (request && s.at[0] != '\n' && !is_token((struct aj_slice){ s.at, 1 }))
		return refuse(h, "bytes that are not an HTTP request");
	size_t bytes = head_bytes(h, s);
	if (!bytes)
		return 0;
	return (request ? check_head : check_trailers)(h, (struct aj_slice){ s.at, bytes }) ? bytes : 0;
}

static size_t step(struct aj_http *h, struct aj_slice s)
{
	switch (h->state) {
	case HEAD:
		return take_head(h, s, true);
	case TRAILERS:
		return take_head(h, s, false);
	case BODY_BEGIN:
		return take_body_begin(h, s);
	case BODY:
		return take_body(h, s, HEAD);
	case CHUNK:
		return take_body(h, s, CHUNK_END);
	case CHUNK_SIZE:
		return chunk_line(h, s);
	case CHUNK_END:
		return chunk_end(h, s);
	}
	return 0;
}

enum aj_http_verdict aj_http_feed(struct aj_http *h, const uint8_t *data, size_t bytes, size_t *ret_pass)
{
	struct aj_slice rest = { (const char *)data, bytes };
	size_t taken = 1;
	while (rest.bytes && taken && h->state != REFUSED) {
		taken = step(h, rest);
		rest.at += taken;
		rest.bytes -= taken;
	}
	*ret_pass = h->state == REFUSED ? 0 : bytes - rest.bytes;
	return h->state == REFUSED ? AJ_HTTP_REFUSED : AJ_HTTP_PASS;
}
