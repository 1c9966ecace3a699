/* Plans an apply and runs it through its phases. The plan is made, and the conflicts that the walk finds are collected, before
 * the journal exists; until then the workspace is only read. An apply that cannot continue is rolled back. It asks no
 * questions. */
#include "workspace/changes/apply.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/apply_git.h"
#include "workspace/changes/apply_history.h"
#include "workspace/changes/apply_merge.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/apply_steps.h"
#include "workspace/changes/repositories.h"
#include "workspace/changes/walk.h"

enum aj_step_pass aj_apply_pass(const struct aj_change *c)
{
	return c->kind == AJ_CHANGE_DELETED || S_ISDIR(c->was.st_mode) ? AJ_PASS_LATE : AJ_PASS_FILES;
}

struct plan {
	struct aj_change_state *s;
	const struct aj_apply_how *how;
	struct aj_selection selection;
	struct aj_applied *ret;
	struct aj_journal_writer journal;
	struct aj_apply_history history;
	char left[PATH_MAX]; /* the last path that is to stay: a folder above it cannot go */
	bool left_for_merge;
	AJ_LIST(struct aj_change) waiting; /* new folders that are made only for what is applied below them */
	AJ_LIST(struct aj_mark) settled;   /* what a merge has brought */
	int marks;                         /* for aj_changes_drop(); -1: a plan to apply */
};

static void report_outcome(struct plan *p, enum aj_apply_outcome outcome, const struct aj_change *c)
{
	p->ret->counts[outcome]++;
	p->how->on_outcome(p->how->arg, outcome, c);
}

static void leave_change(struct plan *p, const struct aj_change *c)
{
	memcpy(p->left, c->path, strlen(c->path) + 1);
	p->left_for_merge = false;
}

static char op_of(const struct aj_change *c)
{
	if (c->kind == AJ_CHANGE_DELETED)
		return AJ_STEP_DELETE;
	if (c->kind == AJ_CHANGE_MODE)
		return AJ_STEP_MODE;
	return S_ISDIR(c->is.st_mode) ? AJ_STEP_FOLDER : AJ_STEP_PUT;
}

static void add_step(struct plan *p, const struct aj_change *c, char op)
{
	struct aj_apply_step step = { .op = op, .pass = aj_apply_pass(c), .mode = c->is.st_mode, .path = c->path };
	if (c->was.st_mode) {
		step.was_mode = c->was.st_mode;
		step.dev = c->was.st_dev;
		step.ino = c->was.st_ino;
		step.bytes = (uint64_t)c->was.st_size;
		step.mtime_ns = aj_node_mtime_ns(&c->was);
	}
	aj_journal_add(&p->journal, &step);
}

static void merge_change(struct plan *p, const struct aj_change *c)
{
	struct aj_change reported = *c;
	const char *why;
	int conflicts = aj_apply_merge(&p->history, c, p->journal.count, &why);
	if (conflicts < 0)
		reported.conflict = aj_printf(&p->history.arena, "%s, and it cannot be merged: %s", c->conflict, why);
	else if (conflicts > 0)
		reported.note = aj_printf(&p->history.arena, "%d conflict%s, each between markers", conflicts,
		                          conflicts == 1 ? "" : "s");
	else
		reported.note = "without a conflict";
	report_outcome(p, conflicts < 0 ? AJ_APPLY_CONFLICT : AJ_APPLY_MERGED, &reported);
	add_step(p, c, AJ_STEP_MERGED);
}

static void take_change(struct plan *p, const struct aj_change *c)
{
	for (size_t i = 0; i < p->waiting.count; i++)
		if (aj_path_below(c->path, p->waiting.items[i].path)) {
			report_outcome(p, AJ_APPLY_TAKEN, &p->waiting.items[i]);
			add_step(p, &p->waiting.items[i], op_of(&p->waiting.items[i]));
		}
	p->waiting.count = 0;
	if (c->conflict && p->how->merge && c->kind == AJ_CHANGE_MODIFIED) {
		merge_change(p, c);
		return;
	}
	report_outcome(p, c->conflict && !p->how->force ? AJ_APPLY_CONFLICT : AJ_APPLY_TAKEN, c);
	add_step(p, c, op_of(c));
}

