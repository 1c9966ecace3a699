/* Finds and opens the state folders of runs, all beneath one descriptor. A folder of another user, or one that others may write,
 * is refused. It neither makes nor reads the view of a workspace. */
#include "workspace/changes/run_state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "base/tree/remove.h"
#include "policy/host/own_folders.h"

#define REMOVED ".removed-" /* and the id: a state folder that is being removed */

static int fail(struct aj_error *err, int errnum, const char *what, const char *id)
{
	return aj_fail(err, errnum ? AJ_EXIT_SETUP : AJ_EXIT_USAGE, "changes", errnum, "%s `%s`", what, id);
}

int aj_changes_folder(bool make)
{
	return aj_state_folder("changes", make);
}

/* The one id that begins with `begin`, in `ret`. -1 with err. */
static int find_id(int all, const char *begin, char ret[AJ_CHANGES_ID], struct aj_error *err)
{
	struct aj_entries names;
	size_t found = 0;
	/* A whole id needs no list: a look at all runs would read as many lists as there are runs. */
	if (aj_changes_id_valid(begin) && aj_beneath_has(all, begin)) {
		snprintf(ret, AJ_CHANGES_ID, "%s", begin);
		return 0;
	}
	if (aj_entries_read(all, &names) < 0)
		return fail(err, errno, "list the runs, to find", begin);
	for (size_t i = 0; i < names.count; i++)
		if (aj_changes_id_valid(names.items[i]) && strncmp(names.items[i], begin, strlen(begin)) == 0) {
			snprintf(ret, AJ_CHANGES_ID, "%s", names.items[i]);
			found++;
		}
	aj_entries_free(&names);
	if (found == 1)
		return 0;
	fail(err, 0, found ? "several runs begin with" : "there are no changes of a run", begin);
	aj_advise(err, "`agentjail changes list` shows the runs");
	return -1;
}

bool aj_changes_has_run(int all, const char *word)
{
	struct aj_entries names = { 0 };
	bool found = false;
	if (!aj_changes_id_valid(word) || all < 0 || aj_entries_read(all, &names) < 0)
		return false;
	for (size_t i = 0; i < names.count && !found; i++)
		found = aj_changes_id_valid(names.items[i]) && strncmp(names.items[i], word, strlen(word)) == 0;
	aj_entries_free(&names);
	return found;
}

static int read_record(struct aj_change_state *s, struct aj_error *err)
{
	struct stat st;
	cleanup_fd int fd = aj_node_open_file(s->dir, "record.json", false, &st);
	if (fd < 0 || st.st_size > AJ_RECORD_BYTES)
		return fail(err, fd < 0 ? errno : EFBIG, "read the record of", s->id);
	char *text = aj_alloc(&s->arena, (size_t)st.st_size + 1);
	if (aj_read_all(fd, text, (size_t)st.st_size) < 0)
		return fail(err, errno, "read the record of", s->id);
	return aj_change_record_read(text, (size_t)st.st_size, &s->arena, &s->record, err);
}

bool aj_change_state_interrupted(int dir)
{
	struct aj_entries names;
	bool found = false;
	if (aj_entries_read(dir, &names) < 0)
		return true; /* whatever is wrong with it, no new apply begins */
	for (size_t i = 0; i < names.count && !found; i++)
		found = strncmp(names.items[i], AJ_CHANGES_JOURNAL, strlen(AJ_CHANGES_JOURNAL)) == 0;
	aj_entries_free(&names);
	return found;
}

bool aj_changes_own(const char *name)
{
	return strncmp(name, AJ_CHANGES_OWN, strlen(AJ_CHANGES_OWN)) == 0;
}

/* Somebody else's lock is a supervisor's, or another `changes apply`'s. */
static int open_lock(struct aj_change_state *s, struct aj_error *err)
{
	s->lock = aj_beneath_open_here(s->dir, "lock", O_RDWR | O_CREAT);
	if (s->lock < 0)
		return fail(err, errno, "open the lock of", s->id);
	s->running = aj_lock_is_held(s->lock);
	return 0;
}

