/* Matches changes against paths. A change that requires approval needs a path that reaches into its protected place.
 * It opens nothing. */
#include "workspace/changes/apply_select.h"

#include <string.h>

#include "base/path.h"
#include "workspace/changes/repositories.h"

bool aj_select_covers(const char *path, const char *change)
{
	return strcmp(path, ".") == 0 ? change[0] != '/' : aj_path_within(change, path);
}

/* A new folder is needed by what is wanted below it. */
static bool needed_for(const struct aj_change *c, const char *path)
{
	bool makes = !c->repository && S_ISDIR(c->is.st_mode) && (c->kind == AJ_CHANGE_ADDED || c->kind == AJ_CHANGE_TYPE);
	return makes && aj_path_below(path, c->path);
}

bool aj_select_names(const char *path, const struct aj_change *c)
{
	/* `.` does not name a place, even one whose name is a single letter. */
	return aj_select_covers(path, c->path) && (!c->held || (strcmp(path, ".") != 0 && strlen(path) >= c->held_bytes));
}

enum aj_selected aj_select(struct aj_selection *s, const struct aj_change *c)
{
	enum aj_selected found = s->paths_count ? AJ_SELECTED_NOT : c->held ? AJ_SELECTED_WITHOUT_APPROVAL : AJ_SELECTED;
	for (size_t i = 0; i < s->paths_count; i++) {
		const char *path = s->paths[i];
		bool whole = aj_select_covers(path, c->path);
		s->met[i] |= whole;
		if (c->repository && aj_repository_holds(c->path, path) && strcmp(c->path, path) != 0)
			s->inside = path;
		if (!whole && !needed_for(c, path))
			continue;
		if (!whole || aj_select_names(path, c))
			found = AJ_SELECTED;
		else if (found == AJ_SELECTED_NOT)
			found = AJ_SELECTED_WITHOUT_APPROVAL;
	}
	return found;
}