static void settle_change(struct plan *p, const struct aj_change *c)
{
	aj_marks_set_settled(AJ_PUSH(&p->history.arena, &p->settled), c->path, c->is.st_mode ? aj_node_ctime_ns(&c->is) : 0);
}

static void take_or_leave(struct plan *p, const struct aj_change *c)
{
	enum aj_apply_source source = aj_apply_history_source(&p->history, c);
	bool below = p->left_for_merge && S_ISDIR(c->was.st_mode) && aj_path_below(p->left, c->path);
	if (source == AJ_APPLY_FROM_BRANCH) {
		leave_change(p, c);
		report_outcome(p, AJ_APPLY_ARRIVED, c);
		settle_change(p, c);
	} else if (source == AJ_APPLY_FROM_MERGE || below) {
		leave_change(p, c);
		p->left_for_merge = true;
		report_outcome(p, AJ_APPLY_FOR_MERGE, c);
	} else if (c->kind == AJ_CHANGE_ADDED && S_ISDIR(c->is.st_mode) && aj_apply_history_makes(&p->history, c->path)) {
		struct aj_change *waiting = AJ_PUSH(&p->history.arena, &p->waiting);
		*waiting = *c;
		waiting->path = aj_strdup(&p->history.arena, c->path);
	} else {
		take_change(p, c);
	}
}

static int on_change(void *arg, const struct aj_change *c)
{
	struct plan *p = arg;
	enum aj_selected selected = aj_select(&p->selection, c);
	struct aj_change reported = *c;
	if (selected != AJ_SELECTED) {
		leave_change(p, c);
		if (selected == AJ_SELECTED_WITHOUT_APPROVAL)
			report_outcome(p, AJ_APPLY_NEEDS_APPROVAL, c);
		return 0;
	}
	bool goes = !c->repository && S_ISDIR(c->was.st_mode) && (c->kind == AJ_CHANGE_DELETED || c->kind == AJ_CHANGE_TYPE);
	if (!reported.refused && goes && !p->left_for_merge && aj_path_within(p->left, c->path))
		reported.refused = "something in the folder is left as it is";
	if (reported.refused) {
		leave_change(p, c);
		report_outcome(p, AJ_APPLY_REFUSED, &reported);
	} else if (c->repository) {
		leave_change(p, c);
	} else {
		take_or_leave(p, c);
	}
	return 0;
}

static int on_dropped(void *arg, const struct aj_change *c)
{
	struct plan *p = arg;
	struct aj_mark mark;
	if (aj_select(&p->selection, c) == AJ_SELECTED_NOT)
		return 0;
	report_outcome(p, AJ_APPLY_TAKEN, c);
	if (c->repository)
		aj_repository_set_settled(p->s, c->path, &mark);
	else
		aj_marks_set_settled(&mark, c->path, c->is.st_mode ? aj_node_ctime_ns(&c->is) : 0);
	if (aj_marks_append(p->marks, &mark, 1) < 0)
		p->journal.failed = true;
	return 0;
}

/* -1 with err: a path means no change, or a part of a repository. */
static int check_paths(const struct plan *p, struct aj_error *err)
{
	const struct aj_selection *s = &p->selection;
	if (s->inside) {
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "`%s` is in a git folder, whose files are not applied one by one",
		        s->inside);
		aj_advise(err, "name the git folder itself");
		return -1;
	}
	for (size_t i = 0; i < s->paths_count; i++)
		if (!s->met[i])
			return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "nothing is changed at `%s`", s->paths[i]);
	return 0;
}

static int check_plan(const struct plan *p, struct aj_error *err)
{
	if (check_paths(p, err) < 0)
		return -1;
	size_t conflicts = p->ret->counts[AJ_APPLY_CONFLICT];
	if (!conflicts)
		return 0;
	aj_fail(err, AJ_EXIT_ERROR, "changes", 0, "%zu change%s with the host's own since: nothing was applied", conflicts,
	        conflicts == 1 ? " is in conflict" : "s are in conflict");
	aj_advise(err,
	          "`agentjail changes diff %s` shows them; apply the others by their paths, or overwrite the host's with --force",
	          p->s->id);
	return -1;
}