int aj_change_state_open(int all, const char *id, struct aj_change_state *ret, struct aj_error *err)
{
	*ret = (struct aj_change_state)AJ_NO_CHANGE_STATE;
	if (!aj_changes_id_valid(id))
		return fail(err, 0, "this is not the id of a run:", id);
	if (find_id(all, id, ret->id, err) < 0)
		return -1;
	ret->dir = aj_beneath_open(all, ret->id, O_RDONLY | O_DIRECTORY);
	if (ret->dir < 0 || !aj_state_is_ours(ret->dir))
		return fail(err, errno, "open the changes of", ret->id);
	if (open_lock(ret, err) < 0 || read_record(ret, err) < 0)
		return -1;
	ret->interrupted = aj_change_state_interrupted(ret->dir);
	if (aj_marks_read(&ret->marks, ret->dir, AJ_MARKS_FILE) < 0 ||
	    aj_marks_read(&ret->originals, ret->dir, AJ_ORIGINALS_FILE) < 0)
		return fail(err, errno, "read the marks of", ret->id);
	return 0;
}

bool aj_change_state_has_path(const struct aj_change_state *s, const char *path)
{
	struct aj_arena arena = { 0 };
	struct stat st;
	bool host = path[0] == '/';
	bool found = lstat(aj_change_host_path(&s->record, path, &arena), &st) == 0 || host;
	if (!found)
		found = aj_beneath_has(s->dir, aj_printf(&arena, "%s/%s", s->record.copy ? "copy" : "upper", path));
	aj_arena_free(&arena);
	return found;
}

/* The run's tree in `dir`, and the list without which a copy is not complete. */
static int open_view(struct aj_change_state *s, int dir, int *view, struct aj_base *base, struct aj_error *err)
{
	struct stat st;
	*view = aj_node_open_folder(dir, s->record.copy ? "copy" : "upper", !s->running);
	if (*view < 0)
		return fail(err, errno, "open the files of", s->id);
	if (!s->record.copy)
		return 0;
	int fd = aj_node_open_file(dir, "base", false, &st);
	return fd < 0 || aj_base_read(base, fd) < 0 ? fail(err, errno, "read the list of what was copied for", s->id) : 0;
}

/* The folder of the host: the one that the run had. */
static int open_folder(const char *path, uint64_t device, uint64_t inode, const char *which, int *ret, struct aj_error *err)
{
	struct stat st;
	*ret = aj_beneath_open(AT_FDCWD, path, O_RDONLY | O_DIRECTORY);
	if (*ret < 0 || fstat(*ret, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "open the %s `%s`", which, path);
	if (st.st_dev == device && st.st_ino == inode)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "another folder is in the place of the %s `%s`", which, path);
	aj_advise(err, "the changes were made to the folder that was there during the run: put it back, or discard the changes");
	return -1;
}

int aj_change_state_repository(struct aj_change_state *s, struct aj_error *err)
{
	const struct aj_change_record *r = &s->record;
	if (!*r->repository)
		return 0;
	cleanup_fd int dir = aj_beneath_open_here(s->dir, AJ_CHANGES_REPOSITORY, O_RDONLY | O_DIRECTORY);
	if (dir < 0)
		return fail(err, errno, "open the files of", s->id);
	return open_view(s, dir, &s->repository_view, &s->repository_base, err) < 0
	         ? -1
	         : open_folder(r->repository, r->repository_device, r->repository_inode, "main repository", &s->repository, err);
}

int aj_change_state_trees(struct aj_change_state *s, struct aj_error *err)
{
	const struct aj_change_record *r = &s->record;
	if ((!r->direct && open_view(s, s->dir, &s->view, &s->base, err) < 0) ||
	    open_folder(r->workspace, r->device, r->inode, "workspace", &s->workspace, err) < 0)
		return -1;
	return aj_change_state_repository(s, err);
}

