/* Finds earlier runs on a workspace with unapplied changes, which a run that starts now does not see.
 * It reads only records, compares no file, and ignores runs that are still running. */
#include "workspace/staging/earlier_runs.h"

#include <stdio.h>
#include <string.h>

#include "base/fd.h"
#include "base/tree/node.h"
#include "workspace/changes/run_state.h"

bool aj_earlier_runs_text(int all, const char *own, const struct aj_staging_record *run, char out[AJ_EARLIER_RUNS_TEXT])
{
	struct aj_entries names;
	char newest[AJ_CHANGES_ID] = "";
	int64_t newest_ns = 0;
	bool same_mode = false;
	size_t count = 0;
	if (aj_entries_read(all, &names) < 0)
		return false;
	for (size_t i = 0; i < names.count; i++) {
		struct aj_change_state s = AJ_NO_CHANGE_STATE;
		struct aj_error unreadable = { 0 }; /* `changes list` shows the error */
		if (strcmp(names.items[i], own) == 0 || !aj_changes_id_valid(names.items[i]))
			continue;
		const struct aj_change_record *r = &s.record;
		/* After an apply or a discard of some changes the person knows of the others. */
		if (aj_change_state_open(all, names.items[i], &s, &unreadable) == 0 && !s.running && !s.interrupted &&
		    s.marks.count == 0 && r->device == run->device && r->inode == run->inode) {
			count++;
			if (r->started_ns >= newest_ns) {
				newest_ns = r->started_ns;
				same_mode = r->copy == run->copy && r->direct == run->direct;
				memcpy(newest, s.id, sizeof newest);
			}
		}
		aj_change_state_close(&s);
	}
	aj_entries_free(&names);
	if (!count)
		return false;
	_Static_assert(AJ_CHANGES_ID <= 128, "all of it has room");
	int n = snprintf(out, AJ_EARLIER_RUNS_TEXT, "the changes of run `%s` wait, and this run does not see them: ", newest);
	if (same_mode)
		n += snprintf(out + n, AJ_EARLIER_RUNS_TEXT - (size_t)n, "`--changes %s` continues with them, ", newest);
	n += snprintf(out + n, AJ_EARLIER_RUNS_TEXT - (size_t)n, "`agentjail changes apply %s` takes them", newest);
	if (count > 1)
		snprintf(out + n, AJ_EARLIER_RUNS_TEXT - (size_t)n,
		         "; so do those of earlier runs (%zu), which `agentjail changes list` names", count - 1);
	return true;
}
