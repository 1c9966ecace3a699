/* Joins the ready filters of a guest into one.
 * It compiles none and loosens none: the profile's refusals stay, and the groups deny more calls. */
#include <linux/seccomp.h>
#include <string.h>

#include "seccomp/compile.h"

/* Append `next` to `out`: every `allow` of `out` becomes a jump to `next`. 0: no room. */
static unsigned short append_filter(struct sock_filter *out, unsigned short count, const struct aj_filter *next)
{
	if (count + next->count > AJ_FILTER_ROOM)
		return 0;
	for (unsigned short i = 0; i < count; i++)
		if (out[i].code == (BPF_RET | BPF_K) && out[i].k == SECCOMP_RET_ALLOW)
			out[i] = (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)(count - i - 1) };
	memcpy(out + count, next->insns, next->count * sizeof *out);
	return (unsigned short)(count + next->count);
}

static struct aj_filter join_filters(const struct aj_filter *first, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	if (!deny)
		return *first;
	unsigned short count = append_filter(room, 0, first);
	for (int i = 0; count && i < AJ_FILTER_GROUPS; i++)
		if (deny & 1ULL << i)
			count = append_filter(room, count, aj_filter_denied(1ULL << i));
	return (struct aj_filter){ room, count };
}

struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	return join_filters(aj_filter_ready(profile, network), deny, room);
}

/* Threads stay allowed: extension modules may start threads when they are loaded. */
struct aj_filter aj_filter_baseline(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                    struct sock_filter room[AJ_FILTER_ROOM])
{
	const struct aj_filter *first = profile == AJ_PROFILE_SNIPPET ? aj_filter_stage(AJ_STAGE_BASELINE)
	                                                              : aj_filter_ready(profile, network);
	return join_filters(first, deny & ~(uint64_t)AJ_DENY_THREADS, room);
}

struct aj_filter aj_filter_above(enum aj_profile profile, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	static const struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	/* Under the command profile Python may make every call of the profile while it starts. */
	static const struct aj_filter nothing = { &allow, 1 };
	return join_filters(profile == AJ_PROFILE_SNIPPET ? aj_filter_stage(AJ_STAGE_ABOVE) : &nothing, deny & AJ_DENY_THREADS, room);
}
