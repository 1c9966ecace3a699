/* Which ready filters a guest gets, in which order.
 * It makes none: they were compiled when the program was, and are installed by filter.c. */
#include "sandbox/seccomp.h"

size_t aj_filter_list(enum aj_profile profile, enum aj_network network, uint64_t deny, const struct aj_filter *ret[AJ_FILTERS_MAX])
{
	size_t count = 0;
	for (int i = 0; i < AJ_DENY_GROUPS; i++)
		if (deny & 1ULL << i)
			ret[count++] = aj_filter_denied(1ULL << i);
	ret[count++] = aj_filter_ready(profile, network);
	return count;
}
