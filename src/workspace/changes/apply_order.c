/* Orders the changes of a repository as git writes them: objects come first, and what names them last, so that a git of the host that reads
 * meanwhile finds every object. It looks at paths alone, and decides nothing about what is applied. */
#include "workspace/changes/apply_order.h"

#include <string.h>

#include "base/path.h"

static const char *const data[] = { "objects", "refs", "HEAD", "packed-refs", "index", "logs", "ORIG_HEAD" };
enum { DATA = sizeof data / sizeof *data };

static enum aj_step_pass pass_below(const char *path)
{
	for (size_t i = 0; i < DATA; i++)
		if (aj_path_within(path, data[i]))
			return i == 0 ? AJ_PASS_GIT_OBJECTS : AJ_PASS_GIT_HEADS;
	return AJ_PASS_GIT;
}

/* A submodule has its repository in `modules`, and a linked worktree its own part in `worktrees`. One of them may be called `refs`, which
 * makes its objects late and breaks nothing. */
static enum aj_step_pass pass_in_repository(const char *path)
{
	enum aj_step_pass pass = pass_below(path);
	if (!aj_path_below(path, "modules") && !aj_path_below(path, "worktrees"))
		return pass;
	for (const char *at = strchr(path, '/'); at && pass == AJ_PASS_GIT; at = strchr(at + 1, '/'))
		pass = pass_below(at + 1);
	return pass;
}

enum aj_step_pass aj_apply_pass(const struct aj_change *c)
{
	if (c->kind == AJ_CHANGE_DELETED || S_ISDIR(c->was.st_mode))
		return AJ_PASS_LATE;
	if (!c->unit_bytes || !c->path[c->unit_bytes])
		return AJ_PASS_FILES;
	return pass_in_repository(c->path + c->unit_bytes + 1);
}
