/* Looks for the repository around a workspace, as git does. */
#include "cli/changes/host_repository.h"

#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "workspace/repository.h"

void aj_host_repository_find(const struct aj_change_record *record, struct aj_arena *arena, struct aj_host_repository *ret)
{
	struct aj_repository found = aj_repository_around(record->workspace, arena);
	*ret = (struct aj_host_repository){ 0 };
	if (!found.root)
		return;
	const char *inside = aj_path_rest(record->workspace, found.root);
	ret->git = found.git ? found.git : aj_repository_git_folder(found.root, arena);
	ret->tree = found.root;
	const char *worktrees = ret->git ? aj_path_folder(ret->git, arena) : NULL;
	if (worktrees && strcmp(strrchr(worktrees, '/') ? strrchr(worktrees, '/') : "", "/worktrees") == 0 &&
	    access(aj_printf(arena, "%s/commondir", ret->git), F_OK) == 0)
		ret->common = aj_path_folder(worktrees, arena);
	ret->inside = inside && *inside ? aj_printf(arena, "%s/", inside + strspn(inside, "/")) : "";
}
