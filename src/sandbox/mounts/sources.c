/* Opens the sources of a plan's binds as detached mounts, with the caller's own rights, before the jail takes its id.
 * It follows no symlink in a path that a caller named, and binds no socket of the host that the policy does not name. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "sandbox/mounts/mount.h"
#include "sandbox/mounts/named_sockets.h"

int aj_mount_fail_source(const char *path, struct aj_error *err)
{
	bool link = errno == ELOOP;
	aj_fail_because(err, AJ_REASON_SOURCE, AJ_EXIT_SETUP, "sources", errno,
	                link ? "a symlink in the path `%s`" : "open `%s` to bind it into the jail", path);
	if (link)
		aj_advise(err, "name the path itself: an earlier run may have chosen where the symlink leads");
	return -1;
}

int aj_mount_clone_file(int path)
{
	return open_tree(path, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

int aj_mount_clone_tree(int path, struct aj_built_mount *b)
{
	unsigned flags = b->row->flags, clone = AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC;
	if (flags & AJ_LAYERED) /* without the mounts below it, or not at all */
		return open_tree(path, "", clone);
	int tree = flags & AJ_OVERLAY ? open_tree(path, "", clone) : -1;
	if (tree >= 0)
		return tree;
	b->refused = flags & AJ_OVERLAY ? EBUSY : 0;
	return open_tree(path, "", clone | AT_RECURSIVE);
}

/* Descriptors that later rows take over from earlier ones. */
struct common {
	int folder;      /* a detached mount of the last file's folder; -1: none */
	int host_folder; /* the same folder on the host; then its mount and path there */
	uint64_t mount;
	unsigned noexec; /* AJ_NOEXEC where the overlay of `folder` will have it */
	char path[PATH_MAX];
	const char *mask; /* the source of the masks, and opened: they all have the same one. NULL: none yet */
	int mask_fd;
};

/* Whether the overlay of the last file's folder also shows this entry: it must be below that folder, in the same mount. An entry
 * of another mount gets an overlay of its own. */
static bool share_folder(const char *real, const struct statx *of, struct aj_built_mount *b, const struct common *common)
{
	bool same_kind = common->folder >= 0 && common->noexec == (b->row->flags & AJ_NOEXEC);
	const char *rest = same_kind ? aj_path_rest(real, common->path) : NULL;
	/* Where a filter forbids statx, libc emulates it without mount ids. */
	if (!rest || !*rest || !(of->stx_mask & STATX_MNT_ID) || of->stx_mnt_id != common->mount)
		return false;
	b->folder = common->folder;
	b->name = strdup(rest + 1);
	return b->name;
}

/* An overlay consists of folders: for a file, of its parent. A process that renames entries there meanwhile can only have another
 * file of that folder shown. */
