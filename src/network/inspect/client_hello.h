/* Parses a TLS ClientHello for the server name that it asks for (SNI; RFC 8446, RFC 6066).
 * The bytes are only read, in place: nothing is decrypted, copied together or kept between calls. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_HELLO_MAX_BYTES = 16 << 10 }; /* with the headers of its records; post-quantum keys make about 2 KiB */

enum aj_hello {
	AJ_HELLO_MORE,      /* so far nothing is wrong: call again with more bytes, from the first on */
	AJ_HELLO_NAME,      /* `ret_name`: one host name in lower case, without a final dot */
	AJ_HELLO_NO_NAME,   /* no server_name extension */
	AJ_HELLO_ECH,       /* encrypted_client_hello, be it GREASE: the name in the clear may not be the one that counts */
	AJ_HELLO_MALFORMED, /* TLS or SSL 2, but not a valid ClientHello in a handshake record */
	AJ_HELLO_TOO_LONG,
	AJ_HELLO_NOT_TLS,
};

/* Parses the bytes of a connection so far. `ret_name` is the name in the clear with AJ_HELLO_NAME, and with AJ_HELLO_ECH if there
 * is one; else it is empty. */
enum aj_hello aj_client_hello(const uint8_t *data, size_t bytes, char ret_name[256]);

/* Whether a connection with this first byte can be TLS. */
bool aj_hello_may_begin(uint8_t first);

/* Why a connection with this ClientHello is refused, for a sentence's end; NULL: MORE or NAME. */
const char *aj_hello_why(enum aj_hello hello);
