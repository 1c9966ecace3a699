/* Walks the view and the workspace beside each other and reports the changes. Memory is bounded by the largest folders on one
 * path. It changes nothing, follows no link, and opens only files whose type and size are the same in both trees, or whose ctime
 * is new. */
#include "workspace/changes/walk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/tree/node.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/upper_layer.h"
#include "workspace/changes/walk_inner.h"

static const char unreadable[] = "it cannot be read", elsewhere[] = "another file system is mounted there";

/* `marked`: the folder may hold whiteouts that are files with an attribute. */
static bool is_whiteout(const struct aj_walk *w, const struct aj_pair *p, bool marked)
{
	return !w->s->record.copy && aj_upper_is_whiteout(p->view, p->name, &p->is, marked, !w->s->running);
}

/* Does the jail see the workspace's entries where the folder of the view has none of their names? */
static bool shows_through(const struct aj_change_state *s, int view)
{
	return !s->record.copy && !aj_upper_is_opaque(view);
}

/* --- telling --- */

static const char *never(const struct aj_pair *p)
{
	mode_t mode = p->is.st_mode;
	return S_ISFIFO(mode)                 ? "it is a FIFO"
	     : S_ISSOCK(mode)                 ? "it is a socket"
	     : S_ISCHR(mode) || S_ISBLK(mode) ? "it is a device"
	     : aj_changes_own(p->name)        ? "its name is one that apply uses itself"
	                                      : NULL;
}

/* Was this state of the entry applied, or discarded? */
static bool is_settled(const struct aj_walk *w, const struct aj_pair *p)
{
	return aj_marks_settled(&w->s->marks, w->path, p->is.st_mode ? aj_node_ctime_ns(&p->is) : 0);
}

/* Take the case where more than one is true by its weight. */
static int report_change(struct aj_walk *w, const struct aj_pair *p, enum aj_change_kind kind, const char *conflict,
                         const char *refused)
{
	if (w->only_repositories && !w->in_repository)
		return 0;
	struct aj_change c = { .path = w->path, .kind = kind, .was = p->was, .is = p->is, .conflict = conflict };
	c.refused = refused ? refused : kind == AJ_CHANGE_DELETED ? NULL : never(p);
	if (is_settled(w, p))
		return 0;
	if (!c.conflict && aj_marks_conflict(&w->s->marks, w->path))
		c.conflict = "the host had changed it before a later run went on with it";
	if (!w->in_repository)
		aj_change_judge_approval(&c, w->s);
	if (p->is.st_mode & (S_ISUID | S_ISGID) && !S_ISDIR(p->is.st_mode))
		c.note = "its setuid or setgid bit is not applied";
	else if (p->twin)
		c.note = "another new name differs from it by case alone";
	return w->each(w->arg, &c);
}

static bool same_mode(const struct aj_pair *p)
{
	return ((p->is.st_mode ^ p->was.st_mode) & 0777) == 0;
}

/* A file or a link in both. */
static int tell_file(struct aj_walk *w, const struct aj_pair *p)
{
	int same = aj_node_same(p->view, !w->s->running, p->work, p->name);
	if (same < 0)
		return report_change(w, p, AJ_CHANGE_MODIFIED, aj_walk_changed_since(w, p), unreadable);
	if (same && (S_ISLNK(p->is.st_mode) || same_mode(p)))
		return 0;
	return report_change(w, p, same ? AJ_CHANGE_MODE : AJ_CHANGE_MODIFIED, aj_walk_changed_since(w, p), NULL);
}

/* --- folders --- */

