/* Measures how much a jail makes its writable workspace grow, against limits.workspace: a walk over the host's folders that is
 * cut into turns. Files that were there at the start do not count. It
 * changes nothing, follows no link and leaves no file system. */
#pragma once
#include <stddef.h>

#include "sandbox/mounts/built.h"

struct aj_growth;

/* The pace of a walk: a turn has so many entries, and takes no longer than that. A supervisor with one jail can afford more than
 * a service that has other callers to answer. */
struct aj_growth_pace {
	unsigned entries;
	int64_t us;
};
extern const struct aj_growth_pace aj_growth_alone, aj_growth_shared;

/* Measure what is there, for `budget_ms` at most; the turns do the rest, which leaves out what the jail has made since. `*ret` is
 * NULL where the plan has no such limit. -1 with err. */
int aj_growth_open(struct aj_growth **ret, const struct aj_built *built, const struct aj_growth_pace *pace, uint64_t budget_ms,
                   struct aj_error *err);
/* When the next turn is due; INT64_MAX for NULL. */
int64_t aj_growth_due_us(const struct aj_growth *growth);
/* One turn. Returns why the jail has to end, or NULL: a sentence that lives until aj_growth_close(). */
const char *aj_growth_turn(struct aj_growth *growth);
/* The jail is gone: one more pass, for `budget_ms` of the start at most. Was a limit exceeded? Not for NULL. */
bool aj_growth_last(struct aj_growth *growth);
/* Accepts NULL. */
void aj_growth_close(struct aj_growth *growth);
