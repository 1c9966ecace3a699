/* Checks what a run has added to the objects of a repository that the host has, too: a file whose content does not match its name is
 * never applied, and files by which git finds objects require approval by the repository's name.
 * Git reads such a file at the next `git pull` in place of the object that the other side sends. It unpacks no pack. */
#include <limits.h>
#include <string.h>
#include <strings.h>

#include "base/fd.h"
#include "base/sha1.h"
#include "base/sha256.h"
#include "base/tree/node.h"
#include "workspace/changes/walk_inner.h"
#include "workspace/git/object.h"

/* Of a repository in one walk, inflated: half a minute's work. */
static const uint64_t inflated_max = 4ULL << 30;

const char aj_git_unfit[] = "its content is another object than its name says, or more than is checked";
static const char listed[] = "git may read objects of a new pack or list in place of those that the repository has";

bool aj_git_object_fits(const struct aj_walk *w, const struct aj_change *c, const char *name)
{
	struct aj_git_unit *unit = w->unit;
	struct stat st;
	if (!S_ISREG(c->is.st_mode) || !(unit->scanning || unit->unfit || !unit->bytes))
		return true;
	uint64_t left = inflated_max - unit->inflated_bytes;
	cleanup_fd int fd = aj_change_open_file(w->s, c->path, &st);
	bool good = fd >= 0 && aj_gitobject_fits(fd, name, &left);
	unit->inflated_bytes = inflated_max - left;
	unit->unfit |= !good;
	return good;
}

/* By the spelling of the most lenient file systems, as every name in a repository is compared. */
static bool is_found_by(const char *name)
{
	return strncasecmp(name, "pack/", 5) == 0 || strncasecmp(name, "info/", 5) == 0;
}

/* The path below the folder of objects that contains it; NULL: it is in none. A submodule has one of its own, at any depth, and the host may have that
 * submodule or not: a new one is the run's as a whole. A branch of a submodule can be called `objects/x`, and no branch as an object is. */
static const char *name_of_object(const struct aj_walk *w, const struct aj_change *c, const char *below)
{
	static const char own[] = "objects/";
	char folder[PATH_MAX];
	size_t bytes = sizeof own - 1;
	if (strncasecmp(below, own, bytes) == 0)
		return below + bytes;
	if (strncasecmp(below, "modules/", 8) != 0 && strncasecmp(below, "worktrees/", 10) != 0)
		return NULL;
	for (const char *at = strchr(below, '/'); at; at = strchr(at + 1, '/')) {
		const char *name = at + 1 + bytes;
		if (strncasecmp(at + 1, own, bytes) != 0 ||
		    !(is_found_by(name) || (strcspn(name, "/") == 2 && (strlen(name) == AJ_SHA1_HEX || strlen(name) == AJ_SHA256_HEX))))
			continue;
		struct aj_change_side side = aj_change_side(w->s, c->path);
		size_t folder_bytes = (size_t)(name - 1 - c->path) - (size_t)(side.path - c->path);
		memcpy(folder, side.path, folder_bytes);
		folder[folder_bytes] = '\0';
		cleanup_fd int host = aj_node_open_folder(side.host, folder, false);
		if (host >= 0)
			return name;
	}
	return NULL;
}

/* Git LFS keeps a file in lfs/objects/12/34/ under the SHA-256 of its content, and copies it into the working tree at a checkout without a look at more
 * than its size. */
static bool is_lfs(const char *below)
{
	static const char folder[] = "lfs/objects/";
	const char *name = strrchr(below, '/'), *at = strcasestr(below, folder);
	return at && (at == below || at[-1] == '/') && strspn(name + 1, "0123456789abcdefABCDEF") == AJ_SHA256_HEX - 1 &&
	       !name[AJ_SHA256_HEX];
}

static bool lfs_fits(const struct aj_walk *w, const struct aj_change *c)
{
	char hex[AJ_SHA256_HEX];
	struct stat st;
	cleanup_fd int fd = aj_change_open_file(w->s, c->path, &st);
	uint64_t left = inflated_max - w->unit->inflated_bytes;
	if (fd < 0 || (uint64_t)st.st_size > left)
		return false;
	w->unit->inflated_bytes += (uint64_t)st.st_size;
	return aj_sha256_fd(fd, hex) == 0 && strcmp(strrchr(c->path, '/') + 1, hex) == 0;
}

void aj_git_object_hold(const struct aj_walk *w, struct aj_change *c, const char *below)
{
	struct aj_git_unit *unit = w->unit;
	if (unit->made || !S_ISREG(c->is.st_mode) || c->refused || c->kind == AJ_CHANGE_MODE)
		return;
	if (is_lfs(below)) {
		c->refused = unit->scanning || lfs_fits(w, c) ? NULL : aj_git_unfit;
		return;
	}
	const char *name = name_of_object(w, c, below);
	if (!name)
		return;
	bool found_by = is_found_by(name);
	if (!found_by && !aj_git_object_fits(w, c, name))
		c->refused = aj_git_unfit;
	if ((found_by || c->refused) && !unit->held)
		unit->held = found_by ? listed : "one of its objects is another one than its name says";
}
