/* Joins the ready filters of a guest into one.
 * It compiles none and loosens none: the profile's refusals stay, and the groups deny more calls. */
#include <linux/seccomp.h>

#include "policy/seccomp/compile.h"

static struct aj_filter join_filters(const struct aj_filter *first, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	if (!deny)
		return *first;
	unsigned short count = aj_filter_append(room, AJ_FILTER_ROOM, 0, first);
	for (int i = 0; count && i < AJ_FILTER_GROUPS; i++)
		if (deny & 1ULL << i)
			count = aj_filter_append(room, AJ_FILTER_ROOM, count, aj_filter_denied(1ULL << i));
	return (struct aj_filter){ room, count };
}

struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                 struct sock_filter room[AJ_FILTER_ROOM])
{
	return join_filters(aj_filter_ready(profile, network), deny, room);
}

/* Threads stay allowed: extension modules may start threads when they are loaded. */
struct aj_filter aj_filter_baseline(enum aj_profile profile, enum aj_network network, uint64_t deny,
                                    struct sock_filter room[AJ_FILTER_ROOM])
{
	const struct aj_filter *first = aj_profile_is_pure(profile) ? aj_filter_stage(AJ_STAGE_BASELINE)
	                                                            : aj_filter_ready(profile, network);
	return join_filters(first, deny & ~(uint64_t)AJ_DENY_THREADS, room);
}

struct aj_filter aj_filter_above(enum aj_profile profile, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	static const struct sock_filter allow = { .code = BPF_RET | BPF_K, .k = SECCOMP_RET_ALLOW };
	/* Under the command profile Python may make every call of the profile while it starts. */
	static const struct aj_filter nothing = { &allow, 1 };
	const struct aj_filter *stage = profile == AJ_PROFILE_SNIPPET ? aj_filter_stage(AJ_STAGE_ABOVE)
	                              : profile == AJ_PROFILE_NATIVE  ? aj_filter_stage(AJ_STAGE_ABOVE_NATIVE)
	                                                              : &nothing;
	return join_filters(stage, deny & AJ_DENY_THREADS, room);
}
