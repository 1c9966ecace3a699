/* Unsent reports about connections, in memory that a helper shares with the supervisor. The supervisor reads them when the helper
 * ends, even if it was killed, so every forwarded byte is recorded. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Bytes that one direction of a connection has read, and written. */
struct aj_byte_counts {
	uint64_t read, written;
};

/* Header of a row; the connection's report follows. */
struct aj_unsent_row {
	uint32_t used;
	uint32_t next; /* next free row + 1; 0: none */
	struct aj_byte_counts out, in;
};

struct aj_unsent_head;

struct aj_unsent {
	struct aj_unsent_head *head; /* shared; NULL: not open */
	size_t count, row_bytes;
};

/* aj_unsent_open() before fork(); then aj_unsent_dont_fork() in the supervisor: later children do not inherit the
 * memory. */
int aj_unsent_open(struct aj_unsent *unsent, size_t count, size_t row_bytes, const char *step, struct aj_error *err);
void aj_unsent_dont_fork(const struct aj_unsent *unsent);
void aj_unsent_close(struct aj_unsent *unsent);

/* --- in the helper --- */

/* A row, zeroed except for `used`; NULL: all are in use. */
struct aj_unsent_row *aj_unsent_take(const struct aj_unsent *unsent);
/* Free the row: its report was sent, or is not needed. */
void aj_unsent_release(const struct aj_unsent *unsent, struct aj_unsent_row *row);
/* Whether the supervisor has asked the helper to stop. Checked in each turn of the loop: the socket's event may wait behind those
 * of thousands of connections. */
bool aj_unsent_stop_asked(const struct aj_unsent *unsent);
/* Declare that no row changes any more. */
void aj_unsent_stopped(const struct aj_unsent *unsent);

/* --- in the supervisor --- */

void aj_unsent_ask_stop(const struct aj_unsent *unsent);
/* Copy the next used row from `*at` on into `ret`, which has `row_bytes`; false: no more. killed: `written` gets the count of
 * bytes read, since the count of bytes written may be out of date. */
bool aj_unsent_next(const struct aj_unsent *unsent, bool killed, size_t *at, void *ret);
/* Whether the helper has called aj_unsent_stopped(). */
bool aj_unsent_has_stopped(const struct aj_unsent *unsent);
