/* Whether a connection on a port that is for no protocol in particular begins with HTTP, so that its requests are to be checked.
 * No request is judged here: network/inspect/http_head.h does that. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Classify the bytes so far. MORE: call again with all bytes from the first; never returned if they have `ended`, which also ends a line. */
enum aj_http_looks { AJ_HTTP_NO, AJ_HTTP_MORE, AJ_HTTP_YES };
enum aj_http_looks aj_http_looks(const uint8_t *data, size_t bytes, bool ended);

/* A character of a method or of a header's name (RFC 9110, section 5.6.2). */
bool aj_http_token_char(char c);
