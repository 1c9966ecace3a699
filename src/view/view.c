/* Prepares the layers of an overlay, or the copy, in which a jail changes a workspace, and keeps or removes them at the end.
 * It mounts no overlay (the jail's own init does, with the jail's ids), and it changes no file of the workspace. */
#include "view/view.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/sha256.h"
#include "changes/walk.h"
#include "mounts/idmap.h"
#include "mounts/mount.h"
#include "result/result.h"
#include "view/copy.h"
#include "view/look.h"
#include "view/record.h"
#include "view/waiting.h"

/* The look at the changes of a run that has ended; there may be more. */
enum { COUNT_MAX = 1000000, COUNT_US = 2000000 };
/* Readers of a record take so much from its start (changes/walk.c). */
enum { TICK_NS = 10000000 };

struct aj_view {
	struct aj_arena arena;
	struct aj_plan plan;
	char id[AJ_CHANGES_ID];
	int all, dir, lock; /* the folder of all state folders, this run's, and its lock */
	struct aj_view_record record;
	int workspace, mapped, mapped_layers;
	bool copy, resumed, ready, reported;
	struct aj_view_unmapped unmapped;
	struct aj_copied copied;
};

static struct aj_mount *row_of(struct aj_view *a)
{
	for (size_t i = 0; i < a->plan.mounts.count; i++)
		if (a->plan.mounts.items[i].flags & (AJ_LAYERED | AJ_COPIED))
			return &a->plan.mounts.items[i];
	return NULL;
}

static int fail(struct aj_error *err, int errnum, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, "changes", errnum, "%s", what);
}

/* File systems stamp changes with the coarse clock of the tick, or with a finer one in between. When the coarse one is later than `since`,
 * every change from then on is stamped later, and every change of before was stamped earlier. */
static void pass_tick(int64_t since)
{
	enum { TRIES = 100 }; /* the clock may be set back */
	for (int i = 0; i < TRIES && aj_clock_ns(CLOCK_REALTIME_COARSE) <= since; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

/* The caller's id where it can be a folder's name, else one that is made from it. */
static void choose_id(struct aj_view *a, const char *id)
{
	char sum[AJ_SHA256_HEX];
	if (id && aj_changes_id_valid(id)) {
		memcpy(a->id, id, strlen(id) + 1);
		return;
	}
	id = id ? id : "";
	aj_sha256(id, strlen(id), sum);
	snprintf(a->id, sizeof a->id, "%.16s", sum);
}

/* An overlay of a folder over itself has no end, nor has a copy of a folder into itself; and no jail may reach the changes of others. */
static int check_place(const struct aj_view *a, struct aj_error *err)
{
	char state[PATH_MAX];
	if (!aj_fd_path(a->all, state, sizeof state))
		return fail(err, ENAMETOOLONG, "find the path of the state directory");
	for (size_t i = 0; i < a->plan.mounts.count; i++) {
		const struct aj_mount *m = &a->plan.mounts.items[i];
		if (!aj_mount_is_shared(m) || !aj_path_within(state, m->source))
			continue;
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the state directory lies in `%s`, which the jail may write", m->source);
		aj_advise(err, "name a folder outside of it with XDG_STATE_HOME");
		return -1;
	}
	return 0;
}

/* Whoever opens the folder before the lock is held takes the run for a killed one: it has no record yet, so nothing is applied of it. */
static int make_state(struct aj_view *a, struct aj_error *err)
{
	if (mkdirat(a->all, a->id, 0700) < 0) {
		bool there = errno == EEXIST;
		aj_fail(err, there ? AJ_EXIT_USAGE : AJ_EXIT_SETUP, "changes", errno, "make a folder for the changes of run `%s`", a->id);
		if (there)
			aj_advise(err, "choose another --id, or apply or discard the changes of that run");
		return -1;
	}
	a->dir = aj_beneath_open(a->all, a->id, O_RDONLY | O_DIRECTORY);
	a->lock = a->dir < 0 ? -1 : aj_beneath_open_here(a->dir, "lock", O_RDWR | O_CREAT | O_EXCL);
	if (a->lock >= 0 && aj_lock_take(a->lock, true) == 0)
		return 0;
	return fail(err, errno, "lock the folder for the changes of the run");
}

/* Go on with the changes of an earlier run, whose record begins the new one. */
static int take_state(struct aj_view *a, const char *id, struct aj_error *err)
{
	struct aj_change_state s;
	a->resumed = true;
	if (aj_change_state_open(a->all, id, &s, err) == 0 && aj_change_state_lock(&s, err) == 0) {
		const struct aj_change_record *r = &s.record;
		struct stat st;
		memcpy(a->id, s.id, sizeof a->id);
		a->record.started_ns = r->started_ns;
		if (fstat(a->workspace, &st) < 0 || strcmp(r->workspace, a->plan.apart) != 0 || r->device != st.st_dev ||
		    r->inode != st.st_ino) {
			aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
			        "the changes of run `%s` are changes of another workspace, `%s`", s.id, r->workspace);
		} else if (r->copy != a->copy) {
			aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` are those of another mode", s.id);
			aj_advise(err, "use --workspace-mode %s", r->copy ? "copy" : "overlay");
		} else if (s.interrupted) {
			aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` are half applied", s.id);
			aj_advise(err, "`agentjail changes apply %s` ends that, and `--abort` takes it back", s.id);
		} else if (a->copy && faccessat(s.dir, "base", F_OK, AT_SYMLINK_NOFOLLOW) < 0) {
			aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
			        "the copy of run `%s` is not complete: that run was killed before its command began", s.id);
			aj_advise(err, "`agentjail changes discard %s`, and begin anew", s.id);
		} else {
			a->dir = aj_steal(&s.dir);
			a->lock = aj_steal(&s.lock);
		}
	}
	aj_change_state_close(&s);
	return err->exit_code ? -1 : 0;
}

