/* Builds the jail's file tree from the plan's rows, on descriptors: sources.c has opened the sources of its binds.
 * It follows no symlink in a target: a path with one is an error. */
#include "sandbox/mounts/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "sandbox/mounts/mask.h"
#include "sandbox/mounts/overlay.h"

enum { ROOT_BYTES = 1 << 20, ROOT_INODES = 512 };

static int fail(struct aj_error *err, const struct aj_mount *m, int errnum, const char *what)
{
	bool proc = m->kind == AJ_MOUNT_PROC;
	return aj_fail_because(err, proc ? AJ_REASON_PROC : AJ_REASON_MOUNT, AJ_EXIT_SETUP, proc ? "proc" : "mounts", errnum,
	                       "%s `%s` (%s)", what, m->target, m->source && m->kind == AJ_MOUNT_BIND ? m->source : m->why);
}

/* The parent of the last row's target: neighbouring rows of the plan share it. */
struct place {
	int root, dir;
	int overlay; /* attached overlay of `folder`, shared by neighbouring rows; 0: none */
	int folder;
	int blanks;          /* placeholders for masks and overlay layers; -1 without any */
	char path[PATH_MAX]; /* of dir, with a slash at the end; "" for none */
};

/* Open `name` in `dir` as a folder, creating it if missing; never through a symlink. */
static int step_into(int dir, const char *name, bool create)
{
	if (create && mkdirat(dir, name, 0755) < 0 && errno != EEXIST && errno != EROFS)
		return -1;
	return openat(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

static bool bad_part(const char *part, size_t bytes)
{
	return bytes > NAME_MAX || !aj_path_part_valid(part, bytes);
}

/* Set `place` to the parent folder of `target`; returns the last component, or NULL with errno. */
static const char *enter_parent(struct place *place, const char *target, bool create)
{
	const char *name = strrchr(target, '/') + 1;
	size_t parent_bytes = (size_t)(name - target);
	errno = strlen(target) < PATH_MAX ? EINVAL : ENAMETOOLONG;
	if (bad_part(name, strlen(name)) || parent_bytes >= sizeof place->path)
		return NULL;
	if (strlen(place->path) == parent_bytes && memcmp(place->path, target, parent_bytes) == 0)
		return name;
	/* A folder below the last parent is entered from there. */
	size_t known = strlen(place->path);
	known = known && known < parent_bytes && memcmp(place->path, target, known) == 0 ? known : 0;
	cleanup_fd int dir = known ? aj_steal(&place->dir) : fcntl(place->root, F_DUPFD_CLOEXEC, 3);
	aj_close(&place->dir);
	place->path[0] = '\0';
	for (const char *at = target + (known ? known : 1); at < name; at += strcspn(at, "/") + 1) {
		char part[NAME_MAX + 1];
		size_t bytes = strcspn(at, "/");
		errno = EINVAL;
		if (bad_part(at, bytes))
			return NULL;
		memcpy(part, at, bytes);
		part[bytes] = '\0';
		int next = step_into(dir, part, create);
		if (next < 0)
			return NULL;
		close(dir);
		dir = next;
	}
	memcpy(place->path, target, parent_bytes);
	place->path[parent_bytes] = '\0';
	place->dir = aj_steal(&dir);
	return name;
}

/* Open a mount point that was there, of the same type as the mount. */
static int open_target(int parent, const char *name, bool folder)
{
	if (folder)
		return step_into(parent, name, false);
	cleanup_fd int fd = openat(parent, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	if (fd >= 0 && (fstat(fd, &st) < 0 || !(S_ISREG(st.st_mode) || S_ISCHR(st.st_mode) || S_ISSOCK(st.st_mode)))) {
		errno = ELOOP;
		return -1;
	}
	return aj_steal(&fd);
}

/* What a mount of the row's does not permit. */
static uint64_t attributes(const struct aj_mount *m)
{
	return MOUNT_ATTR_NOSUID | (m->flags & AJ_RO ? MOUNT_ATTR_RDONLY : 0) | (m->flags & AJ_NOEXEC ? MOUNT_ATTR_NOEXEC : 0) |
	       /* Reading the mask must work like reading an empty file, so its device stays usable. */
	       (m->flags & (AJ_DEV | AJ_MASK) ? 0 : MOUNT_ATTR_NODEV);
}

/* The entry from an overlay of its folder, which its neighbours share: of the type of the source, if that was opened. -1 with
 * errno. It has the row's attributes, which are the neighbours' too. */
static int overlay_entry(struct aj_built_mount *b, struct place *place)
{
	if (!place->overlay || place->folder != b->folder) {
		int overlay = aj_overlay_attached(place->blanks, b->folder, (unsigned)attributes(b->row));
		if (overlay < 0)
			return -1;
		if (place->overlay)
			close(place->overlay);
		place->overlay = overlay;
		place->folder = b->folder;
	}
	return aj_overlay_entry(place->overlay, b->name, &b->type);
}

/* Open a part that sources.c left closed: from the overlay, or else a clone from the mount of its folder. */
static int open_part(struct aj_built_mount *b, struct place *place, struct aj_error *err)
{
	int part = overlay_entry(b, place);
	if (part >= 0 || errno == ENOENT)
		return part;
	int refused = errno;
	part = aj_overlay_entry(b->folder, b->name, &b->type);
	if (part < 0)
		return errno == ENOENT ? part : fail(err, b->row, errno, "clone the source of");
	*(S_ISDIR(b->type) ? &b->refused : &b->file_refused) = refused;
	return part;
}

static void replace_source(struct aj_built_mount *b, int source)
{
	close(b->fd);
	b->fd = source;
}

/* Replace the source, a file, by itself from an overlay of its folder; if the kernel makes none, by its clone. */
static int overlay_file_row(struct aj_built_mount *b, struct place *place, struct aj_error *err)
{
	int file = overlay_entry(b, place);
	b->file_refused = file < 0 ? errno : 0;
	if (file < 0 && (file = aj_mount_clone_file(b->fd)) < 0)
		return fail(err, b->row, errno, "clone the source of");
	replace_source(b, file);
	return 0;
}

/* Replace the source, a folder that is not cloned yet, by the same folder from an overlay of a parent, else by a clone. Returns
 * whether it is from an overlay, or -1 with err. */
static int shared_row(struct aj_built_mount *b, struct place *place, struct aj_error *err)
{
	int shared = overlay_entry(b, place);
	int tree = shared < 0 ? aj_mount_clone_tree(b->fd, b) : shared;
	if (tree < 0)
		return aj_mount_fail_source(aj_built_source(b), err);
	replace_source(b, tree);
	return shared >= 0;
}

/* Replace the source by an overlay of it; if the kernel makes none, the errno is recorded and the source is bound directly. */
static int overlay_row(struct aj_built_mount *b, struct place *place, struct aj_error *err)
{
	if (S_ISFIFO(b->type)) {
		fail(err, b->row, EINVAL, "a FIFO of the host cannot be bound read-only:");
		aj_advise(err, "a reader takes data out of a FIFO: bind it :rw if the jail may do that");
		return -1;
	}
	if (S_ISREG(b->type) && b->name)
		return overlay_file_row(b, place, err);
	int shared = S_ISDIR(b->type) && b->name ? shared_row(b, place, err) : 0;
	if (shared)
		return shared < 0 ? -1 : 0;
	if (!S_ISDIR(b->type) || b->refused)
		return 0;
	int overlay = aj_overlay(place->blanks, b->fd);
	if (overlay < 0)
		b->refused = errno;
	else
		replace_source(b, overlay);
	return 0;
}

/* Replace the source by an overlay of it whose upper layer takes all changes. There is no other way to keep them apart here. */
static int layered_row(struct aj_built_mount *b, const struct place *place, struct aj_error *err)
{
	int overlay = aj_overlay_layered(place->blanks, b->fd, b->layers_mount, b->row->flags & AJ_RO);
	if (overlay < 0) {
		fail(err, b->row, errno, "make an overlay over");
		err->reason = AJ_REASON_OVERLAY;
		aj_advise(err,
		          "the file systems of the workspace and of the state directory ($XDG_STATE_HOME) cannot be layers of an overlay "
		          "together: use --workspace-mode copy, or another state directory");
		return -1;
	}
	replace_source(b, overlay);
	return 0;
}

/* `sealed`: the source has the row's attributes already. */
static int bind_row(const struct aj_built_mount *b, int parent, const char *name, int source, bool sealed, struct aj_error *err)
{
	const struct aj_mount *m = b->row;
	bool device = S_ISCHR(b->type);
	if ((m->flags & AJ_DEV) && !device)
		return fail(err, m, ENODEV, "not a device:");
	if ((m->flags & AJ_MASK) && !(device && b->device == makedev(1, 3)))
		return fail(err, m, ENODEV, "/dev/null is not the null device; mask");
	bool folder = S_ISDIR(b->type), create = !(m->flags & AJ_MASK);
	/* No second look at the new name: move_mount() follows no symlink, and mounts no folder over a file. */
	bool made = create && (folder ? mkdirat(parent, name, 0755) : mknodat(parent, name, S_IFREG | 0444, 0)) == 0;
	bool refused = create && !made && folder && errno != EEXIST && errno != EROFS;
	cleanup_fd int target = made || refused ? -1 : open_target(parent, name, folder);
	if (target < 0 && !made)
		return errno == ENOENT && !create ? 0 : fail(err, m, errno, "make the mount point");
	struct mount_attr attr = { .attr_set = attributes(m), .propagation = MS_PRIVATE };
	if (!sealed && mount_setattr(source, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof attr) < 0)
		return fail(err, m, errno, "seal");
	if (move_mount(source, "", made ? parent : target, made ? name : "",
	               MOVE_MOUNT_F_EMPTY_PATH | (made ? 0 : MOVE_MOUNT_T_EMPTY_PATH)) < 0)
		return fail(err, m, errno, "attach");
	return 0;
}

/* mount(2) takes a path; the working directory is the only path that no process can swap. */
static int fs_row(const struct aj_mount *m, int parent, const char *name, struct aj_error *err)
{
	cleanup_fd int target = step_into(parent, name, true);
	if (target < 0 || fchdir(target) < 0)
		return fail(err, m, errno, "make the mount point");
	unsigned long flags = MS_NOSUID | (m->flags & AJ_RO ? MS_RDONLY : 0) | (m->flags & AJ_NOEXEC ? MS_NOEXEC : 0) |
	                      (m->flags & AJ_DEV ? 0 : MS_NODEV);
	char options[128] = "";
	const char *type = m->kind == AJ_MOUNT_PROC ? "proc" : m->kind == AJ_MOUNT_DEVPTS ? "devpts" : "tmpfs";
	if (m->kind == AJ_MOUNT_TMPFS)
		snprintf(options, sizeof options, "mode=%04o,size=%lu,nr_inodes=%lu", m->mode, m->size_bytes, m->inodes);
	else if (m->kind == AJ_MOUNT_PROC)
		snprintf(options, sizeof options, "hidepid=2"); /* init's command line is the caller's */
	else if (m->kind == AJ_MOUNT_DEVPTS)
		snprintf(options, sizeof options, "newinstance,ptmxmode=0666,mode=0620,max=64");
	if (mount(type, ".", type, flags, options) < 0)
		return fail(err, m, errno, "mount");
	return 0;
}

static int apply_row(struct aj_built_mount *b, struct place *place, struct aj_error *err)
{
	const struct aj_mount *m = b->row;
	cleanup_fd int part = m->kind == AJ_MOUNT_BIND && b->fd < 0 && b->name ? open_part(b, place, err) : -1;
	if (m->kind == AJ_MOUNT_BIND && b->fd < 0 && part < 0)
		return err->exit_code ? -1 : 0;
	if (m->kind == AJ_MOUNT_MASK) {
		place->path[0] = '\0'; /* it may cover that folder */
		return aj_mask_apply(place->root, place->blanks, m->target, m->flags & AJ_OPTIONAL, err);
	}
	const char *name = enter_parent(place, m->target, !(m->flags & AJ_MASK));
	if (!name)
		return errno == ENOENT && (m->flags & AJ_MASK) ? 0 : fail(err, m, errno, "open the folder of");
	switch (m->kind) {
	case AJ_MOUNT_BIND:
		if ((m->flags & AJ_LAYERED) && layered_row(b, place, err) < 0)
			return -1;
		if (part < 0 && (m->flags & AJ_OVERLAY) && overlay_row(b, place, err) < 0)
			return -1;
		return bind_row(b, place->dir, name, part < 0 ? b->fd : part, part >= 0 && !b->refused && !b->file_refused, err);
	case AJ_MOUNT_TMPFS:
	case AJ_MOUNT_PROC:
	case AJ_MOUNT_DEVPTS:
		return fs_row(m, place->dir, name, err);
	case AJ_MOUNT_FILE:
		return aj_mount_text(m, place->dir, name) < 0 ? fail(err, m, errno, "write") : 0;
	case AJ_MOUNT_SYMLINK:
		return symlinkat(m->source, place->dir, name) < 0 ? fail(err, m, errno, "link") : 0;
	case AJ_MOUNT_MASK:
		break;
	}
	return fail(err, m, EINVAL, "unknown kind of mount row:");
}

/* A bind below a writable one: the folders between them must not be renamed, or another run would find another file there. */
static bool inside_writable(const struct aj_plan *plan, size_t row)
{
	const struct aj_mount *m = &plan->mounts.items[row];
	if (m->kind != AJ_MOUNT_BIND)
		return false;
	for (size_t i = 0; i < row; i++) {
		const char *outer = plan->mounts.items[i].target;
		if (aj_mount_is_shared(&plan->mounts.items[i]) && aj_path_below(m->target, outer))
			return true;
	}
	return false;
}

static bool needs_blanks(const struct aj_built *built)
{
	bool needs = built->protected.count;
	for (size_t i = 0; i < built->plan->mounts.count && !needs; i++) {
		const struct aj_mount *m = &built->plan->mounts.items[i];
		needs = m->kind == AJ_MOUNT_MASK || (m->flags & (AJ_OVERLAY | AJ_LAYERED));
	}
	return needs;
}

int aj_mount_rows(struct aj_built *built, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	char options[64];
	cleanup_fd int blanks = -1;
	if (needs_blanks(built) && (blanks = aj_mask_blanks(3 * (plan->mounts.count + built->protected.count), err)) < 0)
		return -1;
	snprintf(options, sizeof options, "mode=0755,size=%d,nr_inodes=%d", ROOT_BYTES, ROOT_INODES);
	unsigned long noexec = plan->snippet ? MS_NOEXEC : 0; /* it holds texts of the policy's and the caller's */
	if (mount("tmpfs", AJ_MOUNT_CARRIER, "tmpfs", MS_NOSUID | MS_NODEV | noexec, options) < 0)
		return aj_fail_because(err, AJ_REASON_MOUNT, AJ_EXIT_SETUP, "mounts", errno, "mount the new root");
	cleanup_fd int root = open(AJ_MOUNT_CARRIER, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return aj_fail_because(err, AJ_REASON_MOUNT, AJ_EXIT_SETUP, "mounts", errno, "open the new root");
	struct place place = { .root = root, .dir = -1, .blanks = blanks };
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (apply_row(&built->mounts[i], &place, err) < 0)
			return -1;
	for (size_t i = 0; i < built->protected.count; i++)
		if (aj_hold_apply(root, blanks, built->protected.items[i].target, built->protected.items[i].placeholder, err) < 0)
			return -1;
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (built->mounts[i].fd >= 0 && inside_writable(plan, i) &&
		    aj_hold_above(root, plan->mounts.items[i].target, err) < 0)
			return -1;
	aj_close(&place.dir);
	if (place.overlay)
		close(place.overlay);
	return aj_steal(&root);
}

int aj_mount_pivot(int root, struct aj_error *err)
{
	/* pivot_root(".", ".") stacks the old root on the new one; detaching "." then uncovers the new one. */
	if (fchdir(root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "pivot", errno,
		                       "make the new file tree the root (pivot_root)");
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "pivot", errno, "detach the host's file tree");
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	if (mount_setattr(AT_FDCWD, "/", 0, &attr, sizeof attr) < 0)
		return aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "pivot", errno, "seal the root read-only");
	return 0;
}

int aj_mount_own(const struct aj_plan *plan, struct aj_error *err)
{
	cleanup_fd int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "own_mounts", errno, "open the root");
	struct place place = { .root = root, .dir = -1, .blanks = -1 };
	for (size_t i = 0; i < plan->mounts.count; i++) {
		struct aj_built_mount scratch = { .row = &plan->mounts.items[i], .fd = -1 };
		if (aj_mount_is_scratch(scratch.row) && apply_row(&scratch, &place, err) < 0)
			return -1;
	}
	aj_close(&place.dir);
	if (chdir(plan->chdir) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "own_mounts", errno, "enter `%s` in the jail", plan->chdir);
	return 0;
}
