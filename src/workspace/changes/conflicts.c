/* Finds conflicts: files that the host has changed or removed since the run began. walk.c asks for each change, and apply
 * collects them. */
#include "workspace/changes/conflicts.h"

#include <sys/stat.h>

#include "base/fd.h"
#include "base/sha256.h"
#include "base/tree/node.h"
#include "workspace/changes/upper_layer.h"
#include "workspace/changes/walk_inner.h"

/* The hash of the host's file that `st` describes; false if the file has changed since. */
static bool sum_of(const struct aj_change_state *s, const char *path, const struct stat *st, char ret_hex[AJ_SHA256_HEX])
{
	struct stat now;
	struct aj_change_side side = aj_change_side(s, path);
	if (!S_ISREG(st->st_mode) || st->st_size > AJ_ORIGINAL_MAX)
		return false;
	cleanup_fd int place = aj_node_place(side.host, side.path, false);
	cleanup_fd int fd = place < 0 ? -1 : aj_node_open_place(place, false, &now);
	return fd >= 0 && aj_sha256_fd(fd, ret_hex) == 0 && fstat(fd, &now) == 0 && now.st_ino == st->st_ino &&
	       now.st_dev == st->st_dev && aj_node_ctime_ns(&now) == aj_node_ctime_ns(st);
}

static bool is_original(const struct aj_change_state *s, const char *path, const struct stat *st)
{
	char content[AJ_SHA256_HEX];
	return s->originals.count && sum_of(s, path, st, content) &&
	       aj_marks_original(&s->originals, path, st->st_mode & 0777, content);
}

/* Whether the workspace's file was changed after the run began, other than by an apply of these changes. Rewriting the content
 * that aj_change_original() marked is not a change. */
static bool changed_since(const struct aj_change_state *s, const char *path, const struct stat *st)
{
	struct aj_base_entry copied;
	long long ns = aj_node_ctime_ns(st);
	struct aj_change_side side = aj_change_side(s, path);
	bool other = s->record.copy
	               ? !aj_base_find(side.base, side.path, &copied) || copied.ctime_ns != ns || copied.ino != st->st_ino
	               : ns > s->record.started_ns - AJ_CHANGE_TICK_NS;
	return other && !aj_marks_ours(&s->marks, path, ns) && !is_original(s, path, st);
}

bool aj_change_original(const struct aj_change_state *s, const struct aj_change *c, struct aj_mark *ret)
{
	char content[AJ_SHA256_HEX];
	if (c->conflict || changed_since(s, c->path, &c->was) || !sum_of(s, c->path, &c->was, content))
		return false;
	aj_marks_set_original(ret, c->path, c->was.st_mode & 0777, content);
	return true;
}

bool aj_walk_find_copied(const struct aj_walk *w, struct aj_base_entry *ret)
{
	struct aj_change_side side = aj_change_side(w->s, w->path);
	return aj_base_find(side.base, side.path, ret);
}

/* Was the entry made of one that the workspace had? */
static bool copied_up(const struct aj_walk *w, const struct aj_pair *p)
{
	struct aj_base_entry copied;
	if (w->s->record.copy)
		return aj_walk_find_copied(w, &copied);
	return aj_upper_was_copied_up(p->view, p->name, p->is.st_mode, !w->s->running);
}

/* A file that the run renamed or linked is copied up too, but then its old name is still in the workspace, or the folder on the
 * host has not changed. */
const char *aj_walk_removed_since(struct aj_walk *w, const struct aj_pair *p)
{
	static const char gone[] = "the host has removed it since";
	struct stat folder;
	if (!copied_up(w, p))
		return NULL;
	if (w->s->record.copy || S_ISDIR(p->is.st_mode))
		return gone;
	if (p->work < 0
	        ? !w->gone
	        : fstat(p->work, &folder) == 0 && aj_node_ctime_ns(&folder) <= w->s->record.started_ns - AJ_CHANGE_TICK_NS)
		return NULL;
	return aj_origins_has(&w->origins, w->top, &p->is) ? NULL : gone;
}

const char *aj_walk_changed_since(const struct aj_walk *w, const struct aj_pair *p)
{
	return changed_since(w->s, w->path, &p->was) ? "the host has changed it since the run began" : NULL;
}