/* --- phases --- */

static int no_journal(struct aj_error *err, int errnum, const char *what)
{
	return aj_fail(err, AJ_EXIT_SETUP, "changes", errnum, "%s the journal", what);
}

static int enter_phase(struct aj_applying *a, enum aj_phase phase)
{
	return aj_journal_enter(&a->j, phase) < 0 ? no_journal(a->err, errno, "enter the next phase of") : 0;
}

static int take_back(struct aj_applying *a)
{
	if (a->j.phase == AJ_PHASE_STAGING && enter_phase(a, AJ_PHASE_UNSTAGING) < 0)
		return -1;
	if (a->j.phase == AJ_PHASE_SWAPPING && enter_phase(a, AJ_PHASE_UNDOING) < 0)
		return -1;
	if (a->j.phase == AJ_PHASE_MOVING && enter_phase(a, AJ_PHASE_UNMOVING) < 0)
		return -1;
	if (a->j.phase == AJ_PHASE_UNMOVING && (aj_steps_unmove(a) < 0 || enter_phase(a, AJ_PHASE_UNDOING) < 0))
		return -1;
	if (a->j.phase == AJ_PHASE_UNDOING && aj_steps_unswap(a) < 0)
		return -1;
	if (aj_steps_unstage(a) < 0 || aj_steps_mark(a, false) < 0)
		return -1;
	return aj_journal_end(&a->j) < 0 ? no_journal(a->err, errno, "end") : 0;
}

/* What is found again after a kill, but for the reports of what was not applied. `journal`: of an apply that was killed. */
static int settle(struct plan *p, const struct aj_journal *journal, struct aj_error *err)
{
	cleanup_fd int marks = p->settled.count ? aj_marks_open(p->s->dir, AJ_MARKS_FILE) : -1;
	if (p->settled.count && (marks < 0 || aj_marks_append(marks, p->settled.items, p->settled.count) < 0))
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write down what was applied");
	if ((journal && aj_apply_history_resume(&p->history, journal, err) < 0) || aj_apply_history_end(&p->history, err) < 0)
		return -1;
	for (size_t i = 0; i < p->history.history.repos.count; i++) {
		const struct aj_history_repo *r = &p->history.history.repos.items[i];
		bool branches = aj_apply_history_branches(&p->history, r);
		p->how->on_repository(p->how->arg, r, aj_apply_history_moves(&p->history, r), branches ? p->how->branch : NULL);
	}
	return 0;
}

/* A repository that cannot be made keeps no journal. */
static int end_journal(struct aj_applying *a, struct plan *p)
{
	if (aj_steps_clean(a) < 0)
		return -1;
	int result = p ? settle(p, p->ret->resumed ? &a->j : NULL, a->err) : 0;
	return aj_journal_end(&a->j) < 0 ? no_journal(a->err, errno, "end") : result;
}

static int go_forward(struct aj_applying *a, struct plan *p)
{
	if (a->j.phase == AJ_PHASE_STAGING && (aj_steps_stage(a) < 0 || enter_phase(a, AJ_PHASE_SWAPPING) < 0))
		return -1;
	if (a->j.phase == AJ_PHASE_SWAPPING && (aj_steps_swap(a) < 0 || enter_phase(a, AJ_PHASE_MOVING) < 0))
		return -1;
	if (a->j.phase == AJ_PHASE_MOVING && (aj_steps_move(a) < 0 || enter_phase(a, AJ_PHASE_CLEANING) < 0))
		return -1;
	return end_journal(a, p);
}