static void clone_parent(int path, struct aj_built_mount *b, struct common *common)
{
	unsigned flags = b->row->flags;
	char real[PATH_MAX];
	struct statx file, there;
	if (!(flags & AJ_OVERLAY) || (flags & AJ_LAYERED))
		return;
	if (statx(path, "", AT_EMPTY_PATH, STATX_BASIC_STATS | STATX_MNT_ID, &file) < 0) {
		b->file_refused = errno;
		return;
	}
	if (!S_ISDIR(file.stx_mode) && !S_ISREG(file.stx_mode))
		return;
	aj_fd_path(path, real, sizeof real);
	if (share_folder(real, &file, b, common) || !S_ISREG(file.stx_mode))
		return;
	char *name = strrchr(real, '/');
	b->file_refused = ENOENT;
	if (!name || !name[1])
		return;
	*name++ = '\0';
	cleanup_fd int folder = aj_open_resolved(AT_FDCWD, *real ? real : "/", O_PATH | O_DIRECTORY,
	                                         RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (folder < 0 || statx(folder, name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &there) < 0 ||
	    there.stx_ino != file.stx_ino || there.stx_dev_major != file.stx_dev_major ||
	    there.stx_dev_minor != file.stx_dev_minor)
		return;
	b->file_refused = EBUSY;
	b->folder = open_tree(folder, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	b->name = b->folder < 0 ? NULL : strdup(name);
	common->folder = -1;
	aj_close(&common->host_folder);
	struct statx of;
	if (!b->name || statx(folder, "", AT_EMPTY_PATH, STATX_MNT_ID, &of) < 0 || !(of.stx_mask & STATX_MNT_ID))
		return;
	common->folder = b->folder;
	common->host_folder = aj_steal(&folder);
	common->mount = of.stx_mnt_id;
	common->noexec = flags & AJ_NOEXEC;
	memcpy(common->path, *real ? real : "/", strlen(real) + 1 + !*real);
}

/* The same for an entry of /etc, without opening it: a command has dozens of them. As the folder could be cloned alone, and all
 * its mounts would be locked in this user namespace, there are none below it. */
static bool is_part(struct aj_built_mount *b, const struct common *common)
{
	const struct aj_mount *m = b->row;
	const char *rest = (m->flags & AJ_PART) && common->folder >= 0 && common->noexec == (m->flags & AJ_NOEXEC)
	                     ? aj_path_rest(m->source, common->path)
	                     : NULL;
	if (!rest || !*rest)
		return false;
	/* A link on the way is followed outside of the overlay. */
	cleanup_fd int found = strchr(++rest, '/') ? aj_beneath_open(common->host_folder, rest, O_PATH) : -1;
	if (found < 0 && strchr(rest, '/'))
		return false;
	b->folder = common->folder;
	b->name = strdup(rest);
	return b->name;
}

/* The state folder of an overlay, by a path that the supervisor has found for its descriptor: the same folder, or none. */
static int open_layers(struct aj_built_mount *b, struct aj_error *err)
{
	struct stat st;
	cleanup_fd int path = aj_open_resolved(AT_FDCWD, b->layers, O_PATH | O_DIRECTORY,
	                                       RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS);
	if (path < 0 || fstat(path, &st) < 0)
		return aj_mount_fail_source(b->layers, err);
	if (st.st_dev != b->layers_dev || st.st_ino != b->layers_ino)
		return aj_fail_because(err, AJ_REASON_SOURCE, AJ_EXIT_SETUP, "sources", 0, "`%s` has been replaced during set-up",
		                       b->layers);
	b->layers_mount = open_tree(path, "", AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	return b->layers_mount < 0 ? aj_mount_fail_source(b->layers, err) : 0;
}

static int open_source(struct aj_built_mount *b, struct common *common, struct aj_error *err)
{
	const struct aj_mount *m = b->row;
	const char *source = aj_built_source(b);
	if (b->mapped) {
		b->layers_mount = b->mapped_layers;
		return b->mapped;
	}
	if (is_part(b, common))
		return -1;
	uint64_t resolve = m->flags & AJ_FOLLOW ? 0 : RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
	bool again = (m->flags & AJ_MASK) && common->mask && strcmp(common->mask, source) == 0;
	cleanup_fd int opened = again ? -1 : aj_open_resolved(AT_FDCWD, source, O_PATH, resolve);
	int path = again ? common->mask_fd : opened;
	if (path >= 0)
		clone_parent(path, b, common);
	/* The overlay of its parent will show it. A clone that is closed unused makes the kernel wait for all processors. */
	if (b->name)
		return aj_steal(&opened);
	int tree = path < 0 ? -1 : aj_mount_clone_tree(path, b);
	if (tree >= 0 && (m->flags & AJ_LAYERED) && open_layers(b, err) < 0) {
		close(tree);
		return -1;
	}
	if (tree >= 0 && (m->flags & AJ_MASK) && !common->mask) {
		common->mask = source;
		common->mask_fd = aj_steal(&opened);
	}
	if (tree < 0 && errno == ENOENT && (m->flags & AJ_OPTIONAL))
		return -1;
	return tree < 0 ? aj_mount_fail_source(source, err) : tree;
}

static bool is_named(const struct aj_plan *plan, const char *source)
{
	for (size_t i = 0; i < plan->sockets.count; i++)
		if (strcmp(plan->sockets.items[i], source) == 0)
			return true;
	return false;
}

/* A bound socket is reachable without any further check, so it must be one that the policy names; and who names a socket does not
 * mean to show a file or a folder. */
static int examine_source(const struct aj_plan *plan, struct aj_built_mount *b, struct aj_error *err)
{
	const char *source = aj_built_source(b);
	struct aj_named_sockets named;
	struct stat st;
	if (fstat(b->fd, &st) < 0)
		return aj_fail_because(err, AJ_REASON_MOUNT, AJ_EXIT_SETUP, "mounts", errno, "stat the source of `%s` (%s)",
		                       b->row->target, source);
	b->type = st.st_mode & S_IFMT;
	b->device = st.st_rdev;
	if (!S_ISSOCK(st.st_mode) && !is_named(plan, source))
		return 0;
	if (aj_named_sockets_open(&named, plan, err) < 0)
		return -1;
	bool known = aj_named_sockets_has(&named, &st);
	aj_named_sockets_close(&named);
	if (known)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "sources", 0, "`%s` is a socket of the host, and filesystem.sockets does not name it",
	        source);
	aj_advise(err, "name the socket there, or with --connect, if the jail is to connect to it");
	return -1;
}

static int open_all(struct aj_built *built, struct common *common, struct aj_error *err)
{
	for (size_t i = 0; i < built->plan->mounts.count; i++) {
		struct aj_built_mount *b = &built->mounts[i];
		if (b->row->kind == AJ_MOUNT_BIND && (b->fd = open_source(b, common, err)) < 0 && err->exit_code)
			return -1;
		if (b->fd >= 0 && examine_source(built->plan, b, err) < 0)
			return -1;
	}
	return 0;
}

int aj_mount_sources(struct aj_built *built, struct aj_error *err)
{
	struct common common = { .folder = -1, .host_folder = -1, .mask_fd = -1 };
	int r = open_all(built, &common, err);
	aj_close(&common.host_folder);
	aj_close(&common.mask_fd);
	return r;
}
