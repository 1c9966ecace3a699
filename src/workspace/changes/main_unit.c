/* The main repository of a linked worktree as a whole: objects, references and the worktree's own state are applied as one, or not at
 * all.
 * A first walk finds what requires approval, is refused or conflicts; the second one reports the changes. It runs no git. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "workspace/changes/main_content.h"
#include "workspace/changes/main_rules.h"
#include "workspace/changes/walk_inner.h"

static const char at_work[] = "the host's git is at work in it, or has left a file *.lock",
		  moved[] = "the host's git has moved HEAD of the working tree, or packed references, since the run began",
		  taken[] = "another working tree has that branch checked out",
		  shadows[] = "git would take its short name for this one in place of another reference of yours";

/* --- a change --- */

static void look_at_ref(const struct aj_main *m, const char *below, struct aj_change *c, struct aj_main_rule *r)
{
	char lock[PATH_MAX];
	if (r->own) { /* a bisection's */
		if (c->is.st_mode && !aj_main_ref_plain(m, c, below, true, NULL))
			*r = (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS, .why = "it names no object" };
		return;
	}
	if ((size_t)snprintf(lock, sizeof lock, "%s.lock", below) >= sizeof lock || aj_beneath_has(m->s->repository, lock))
		c->conflict = at_work;
	if (!aj_main_ref_plain(m, c, below, true, NULL))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS, .why = "it names no object" };
	else if (c->kind == AJ_CHANGE_ADDED && aj_main_crosses(m, below))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS,
			                    .why = "it stands in place of a folder of packed references, or below one" };
	else if (c->kind == AJ_CHANGE_ADDED && aj_main_shadows(m, below))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_HELD, .why = shadows, .held_bytes = strlen(below) };
	else if (aj_main_taken(m, below))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_HELD, .why = taken, .held_bytes = strlen(below) };
	else if (m->stash_dropped && strcmp(below, "refs/stash") == 0)
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_HELD, .why = "it drops stashes of the host's", .held_bytes = strlen(below) };
}

static void look_at_head(const struct aj_main *m, const struct aj_change *c, struct aj_main_rule *r)
{
	char branch[PATH_MAX];
	if (!aj_main_ref_plain(m, c, NULL, true, branch))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS, .why = "it names neither a branch nor an object" };
	else if (aj_main_taken(m, branch))
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_HOLDS, .content = AJ_MAIN_HEAD, .why = taken };
}

static void look_at_log(const struct aj_main *m, const char *below, struct aj_main_rule *r)
{
	const char *ref = r->own ? NULL : aj_path_rest(below, "logs") + 1;
	const char *why = !aj_main_log_extends(m, below) ? "it lacks entries of the host's log"
	                : ref && aj_main_taken(m, ref)   ? taken
	                                                 : NULL;
	if (why)
		*r = (struct aj_main_rule){ .verdict = AJ_MAIN_HELD, .why = why, .held_bytes = strlen(below) };
}

/* The rule of the path, and what the content adds to it. */
static struct aj_main_rule rule_with_content(const struct aj_main *m, const char *below, struct aj_change *c)
{
	struct aj_main_rule r = aj_main_rule(below, m->s->record.worktree, c);
	/* A reference that the run has packed is not deleted: packed-refs holds the whole. */
	if (r.verdict == AJ_MAIN_HELD && c->kind == AJ_CHANGE_DELETED && !c->refused && aj_path_below(below, "refs") &&
	    aj_main_packs(m, below) && !aj_main_taken(m, below))
		return (struct aj_main_rule){ .verdict = AJ_MAIN_PART, .content = AJ_MAIN_DATA };
	if (r.verdict == AJ_MAIN_HOLDS && m->packed_bad && strcmp(below, "packed-refs") == 0)
		return (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS, .why = m->packed_bad };
	if (r.verdict == AJ_MAIN_HOLDS && m->packs_none && strcmp(below, "packed-refs") == 0)
		return (struct aj_main_rule){ .verdict = AJ_MAIN_PART, .content = AJ_MAIN_DATA };
	if (r.verdict != AJ_MAIN_PART)
		return r;
	if (r.content == AJ_MAIN_REF)
		look_at_ref(m, below, c, &r);
	else if (r.content == AJ_MAIN_HEAD)
		look_at_head(m, c, &r);
	else if (r.content == AJ_MAIN_LOG)
		look_at_log(m, below, &r);
	const char *why = r.content == AJ_MAIN_INDEX ? aj_git_index_doubt(m->s, c) : NULL;
	return why ? (struct aj_main_rule){ .verdict = AJ_MAIN_HOLDS, .why = why } : r;
}

/* A reference that is applied by its own name may not be there before its object is, which the repository's name brings. */
static struct aj_main_rule find_rule(const struct aj_main *m, const char *below, struct aj_change *c)
{
	struct aj_main_rule r = rule_with_content(m, below, c);
	if (r.verdict == AJ_MAIN_HELD && S_ISREG(c->is.st_mode) && aj_path_below(below, "refs") &&
	    !aj_main_ref_plain(m, c, below, false, NULL))
		return (struct aj_main_rule){ .verdict = AJ_MAIN_REFUSED, .why = "it names no object that the repository has now" };
	return r;
}

