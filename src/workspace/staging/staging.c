/* Makes the private view in which a jail changes a workspace, by a copy or the layers of an overlay, and keeps or removes it at
 * the end. It mounts no overlay (the jail's own init does, with the jail's ids), and it changes no file of the workspace. */
#include "workspace/staging/staging.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/json/tree.h"
#include "base/tree/node.h"
#include "sandbox/mounts/mount.h"
#include "workspace/changes/conflicts.h"
#include "workspace/changes/walk.h"
#include "workspace/staging/copy.h"
#include "workspace/staging/earlier_runs.h"
#include "workspace/staging/inner.h"
#include "workspace/staging/preflight.h"

/* The look at the changes of a run that has ended; there may be more. */
enum { COUNT_MAX = 1000000, COUNT_US = 2000000, ORIGINALS_MAX = 16 << 20 };

/* The mount of a folder whose changes are kept apart; NULL: there is none. */
static struct aj_built_mount *find_mount(const struct aj_built *built, const char *source)
{
	for (size_t i = 0; source && i < built->plan->mounts.count; i++) {
		const struct aj_mount *m = built->mounts[i].row;
		if ((m->flags & (AJ_LAYERED | AJ_COPIED)) && strcmp(m->source, source) == 0)
			return &built->mounts[i];
	}
	return NULL;
}

int aj_staging_fail(struct aj_error *err, int errnum, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, "changes", errnum, "%s", what);
}

/* Readers of a record take so much from its start (workspace/changes/conflicts.c). */
enum { TICK_NS = 10000000 };

/* File systems stamp changes with the coarse clock of the tick, or with a finer one in between. When the coarse one is later than
 * `since`, every change from then on is stamped later, and every change of before was stamped earlier. */
static void pass_tick(int64_t since)
{
	enum { TRIES = 100 }; /* the clock may be set back */
	for (int i = 0; i < TRIES && aj_clock_ns(CLOCK_REALTIME_COARSE) <= since; i++)
		nanosleep(&(struct timespec){ .tv_nsec = 500000 }, NULL);
}

void aj_staging_begin(struct aj_staging *a, int64_t since_ns)
{
	pass_tick(since_ns);
	a->record.started_ns = since_ns + TICK_NS;
}

/* --- copy --- */

static int make_copy(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request, struct aj_error *err)
{
	if (mkdirat(t->dir, "copy", 0700) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "make a folder for the copy of %s", t->name);
	cleanup_fd int to = aj_beneath_open_here(t->dir, "copy", O_RDONLY | O_DIRECTORY);
	cleanup_fd int list = aj_beneath_open_here(t->dir, "base.new", O_WRONLY | O_CREAT | O_EXCL);
	if (to < 0 || list < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "open the copy of %s", t->name);
	struct aj_copy_job job = { .from = t->folder,
		                   .name = t->name,
		                   .to = to,
		                   .list = list,
		                   .give = a->plan->host_uid != geteuid(),
		                   .uid = a->plan->host_uid,
		                   .gid = a->plan->host_gid,
		                   .progress = request->notice };
	if (aj_copy_workspace(&job, &a->arena, &t->copied, err) < 0)
		return -1;
	if (renameat(t->dir, "base.new", t->dir, "base") < 0)
		return aj_staging_fail(err, errno, "keep the list of the copy");
	return 0;
}

static int make_tree(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request, struct aj_error *err)
{
	char path[PATH_MAX], text[1200];
	if (!a->resumed && make_copy(a, t, request, err) < 0)
		return -1;
	if (!aj_fd_path(t->dir, path, sizeof path))
		return aj_staging_fail(err, ENAMETOOLONG, "find the path of the state folder");
	if (t->copied.skipped_count && request->notice) {
		aj_staging_skipped_text(&t->copied, t->name, text, sizeof text);
		request->notice(text);
	}
	t->mount->source = t->changes = aj_printf(&a->arena, "%s/copy", path);
	/* Every change of the jail's gets a later ctime than every file of the copy has now. */
	if (!a->resumed)
		aj_staging_begin(a, aj_clock_ns(CLOCK_REALTIME));
	return 0;
}

/* --- both --- */

static int make_view(struct aj_staging *a, struct aj_staging_tree *t, const struct aj_request *request, struct aj_error *err)
{
	return a->copy ? make_tree(a, t, request, err) : aj_staging_layers_make(a, t, request, err);
}

static int open_folder(struct aj_staging_tree *t, struct stat *st, struct aj_error *err)
{
	t->folder = aj_beneath_open(AT_FDCWD, t->path, O_RDONLY | O_DIRECTORY);
	if (t->folder >= 0 && fstat(t->folder, st) == 0)
		return 0;
	aj_mount_fail_source(t->path, err);
	return -1;
}

