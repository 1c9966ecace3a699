/* User, group and supplementary group ids of the calling thread or process. */
#include "base/ids.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int set_groups(int count, const gid_t *list)
{
	return (int)syscall(SYS_setgroups, count, list);
}

int aj_groups_clear(void)
{
	return set_groups(0, NULL);
}

int aj_groups_drop(struct aj_groups *ret)
{
	*ret = (struct aj_groups){ .count = getgroups(0, NULL) };
	if (ret->count == 0)
		return 0;
	ret->list = ret->count > 0 ? malloc((size_t)ret->count * sizeof *ret->list) : NULL;
	if (ret->list && getgroups(ret->count, ret->list) == ret->count && set_groups(0, NULL) == 0)
		return 0;
	ret->count = 0;
	return -1;
}

int aj_groups_restore(struct aj_groups *groups)
{
	int r = groups->count ? set_groups(groups->count, groups->list) : 0;
	free(groups->list);
	*groups = (struct aj_groups){ 0 };
	return r;
}

int aj_ids_take(uid_t uid, gid_t gid)
{
	return setresgid(gid, gid, gid) < 0 ? -1 : setresuid(uid, uid, uid);
}

int aj_ids_take_mapped(uid_t uid, gid_t gid)
{
	if (setresgid(gid, gid, gid) < 0 && errno != EINVAL)
		return -1;
	return setresuid(uid, uid, uid) < 0 && errno != EINVAL ? -1 : 0;
}