bool aj_change_state_has_worktree(const struct aj_change_state *s)
{
	char path[PATH_MAX];
	struct stat st;
	return s->workspace >= 0 && (size_t)snprintf(path, sizeof path, "worktrees/%s", s->record.worktree) < sizeof path &&
	       fstatat(s->repository, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_ino == s->record.worktree_inode;
}

struct aj_change_side aj_change_side(const struct aj_change_state *s, const char *path)
{
	if (path[0] != '/')
		return (struct aj_change_side){ s->view, s->workspace, &s->base, path };
	const char *rest = s->record.repository && *s->record.repository ? aj_path_rest(path, s->record.repository) : NULL;
	if (!rest)
		return (struct aj_change_side){ -1, -1, &s->repository_base, path };
	return (struct aj_change_side){ s->repository_view, s->repository, &s->repository_base, *rest ? rest + 1 : "." };
}

const char *aj_change_host_path(const struct aj_change_record *r, const char *path, struct aj_arena *arena)
{
	return path[0] == '/'         ? aj_strdup(arena, path)
	     : strcmp(path, ".") == 0 ? r->workspace
	                              : aj_printf(arena, "%s/%s", r->workspace, path);
}

int aj_change_open_file(const struct aj_change_state *s, const char *path, struct stat *ret)
{
	struct aj_change_side side = aj_change_side(s, path);
	cleanup_fd int place = aj_node_place(side.view, side.path, !s->running);
	return place < 0 ? -1 : aj_node_open_place(place, !s->running, ret);
}

/* When an apply was killed, git may still be at its last command, and holds the lock until that has ended. False: it is held for
 * another reason, or for too long. */
static bool await_lock(const struct aj_change_state *s)
{
	enum { WAIT_MS = 10000, POLL_NS = 20000000 };
	int64_t until_us = aj_in_ms(WAIT_MS);
	while (aj_change_state_interrupted(s->dir) && aj_now_us() < until_us) {
		nanosleep(&(struct timespec){ .tv_nsec = POLL_NS }, NULL);
		if (aj_lock_take(s->lock, true) == 0)
			return true;
	}
	return false;
}

int aj_change_state_lock(struct aj_change_state *s, struct aj_error *err)
{
	int errnum = aj_lock_take(s->lock, true) == 0 ? 0 : errno;
	if (!errnum || (errnum == EAGAIN && await_lock(s))) {
		s->interrupted = aj_change_state_interrupted(s->dir); /* of an apply that was killed since the state was opened */
		return 0;
	}
	if (errnum != EAGAIN)
		return fail(err, errnum, "lock the changes of", s->id);
	aj_fail_because(err, AJ_REASON_BUSY, AJ_EXIT_USAGE, "changes", 0,
	                "the run `%s` is still running, or its changes are being applied", s->id);
	aj_advise(err, "wait for its end; list, show and diff work meanwhile");
	return -1;
}

void aj_change_state_close(struct aj_change_state *s)
{
	aj_close(&s->dir);
	aj_close(&s->lock);
	aj_close(&s->view);
	aj_close(&s->workspace);
	aj_close(&s->repository_view);
	aj_close(&s->repository);
	aj_marks_free(&s->marks);
	aj_marks_free(&s->originals);
	aj_base_free(&s->base);
	aj_base_free(&s->repository_base);
	aj_arena_free(&s->arena);
}

/* Other programs may continue the same removal, or this one that of others: then what one is about to remove is gone. */
static int remove_tree(int all, const char *name)
{
	enum { TRIES = 1000 };
	int result = -1;
	for (int i = 0; i < TRIES && result < 0 && (i == 0 || errno == ENOENT || errno == ENOTEMPTY); i++)
		result = aj_tree_remove(all, name);
	return result;
}

int aj_change_state_remove(int all, struct aj_change_state *s, struct aj_error *err)
{
	char removed[AJ_CHANGES_ID + sizeof REMOVED];
	snprintf(removed, sizeof removed, REMOVED "%s", s->id);
	/* From here on no command finds it, and an interrupted removal is continued by the next one of any run. */
	if (renameat(all, s->id, all, removed) < 0)
		return fail(err, errno, "remove the changes of", s->id);
	struct aj_entries names;
	if (aj_entries_read(all, &names) < 0)
		return fail(err, errno, "list the runs, to remove", s->id);
	int result = 0;
	for (size_t i = 0; i < names.count; i++)
		if (strncmp(names.items[i], REMOVED, strlen(REMOVED)) == 0 && remove_tree(all, names.items[i]) < 0)
			result = fail(err, errno, "remove the files of", s->id);
	aj_entries_free(&names);
	return result;
}
