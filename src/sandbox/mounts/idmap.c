/* Makes mounts with mapped ids. It needs CAP_SYS_ADMIN over the file system, which the supervisor of root has, and no jail.
 * It attaches no mount, and maps one user and one group: files of other users stay without an owner. */
#include "sandbox/mounts/idmap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clone.h"
#include "base/fd.h"
#include "base/namespaces.h"

/* A namespace lives as long as a process or a descriptor refers to it. The child has no descriptor but its own end of the pair,
 * so it holds no lock of ours, and ends when we do. */
_Noreturn static void hold_namespace(int end)
{
	char made = aj_namespaces_make(CLONE_NEWUSER) == 0 ? 1 : 0;
	if (aj_fd_close_others(0, &end, 1) == 0 && aj_write_all(end, &made, 1) == 0)
		aj_read_all(end, &made, 1);
	_exit(0);
}

static int map_and_open(pid_t child, const struct aj_idmap *map)
{
	char path[32], text[48];
	snprintf(path, sizeof path, "/proc/%d", child);
	cleanup_fd int proc = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return -1;
	snprintf(text, sizeof text, "%u %u 1\n", map->uid, map->to_uid);
	if (aj_write_text(proc, "uid_map", text) < 0)
		return -1;
	snprintf(text, sizeof text, "%u %u 1\n", map->gid, map->to_gid);
	if (aj_write_text(proc, "gid_map", text) < 0)
		return -1;
	return openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
}

int aj_idmap_namespace(const struct aj_idmap *map, struct aj_error *err)
{
	int ends[2];
	char made = 0;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "make a pair of sockets");
	pid_t child = aj_fork_bare();
	if (child == 0)
		hold_namespace(ends[1]);
	close(ends[1]);
	int fd = child > 0 && aj_read_all(ends[0], &made, 1) == 0 && made ? map_and_open(child, map) : -1;
	int error = errno;
	close(ends[0]);
	if (child > 0) {
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (fd < 0)
		aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "changes", error,
		                "make a user namespace that maps the workspace's owner, id %u, to the jail's, %u", map->uid,
		                map->to_uid);
	return fd;
}

int aj_idmap_mount(int dir, int userns, bool recursive)
{
	unsigned all = recursive ? AT_RECURSIVE : 0;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_IDMAP, .userns_fd = (uint64_t)userns };
	cleanup_fd int tree = open_tree(dir, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | all);
	if (tree < 0 || mount_setattr(tree, "", AT_EMPTY_PATH | all, &attr, sizeof attr) < 0)
		return -1;
	return aj_steal(&tree);
}
