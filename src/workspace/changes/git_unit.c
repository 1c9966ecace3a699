/* Finds repositories as git does, by the name `.git` or by their entries, and handles each as a whole: it is applied completely or not at
 * all, since an index, refs and objects that do not match each other are a broken repository. It runs no git.
 * A new repository requires approval if git would run programs by its configuration, and always in a folder that is not named `.git`. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/tree/node.h"
#include "workspace/changes/approval_spelling.h"
#include "workspace/changes/needs_approval.h"
#include "workspace/changes/walk_inner.h"
#include "workspace/git/index.h"
#include "workspace/git/repo.h"

enum { REFS_MAX = 50000, REFS_DEPTH = 16 };

/* --- a repository by its entries --- */

enum { HAS_HEAD = 1, HAS_OBJECTS = 2, HAS_REFS = 4, HAS_COMMONDIR = 8 };
static const char *const marks[] = { "HEAD", "objects", "refs", "commondir" }, *const plain_marks[] = { "head", "objects", "refs",
	                                                                                                "commondir" };
enum { MARKS = sizeof marks / sizeof *marks };

/* Is there such an entry, and one that git would take? */
static bool has_mark(int dir, const char *name, unsigned mark)
{
	struct stat st;
	return fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISCHR(st.st_mode) && (mark != HAS_HEAD || !S_ISDIR(st.st_mode));
}

static unsigned marks_in_view(const struct aj_folder *f)
{
	unsigned found = 0;
	for (size_t i = 0; i < f->in_view.count; i++) {
		const char *name = f->in_view.items[i];
		if (!strchr("HhOoRrCc", name[0]) && (unsigned char)name[0] < 0x80) /* rejects most names at once */
			continue;
		for (unsigned m = 0; m < MARKS; m++)
			if (aj_spelling_is(name, plain_marks[m]) && has_mark(f->view, name, 1U << m))
				found |= 1U << m;
	}
	return found;
}

/* Without a HEAD the others mean nothing. */
static unsigned marks_in_work(const struct aj_folder *f, unsigned in_view)
{
	unsigned found = f->work >= 0 && has_mark(f->work, marks[0], HAS_HEAD) ? HAS_HEAD : 0;
	for (unsigned m = 1; f->work >= 0 && m < MARKS && ((found | in_view) & HAS_HEAD); m++)
		found |= has_mark(f->work, marks[m], 1U << m) ? 1U << m : 0;
	return found;
}

bool aj_git_unit_found(const struct aj_walk *w, const struct aj_folder *f, struct aj_git_unit *ret)
{
	unsigned in_view = marks_in_view(f), in_work = marks_in_work(f, in_view), all = in_view | in_work;
	/* Any of the changes may be applied now, and the others later. */
	if (!(all & HAS_HEAD) || !(all & (HAS_OBJECTS | HAS_REFS | HAS_COMMONDIR)))
		return false;
	bool whole = (in_work & HAS_HEAD) && ((in_work & HAS_COMMONDIR) || ((in_work & HAS_OBJECTS) && (in_work & HAS_REFS)));
	*ret = (struct aj_git_unit){ .bytes = w->bytes, .mixed = true, .made = !whole };
	return true;
}