static int open_state(struct aj_view *a, const struct aj_request *request, struct aj_error *err)
{
	a->all = aj_changes_folder(true);
	if (a->all < 0) {
		bool nowhere = errno == ENOENT;
		fail(err, errno, "open the folder for the changes of runs, $XDG_STATE_HOME/agentjail/changes");
		aj_advise(err, nowhere ? "set HOME or XDG_STATE_HOME to the path of a folder"
		                       : "the folder must be writable for you, and no other user may write to it; XDG_STATE_HOME names another place");
		return -1;
	}
	if (check_place(a, err) < 0)
		return -1;
	if (request->changes)
		return take_state(a, request->changes, err);
	choose_id(a, request->id);
	return make_state(a, err);
}

/* Everything, and the lock last. */
static void remove_state(struct aj_view *a)
{
	struct aj_error ignored = { 0 };
	struct aj_change_state s = { .dir = a->dir, .lock = a->lock };
	memcpy(s.id, a->id, sizeof s.id);
	aj_change_state_remove(a->all, &s, &ignored);
}

/* --- overlay --- */

/* Lower files of other owners cannot become files of the upper layer, whose ids the jail's user namespace has to know. */
static int map_owner(struct aj_view *a, const struct stat *st, struct aj_error *err)
{
	struct aj_idmap map = { .uid = st->st_uid, .to_uid = a->plan.host_uid, .gid = st->st_gid, .to_gid = a->plan.host_gid };
	cleanup_fd int userns = aj_idmap_namespace(&map, err);
	if (userns < 0)
		return -1;
	a->mapped = aj_idmap_mount(a->workspace, userns);
	a->mapped_layers = a->mapped < 0 ? -1 : aj_idmap_mount(a->dir, userns);
	if (a->mapped_layers >= 0 && aj_fd_move_high(&a->mapped) == 0 && aj_fd_move_high(&a->mapped_layers) == 0)
		return 0;
	fail(err, errno, "show the files of the workspace and of the state directory as the jail's own (mounts with mapped ids)");
	aj_advise(err, "root's overlays need Linux 5.19 and file systems that support this: use --workspace-mode copy, or run agentjail as the "
	               "workspace's owner");
	return -1;
}

