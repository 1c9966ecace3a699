/* The hash chain of an audit file: how one line is sealed, read back, and found at the end of a file.
 * It knows no destination and no field but seq, prev and hash; what the chain shows and what not is in docs/audit.md.
 *
 * A line is {...,"seq":N,"prev":"<64 hex>","hash":"<64 hex>"} and a newline. `hash` is the SHA-256 of the line's bytes without
 * the newline and without ,"hash":"<64 hex>" -- so of a JSON object, with its closing brace -- and `prev` the hash of the line
 * before: bytes are compared, nothing is serialised again. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"

enum {
	AJ_CHAIN_RECORD_BYTES = 64 << 10, /* of a line that is written, newline included */
	AJ_CHAIN_LINE_BYTES = 128 << 10,  /* of a line that is read: more is no record */
};

/* Where a chain stands: what the next line has to know of the last one. */
struct aj_chain_link {
	uint64_t seq;             /* 0: no line yet */
	char hash[AJ_SHA256_HEX]; /* 64 zeros then */
};
extern const struct aj_chain_link aj_chain_start;

/* `object` (compact JSON, `{...}`) as the line after `last`, newline included; malloced, NULL when out of memory. */
char *aj_chain_seal(const char *object, size_t bytes, const struct aj_chain_link *last, size_t *ret_bytes);

struct aj_chain_record {
	json_t *json; /* owned: json_decref() */
	uint64_t seq;
	const char *prev; /* borrowed from json */
	char hash[AJ_SHA256_HEX];
};
/* Check one line, newline excluded, by itself; false with a reason when it is not what was written.
 * `line` is changed for a moment while it is hashed. */
bool aj_chain_read(char *line, size_t bytes, struct aj_chain_record *ret, char *ret_why, size_t why_bytes);

/* The last line of an open file and the file's size; -1 with a reason when it is not whole. Wants the lock. */
int aj_chain_tail(int fd, struct aj_chain_link *ret, off_t *ret_bytes, char *ret_why, size_t why_bytes);

/* The lock that writers and readers of one file share, between processes. A holder that hangs must not hang everybody:
 * -1 with EWOULDBLOCK after ten seconds. Closing the file unlocks too. */
int aj_chain_lock(int fd, bool exclusive);
void aj_chain_unlock(int fd);
