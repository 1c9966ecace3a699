/* Finds the row of the tables that refuses a call: pure, so that every result of a filter can be compared with it.
 * It refuses nothing itself; the filters do that, independently of this lookup. */
#include <stdbool.h>
#include <string.h>

#include "policy/seccomp/syscalls.h"

struct call_question {
	const char *name;
	const uint64_t *args;
	bool answered;                      /* a row allows the call, or returns 0 */
	const struct aj_syscall *row;       /* refuses the call by its arguments */
	const struct aj_syscall *otherwise; /* refuses the call if no other row matches */
};

static bool row_matches(const struct aj_syscall *row, const uint64_t args[6])
{
	for (int i = 0; i < AJ_SYSCALL_ARGS; i++)
		if (row->arg[i].mask && (args[row->arg[i].index] & row->arg[i].mask) != row->arg[i].value)
			return false;
	return true;
}

static int find_refusal(const struct aj_syscall *row, void *data)
{
	struct call_question *q = data;
	if (strcmp(row->name, q->name) != 0 || !row_matches(row, q->args))
		return 0;
	if (row->errnum <= 0)
		q->answered = true;
	else if (row->arg[0].mask)
		q->row = row;
	else
		q->otherwise = row;
	return q->row || q->answered;
}

static const struct aj_syscall *refusal_found(const struct call_question *q)
{
	return q->answered || q->row ? q->row : q->otherwise;
}

const struct aj_syscall *aj_syscalls_refusal(enum aj_profile profile, enum aj_network network, uint64_t deny, const char *name,
                                             const uint64_t args[6])
{
	struct call_question q = { .name = name, .args = args };
	aj_syscalls_each(profile, network, find_refusal, &q);
	if (refusal_found(&q))
		return refusal_found(&q);
	deny &= ~(uint64_t)AJ_ANSWERED; /* those are answered with success, not refused */
	for (int i = 0; i < AJ_FILTER_GROUPS; i++) {
		struct call_question denied = { .name = name, .args = args };
		if (deny & 1ULL << i)
			aj_syscalls_denied_each(1ULL << i, find_refusal, &denied);
		if (refusal_found(&denied))
			return refusal_found(&denied);
	}
	return NULL;
}