static int make_layer(struct aj_view *a, const char *name, mode_t mode, const struct stat *owner)
{
	if (mkdirat(a->dir, name, 0700) < 0 && errno != EEXIST)
		return -1;
	cleanup_fd int fd = aj_beneath_open_here(a->dir, name, O_RDONLY | O_DIRECTORY);
	if (fd < 0 || (owner && fchown(fd, owner->st_uid, owner->st_gid) < 0))
		return -1;
	return a->resumed ? 0 : fchmod(fd, mode);
}

/* Without these attributes the kernel makes the overlay, and it could not say that a folder was replaced. */
static int check_attributes(struct aj_view *a, struct aj_error *err)
{
	static const char name[] = "user.agentjail";
	cleanup_fd int work = aj_beneath_open_here(a->dir, "work", O_RDONLY | O_DIRECTORY);
	if (work >= 0 && fsetxattr(work, name, "", 0, 0) == 0 && fremovexattr(work, name) == 0)
		return 0;
	fail(err, errno, "set an extended attribute in the state directory, which an overlay needs");
	aj_advise(err, "use --workspace-mode copy, or name a folder of another file system with XDG_STATE_HOME (tmpfs has them from Linux 6.6 on)");
	return -1;
}

static int check_owners(struct aj_view *a, const struct stat *st, bool mapped, const struct aj_request *request, struct aj_error *err)
{
	char text[1200];
	uid_t uid = mapped ? st->st_uid : a->plan.host_uid;
	gid_t gid = mapped ? st->st_gid : a->plan.host_gid;
	if (st->st_uid != uid || st->st_gid != gid) {
		aj_fail(err, AJ_EXIT_SETUP, "changes", 0,
		        "the workspace belongs to user %u and group %u, and an overlay of user %u and group %u can change none of its folders",
		        st->st_uid, st->st_gid, uid, gid);
		aj_advise(err, "`chgrp -R %u` or `chown -R %u:%u` it, or use --workspace-mode copy", gid, uid, gid);
		return -1;
	}
	aj_view_find_unmapped(&a->unmapped, &a->arena, a->workspace, uid, gid);
	if (a->unmapped.count && request->notice) {
		aj_view_unmapped_text(&a->unmapped, uid, gid, text, sizeof text);
		request->notice(text);
	}
	return 0;
}

static int make_layers(struct aj_view *a, const struct aj_request *request, struct aj_error *err)
{
	struct stat st, own;
	char path[PATH_MAX];
	struct aj_mount *row = row_of(a);
	bool mapped = a->plan.host_uid != geteuid();
	int64_t began = aj_clock_ns(CLOCK_REALTIME);
	const char *below = aj_view_mount_below(&a->arena, a->plan.apart);
	if (below) {
		aj_fail(err, AJ_EXIT_SETUP, "changes", 0,
		        "something is mounted at `%s`, inside the workspace, where an overlay would show the folder below it", below);
		aj_advise(err, "use --workspace-mode copy, which leaves mounts out, or a workspace without that folder");
		return -1;
	}
	if (fstat(a->workspace, &st) < 0)
		return fail(err, errno, "examine the workspace");
	if (check_owners(a, &st, mapped, request, err) < 0)
		return -1;
	/* The upper folder is what the jail sees as the workspace's own folder. The jail's builder passes through the state folder: `changes`
	 * above it is closed to all others. */
	if ((mapped && fchmod(a->dir, 0711) < 0) || make_layer(a, "upper", st.st_mode & 01777, mapped ? &st : NULL) < 0 ||
	    make_layer(a, "work", 0700, mapped ? &st : NULL) < 0)
		return fail(err, errno, "make the layers of the overlay in the state directory");
	if (check_attributes(a, err) < 0 || (mapped && map_owner(a, &st, err) < 0))
		return -1;
	if (fstat(a->dir, &own) < 0 || !aj_fd_path(a->dir, path, sizeof path))
		return fail(err, errno, "examine the state folder");
	row->layers = aj_strdup(&a->arena, path);
	row->layers_dev = own.st_dev;
	row->layers_ino = own.st_ino;
	row->mapped = mapped ? a->mapped : 0;
	row->mapped_layers = mapped ? a->mapped_layers : 0;
	a->plan.changes = aj_printf(&a->arena, "%s/upper", path);
	if (!a->resumed) {
		pass_tick(began);
		a->record.started_ns = began + TICK_NS;
	}
	return 0;
}

