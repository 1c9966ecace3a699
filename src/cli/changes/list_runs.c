/* `agentjail changes list`: one line for each run that has a state folder.
 * It locks no run and waits for none. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/tree/node.h"
#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"
#include "workspace/changes/walk.h"

/* Counting stops there: `show` counts all. */
enum { COUNT_MAX = 10000 };

struct run {
	struct aj_change_state state;
	struct aj_error err;
	struct aj_tally tally;
	size_t count;
};

static int count_change(void *arg, const struct aj_change *c)
{
	struct run *r = arg;
	r->count++;
	aj_tally_add(&r->tally, c);
	return r->count > COUNT_MAX ? -1 : 0;
}

static int newest_first(const void *a, const void *b)
{
	int64_t x = ((const struct run *)a)->state.record.started_ns, y = ((const struct run *)b)->state.record.started_ns;
	return (x < y) - (x > y);
}

static void read_run(int all, const char *id, struct run *r)
{
	*r = (struct run){ 0 };
	if (aj_change_state_open(all, id, &r->state, &r->err) == 0 && aj_change_state_trees(&r->state, &r->err) == 0)
		aj_changes_walk(&r->state, count_change, r, &r->err);
}

static void set_count(json_t *row, const struct run *r)
{
	json_object_set_new(row, "changes",
	                    r->err.exit_code ? json_null()
	                                     : json_integer((json_int_t)(r->count > COUNT_MAX ? COUNT_MAX : r->count)));
	json_object_set_new(row, "files", r->err.exit_code ? json_null() : json_integer((json_int_t)r->tally.files));
	json_object_set_new(row, "conflicts", r->err.exit_code ? json_null() : json_integer((json_int_t)r->tally.conflicts));
	json_object_set_new(row, "more", json_boolean(r->count > COUNT_MAX));
}

static json_t *run_json(const struct run *r)
{
	const struct aj_change_record *record = &r->state.record;
	char began[40], ended[40], why[600];
	json_t *row = json_pack("{s:s, s:s}", "id", r->state.id, "state", aj_change_state_name(&r->state));
	set_count(row, r);
	if (record->workspace)
		json_object_update_new(row, json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s}", "started",
		                                      aj_time_text(record->started_ns, true, began), "ended",
		                                      record->ended_ns ? aj_time_text(record->ended_ns, true, ended) : NULL,
		                                      "mode", record->copy ? "copy" : "overlay", "policy", record->policy,
		                                      "command", record->command, "workspace", record->workspace));
	json_object_set_new(row, "problem",
	                    r->err.exit_code ? json_string(aj_error_cause(&r->err, why, sizeof why)) : json_null());
	return row;
}

static void print_run(const struct run *r, struct aj_arena *arena)
{
	const struct aj_change_record *record = &r->state.record;
	char began[40], why[600], files[64];
	printf("%s  ", r->state.id);
	if (!record->workspace) {
		printf("%s\n", aj_line(arena, aj_error_cause(&r->err, why, sizeof why)));
		return;
	}
	printf("%s  %s  ", aj_time_text(record->started_ns, false, began), aj_change_state_name(&r->state));
	if (r->err.exit_code)
		printf("%s", aj_line(arena, aj_error_cause(&r->err, why, sizeof why)));
	else
		printf("%s%s", r->count > COUNT_MAX ? "at least " : "", r->count ? aj_tally_text(&r->tally, files) : "no changes");
	if (r->tally.conflicts && !r->err.exit_code)
		printf(", %zu in conflict", r->tally.conflicts);
	printf("  %s", aj_line(arena, record->workspace));
	printf("  %s:", aj_line(arena, record->policy));
	printf(" %s\n", aj_line(arena, record->command));
}

int aj_changes_list(const struct aj_changes_args *args, struct aj_error *err)
{
	struct aj_entries names = { 0 };
	size_t found = 0;
	cleanup_fd int all = aj_changes_folder(false);
	if ((all < 0 && errno != ENOENT) || (all >= 0 && aj_entries_read(all, &names) < 0))
		return aj_fail(err, AJ_EXIT_SETUP, "changes", errno,
		               "list the folder of the changes, $XDG_STATE_HOME/agentjail/changes");
	struct run *runs = calloc(names.count + 1, sizeof *runs);
	if (!runs)
		abort();
	for (size_t i = 0; i < names.count; i++)
		if (aj_changes_id_valid(names.items[i])) {
			read_run(all, names.items[i], &runs[found]);
			/* Of all runs at once there would be too many. */
			aj_close(&runs[found].state.view);
			aj_close(&runs[found].state.workspace);
			aj_close(&runs[found].state.dir);
			aj_close(&runs[found].state.lock);
			aj_base_free(&runs[found].state.base);
			aj_marks_free(&runs[found].state.marks);
			aj_marks_free(&runs[found].state.originals);
			found++;
		}
	if (found)
		qsort(runs, found, sizeof *runs, newest_first);
	json_t *list = json_array();
	for (size_t i = 0; i < found; i++) {
		if (args->json)
			json_array_append_new(list, run_json(&runs[i]));
		else
			print_run(&runs[i], args->arena);
		aj_change_state_close(&runs[i].state);
	}
	if (args->json) {
		json_t *doc = json_pack("{s:O}", "runs", list);
		json_dumpf(doc, stdout, JSON_COMPACT);
		putchar('\n');
		json_decref(doc);
	} else if (!found) {
		printf("no run has changes to apply\n");
	}
	json_decref(list);
	free(runs);
	aj_entries_free(&names);
	return 0;
}
