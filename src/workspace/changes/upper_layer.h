/* What overlayfs(5) leaves in an upper layer beside the entries themselves: whiteouts, opaque folders and the origin of a
 * copy. */
#pragma once
#include <stdbool.h>
#include <sys/stat.h>

/* Does the open folder hide all of the folder below it? */
bool aj_upper_is_opaque(int folder);
/* From the next mount on that one is seen through it. -1 with errno. */
int aj_upper_show_through(int folder);
/* May the open folder hold whiteouts that are files with an attribute? */
bool aj_upper_has_marked_whiteouts(int folder);
/* Does the entry say that the merged folder has none of its name? `marked`: the folder's aj_upper_has_marked_whiteouts().
 * `force`: see base/tree/node.h. */
bool aj_upper_is_whiteout(int dir, const char *name, const struct stat *st, bool marked, bool force);
/* Whether the entry was copied up from the lower layer; a file also from another name. */
bool aj_upper_was_copied_up(int dir, const char *name, mode_t mode, bool force);
