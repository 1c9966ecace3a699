/* Opens the sockets that a policy names, and says whether an inode is one of them.
 * It connects to none, follows no symlink, and refuses every path that is no socket. */
#include "sandbox/mounts/named_sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"

int aj_named_sockets_open(struct aj_named_sockets *named, const struct aj_plan *plan, struct aj_error *err)
{
	struct stat st;
	*named = (struct aj_named_sockets){ .count = 0 };
	for (size_t i = 0; i < plan->sockets.count; i++) {
		const char *path = plan->sockets.items[i];
		int fd = named->count == AJ_SOCKETS_MAX
		           ? -1
		           : aj_open_resolved(AT_FDCWD, path, O_PATH, RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
		if (fd >= 0)
			named->fds[named->count++] = fd;
		else
			aj_fail(err, AJ_EXIT_SETUP, "sockets", errno,
			        errno == ELOOP ? "a symlink in the path `%s`" : "open the socket `%s`", path);
		if (fd >= 0 && (fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode)))
			aj_fail(err, AJ_EXIT_SETUP, "sockets", 0, "`%s` is not a socket", path);
		if (!err->exit_code)
			continue;
		aj_advise(err,
		          "name the socket's own path in filesystem.sockets, and start the program that listens there first");
		aj_named_sockets_close(named);
		return -1;
	}
	return 0;
}

bool aj_named_sockets_has(const struct aj_named_sockets *named, const struct stat *st)
{
	struct stat one;
	for (size_t i = 0; i < named->count; i++)
		if (fstat(named->fds[i], &one) == 0 && one.st_dev == st->st_dev && one.st_ino == st->st_ino)
			return true;
	return false;
}

void aj_named_sockets_close(struct aj_named_sockets *named)
{
	for (size_t i = 0; i < named->count; i++)
		aj_close(&named->fds[i]);
	named->count = 0;
}