/* The host's folders, and what the record of the run says of them. */
static int open_folders(struct aj_staging *a, struct aj_error *err)
{
	struct stat st = { 0 }, own = { 0 };
	char path[PATH_MAX];
	if (a->workspace.path && open_folder(&a->workspace, &st, err) < 0)
		return -1;
	a->record.workspace = a->workspace.path;
	a->record.copy = a->copy;
	a->record.direct = a->direct;
	a->record.device = st.st_dev;
	a->record.inode = st.st_ino;
	if (!a->repository.mount)
		return 0;
	if (open_folder(&a->repository, &st, err) < 0)
		return -1;
	if (!a->read && ((size_t)snprintf(path, sizeof path, "worktrees/%s", a->plan->worktree) >= sizeof path ||
	                 fstatat(a->repository.folder, path, &own, AT_SYMLINK_NOFOLLOW) < 0))
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "examine the worktree `%s` in the main repository",
		               a->plan->worktree);
	a->record.repository = a->repository.path;
	a->record.repository_device = st.st_dev;
	a->record.repository_inode = st.st_ino;
	a->record.worktree_inode = own.st_ino;
	return 0;
}

static int make_repository(struct aj_staging *a, const struct aj_request *request, struct aj_error *err)
{
	struct aj_staging_tree *t = &a->repository;
	if (!t->mount)
		return 0;
	/* As in make(): the workspace's own layers have opened it already. */
	if (a->direct && a->plan->host_uid != geteuid() && fchmod(a->dir, 0711) < 0)
		return aj_staging_fail(err, errno, "let the jail's builder pass through the state folder");
	if (mkdirat(a->dir, AJ_CHANGES_REPOSITORY, 0700) < 0 && errno != EEXIST)
		return aj_staging_fail(err, errno, "make a folder for the changes of the main repository");
	t->dir = aj_beneath_open_here(a->dir, AJ_CHANGES_REPOSITORY, O_RDONLY | O_DIRECTORY);
	if (t->dir < 0)
		return aj_staging_fail(err, errno, "open the folder for the changes of the main repository");
	return make_view(a, t, request, err);
}

/* The host may check out another branch during the run, and an overlay then shows that one. */
static void note_head(struct aj_staging *a)
{
	const char *worktree = a->plan->worktree;
	const char *path = a->repository.mount ? aj_printf(&a->arena, "worktrees/%s/HEAD", worktree) : ".git/HEAD";
	struct stat st;
	cleanup_fd int place = aj_node_place(a->repository.mount ? a->repository.folder : a->workspace.folder, path, false);
	cleanup_fd int fd = place < 0 ? -1 : aj_node_open_place(place, false, &st);
	ssize_t bytes = fd < 0 ? -1 : read(fd, a->record.head, sizeof a->record.head - 1);
	a->record.head[bytes < 0 ? 0 : bytes] = '\0';
	a->record.head[strcspn(a->record.head, "\n")] = '\0';
}

static void tell_of_earlier_runs(const struct aj_staging *a, const struct aj_request *request)
{
	char text[AJ_EARLIER_RUNS_TEXT + 600];
	if (!request->notice || a->read)
		return;
	if (a->resumed)
		aj_unapplied_text(&a->unapplied, a->id, text, sizeof text);
	if (a->resumed ? a->unapplied.files || a->unapplied.any : aj_earlier_runs_text(a->all, a->id, &a->record, text))
		request->notice(text);
}

static int prepare(struct aj_staging *a, const struct aj_request *request, struct aj_error *err)
{
	if (open_folders(a, err) < 0 || aj_staging_state_open(a, request, err) < 0)
		return -1;
	tell_of_earlier_runs(a, request);
	a->workspace.dir = a->dir;
	if ((a->workspace.mount && make_view(a, &a->workspace, request, err) < 0) || make_repository(a, request, err) < 0)
		return -1;
	if (a->read)
		return 0;
	note_head(a);
	if (aj_staging_record_write(a->plan, &a->record, a->dir, a->id, err) < 0)
		return -1;
	a->ready = true;
	return 0;
}

