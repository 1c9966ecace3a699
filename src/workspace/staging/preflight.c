/* Bounded checks of a workspace: which files an overlay cannot change, and what is mounted in it.
 * A check that ends early reports that. It changes nothing. */
#include "workspace/staging/preflight.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/path.h"
#include "base/procfs.h"
#include "base/text.h"
#include "workspace/staging/copied_tree.h"

enum { NAMED_MAX = 20, SHOWN_MAX = 5, LOOK_ENTRIES = 1000000, OWNERS_MS = 50 };

struct owners {
	struct aj_staging_unmapped *ret;
	struct aj_arena *arena;
	uid_t uid;
	gid_t gid;
};

static bool look_at_owner(struct aj_tree_walk *w, int dir, const char *name, const struct stat *st)
{
	struct owners *o = w->arg;
	(void)dir, (void)name;
	if (st->st_uid == o->uid && st->st_gid == o->gid)
		return true;
	if (o->ret->count++ < NAMED_MAX)
		*AJ_PUSH(o->arena, &o->ret->paths) = aj_strdup(o->arena, w->path);
	return true;
}

void aj_staging_find_unmapped(struct aj_staging_unmapped *ret, struct aj_arena *arena, int workspace, uid_t uid, gid_t gid)
{
	struct owners owners = { ret, arena, uid, gid };
	struct aj_tree_walk walk = { .visit = look_at_owner,
		                     .arg = &owners,
		                     .entries_max = LOOK_ENTRIES,
		                     .until_us = aj_now_us() + aj_us_of_ms(OWNERS_MS) };
	*ret = (struct aj_staging_unmapped){ 0 };
	aj_tree_walk(&walk, workspace);
	ret->more = walk.incomplete;
}

/* "`a`, `b` and 3 more", safe for a terminal. */
static size_t list_paths(const char *const *paths, size_t count, uint64_t all, bool more, char *out, size_t out_bytes)
{
	size_t used = 0;
	for (size_t i = 0; i < count && i < SHOWN_MAX; i++) {
		char plain[100];
		aj_ascii(plain, sizeof plain, paths[i]);
		used += (size_t)snprintf(out + used, out_bytes - used, "%s`%s`", i ? ", " : "", plain);
	}
	if (all > SHOWN_MAX)
		used += (size_t)snprintf(out + used, out_bytes - used, " and %s%llu more", more ? "at least " : "",
		                         (unsigned long long)all - SHOWN_MAX);
	return used;
}

void aj_staging_unmapped_text(const struct aj_staging_unmapped *u, uid_t uid, gid_t gid, char *out, size_t out_bytes)
{
	size_t used = list_paths(u->paths.items, u->paths.count, u->count, u->more, out, out_bytes);
	snprintf(out + used, out_bytes - used,
	         ": of another user or group, so the jail can neither change nor remove these files (EOVERFLOW): `chown %u:%u` them, or use --workspace-mode copy",
	         uid, gid);
}

void aj_staging_skipped_text(const struct aj_copied_tree *copied, const char *name, char *out, size_t out_bytes)
{
	size_t used = list_paths(copied->skipped.items, copied->skipped.count, copied->skipped_count, false, out, out_bytes);
	snprintf(out + used, out_bytes - used,
	         ": not in the copy of %s, because each is a FIFO, a socket, a device or a mount, or closed to you or the folder's owner",
	         name);
}

/* --- mounts --- */

const char *aj_staging_mount_below(struct aj_arena *arena, const char *folder)
{
	enum { MOUNT_POINT_FIELD = 4 }; /* of proc_pid_mountinfo(5), from 0 */
	FILE *mounts = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	const char *found = NULL;
	for (size_t room = 0; mounts && !found && getline(&line, &room, mounts) > 0;) {
		char *rest = line, *field = NULL;
		for (int i = 0; i <= MOUNT_POINT_FIELD; i++)
			field = strsep(&rest, " ");
		if (!field)
			continue;
		aj_procfs_unescape(field);
		if (aj_path_below(field, folder))
			found = aj_strdup(arena, field);
	}
	free(line);
	if (mounts)
		fclose(mounts);
	return found;
}
