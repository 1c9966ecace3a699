/* HTTP is answered by 403 with the sentence as its text (RFC 9110), TLS by the alert access_denied, which has no room for a text
 * (RFC 8446), SSH by a disconnection with the sentence (RFC 4253). Other protocols get no answer. */
#include "network/inspect/refusal.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "network/inspect/http_head.h"

enum { HTTP = 80, SENTENCE_BYTES = 1024 };
enum { TLS_ALERT = 21, TLS_HANDSHAKE = 22, FATAL = 2, ACCESS_DENIED = 49 };
enum { SSH_DISCONNECT = 1, SSH_HOST_NOT_ALLOWED = 1, SSH_BLOCK = 8, SSH_PADDING_LEAST = 4, SSH_LENGTH_BYTES = 4 };

static const char ssh[] = "SSH-";

static bool begins(const uint8_t *data, size_t bytes, const char *word)
{
	return bytes >= strlen(word) && memcmp(data, word, strlen(word)) == 0;
}

/* The answer to HEAD has no body, though it says how long one would be. */
static size_t say_http(const char *sentence, bool head, uint8_t *out)
{
	return (size_t)snprintf((char *)out, AJ_REFUSAL_BYTES,
	                        "HTTP/1.1 403 Forbidden\r\nContent-Type: text/plain\r\nContent-Length: %zu\r\n"
	                        "Cache-Control: no-store\r\nConnection: close\r\n\r\n%s%s",
	                        strlen(sentence) + 1, head ? "" : sentence, head ? "" : "\n");
}

/* The version of TLS 1.2, which every client takes before one is agreed on. */
static size_t say_tls(uint8_t *out)
{
	memcpy(out, (uint8_t[]){ TLS_ALERT, 3, 3, 0, 2, FATAL, ACCESS_DENIED }, 7);
	return 7;
}

static uint8_t *write32(uint8_t *at, size_t value)
{
	for (int shift = 24; shift >= 0; shift -= 8)
		*at++ = (uint8_t)(value >> shift);
	return at;
}

/* Our version, and one packet before any key is agreed on: its length, that of the padding, the message, the padding. */
static size_t say_ssh(const char *sentence, uint8_t *out)
{
	static const char version[] = "SSH-2.0-agentjail\r\n";
	size_t text = strlen(sentence), message = 1 + SSH_LENGTH_BYTES + SSH_LENGTH_BYTES + text + SSH_LENGTH_BYTES;
	size_t padding = SSH_BLOCK - (SSH_LENGTH_BYTES + 1 + message) % SSH_BLOCK;
	if (padding < SSH_PADDING_LEAST)
		padding += SSH_BLOCK;
	memcpy(out, version, sizeof version - 1);
	uint8_t *at = write32(out + sizeof version - 1, 1 + message + padding);
	*at++ = (uint8_t)padding;
	*at++ = SSH_DISCONNECT;
	at = write32(at, SSH_HOST_NOT_ALLOWED);
	at = write32(at, text);
	memcpy(at, sentence, text);
	at = write32(at + text, 0); /* no language is named */
	memset(at, 0, padding);
	return (size_t)(at + padding - out);
}

enum aj_refusal aj_refusal_answer(const uint8_t *data, size_t bytes, bool whole, uint16_t port, const char *sentence,
                                  uint8_t out[AJ_REFUSAL_BYTES], size_t *ret_bytes)
{
	char line[SENTENCE_BYTES];
	size_t known = sizeof ssh - 1 < bytes ? sizeof ssh - 1 : bytes;
	aj_ascii(line, sizeof line, sentence);
	if (bytes == 0)
		return whole ? AJ_REFUSAL_NONE : AJ_REFUSAL_MORE;
	if (data[0] == TLS_HANDSHAKE)
		*ret_bytes = say_tls(out);
	else if (begins(data, bytes, ssh))
		*ret_bytes = say_ssh(line, out);
	else if (!whole && memcmp(data, ssh, known) == 0)
		return AJ_REFUSAL_MORE;
	else {
		enum aj_http_looks looks = aj_http_looks(data, bytes, false);
		if (looks == AJ_HTTP_MORE && !whole)
			return AJ_REFUSAL_MORE;
		if (looks != AJ_HTTP_YES && port != HTTP)
			return AJ_REFUSAL_NONE;
		*ret_bytes = say_http(line, begins(data, bytes, "HEAD "), out);
	}
	return AJ_REFUSAL_ANSWERED;
}
