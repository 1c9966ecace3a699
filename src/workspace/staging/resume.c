/* Takes the state folder of an ended run whose changes a new run continues with, and brings it up to date: an overlay's layer
 * keeps only unapplied changes, so that the jail sees the workspace as it is now below them. It takes no folder of another
 * workspace or mode, none that is locked by a program, and none that is half applied. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/node.h"
#include "workspace/staging/inner.h"
#include "workspace/staging/trim.h"

static bool same_repository_folder(const struct aj_staging *a, const struct aj_change_record *r)
{
	const struct aj_staging_record *now = &a->record;
	return strcmp(r->repository, now->repository) == 0 && r->repository_inode == now->repository_inode &&
	       r->repository_device == now->repository_device;
}

/* Has the earlier run the same main repository, or none like this one? */
static bool same_repository(const struct aj_staging *a, const struct aj_change_record *r)
{
	return a->record.repository ? same_repository_folder(a, r) && strcmp(r->worktree, a->plan->worktree) == 0 &&
	                                  r->worktree_inode == a->record.worktree_inode
	                            : !*r->repository;
}

static bool same_workspace(const struct aj_staging *a, const struct aj_change_record *r)
{
	return strcmp(r->workspace, a->record.workspace) == 0 && r->device == a->record.device && r->inode == a->record.inode;
}

static bool same_mode(const struct aj_staging *a, const struct aj_change_record *r)
{
	return r->copy == a->copy && r->direct == a->direct;
}

/* A copy that was made. */
static bool has_base(const struct aj_staging *a, const struct aj_change_state *s)
{
	return !a->copy || aj_beneath_has(s->dir, "base");
}

/* -1 with err: the changes are no beginning of this run. */
static int check_fit(const struct aj_staging *a, const struct aj_change_state *s, struct aj_error *err)
{
	const struct aj_change_record *r = &s->record;
	if (!same_workspace(a, r)) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` are changes of another workspace, `%s`", s->id,
		        r->workspace);
	} else if (!same_mode(a, r)) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` are those of another mode", s->id);
		aj_advise(err, "use --workspace-mode %s", aj_changes_mode_name(r->copy, r->direct));
	} else if (!same_repository(a, r)) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
		        "the changes of run `%s` were made %s the main repository of this workspace", s->id,
		        *r->repository ? "with another view of" : "without a view of");
		aj_advise(err, "apply or discard them, and begin anew");
	} else if (s->interrupted) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` are half applied", s->id);
		aj_advise(err, "`agentjail changes apply %s` ends that, and `--abort` takes it back", s->id);
	} else if (!has_base(a, s)) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0,
		        "the copy of run `%s` is not complete: that run was killed before its command began", s->id);
		aj_advise(err, "`agentjail changes discard %s`, and begin anew", s->id);
	}
	return err->exit_code ? -1 : 0;
}

/* 1: `newest`, and nothing waits. */
static int bring_up_to_date(struct aj_staging *a, struct aj_change_state *s, bool newest, struct aj_error *err)
{
	s->running = false; /* the lock is ours */
	a->record.started_ns = s->record.started_ns;
	if (!a->copy)
		aj_staging_begin(a, aj_clock_ns(CLOCK_REALTIME)); /* what the host changes from here on is a conflict with what
		                                                     waits */
	if (aj_change_state_trees(s, err) < 0 || aj_unapplied_read(s, &a->arena, &a->unapplied, err) < 0)
		return -1;
	if (newest && !a->unapplied.any) {
		struct aj_error ignored = { 0 }; /* it is a folder that `changes list` shows */
		if (!a->unapplied.paths.count)
			aj_change_state_remove(a->all, s, &ignored);
		return 1;
	}
	/* Originals of the earlier run are not valid for this one: changes may have been applied in between. */
	if (unlinkat(s->dir, AJ_ORIGINALS_FILE, 0) < 0 && errno != ENOENT)
		return aj_staging_fail(err, errno, "remove the list of originals");
	return a->copy ? 0 : aj_staging_trim(s, &a->unapplied, err);
}

int aj_staging_state_take(struct aj_staging *a, const char *id, bool newest, struct aj_error *err)
{
	struct aj_change_state s;
	int result = -1;
	if (aj_change_state_open(a->all, id, &s, err) == 0 && aj_change_state_lock(&s, err) == 0 && check_fit(a, &s, err) == 0)
		result = bring_up_to_date(a, &s, newest, err);
	if (result == 0) {
		memcpy(a->id, s.id, sizeof a->id);
		a->resumed = true;
		a->dir = aj_steal(&s.dir);
		a->lock = aj_steal(&s.lock);
	} else if (newest && err->reason == AJ_REASON_BUSY) { /* since it was found */
		*err = (struct aj_error){ 0 };
		result = 1;
	} else if (result < 0 && newest) {
		aj_advise(err, "`agentjail changes show %s`, or begin afresh with --changes new", id);
	}
	aj_change_state_close(&s);
	return result;
}

int aj_staging_state_read(struct aj_staging *a, const char *id, struct aj_error *err)
{
	struct aj_change_state s;
	const struct aj_change_record *r = &s.record;
	int result = aj_change_state_open(a->all, id, &s, err);
	if (result == 0 && ((a->record.workspace && !same_workspace(a, r)) ||
	                    (a->record.repository && !same_repository_folder(a, r)) || r->copy != a->copy || !has_base(a, &s)))
		result = aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the changes of run `%s` do not fit what is to be read", s.id);
	if (result == 0) {
		memcpy(a->id, s.id, sizeof a->id);
		a->resumed = true;
		a->dir = aj_steal(&s.dir);
	}
	aj_change_state_close(&s);
	return result;
}

/* An overlay of one policy's run holds what that policy's command did: another one begins with none of it. */
static bool is_earlier(const struct aj_staging *a, const struct aj_change_state *s)
{
	const struct aj_change_record *r = &s->record;
	return !s->running && same_mode(a, r) && same_workspace(a, r) && strcmp(r->policy, a->plan->policy_name) == 0 &&
	       same_repository(a, r) && has_base(a, s);
}

bool aj_staging_state_find(const struct aj_staging *a, char ret[AJ_CHANGES_ID])
{
	struct aj_entries names;
	int64_t newest_ns = 0;
	if (aj_entries_read(a->all, &names) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++) {
		struct aj_change_state s = AJ_NO_CHANGE_STATE;
		struct aj_error unreadable = { 0 }; /* it is `changes list` that tells */
		if (!aj_changes_id_valid(names.items[i]))
			continue;
		if (aj_change_state_open(a->all, names.items[i], &s, &unreadable) == 0 && is_earlier(a, &s) &&
		    s.record.started_ns > newest_ns) {
			newest_ns = s.record.started_ns;
			memcpy(ret, s.id, AJ_CHANGES_ID);
		}
		aj_change_state_close(&s);
	}
	aj_entries_free(&names);
	return newest_ns > 0;
}
