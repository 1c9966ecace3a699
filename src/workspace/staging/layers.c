/* Prepares the layers of an overlay over a workspace: checks that the kernel can make one, and that the jail can write it.
 * It mounts no overlay: the jail's own init does, with the jail's ids. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "sandbox/mounts/idmap.h"
#include "workspace/staging/inner.h"

/* Lower files of other owners cannot become files of the upper layer, whose ids the jail's user namespace has to know. */
static int map_owner(const struct aj_staging *a, struct aj_staging_tree *t, const struct stat *st, struct aj_error *err)
{
	struct aj_idmap map = { .uid = st->st_uid, .to_uid = a->plan->host_uid, .gid = st->st_gid, .to_gid = a->plan->host_gid };
	cleanup_fd int userns = aj_idmap_namespace(&map, err);
	if (userns < 0)
		return -1;
	t->mapped = aj_idmap_mount(t->folder, userns, false);
	t->mapped_layers = t->mapped < 0 ? -1 : aj_idmap_mount(t->dir, userns, false);
	if (t->mapped_layers >= 0 && aj_fd_move_high(&t->mapped) == 0 && aj_fd_move_high(&t->mapped_layers) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "changes", errno,
	        "show the files of %s and of the state directory as the jail's own (mounts with mapped ids)", t->name);
	aj_advise(err,
	          "root's overlays need Linux 5.19 and file systems that support this: use --workspace-mode copy, or run agentjail as the "
	          "workspace's owner");
	return -1;
}

static int make_layer(const struct aj_staging *a, const struct aj_staging_tree *t, const char *name, mode_t mode,
                      const struct stat *owner)
{
	if (mkdirat(t->dir, name, 0700) < 0 && errno != EEXIST)
		return -1;
	cleanup_fd int fd = aj_beneath_open_here(t->dir, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || (owner && fchown(fd, owner->st_uid, owner->st_gid) < 0))
		return -1;
	return a->resumed ? 0 : fchmod(fd, mode);
}

/* Without these attributes the kernel makes the overlay, and it could not say that a folder was replaced. */
static int check_attributes(const struct aj_staging_tree *t, struct aj_error *err)
{
	static const char name[] = "user.agentjail";
	cleanup_fd int work = aj_beneath_open_here(t->dir, "work", O_RDONLY | O_DIRECTORY);
	if (work >= 0 && fsetxattr(work, name, "", 0, 0) == 0 && fremovexattr(work, name) == 0)
		return 0;
	aj_staging_fail(err, errno, "set an extended attribute in the state directory, which an overlay needs");
	aj_advise(err,
	          "use --workspace-mode copy, or name a folder of another file system with XDG_STATE_HOME (tmpfs has them from Linux 6.6 on)");
	return -1;
}

static int check_owners(struct aj_staging *a, const struct aj_staging_tree *t, const struct stat *st, bool mapped,
                        const struct aj_request *request, struct aj_error *err)
{
	char text[1200];
	uid_t uid = mapped ? st->st_uid : a->plan->host_uid;
	gid_t gid = mapped ? st->st_gid : a->plan->host_gid;
	if (st->st_uid != uid || st->st_gid != gid) {
		aj_fail(err, AJ_EXIT_SETUP, "changes", 0,
		        "%s belongs to user %u and group %u, and an overlay of user %u and group %u can change none of its folders",
		        t->name, st->st_uid, st->st_gid, uid, gid);
		aj_advise(err, "`chgrp -R %u` or `chown -R %u:%u` it, or use --workspace-mode copy", gid, uid, gid);
		return -1;
	}
	/* git replaces files of a repository, and a walk over all objects would take its time */
	if (t != &a->workspace || a->read)
		return 0;
	aj_staging_find_unmapped(&a->unmapped, &a->arena, t->folder, uid, gid);
	if (a->unmapped.count && request->notice) {
		aj_staging_unmapped_text(&a->unmapped, uid, gid, text, sizeof text);
		request->notice(text);
	}
	return 0;
}

static int make(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request, struct aj_error *err)
{
	struct stat st, own;
	char path[PATH_MAX];
	bool mapped = a->plan->host_uid != geteuid();
	int64_t began = aj_clock_ns(CLOCK_REALTIME);
	const char *below = aj_staging_mount_below(&a->arena, t->path);
	if (below) {
		aj_fail(err, AJ_EXIT_SETUP, "changes", 0,
		        "something is mounted at `%s`, inside %s, where an overlay would show the folder below it", below,
		        t->name);
		aj_advise(err, "use --workspace-mode copy, which leaves mounts out, or a workspace without that folder");
		return -1;
	}
	if (fstat(t->folder, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "examine %s", t->name);
	if (check_owners(a, t, &st, mapped, request, err) < 0)
		return -1;
	/* The upper folder is what the jail sees as the folder itself. The jail's builder passes through the state folder:
	 * `changes` above it is closed to all others. */
	if (!a->read &&
	    ((mapped && fchmod(t->dir, 0711) < 0) || make_layer(a, t, "upper", st.st_mode & 01777, mapped ? &st : NULL) < 0 ||
	     make_layer(a, t, "work", 0700, mapped ? &st : NULL) < 0))
		return aj_staging_fail(err, errno, "make the layers of the overlay in the state directory");
	if ((!a->read && check_attributes(t, err) < 0) || (mapped && map_owner(a, t, &st, err) < 0))
		return -1;
	if (fstat(t->dir, &own) < 0 || !aj_fd_path(t->dir, path, sizeof path))
		return aj_staging_fail(err, errno, "examine the state folder");
	t->mount->layers = aj_strdup(&a->arena, path);
	t->mount->layers_dev = own.st_dev;
	t->mount->layers_ino = own.st_ino;
	t->mount->mapped = mapped ? t->mapped : 0;
	t->mount->mapped_layers = mapped ? t->mapped_layers : 0;
	t->changes = aj_printf(&a->arena, "%s/upper", path);
	if (!a->resumed) /* else it began before the trim */
		aj_staging_begin(a, began);
	return 0;
}

int aj_staging_layers_make(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request,
                           struct aj_error *err)
{
	int r = make(a, t, request, err);
	if (r < 0)
		err->reason = AJ_REASON_OVERLAY;
	return r;
}
