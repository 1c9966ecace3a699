/* The answer to a refused connection, in the protocol of its first bytes, so that the program's own error shows the reason.
 * The answer repeats no byte of the program's except those in the reason. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_REFUSAL_FIRST_BYTES = 512, AJ_REFUSAL_BYTES = 1536 };

enum aj_refusal {
	AJ_REFUSAL_MORE, /* the bytes are of no protocol yet: call again with more */
	AJ_REFUSAL_NONE, /* there is no answer in their protocol */
	AJ_REFUSAL_ANSWERED, /* `out` has one, of *ret_bytes */
};

/* `whole`: no more bytes will come. `sentence`: one line of printable ASCII, cut where it is longer than an answer can be. */
enum aj_refusal aj_refusal_answer(const uint8_t *data, size_t bytes, bool whole, uint16_t port, const char *sentence,
                                  uint8_t out[AJ_REFUSAL_BYTES], size_t *ret_bytes);