bool aj_git_own(const char *name)
{
	static const char *const names[] = { "head",      "config",       "config.worktree",
		                             "commondir", "gitdir",       "hooks",
		                             "info",      "objects",      "refs",
		                             "logs",      "index",        "packed-refs",
		                             "shallow",   "reftable",     "modules",
		                             "worktrees", "description",  "branches",
		                             "orig_head", "fetch_head",   "merge_head",
		                             "rr-cache",  "lfs",          "commit_editmsg",
		                             "sequencer", "rebase-merge", "rebase-apply",
		                             "remotes" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (aj_spelling_is(name, names[i]))
			return true;
	return aj_git_lock(name);
}

/* --- the index --- */

const char *aj_git_index_doubt(const struct aj_change_state *state, const struct aj_change *c)
{
	struct stat st;
	cleanup_fd int fd = aj_change_open_file(state, c->path, &st);
	return fd >= 0 && aj_gitindex_file_plain(fd)
	         ? NULL
	         : "by its paths git may write into a repository or out of the working tree, at the next `git restore .`";
}

void aj_git_index_hold(const struct aj_walk *w, struct aj_change *c)
{
	const char *slash = strrchr(c->path, '/'), *name = slash ? slash + 1 : c->path;
	if (!S_ISREG(c->is.st_mode) || (strcasecmp(name, "index") != 0 && strncasecmp(name, "sharedindex.", 12) != 0))
		return;
	const char *why = aj_git_index_doubt(w->s, c);
	if (!why)
		return;
	c->held = why;
	c->held_bytes = strlen(c->path);
}

/* --- a change --- */

/* Is the change held, and is it a part of a repository that is applied whole? */
void aj_walk_judge(const struct aj_walk *w, struct aj_change *c)
{
	const struct aj_git_unit *unit = w->unit;
	if (unit && unit->main) {
		aj_main_judge(w, c);
		return;
	}
	const char *below = unit ? c->path + unit->bytes + (c->path[unit->bytes] == '/') : NULL;
	if (below && c->is.st_mode && aj_git_lock(below)) { /* the repository is whole without it */
		c->refused = c->refused ? c->refused : "git has left this lock file: with it, git of the host would refuse to work";
		return;
	}
	if (unit && unit->mixed && unit->made && *below) {
		c->held = "git takes the folder for a repository by it";
		c->held_bytes = (size_t)(below - c->path) + strcspn(below, "/");
		return;
	}
	aj_change_judge_approval(c, below, w->s);
	if (below && !c->held) {
		aj_git_index_hold(w, c);
		aj_git_object_hold(w, c, below);
	}
	if (!unit || unit->bytes == 0 || (unit->mixed && unit->made) || (!unit->made && c->held))
		return;
	c->unit_bytes = unit->bytes;
	if (unit->scanning)
		return;
	c->held = unit->held;
	c->held_bytes = c->held ? unit->bytes : 0;
	c->conflict = c->conflict ? c->conflict : unit->conflict;
}

/* --- as a whole --- */

/* In a repository that is new: does runs() judge what holds the change, or git itself write it so? */
static bool is_usual(const struct aj_change *c, const char *below)
{
	static const char *const places[] = { "config", "info", "objects/info/alternates" };
	size_t bytes = c->held_bytes - (size_t)(below - c->path), all = strlen(below);
	for (size_t i = 0; i < sizeof places / sizeof *places; i++)
		if (strlen(places[i]) == bytes && strncmp(places[i], below, bytes) == 0)
			return true;
	return strcmp(below, "hooks") == 0 || (strncmp(below, "hooks/", 6) == 0 && all > 7 && strcmp(below + all - 7, ".sample") == 0);
}

static int scan(void *arg, const struct aj_change *c)
{
	struct aj_git_unit *unit = arg;
	if (!c->unit_bytes)
		return 0;
	unit->moved = true;
	unit->conflict = unit->conflict ? unit->conflict : c->conflict;
	if (c->held && unit->made && !unit->held && !is_usual(c, c->path + unit->bytes + (c->path[unit->bytes] == '/')))
		unit->held = "git would run programs by this new repository";
	return 0;
}

/* Has the host's git moved a ref since? `path`: of the folder. */
static bool refs_changed(struct aj_walk *w, int dir, const char *path, size_t *left, unsigned depth)
{
	bool found = false;
	cleanup_listing struct aj_listing entries = aj_beneath_list(dir, ".");
	for (const struct dirent *e; !found && *left && (e = aj_listing_next(&entries)); --*left) {
		char below[PATH_MAX];
		struct stat st;
		if (fstatat(dir, e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
			continue;
		if ((size_t)snprintf(below, sizeof below, "%s/%s", path, e->d_name) >= sizeof below || depth >= REFS_DEPTH) {
			found = true;
			break;
		}
		cleanup_fd int next = S_ISDIR(st.st_mode) ? aj_node_open_folder(dir, e->d_name, false) : -1;
		found = next >= 0 ? refs_changed(w, next, below, left, depth + 1)
		                  : S_ISREG(st.st_mode) && aj_changed_since(w->s, below, &st);
	}
	return found || !*left || (entries.dir && entries.error);
}

/* `git`: the folder in the workspace. */
static const char *host_conflict(struct aj_walk *w, int git)
{
	static const char *const locks[] = { AJ_GIT_LOCKS };
	static const char *const heads[] = { "HEAD", "packed-refs" };
	static const char moved[] = "the host's git has moved HEAD or refs since the run began";
	size_t left = REFS_MAX;
	struct stat st;
	char path[PATH_MAX];
	for (size_t i = 0; i < sizeof locks / sizeof *locks; i++)
		if (aj_beneath_has(git, locks[i]))
			return "the host's git is at work in it, or has left a file *.lock";
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		int n = snprintf(path, sizeof path, "%s/%s", w->path, heads[i]);
		if ((size_t)n < sizeof path && fstatat(git, heads[i], &st, AT_SYMLINK_NOFOLLOW) == 0 && aj_changed_since(w->s, path, &st))
			return moved;
	}
	cleanup_fd int refs = aj_node_open_folder(git, "refs", false);
	bool short_enough = (size_t)snprintf(path, sizeof path, "%s/refs", w->path) < sizeof path;
	return refs >= 0 && (!short_enough || refs_changed(w, refs, path, &left, 0)) ? moved : NULL;
}

/* Would git run programs by a repository that is new? */
static const char *runs(struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_arena arena = { 0 };
	struct aj_repo repo = { .path = w->path, .kind = "folder" };
	const char *folder = aj_strndup(&arena, w->path, w->bytes > strlen(p->name) ? w->bytes - strlen(p->name) - 1 : 0);
	aj_gitrepo_read(&repo, &(struct aj_gitrepo_place){ &arena, w->s->view, w->s->record.workspace, folder }, p->view, p->name);
	bool any = json_array_size(repo.runs) > 0;
	json_decref(repo.runs);
	aj_arena_free(&arena);
	return any ? "git would run programs by this new repository" : NULL;
}

/* The receiver of changes. */
struct receiver {
	aj_change_fn *each;
	void *arg;
};

static struct receiver begin_scan(struct aj_walk *w, struct aj_git_unit *unit)
{
	struct receiver before = { w->each, w->arg };
	w->each = scan;
	w->arg = unit;
	unit->scanning = true;
	return before;
}

static void end_scan(struct aj_walk *w, struct aj_git_unit *unit, const struct receiver *before)
{
	w->each = before->each;
	w->arg = before->arg;
	unit->scanning = false;
	unit->inflated_bytes = 0;
}

int aj_walk_git(struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_git_unit unit = { .bytes = w->bytes, .made = !S_ISDIR(p->was.st_mode) };
	if (strcmp(p->name, ".git") != 0) {
		unit.made = true;
		unit.held = "some file systems take the name for .git";
	} else if (unit.made && p->was.st_mode) {
		unit.held = "git takes the folder for another repository by it";
	}
	w->unit = &unit;
	struct receiver before = begin_scan(w, &unit);
	int result = aj_walk_entry(w, p);
	end_scan(w, &unit, &before);
	if (result == 0 && S_ISDIR(p->was.st_mode) && unit.moved && !unit.conflict) {
		cleanup_fd int git = aj_node_open_folder(p->work, p->name, false);
		unit.conflict = git < 0 ? "the host's repository cannot be read" : host_conflict(w, git);
	}
	if (unit.made && !unit.held)
		unit.held = runs(w, p);
	if (result == 0)
		result = aj_walk_entry(w, p);
	w->unit = NULL;
	return result;
}

int aj_walk_repository(struct aj_walk *w, struct aj_git_unit *unit, const struct aj_folder *f)
{
	int result = 0;
	w->unit = unit;
	if (!unit->made && unit->bytes) { /* else each of its changes is judged for itself */
		struct receiver before = begin_scan(w, unit);
		result = aj_walk_names(w, f);
		end_scan(w, unit, &before);
		if (result >= 0 && unit->moved && !unit->conflict)
			unit->conflict = host_conflict(w, f->work);
	}
	if (result >= 0)
		result = aj_walk_names(w, f);
	w->unit = NULL;
	return result;
}
