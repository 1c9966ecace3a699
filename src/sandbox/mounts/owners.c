/* Shows writable workspaces of other owners as the jail's own, by idmapped mounts, in which files of further owners belong to
 * nobody. Binds are not mapped: the jail may be meant to write only a part of one. */
#include "sandbox/mounts/owners.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "sandbox/mounts/idmap.h"
#include "sandbox/mounts/mount.h"

bool aj_mount_not_writable(const struct aj_plan *plan, const struct stat *folder)
{
	mode_t bit = folder->st_uid == plan->host_uid ? S_IWUSR : folder->st_gid == plan->host_gid ? S_IWGRP : S_IWOTH;
	return !(folder->st_mode & bit);
}

static bool is_workspace(const struct aj_plan *plan, const struct aj_mount *m)
{
	return aj_mount_is_shared(m) && ((plan->writable_workspace && strcmp(m->source, plan->writable_workspace) == 0) ||
	                                 (plan->main_repository && strcmp(m->source, plan->main_repository) == 0));
}

static int map_row(const struct aj_plan *plan, struct aj_built_mount *b, struct aj_error *err)
{
	const struct aj_mount *m = b->row;
	struct stat st;
	cleanup_fd int folder = aj_beneath_open(AT_FDCWD, m->source, O_PATH | O_DIRECTORY);
	if (folder < 0)
		return aj_mount_fail_source(m->source, err);
	if (fstat(folder, &st) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "workspace", errno, "examine `%s`", m->source);
	/* Without the owner's write bit, the owner's id does not help. */
	if (!aj_mount_not_writable(plan, &st) || !(st.st_mode & S_IWUSR))
		return 0;
	struct aj_idmap map = { .uid = st.st_uid, .to_uid = plan->host_uid, .gid = st.st_gid, .to_gid = plan->host_gid };
	cleanup_fd int userns = aj_idmap_namespace(&map, err);
	if (userns < 0)
		return -1;
	b->mapped = aj_idmap_mount(folder, userns, true);
	if (b->mapped >= 0 && aj_fd_move_high(&b->mapped) == 0)
		return 0;
	aj_fail(err, AJ_EXIT_SETUP, "workspace", errno,
	        "`%s` belongs to user id %u and the jail has user id %u: "
	        "make an idmapped mount, in which its files are the jail's",
	        m->source, st.st_uid, plan->host_uid);
	aj_advise(err, "`chown -R %u:%u` the folder, run agentjail as its owner, or use --workspace-mode copy", plan->host_uid,
	          plan->host_gid);
	return -1;
}

int aj_mount_owners_open(struct aj_built *built, struct aj_error *err)
{
	const struct aj_plan *plan = built->plan;
	if (!plan->writable_workspace || plan->host_uid == geteuid())
		return 0;
	for (size_t i = 0; i < plan->mounts.count; i++)
		if (is_workspace(plan, built->mounts[i].row) && map_row(plan, &built->mounts[i], err) < 0)
			return -1;
	return 0;
}

void aj_mount_owners_close(struct aj_built *built)
{
	for (size_t i = 0; i < built->plan->mounts.count; i++)
		if (built->mounts[i].mapped && is_workspace(built->plan, built->mounts[i].row)) {
			aj_close(&built->mounts[i].mapped);
			built->mounts[i].mapped = 0;
		}
}
