/* Matches changes against paths. A change that requires approval needs a path that reaches into its protected place; a change in a
 * repository that is applied whole needs the repository's own path, or one above it.
 * It opens nothing. */
#include "workspace/changes/apply_select.h"

#include <string.h>

#include "base/path.h"

bool aj_select_covers(const char *path, const char *change)
{
	return strcmp(path, ".") == 0 ? change[0] != '/' : aj_path_within(change, path);
}

/* A new folder is needed by what is wanted below it. */
static bool needed_for(const struct aj_change *c, const char *path)
{
	bool makes = S_ISDIR(c->is.st_mode) && (c->kind == AJ_CHANGE_ADDED || c->kind == AJ_CHANGE_TYPE);
	return makes && aj_path_below(path, c->path);
}

static bool in_unit(const struct aj_change *c, const char *path)
{
	return c->unit_bytes && strlen(path) > c->unit_bytes && strncmp(path, c->path, c->unit_bytes) == 0 && path[c->unit_bytes] == '/';
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
		if (in_unit(c, path)) {
			if (whole)
				s->inside = path;
			continue;
		}
		if (!whole && !needed_for(c, path))
			continue;
		if (!whole || aj_select_names(path, c))
			found = AJ_SELECTED;
		else if (found == AJ_SELECTED_NOT)
			found = AJ_SELECTED_WITHOUT_APPROVAL;
	}
	return found;
}
