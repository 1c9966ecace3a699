/* Drops and restores the supplementary groups of the calling thread. */
#include "base/groups.h"

#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int aj_groups_drop(struct aj_groups *ret)
{
	*ret = (struct aj_groups){ .count = getgroups(0, NULL) };
	if (ret->count == 0)
		return 0;
	ret->list = ret->count > 0 ? malloc((size_t)ret->count * sizeof *ret->list) : NULL;
	if (ret->list && getgroups(ret->count, ret->list) == ret->count && syscall(SYS_setgroups, 0, NULL) == 0)
		return 0;
	ret->count = 0;
	return -1;
}

int aj_groups_restore(struct aj_groups *groups)
{
	int r = groups->count ? (int)syscall(SYS_setgroups, groups->count, groups->list) : 0;
	free(groups->list);
	*groups = (struct aj_groups){ 0 };
	return r;
}
