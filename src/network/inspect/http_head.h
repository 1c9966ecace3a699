/* Checks the client's side of a plain HTTP/1 connection: every request must name the one host that the connection is for (RFC
 * 9112). Requests that two servers could read differently are refused; responses, bodies and HTTP/2 are not parsed. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_HTTP_HEAD_MAX_BYTES = 16 << 10 }; /* of a head, and of a chunked body's trailers */

/* Whether a connection on a port that is for no protocol in particular begins with HTTP. `data`: its bytes from the first on.
 * MORE: call again with more bytes; never returned if they have `ended`, which also ends a line. */
enum aj_http_looks { AJ_HTTP_NO, AJ_HTTP_MORE, AJ_HTTP_YES };
enum aj_http_looks aj_http_looks(const uint8_t *data, size_t bytes, bool ended);
/* A character of a method or of a header's name (RFC 9110, section 5.6.2). */
bool aj_http_token_char(char c);

enum aj_http_verdict { AJ_HTTP_PASS, AJ_HTTP_REFUSED };

struct aj_http {
	char host[256], why[200]; /* why: with AJ_HTTP_REFUSED, in ASCII, for a sentence's end; a jail's own words may be in it */
	uint64_t body_left;       /* bytes of the body, or of its chunk, that are still to come */
	uint16_t port;
	uint8_t state;  /* enum in http_head.c */
	size_t scanned; /* bytes of an incomplete head that were searched for its end */
};

/* `host`: a name in lower case without a final dot, or an address in its usual text without brackets. */
void aj_http_begin(struct aj_http *h, const char *host, uint16_t port);

/* `data`: the bytes that have not passed yet, so each call has those that the last one left, and more. `ret_pass` of them pass;
 * the others, at most AJ_HTTP_HEAD_MAX_BYTES, wait for more. With AJ_HTTP_REFUSED nothing passes, now or later. */
enum aj_http_verdict aj_http_feed(struct aj_http *h, const uint8_t *data, size_t bytes, size_t *ret_pass);
