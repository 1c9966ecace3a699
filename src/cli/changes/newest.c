/* Finds the run that a command without an ID means: the newest on the current folder, or on a folder around it up to the top of
 * its repository. It reads records alone, and locks nothing. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"
#include "base/tree/node.h"
#include "cli/changes/changescmd.h"
#include "workspace/repository.h"

/* The folders whose runs count. */
struct folders {
	AJ_LIST(struct stat) list;
};

static const char *find_folders(struct folders *f, struct aj_arena *arena)
{
	char cwd[PATH_MAX];
	struct stat st;
	if (!getcwd(cwd, sizeof cwd))
		return NULL;
	const char *here = aj_strdup(arena, cwd), *top = aj_repository_around(here, arena).root;
	for (const char *at = here; stat(at, &st) == 0; at = aj_path_folder(at, arena)) {
		*AJ_PUSH(arena, &f->list) = st;
		if (!top || strcmp(at, top) == 0 || strcmp(at, "/") == 0)
			break;
	}
	return here;
}

static bool is_among(const struct folders *f, const struct aj_change_record *r)
{
	bool found = false;
	for (size_t i = 0; i < f->list.count && !found; i++)
		found = f->list.items[i].st_dev == r->device && f->list.items[i].st_ino == r->inode;
	return found;
}

int aj_changes_newest(int all, struct aj_arena *arena, char ret[AJ_CHANGES_ID], struct aj_error *err)
{
	struct folders folders = { 0 };
	struct aj_entries names = { 0 };
	int64_t newest_ns = 0;
	const char *here = find_folders(&folders, arena);
	if (!here)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "find the current folder");
	if (all >= 0 && aj_entries_read(all, &names) < 0)
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno, "list the runs");
	for (size_t i = 0; i < names.count; i++) {
		struct aj_change_state s = AJ_NO_CHANGE_STATE;
		struct aj_error unreadable = { 0 }; /* `changes list` shows the error */
		if (aj_changes_id_valid(names.items[i]) && aj_change_state_open(all, names.items[i], &s, &unreadable) == 0 &&
		    is_among(&folders, &s.record) && s.record.started_ns > newest_ns) {
			newest_ns = s.record.started_ns;
			memcpy(ret, s.id, AJ_CHANGES_ID);
		}
		aj_change_state_close(&s);
	}
	aj_entries_free(&names);
	if (newest_ns)
		return 0;
	aj_fail(err, AJ_EXIT_USAGE, "changes", 0, "no run has left changes of the folder `%s`%s", here,
	        folders.list.count > 1 ? " or of its repository" : "");
	aj_advise(err, "name a run by its ID: `agentjail changes list` shows the runs of all folders");
	return -1;
}
