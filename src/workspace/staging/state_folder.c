/* Makes the state folder of a run, or takes over that of an earlier run.
 * It makes none where a jail could write it. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/beneath.h"
#include "base/fd.h"
#include "base/lock.h"
#include "base/path.h"
#include "base/sha256.h"
#include "sandbox/mounts/mount.h"
#include "workspace/staging/inner.h"

/* The caller's id where it can be a folder's name, else one that is made from it. */
static void choose_id(struct aj_staging *a, const char *id)
{
	char sum[AJ_SHA256_HEX];
	bool word = id && (strcmp(id, "new") == 0 || strcmp(id, "continue") == 0); /* of the option --changes */
	if (id && !word && aj_changes_id_valid(id)) {
		memcpy(a->id, id, strlen(id) + 1);
		return;
	}
	id = id ? id : "";
	aj_sha256(id, strlen(id), sum);
	snprintf(a->id, sizeof a->id, "%.16s", sum);
}

/* An overlay of a folder over itself has no end, nor has a copy of a folder into itself; and no jail may reach the changes of
 * others. */
static int check_place(const struct aj_staging *a, struct aj_error *err)
{
	char state[PATH_MAX];
	if (!aj_fd_path(a->all, state, sizeof state))
		return aj_staging_fail(err, ENAMETOOLONG, "find the path of the state directory");
	for (size_t i = 0; i < a->plan->mounts.count; i++) {
		const struct aj_mount *m = &a->plan->mounts.items[i];
		if (!aj_mount_is_shared(m) || !aj_path_within(state, m->source))
			continue;
		aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "the state directory lies in `%s`, which the jail may write",
		        m->source);
		aj_advise(err, "name a folder outside of it with XDG_STATE_HOME");
		return -1;
	}
	return 0;
}

/* A command that opens the folder before the lock is held takes the run for a killed one. The folder has no record yet, so the
 * command applies nothing. */
static int make_state(struct aj_staging *a, struct aj_error *err)
{
	if (mkdirat(a->all, a->id, 0700) < 0) {
		bool there = errno == EEXIST;
		aj_fail(err, there ? AJ_EXIT_USAGE : AJ_EXIT_SETUP, "changes", errno, "make a folder for the changes of run `%s`",
		        a->id);
		if (there)
			aj_advise(err, "choose another --id, or apply or discard the changes of that run");
		return -1;
	}
	a->dir = aj_beneath_open(a->all, a->id, O_RDONLY | O_DIRECTORY);
	/* A run that starts at the same time looks into each folder, and may have made the file. */
	a->lock = a->dir < 0 ? -1 : aj_beneath_open_here(a->dir, "lock", O_RDWR | O_CREAT);
	if (a->lock >= 0 && aj_lock_take(a->lock, true) == 0)
		return 0;
	return aj_staging_fail(err, errno, "lock the folder for the changes of the run");
}

int aj_staging_state_open(struct aj_staging *a, const struct aj_request *request, struct aj_error *err)
{
	a->all = aj_changes_folder(true);
	if (a->all < 0) {
		bool nowhere = errno == ENOENT;
		aj_staging_fail(err, errno, "open the folder for the changes of runs, $XDG_STATE_HOME/agentjail/changes");
		aj_advise(err,
		          nowhere
		              ? "set HOME or XDG_STATE_HOME to the path of a folder"
		              : "the folder must be writable for you, and no other user may write to it; XDG_STATE_HOME names another place");
		return -1;
	}
	if (check_place(a, err) < 0)
		return -1;
	if (request->changes_read)
		return aj_staging_state_read(a, request->changes, err);
	if (request->changes)
		return aj_staging_state_take(a, request->changes, false, err);
	if (request->changes_newest) {
		char id[AJ_CHANGES_ID];
		int r = aj_staging_state_find(a, id) ? aj_staging_state_take(a, id, true, err) : 1;
		if (r <= 0)
			return r;
	}
	choose_id(a, request->id);
	return make_state(a, err);
}

void aj_staging_state_remove(struct aj_staging *a)
{
	struct aj_error ignored = { 0 };
	struct aj_change_state s = { .dir = a->dir, .lock = a->lock };
	memcpy(s.id, a->id, sizeof s.id);
	aj_change_state_remove(a->all, &s, &ignored);
}
