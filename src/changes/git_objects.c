/* Judges what a run has added to the objects of a repository that the host has, too: a file whose content is another object than its name says is
 * never applied, and files by which git finds objects wait for the name of the repository.
 * Git reads such a file at the next `git pull` in place of the object that the other side sends. It unpacks no pack. */
#include <string.h>

#include "base/fd.h"
#include "base/path.h"
#include "changes/inner.h"
#include "git/object.h"
#include "tree/node.h"

/* Of a repository in one walk, inflated: half a minute's work. */
static const uint64_t inflated_max = 4ULL << 30;

static const char unfit[] = "its content is another object than its name says, or more than is checked",
		  listed[] = "git may read objects of a new pack or list in place of those that the repository has";

bool aj_git_object_fits(const struct aj_walk *w, const struct aj_change *c, const char *name)
{
	struct aj_git_unit *unit = w->unit;
	struct stat st;
	if (!S_ISREG(c->is.st_mode) || !(unit->scanning || unit->unfit || !unit->bytes))
		return true;
	struct aj_change_side side = aj_change_side(w->s, c->path);
	uint64_t left = inflated_max - unit->inflated_bytes;
	cleanup_fd int place = aj_node_place(side.view, side.path, !w->s->running);
	cleanup_fd int fd = place < 0 ? -1 : aj_node_open_place(place, !w->s->running, &st);
	bool good = fd >= 0 && aj_gitobject_fits(fd, name, &left);
	unit->inflated_bytes = inflated_max - left;
	unit->unfit |= !good;
	return good;
}

void aj_git_object_hold(const struct aj_walk *w, struct aj_change *c, const char *below)
{
	struct aj_git_unit *unit = w->unit;
	const char *name = aj_path_below(below, "objects") ? below + sizeof "objects/" - 1 : NULL;
	if (!name || unit->made || !S_ISREG(c->is.st_mode) || c->refused || c->kind == AJ_CHANGE_MODE)
		return;
	bool found_by = aj_path_below(name, "pack") || aj_path_below(name, "info");
	if (!found_by && !aj_git_object_fits(w, c, name))
		c->refused = unfit;
	if ((found_by || c->refused) && !unit->held)
		unit->held = found_by ? listed : "one of its objects is another one than its name says";
}
