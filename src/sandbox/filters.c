/* Joins the ready filters of a guest into one.
 * It compiles none and loosens none: what the profile refuses stays refused, and the groups take away from the rest. */
#include <linux/seccomp.h>
#include <string.h>

#include "sandbox/seccomp.h"

/* The end of `out` becomes the next filter: every `allow` before it goes there. 0: no room. */
static unsigned short append(struct sock_filter *out, unsigned short count, const struct aj_filter *next)
{
	if (count + next->count > AJ_FILTER_ROOM)
		return 0;
	for (unsigned short i = 0; i < count; i++)
		if (out[i].code == (BPF_RET | BPF_K) && out[i].k == SECCOMP_RET_ALLOW)
			out[i] = (struct sock_filter){ .code = BPF_JMP | BPF_JA, .k = (uint32_t)(count - i - 1) };
	memcpy(out + count, next->insns, next->count * sizeof *out);
	return (unsigned short)(count + next->count);
}

struct aj_filter aj_filter_build(enum aj_profile profile, enum aj_network network, uint64_t deny, struct sock_filter room[AJ_FILTER_ROOM])
{
	if (!deny)
		return *aj_filter_ready(profile, network);
	unsigned short count = append(room, 0, aj_filter_ready(profile, network));
	for (int i = 0; count && i < AJ_FILTER_GROUPS; i++)
		if (deny & 1ULL << i)
			count = append(room, count, aj_filter_denied(1ULL << i));
	return (struct aj_filter){ room, count };
}

bool aj_filter_may_send(enum aj_profile profile, uint64_t deny)
{
	return profile == AJ_PROFILE_COMMAND && !(deny & AJ_DENY_SOCKETS);
}
