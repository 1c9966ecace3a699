/* Reports about connections that a helper has not sent yet, in memory that it shares with the supervisor. The supervisor reads them there when
 * the helper ends, however it ends: no byte that passed is unrecorded because a message was missing. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* What one direction of a connection has read, and what of that it has written. */
struct aj_moved {
	uint64_t read, written;
};

/* The begin of a row; the connection's report follows. */
struct aj_unsent_row {
	uint32_t used;
	uint32_t next; /* number of the next free row, and one; 0: none */
	struct aj_moved out, in;
};

struct aj_unsent_head;

struct aj_unsent {
	struct aj_unsent_head *head; /* shared; NULL: there is no such memory */
	size_t count, row_bytes;
};

/* Before the helper is forked; afterwards, in the supervisor: later children do not get the memory. */
int aj_unsent_open(struct aj_unsent *unsent, size_t count, size_t row_bytes, const char *step, struct aj_error *err);
void aj_unsent_keep(const struct aj_unsent *unsent);
void aj_unsent_close(struct aj_unsent *unsent);

/* --- in the helper --- */

/* A row, zeroed but for `used`; NULL: none is left. */
struct aj_unsent_row *aj_unsent_take(const struct aj_unsent *unsent);
/* Its report has been sent, or there is none. */
void aj_unsent_give(const struct aj_unsent *unsent, struct aj_unsent_row *row);
/* Has the supervisor asked for the end? A loop that looks at this in each turn stops sooner than by the event of its socket, which waits
 * behind those of thousands of connections. */
bool aj_unsent_stop_asked(const struct aj_unsent *unsent);
/* No row changes any more. */
void aj_unsent_stopped(const struct aj_unsent *unsent);

/* --- in the supervisor --- */

void aj_unsent_ask_stop(const struct aj_unsent *unsent);
/* The row behind number `*at`, copied into `ret` of `row_bytes`; false: no more. Of a helper that was killed, `written` is what it has
 * read, as nothing says how much of that it has written. */
bool aj_unsent_next(const struct aj_unsent *unsent, bool killed, size_t *at, void *ret);
/* Did the helper say that it has stopped? */
bool aj_unsent_has_stopped(const struct aj_unsent *unsent);