static void note(struct aj_git_unit *unit, const struct aj_change *c, const struct aj_main_rule *r)
{
	if (r->verdict == AJ_MAIN_SPOILS)
		unit->refused = "the repository is applied as a whole, and a part of it is never applied";
	if (r->verdict == AJ_MAIN_HOLDS && !unit->held)
		unit->held = r->why;
	if (r->verdict != AJ_MAIN_PART && r->verdict != AJ_MAIN_HOLDS)
		return;
	unit->moved = true;
	if (c->conflict)
		unit->conflict = "the repository is applied as a whole, and a part of it is in conflict";
}

void aj_main_judge(const struct aj_walk *w, struct aj_change *c)
{
	struct aj_git_unit *unit = w->unit;
	struct aj_main_rule r = find_rule(unit->whole, c->path + unit->bytes + 1, c);
	if (r.verdict == AJ_MAIN_PART && r.content == AJ_MAIN_OBJECT && !aj_git_object_fits(w, c, c->path + unit->bytes + sizeof "/objects"))
		r = (struct aj_main_rule){ .verdict = AJ_MAIN_SPOILS, .why = aj_git_unfit };
	if (r.content == AJ_MAIN_OBJECT) /* its name is made from its content: the host's is the same, or it is missing */
		c->conflict = NULL;
	if (unit->scanning)
		note(unit, c, &r);
	if (r.verdict == AJ_MAIN_HELD) {
		c->held = r.why;
		c->held_bytes = unit->bytes + 1 + r.held_bytes;
		return;
	}
	if (r.verdict == AJ_MAIN_REFUSED || r.verdict == AJ_MAIN_SPOILS) {
		c->refused = r.why;
		c->conflict = NULL;
		return;
	}
	c->unit_bytes = unit->bytes;
	c->refused = unit->refused;
	c->held = unit->held;
	c->held_bytes = c->held ? unit->bytes : 0;
	c->conflict = c->refused ? NULL : c->conflict ? c->conflict : unit->conflict;
}

/* --- the whole --- */

static const char *host_conflict(const struct aj_walk *w)
{
	const struct aj_change_record *r = &w->s->record;
	static const char *const locks[] = { "packed-refs.lock", "worktrees/%s/index.lock", "worktrees/%s/HEAD.lock" };
	static const char *const heads[] = { "packed-refs", "worktrees/%s/HEAD" };
	char below[PATH_MAX], path[2 * PATH_MAX];
	struct stat st;
	for (size_t i = 0; i < sizeof locks / sizeof *locks; i++) {
		snprintf(below, sizeof below, locks[i], r->worktree);
		if (aj_beneath_has(w->s->repository, below))
			return at_work;
	}
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		snprintf(below, sizeof below, heads[i], r->worktree);
		snprintf(path, sizeof path, "%s/%s", r->repository, below);
		if (fstatat(w->s->repository, below, &st, AT_SYMLINK_NOFOLLOW) == 0 && aj_changed_since(w->s, path, &st))
			return moved;
	}
	return NULL;
}

/* The worktree may have been removed since, and another one made under its name. */
static bool has_worktree(const struct aj_change_state *s)
{
	char path[PATH_MAX];
	struct stat st;
	return (size_t)snprintf(path, sizeof path, "worktrees/%s", s->record.worktree) < sizeof path &&
	       fstatat(s->repository, path, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode) &&
	       st.st_ino == s->record.worktree_inode;
}

static int pass_by(void *arg, const struct aj_change *c)
{
	(void)arg, (void)c;
	return 0;
}

int aj_walk_main(struct aj_walk *w)
{
	const char *repository = w->s->record.repository;
	struct aj_main whole;
	struct aj_git_unit unit = { .bytes = strlen(repository), .main = true, .scanning = true, .whole = &whole };
	aj_change_fn *each = w->each;
	if (unit.bytes + 2 > sizeof w->path)
		return aj_fail(w->err, AJ_EXIT_SETUP, "changes", 0, "the path of the main repository is too long");
	aj_main_read(&whole, w->s);
	memcpy(w->path, repository, unit.bytes + 1);
	w->bytes = unit.bytes;
	w->unit = &unit;
	w->each = pass_by;
	int result = aj_walk_top(w, w->s->repository_view, w->s->repository);
	w->each = each;
	unit.scanning = false;
	unit.inflated_bytes = 0;
	if (!has_worktree(w->s))
		unit.refused = "the repository has this working tree no more";
	if (unit.moved && !unit.conflict)
		unit.conflict = host_conflict(w);
	if (result >= 0)
		result = aj_walk_top(w, w->s->repository_view, w->s->repository);
	w->unit = NULL;
	w->bytes = 0;
	w->path[0] = '\0';
	aj_main_free(&whole);
	return result;
}