int aj_staging_open(struct aj_staging **ret, struct aj_built *built, const struct aj_request *request, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	sigset_t ends, before;
	*ret = NULL;
	if ((!plan->staged_workspace && !plan->staged_repository) || plan->inspect)
		return 0;
	struct aj_staging *a = calloc(1, sizeof *a);
	if (!a)
		abort();
	a->plan = plan;
	a->all = a->dir = a->lock = -1;
	a->read = request->changes_read;
	a->workspace = (struct aj_staging_tree){
		"the workspace", request->workspace, find_mount(built, plan->staged_workspace), -1, -1, -1, -1, NULL, { 0 }
	};
	a->repository = a->workspace;
	a->repository.name = "the main repository";
	a->repository.path = plan->staged_repository;
	a->repository.mount = find_mount(built, plan->staged_repository);
	const struct aj_built_mount *any = a->workspace.mount ? a->workspace.mount : a->repository.mount;
	a->copy = any && any->row->flags & AJ_COPIED;
	a->direct = !plan->staged_workspace;
	/* A signal that ends this program waits until the state folder is complete, or removed. */
	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigaddset(&ends, SIGHUP);
	sigprocmask(SIG_BLOCK, &ends, &before);
	int r = prepare(a, request, err);
	if (r < 0)
		aj_staging_close(a);
	sigprocmask(SIG_SETMASK, &before, NULL);
	if (r < 0)
		return -1;
	built->changes = a->workspace.changes;
	built->repository_changes = a->repository.changes;
	*ret = a;
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
	uint64_t files, repositories;
	bool any;
	int64_t until_us;
	bool more;
	struct aj_change_state *state;
	int marks;            /* file of originals; -1: not kept */
	off_t original_bytes; /* read so far */
};

/* Keep a hash, so that a rewrite of the same content by the host is not a conflict. The limits keep the end of a run fast. */
static void keep_original(struct count *count, const struct aj_change *change)
{
	struct aj_mark mark;
	if (count->marks < 0 || !S_ISREG(change->was.st_mode) || count->original_bytes + change->was.st_size > ORIGINALS_MAX)
		return;
	count->original_bytes += change->was.st_size;
	if (aj_change_original(count->state, change, &mark) && aj_marks_append(count->marks, &mark, 1) < 0)
		aj_close(&count->marks);
}

static int count_change(void *arg, const struct aj_change *change)
{
	struct count *count = arg;
	count->any = true;
	count->files += aj_change_is_file(change);
	count->repositories += change->repository;
	keep_original(count, change);
	count->more = count->more || count->files >= COUNT_MAX || aj_now_us() > count->until_us;
	return count->more ? -1 : 0;
}

/* Count the changes, and remove the state folder if there is none. True: it is kept. */
static bool count_changes(struct aj_staging *a, struct count *count)
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
		count->state = &s;
		count->marks = aj_marks_open(s.dir, AJ_ORIGINALS_FILE);
		bool whole = aj_change_state_trees(&s, &err) == 0 && aj_changes_walk(&s, count_change, count, &err) == 0;
		count->more = !whole;
		any = count->any || !whole;
		/* A folder that cannot be removed is one that `changes list` shows. */
		any = any || aj_change_state_remove(a->all, &s, &err) < 0;
	}
	aj_close(&count->marks);
	aj_change_state_close(&s);
	return any;
}

json_t *aj_staging_report(struct aj_staging *a)
{
	struct aj_error err = { 0 };
	struct count count = { .until_us = aj_now_us() + COUNT_US, .marks = -1 };
	if (!a || a->read)
		return NULL;
	a->reported = true;
	a->record.ended_ns = aj_clock_ns(CLOCK_REALTIME);
	aj_staging_record_write(a->plan, &a->record, a->dir, a->id, &err);
	bool kept = count_changes(a, &count);
	json_t *doc = json_pack("{s:s, s:I}", "mode", aj_changes_mode_name(a->copy, a->direct), "files", (json_int_t)count.files);
	if (count.repositories)
		json_object_set_new(doc, "repositories", json_integer((json_int_t)count.repositories));
	if (count.more)
		json_object_set_new(doc, "more", json_true());
	if (a->unmapped.count)
		json_object_set_new(doc, "unmapped", paths_json(a->unmapped.paths.items, a->unmapped.paths.count));
	if (a->workspace.copied.skipped_count)
		json_object_set_new(doc, "skipped",
		                    paths_json(a->workspace.copied.skipped.items, a->workspace.copied.skipped.count));
	if (kept)
		json_object_set_new(doc, "id", json_string(a->id));
	if (kept && a->resumed)
		json_object_set_new(doc, "continued", json_true());
	return doc;
}

void aj_staging_close(struct aj_staging *a)
{
	if (!a)
		return;
	if (a->ready && !a->reported)
		json_decref(aj_staging_report(a));
	else if (!a->ready && !a->resumed && a->dir >= 0)
		aj_staging_state_remove(a);
	aj_close(&a->lock);
	aj_close(&a->dir);
	aj_close(&a->all);
	aj_close(&a->workspace.folder);
	aj_close(&a->workspace.mapped);
	aj_close(&a->workspace.mapped_layers);
	aj_close(&a->repository.folder);
	aj_close(&a->repository.dir);
	aj_close(&a->repository.mapped);
	aj_close(&a->repository.mapped_layers);
	aj_arena_free(&a->arena);
	free(a);
}
