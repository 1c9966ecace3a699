/* Opens for a zygote the /proc and the cgroup folder that its births need, as detached mounts.
 * A descriptor of a folder also leads to the folders above it; one of a detached mount ends at the mount's root. */
#include "sandbox/mounts/handles.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mount.h>
#include <unistd.h>

#include "base/fd.h"

/* -1 where a part of the surrounding /proc is covered, as in a container: the kernel then mounts no other proc. */
static int own_proc(void)
{
	cleanup_fd int context = fsopen("proc", FSOPEN_CLOEXEC);
	if (context < 0 || fsconfig(context, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	return fsmount(context, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC);
}

int aj_handles_open(const char *leaves, int *proc_fd, int *ret_cgroup, struct aj_error *err)
{
	int own = own_proc();
	if (own >= 0) {
		aj_close(proc_fd);
		*proc_fd = own;
	}
	if (aj_fd_move_high(proc_fd) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "handles", errno, "open a /proc for the births of jails");
	*ret_cgroup = -1;
	if (!leaves)
		return 0;
	/* A birth into a leaf needs write permission on cgroup.procs and no writable mount; a read-only mount keeps the zygote
	 * from writing limits. */
	struct mount_attr read_only = { .attr_set = MOUNT_ATTR_RDONLY };
	*ret_cgroup = open_tree(AT_FDCWD, leaves, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	if (*ret_cgroup < 0 || mount_setattr(*ret_cgroup, "", AT_EMPTY_PATH, &read_only, sizeof read_only) < 0 ||
	    aj_fd_move_high(ret_cgroup) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "handles", errno, "open `%s` for the births of jails", leaves);
	return 0;
}