/* --- copy --- */

static int make_copy(struct aj_view *a, const struct aj_request *request, struct aj_error *err)
{
	if (mkdirat(a->dir, "copy", 0700) < 0)
		return fail(err, errno, "make a folder for the copy of the workspace");
	cleanup_fd int to = aj_beneath_open_here(a->dir, "copy", O_RDONLY | O_DIRECTORY);
	cleanup_fd int list = aj_beneath_open_here(a->dir, "base.new", O_WRONLY | O_CREAT | O_EXCL);
	if (to < 0 || list < 0)
		return fail(err, errno, "open the copy of the workspace");
	struct aj_copy_job job = { .from = a->workspace,
		                   .to = to,
		                   .list = list,
		                   .give = a->plan.host_uid != geteuid(),
		                   .uid = a->plan.host_uid,
		                   .gid = a->plan.host_gid,
		                   .progress = request->notice };
	if (aj_copy_workspace(&job, &a->arena, &a->copied, err) < 0)
		return -1;
	if (renameat(a->dir, "base.new", a->dir, "base") < 0)
		return fail(err, errno, "keep the list of the copy");
	return 0;
}

static int make_tree(struct aj_view *a, const struct aj_request *request, struct aj_error *err)
{
	char path[PATH_MAX], text[1200];
	struct aj_mount *row = row_of(a);
	if (!a->resumed && make_copy(a, request, err) < 0)
		return -1;
	if (!aj_fd_path(a->dir, path, sizeof path))
		return fail(err, ENAMETOOLONG, "find the path of the state folder");
	if (a->copied.skipped_count && request->notice) {
		aj_view_skipped_text(&a->copied, text, sizeof text);
		request->notice(text);
	}
	row->source = a->plan.changes = aj_printf(&a->arena, "%s/copy", path);
	if (a->resumed)
		return 0;
	int64_t copied = aj_clock_ns(CLOCK_REALTIME); /* every change of the jail's gets a later ctime than every file of the copy has now */
	pass_tick(copied);
	a->record.started_ns = copied + TICK_NS;
	return 0;
}

/* --- both --- */

static int prepare(struct aj_view *a, const struct aj_request *request, struct aj_error *err)
{
	struct stat st;
	char text[AJ_VIEW_WAITING_TEXT];
	a->workspace = aj_beneath_open(AT_FDCWD, a->plan.apart, O_RDONLY | O_DIRECTORY);
	if (a->workspace < 0 || fstat(a->workspace, &st) < 0)
		return aj_mount_fail_source(a->plan.apart, err);
	if (open_state(a, request, err) < 0)
		return -1;
	if (!a->resumed && request->notice && aj_view_waiting_text(a->all, a->id, &st, a->copy, text))
		request->notice(text);
	if ((a->copy ? make_tree(a, request, err) : make_layers(a, request, err)) < 0)
		return -1;
	a->record.workspace = a->plan.apart;
	a->record.copy = a->copy;
	a->record.device = st.st_dev;
	a->record.inode = st.st_ino;
	if (aj_view_record_write(&a->plan, &a->record, a->dir, a->id, err) < 0)
		return -1;
	a->ready = true;
	return 0;
}

