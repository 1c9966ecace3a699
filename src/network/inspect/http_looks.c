/* The first words of a connection, as lenient servers would take them for a request: in doubt they count as one, and the strict reader of
 * network/inspect/http_head.h refuses them. It follows no connection beyond its first line. */
#include "network/inspect/http_looks.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "network/inspect/http_head.h"
#include "network/inspect/span.h"

bool aj_http_token_char(char c)
{
	return isalnum((unsigned char)c) || (c != '\0' && strchr("!#$%&'*+-.^_`|~", c));
}

/* The blanks that lenient servers take between the words of a request's first line (RFC 9112, section 3). */
static bool is_blank(char c)
{
	return c == ' ' || c == '\t' || c == '\v' || c == '\f' || c == '\r';
}

/* Does the first line, which may not be whole, end with a version of HTTP? A NUL before its end: no server reads on. Other control
 * characters some servers let pass. Beyond the longest head the strict reader is to judge. */
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

/* A line without a version (HTTP/0.9) whose target names a host: a URL, or HOST:PORT of CONNECT. (NATS also begins with CONNECT, followed by
 * JSON.) */
static bool names_host(struct aj_span method, const char *target, const char *end)
{
	static const char *const schemes[] = { "http://", "https://" };
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++)
		if ((size_t)(end - target) >= strlen(schemes[i]) && strncasecmp(target, schemes[i], strlen(schemes[i])) == 0)
			return true;
	return aj_span_is_word(method, "CONNECT") && target < end && *target != '{';
}

/* Servers take any token for a method, and some of them blanks before it. The usual methods have letters and `-` alone: other protocols'
 * first words, such as those of git and ssh, have digits, so a path behind one of these proves nothing. */
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
	const struct aj_span word = { method, (size_t)(at - method) };
	return looks == AJ_HTTP_NO && letters && names_host(word, target, end) ? AJ_HTTP_YES : looks;
}
