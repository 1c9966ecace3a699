/* The hash chain of an audit file: seals a line, reads one back, finds the last one of a file.
 * It handles only the fields seq, prev and hash; docs/reference/audit.md says what the chain proves and what it does not prove.
 *
 * A line is {...,"seq":N,"prev":"<64 hex>","hash":"<64 hex>"} and a newline. `hash` is the SHA-256 of the line's bytes without
 * the newline and without ,"hash":"<64 hex>" (a JSON object, with its closing brace), and `prev` is the hash of the line
 * before. Bytes are compared; nothing is serialised again. */
#pragma once
#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/sha256.h"

enum {
	AJ_CHAIN_RECORD_BYTES = 8 << 10, /* longest line that is written, with the newline */
	AJ_CHAIN_LINE_BYTES = 128 << 10, /* longest line that is read; a longer one is invalid */
};

/* The link to the last line, which the next line continues. */
struct aj_chain_link {
	uint64_t seq;             /* 0: no line yet */
	char hash[AJ_SHA256_HEX]; /* 64 zeros then */
};
extern const struct aj_chain_link aj_chain_start;

/* Seal `object` (compact JSON, `{...}`) as the line after `last`, newline included; malloced, NULL when out of memory. */
char *aj_chain_seal(const char *object, size_t bytes, const struct aj_chain_link *last, size_t *ret_bytes);

struct aj_chain_record {
	json_t *json; /* owned: json_decref() */
	uint64_t seq;
	const char *prev; /* borrowed from json */
	char hash[AJ_SHA256_HEX];
};
/* Check one line, newline excluded, by itself; false with a reason when it was changed or is not a record.
 * `line` is changed while it is hashed, and restored. */
bool aj_chain_read(char *line, size_t bytes, struct aj_chain_record *ret, char *ret_why, size_t why_bytes);

/* Read the last line of an open file and the file's size; -1 with a reason if that line is incomplete. The lock must be held. */
int aj_chain_tail(int fd, struct aj_chain_link *ret, off_t *ret_bytes, char *ret_why, size_t why_bytes);

/* Lock the file, between processes: shared for readers, exclusive for writers; closing the file unlocks it. Returns -1 with
 * EWOULDBLOCK after ten seconds, so that a hanging holder does not block all others. */
int aj_chain_lock(int fd, bool exclusive);
void aj_chain_unlock(int fd);