int aj_view_open(struct aj_view **ret, const struct aj_plan *plan, const struct aj_request *request,
                 const struct aj_plan **ret_plan, struct aj_error *err)
{
	sigset_t ends, before;
	*ret = NULL;
	*ret_plan = plan;
	if (!plan->apart || plan->inspect)
		return 0;
	struct aj_view *a = calloc(1, sizeof *a);
	if (!a)
		abort();
	a->plan = *plan;
	a->plan.mounts.items = aj_alloc(&a->arena, (plan->mounts.count + 1) * sizeof *plan->mounts.items);
	memcpy(a->plan.mounts.items, plan->mounts.items, plan->mounts.count * sizeof *plan->mounts.items);
	a->workspace = a->mapped = a->mapped_layers = a->all = a->dir = a->lock = -1;
	a->copy = row_of(a)->flags & AJ_COPIED;
	/* A signal that ends this program waits until the state folder is complete, or removed. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	int r = prepare(a, request, err);
	if (r < 0)
		aj_view_close(a);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return -1;
	*ret = a;
	*ret_plan = &a->plan;
	return 0;
}

static json_t *paths_json(const char *const *paths, size_t count)
{
	json_t *list = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(list, aj_json_text(paths[i], strlen(paths[i])));
	return list;
}

struct count {
	uint64_t files;
	bool any;
	int64_t until_us;
	bool more;
};

static int count_change(void *arg, const struct aj_change *change)
{
	struct count *count = arg;
	count->any = true;
	count->files += !S_ISDIR(change->is.st_mode ? change->is.st_mode : change->was.st_mode);
	count->more = count->more || count->files >= COUNT_MAX || aj_now_us() > count->until_us;
	return count->more ? -1 : 0;
}

/* Count the changes, and remove the state folder if there is none. True: it is kept. */
static bool count_changes(struct aj_view *a, struct count *count)
{
	struct aj_error err = { 0 };
	struct aj_change_state s;
	bool any = true;
	/* The state is opened anew, as by any command: an apply that is quicker than this has its lock, and keeps it. */
	aj_close(&a->lock);
	if (aj_change_state_open(a->all, a->id, &s, &err) < 0 || aj_change_state_lock(&s, &err) < 0) {
		count->more = true;
	} else {
		s.running = false;
		bool whole = aj_change_state_trees(&s, &err) == 0 && aj_changes_walk(&s, count_change, count, &err) == 0;
		count->more = !whole;
		any = count->any || !whole;
		/* A folder that cannot be removed is one that `changes list` shows. */
		any = any || aj_change_state_remove(a->all, &s, &err) < 0;
	}
	aj_change_state_close(&s);
	return any;
}

json_t *aj_view_report(struct aj_view *a)
{
	struct aj_error err = { 0 };
	struct count count = { .until_us = aj_now_us() + COUNT_US };
	if (!a)
		return NULL;
	a->reported = true;
	a->record.ended_ns = aj_clock_ns(CLOCK_REALTIME);
	aj_view_record_write(&a->plan, &a->record, a->dir, a->id, &err);
	bool kept = count_changes(a, &count);
	json_t *doc = json_pack("{s:s, s:I}", "mode", a->copy ? "copy" : "overlay", "files", (json_int_t)count.files);
	if (count.more)
		json_object_set_new(doc, "more", json_true());
	if (a->unmapped.count)
		json_object_set_new(doc, "unmapped", paths_json(a->unmapped.paths.items, a->unmapped.paths.count));
	if (a->copied.skipped_count)
		json_object_set_new(doc, "skipped", paths_json(a->copied.skipped.items, a->copied.skipped.count));
	if (kept)
		json_object_set_new(doc, "id", json_string(a->id));
	return doc;
}

void aj_view_close(struct aj_view *a)
{
	if (!a)
		return;
	if (a->ready && !a->reported)
		json_decref(aj_view_report(a));
	else if (!a->ready && !a->resumed && a->dir >= 0)
		remove_state(a);
	aj_close(&a->lock);
	aj_close(&a->dir);
	aj_close(&a->all);
	aj_close(&a->workspace);
	aj_close(&a->mapped);
	aj_close(&a->mapped_layers);
	aj_arena_free(&a->arena);
	free(a);
}