/* Take the journal to its end, in the direction that it has; back without a plan. */
static int run_journal(struct aj_change_state *state, struct plan *p, struct aj_applied *ret, struct aj_error *err)
{
	struct aj_applying *a = calloc(1, sizeof *a);
	int result = -1;
	if (!a)
		abort();
	*a = (struct aj_applying){ .s = state, .err = err, .parent = -1 };
	if (aj_journal_open(&a->j, state->dir) < 0) {
		no_journal(err, errno, "read");
	} else if (a->j.phase > AJ_PHASE_CLEANING || (!p && a->j.phase < AJ_PHASE_CLEANING)) {
		result = take_back(a);
	} else {
		result = go_forward(a, p);
		if (result < 0 && a->j.phase != AJ_PHASE_CLEANING) {
			struct aj_error second = { 0 };
			a->err = &second;
			if (take_back(a) < 0)
				aj_advise(err,
				          "taking it back failed, too (%.200s): `agentjail changes apply %s --abort` tries again",
				          second.cause, state->id);
			else
				aj_advise(err, "the workspace is as it was before");
		}
	}
	aj_apply_merge_clean(state->dir);
	ret->kept = a->kept;
	aj_close(&a->parent);
	aj_journal_close(&a->j);
	free(a);
	return result;
}

int aj_apply_abort(struct aj_change_state *state, struct aj_applied *ret, struct aj_error *err)
{
	*ret = (struct aj_applied){ 0 };
	if (!aj_change_state_interrupted(state->dir))
		return aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "no apply of `%s` was interrupted", state->id);
	return run_journal(state, NULL, ret, err);
}

static int make_plan(struct plan *p, aj_change_fn *each, struct aj_error *err)
{
	p->selection.met = calloc(p->how->paths_count + 1, sizeof *p->selection.met);
	if (!p->selection.met)
		abort();
	int result = aj_changes_walk(p->s, each, p, err);
	if (result == 0)
		result = p->marks >= 0 ? check_paths(p, err) : check_plan(p, err);
	free(p->selection.met);
	return result;
}

/* 0, or -1 with err: nothing is to be applied. */
static int plan_apply(struct plan *p, struct aj_error *err)
{
	if (aj_journal_begin(&p->journal, p->s->dir) < 0)
		return no_journal(err, errno, "begin");
	p->history = (struct aj_apply_history){ .s = p->s, .branch = p->how->branch };
	bool good = aj_apply_history_read(&p->history, p->how->paths, p->how->paths_count, err) == 0 &&
	            make_plan(p, on_change, err) == 0 && aj_apply_history_plan(&p->history, &p->journal, err) == 0;
	return good ? 0 : -1;
}

int aj_apply(struct aj_change_state *state, const struct aj_apply_how *how, struct aj_applied *ret, struct aj_error *err)
{
	*ret = (struct aj_applied){ .resumed = aj_change_state_interrupted(state->dir) };
	struct plan *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	*p = (struct plan){ .s = state,
		            .how = how,
		            .selection = { .paths = how->paths, .paths_count = how->paths_count },
		            .ret = ret,
		            .journal.fd = -1,
		            .history.s = state,
		            .marks = -1 };
	int result = ret->resumed ? 0 : plan_apply(p, err);
	if (result == 0 && p->journal.count && aj_journal_commit(&p->journal, state->dir) < 0)
		result = no_journal(err, errno, "write");
	if (result < 0 || (!ret->resumed && !p->journal.count)) {
		aj_journal_drop(&p->journal, state->dir);
		result = result < 0 ? -1 : settle(p, NULL, err);
	} else {
		result = run_journal(state, p, ret, err);
	}
	aj_apply_history_free(&p->history);
	free(p);
	aj_apply_merge_clean(state->dir);
	return result;
}

int aj_changes_drop(struct aj_change_state *state, const struct aj_apply_how *how, struct aj_applied *ret, struct aj_error *err)
{
	*ret = (struct aj_applied){ 0 };
	cleanup_fd int marks = aj_marks_open(state->dir, AJ_MARKS_FILE);
	struct plan *p = calloc(1, sizeof *p);
	if (!p)
		abort();
	*p = (struct plan){ .s = state,
		            .how = how,
		            .selection = { .paths = how->paths, .paths_count = how->paths_count },
		            .ret = ret,
		            .marks = marks,
		            .journal.fd = -1 };
	int result = marks < 0 ? -1 : make_plan(p, on_dropped, err);
	if (marks < 0 || p->journal.failed)
		result = aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "write down what was discarded");
	free(p);
	return result;
}