static int by_case(const void *a, const void *b)
{
	return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* The names once more, ordered without regard to case; NULL where all differ by more than case. */
static char **find_twins(const struct aj_entries *names)
{
	bool found = false;
	char **sorted = names->count > 1 ? malloc(names->count * sizeof *sorted) : NULL;
	if (!sorted)
		return NULL;
	memcpy(sorted, names->items, names->count * sizeof *sorted);
	qsort(sorted, names->count, sizeof *sorted, by_case);
	for (size_t i = 1; i < names->count && !found; i++)
		found = strcasecmp(sorted[i - 1], sorted[i]) == 0;
	if (!found) {
		free(sorted);
		sorted = NULL;
	}
	return sorted;
}

static bool is_twin(char *const *sorted, size_t count, const char *name)
{
	char *const *at = sorted ? bsearch(&name, sorted, count, sizeof *sorted, by_case) : NULL;
	return at &&
	       ((at > sorted && strcasecmp(at[-1], name) == 0) || (at + 1 < sorted + count && strcasecmp(at[1], name) == 0));
}

static int look_at(struct aj_walk *w, struct aj_pair *p, bool in_view, bool marked)
{
	size_t before = w->bytes, name = strlen(p->name);
	if (w->bytes + name + 2 > sizeof w->path)
		return 1; /* its folder is told to hold such a name */
	if (in_view && fstatat(p->view, p->name, &p->is, AT_SYMLINK_NOFOLLOW) < 0)
		p->is.st_mode = 0;
	if (p->work >= 0 && fstatat(p->work, p->name, &p->was, AT_SYMLINK_NOFOLLOW) < 0)
		p->was.st_mode = 0;
	if (p->is.st_mode && is_whiteout(w, p, marked)) {
		p->is = (struct stat){ 0 };
		p->whiteout = true;
	}
	if (!p->is.st_mode && !p->was.st_mode)
		return 0;
	if (w->bytes)
		w->path[w->bytes++] = '/';
	memcpy(w->path + w->bytes, p->name, name + 1);
	w->bytes += name;
	int result = !w->in_repository && aj_is_git_name(p->name) ? aj_walk_git(w, p) : aj_walk_entry(w, p);
	w->bytes = before;
	w->path[before] = '\0';
	return result;
}

int aj_walk_names(struct aj_walk *w, const struct aj_folder *f)
{
	const struct aj_entries *is = &f->in_view, *was = &f->in_work;
	bool marked = f->view >= 0 && aj_upper_has_marked_whiteouts(f->view), too_long = false;
	char **twins = find_twins(is);
	int result = 0;
	for (size_t i = 0, k = 0; result == 0 && (i < is->count || k < was->count);) {
		int order = i == is->count ? 1 : k == was->count ? -1 : strcmp(is->items[i], was->items[k]);
		struct aj_pair p = { .view = f->view, .work = f->work, .name = order <= 0 ? is->items[i] : was->items[k] };
		p.twin = order <= 0 && is_twin(twins, is->count, p.name);
		result = look_at(w, &p, order <= 0, marked);
		i += order <= 0;
		k += order >= 0;
		too_long |= result > 0;
		result = result > 0 ? 0 : result;
	}
	free(twins);
	return result < 0 ? result : too_long;
}

/* The entries of a folder that is open in one tree or in both. Without `merged` a name that the view lacks is deleted. */
static int walk_folder(struct aj_walk *w, int view, int work, bool merged)
{
	struct aj_folder f = { .view = view, .work = work };
	int result = 0;
	if ((view >= 0 && aj_entries_read(view, &f.in_view) < 0) ||
	    (work >= 0 && !merged && aj_entries_read(work, &f.in_work) < 0))
		result = aj_fail(w->err, AJ_EXIT_SETUP, "changes", errno, "list the folder `%s`", w->bytes ? w->path : ".");
	else if (!w->in_repository && aj_repository_by_entries(&f))
		result = aj_walk_bare(w, &f);
	else
		result = aj_walk_names(w, &f);
	aj_entries_free(&f.in_view);
	aj_entries_free(&f.in_work);
	return result;
}

/* -1: the walk ends. 1: something in it is too deep, or cannot be opened, which `*ret_why` says. */
static int walk_into(struct aj_walk *w, const struct aj_pair *p, bool in_view, bool in_work, const char **ret_why)
{
	cleanup_fd int view = -1, work = -1;
	*ret_why = "it is nested too deep, or has names that are too long";
	if (w->depth >= AJ_CHANGES_DEPTH)
		return 1;
	if (in_view)
		view = aj_node_open_folder(p->view, p->name, !w->s->running);
	if (in_work && (view >= 0 || !in_view))
		work = aj_node_open_folder(p->work, p->name, false);
	if ((in_view && view < 0) || (in_work && work < 0)) {
		if (errno == EMFILE || errno == ENFILE)
			return aj_fail(w->err, AJ_EXIT_SETUP, "changes", errno, "open the folder `%s`", w->path);
		*ret_why = errno == EXDEV ? elsewhere : unreadable;
		return 1;
	}
	/* The kernel marks a folder that replaces another one, and none in it. It may mark a new one, too: where that was
	 * applied, what the workspace has there besides is the host's. */
	bool hidden = w->hidden;
	w->hidden = hidden || (view >= 0 && !shows_through(w->s, view) && !is_settled(w, p));
	bool merged = view >= 0 && work >= 0 && !w->hidden;
	w->depth++;
	int result = walk_folder(w, view, work, merged);
	w->depth--;
	w->hidden = hidden;
	if (view >= 0)
		aj_node_restore(view, p->is.st_mode);
	return result;
}

static int note_one(void *arg, const struct aj_change *c)
{
	(void)c;
	*(bool *)arg = true;
	return 0;
}

/* In a copy: whether the run left the entry as it was copied, by ctime, which no jail can set. A file that moved with a renamed
 * folder keeps its ctime, but differs from the list's entry at this path. */
static bool untouched(struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_base_entry copied;
	aj_change_fn *each = w->each;
	void *arg = w->arg;
	const char *why;
	bool any = false;
	if (!w->s->record.copy)
		return false;
	if (!p->is.st_mode) /* the host has made it since, in a folder that the view has as well */
		return p->view >= 0 && !aj_walk_find_copied(w, &copied);
	if (!S_ISDIR(p->is.st_mode))
		return aj_node_ctime_ns(&p->is) < w->s->record.started_ns - AJ_CHANGE_TICK_NS &&
		       aj_walk_find_copied(w, &copied) && copied.bytes == (uint64_t)p->is.st_size &&
		       copied.mtime_ns == aj_node_mtime_ns(&p->is);
	if (p->was.st_mode || !aj_walk_find_copied(w, &copied))
		return false;
	w->each = note_one; /* the host has removed the folder: is there anything in it that it could not know? */
	w->arg = &any;
	int result = walk_into(w, p, true, false, &why);
	w->each = each;
	w->arg = arg;
	return result == 0 && !any;
}

/* Did the run change the mode? In a copy another one can be the host's doing. */
static bool mode_changed(const struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_base_entry copied;
	if (same_mode(p))
		return false;
	return !w->s->record.copy || !aj_walk_find_copied(w, &copied) || ((p->is.st_mode ^ copied.mode) & 0777);
}

int aj_walk_entry(struct aj_walk *w, const struct aj_pair *p)
{
	const char *why = NULL;
	bool now = p->is.st_mode, folder_now = S_ISDIR(p->is.st_mode), folder_was = S_ISDIR(p->was.st_mode);
	int result = 0;
	if ((w->only_repositories && !w->in_repository && !folder_now && !folder_was) || untouched(w, p))
		return 0;
	if (folder_was && !folder_now) { /* its entries go first */
		result = walk_into(w, p, false, true, &why);
		return result < 0 ? -1 : report_change(w, p, now ? AJ_CHANGE_TYPE : AJ_CHANGE_DELETED, NULL, result ? why : NULL);
	}
	if (!now)
		return report_change(w, p, AJ_CHANGE_DELETED, aj_walk_changed_since(w, p), NULL);
	if (folder_now && folder_was) {
		result = walk_into(w, p, true, true, &why);
		if (result > 0)
			return report_change(w, p, AJ_CHANGE_MODIFIED, NULL, why);
		return result < 0 || !mode_changed(w, p) ? result
		                                         : report_change(w, p, AJ_CHANGE_MODE, aj_walk_changed_since(w, p), NULL);
	}
	const char *conflict = p->was.st_mode ? aj_walk_changed_since(w, p) : aj_walk_removed_since(w, p);
	if (!folder_now && p->was.st_mode && ((p->is.st_mode ^ p->was.st_mode) & S_IFMT) == 0 && !never(p))
		return tell_file(w, p);
	result = report_change(w, p, p->was.st_mode ? AJ_CHANGE_TYPE : AJ_CHANGE_ADDED, conflict, NULL);
	if (result < 0 || !folder_now)
		return result;
	bool gone_above = w->gone;
	w->gone |= !p->was.st_mode && conflict;
	result = walk_into(w, p, true, false, &why);
	w->gone = gone_above;
	return result > 0 ? report_change(w, p, AJ_CHANGE_MODIFIED, NULL, why) : result;
}

int aj_walk_top(struct aj_walk *w, int view, int work)
{
	w->hidden = !shows_through(w->s, view);
	w->top = work;
	aj_origins_free(&w->origins);
	return walk_folder(w, view, work, !w->hidden);
}

static int walk_all(struct aj_change_state *state, bool only_repositories, aj_change_fn *each, void *arg, struct aj_error *err)
{
	struct aj_walk *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	*w = (struct aj_walk){ .s = state, .only_repositories = only_repositories, .each = each, .arg = arg, .err = err };
	int result = state->view < 0 || state->workspace < 0 ? 0 : aj_walk_top(w, state->view, state->workspace);
	if (result >= 0 && state->repository_view >= 0)
		result = aj_walk_main(w);
	aj_origins_free(&w->origins);
	free(w);
	return result < 0 ? -1 : 0;
}

int aj_changes_walk(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err)
{
	return walk_all(state, false, each, arg, err);
}

int aj_changes_repositories(struct aj_change_state *state, aj_change_fn *each, void *arg, struct aj_error *err)
{
	return walk_all(state, true, each, arg, err);
}
