/* `agentjail changes list`: one line for each run that has a state folder, below the commit from which it went on where its
 * commits were fetched. It locks no run and waits for none. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fd.h"
#include "base/json/tree.h"
#include "base/tree/node.h"
#include "cli/changes/bases.h"
#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"
#include "workspace/changes/walk.h"

/* Counting stops there: `show` counts all. */
enum { COUNT_MAX = 10000, SHORT_OID = 12 };

struct run {
	struct aj_change_state state;
	struct aj_error err;
	struct aj_tally tally;
	size_t count;
	struct aj_run_base base;
	bool listed; /* below its base */
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

static json_t *base_json(const struct aj_run_base *base)
{
	json_t *branches = json_array();
	for (size_t i = 0; i < base->branches.count; i++) {
		const struct aj_run_branch *b = &base->branches.items[i];
		json_array_append_new(branches,
		                      json_pack("{s:o, s:s, s:o}", "name", aj_json_text(b->name, strlen(b->name)), "commit",
		                                b->oid, "subject", aj_json_text(b->subject, strlen(b->subject))));
	}
	return base->oid ? json_pack("{s:s, s:o, s:s, s:I, s:o}", "commit", base->oid, "subject",
	                             aj_json_text(base->subject, strlen(base->subject)), "date", base->date, "commits",
	                             (json_int_t)base->commits, "branches", branches)
	                 : (json_decref(branches), json_null());
}

static json_t *run_json(const struct run *r)
{
	const struct aj_change_record *record = &r->state.record;
	char began[40], ended[40], why[600];
	json_t *row = json_pack("{s:s, s:s}", "id", r->state.id, "state", aj_change_state_name(&r->state));
	set_count(row, r);
	if (record->workspace)
		json_object_update_new(row,
		                       json_pack("{s:s, s:s?, s:s, s:s, s:s, s:s}", "started",
		                                 aj_time_text(record->started_ns, true, began), "ended",
		                                 record->ended_ns ? aj_time_text(record->ended_ns, true, ended) : NULL, "mode",
		                                 aj_changes_mode_name(record->copy, record->direct), "policy", record->policy,
		                                 "command", record->command, "workspace", record->workspace));
	json_object_set_new(row, "base", base_json(&r->base));
	json_object_set_new(row, "problem",
	                    r->err.exit_code ? json_string(aj_error_cause(&r->err, why, sizeof why)) : json_null());
	return row;
}

static void print_json(const struct run *runs, size_t count)
{
	json_t *doc = json_pack("{s:[]}", "runs");
	for (size_t i = 0; i < count; i++)
		json_array_append_new(json_object_get(doc, "runs"), run_json(&runs[i]));
	json_dumpf(doc, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(doc);
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
		printf("%s%s", r->count > COUNT_MAX ? "at least " : "",
		       r->count ? aj_tally_text(&r->tally, files) : "no changes");
	if (r->tally.conflicts && !r->err.exit_code)
		printf(", %zu in conflict", r->tally.conflicts);
	if (r->base.commits)
		printf(", %zu commit%s", r->base.commits, r->base.commits == 1 ? "" : "s");
	printf("  %s", aj_line(arena, record->workspace));
	printf("  %s:", aj_line(arena, record->policy));
	printf(" %s\n", aj_line(arena, record->command));
}

/* --- the tree --- */

static bool same_base(const struct run *a, const struct run *b)
{
	return a->base.oid && b->base.oid && strcmp(a->base.oid, b->base.oid) == 0 && strcmp(a->base.tree, b->base.tree) == 0;
}

/* The commit from which the runs went on, and each run with its branches. `runs`: the first one, and those behind it. */
static void print_base(struct run *runs, size_t count, struct aj_arena *arena)
{
	const struct aj_run_base *base = &runs[0].base;
	size_t left = 0;
	printf("on %.*s %s %s, in ", SHORT_OID, base->oid, base->date, aj_line(arena, base->subject));
	aj_path_print(base->tree, stdout);
	putchar('\n');
	for (size_t i = 0; i < count; i++)
		left += same_base(&runs[0], &runs[i]);
	for (size_t i = 0; i < count; i++) {
		if (!same_base(&runs[0], &runs[i]))
			continue;
		runs[i].listed = true;
		left--;
		printf(left ? "|- " : "`- ");
		print_run(&runs[i], arena);
		for (size_t k = 0; k < runs[i].base.branches.count; k++) {
			const struct aj_run_branch *branch = &runs[i].base.branches.items[k];
			printf(left ? "|    " : "     ");
			printf("%s  ", aj_line(arena, branch->name));
			printf("%.*s %s\n", SHORT_OID, branch->oid, aj_line(arena, branch->subject));
		}
	}
}

/* Those whose commits were fetched, by where they began; then the others. */
static void print_runs(struct run *runs, size_t count, struct aj_arena *arena)
{
	bool tree = false;
	for (size_t i = 0; i < count; i++)
		if (runs[i].base.oid && !runs[i].listed) {
			print_base(&runs[i], count - i, arena);
			tree = true;
		}
	for (size_t i = 0; i < count; i++)
		if (!runs[i].listed) {
			printf(tree ? "\n" : "");
			tree = false;
			print_run(&runs[i], arena);
		}
	if (!count)
		printf("no run has changes to apply\n");
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
			aj_close(&runs[found].state.repository_view);
			aj_close(&runs[found].state.repository);
			aj_close(&runs[found].state.dir);
			aj_close(&runs[found].state.lock);
			aj_base_free(&runs[found].state.base);
			aj_marks_free(&runs[found].state.marks);
			aj_marks_free(&runs[found].state.originals);
			found++;
		}
	if (found)
		qsort(runs, found, sizeof *runs, newest_first);
	struct aj_run_bases bases = { 0 };
	for (size_t i = 0; i < found; i++)
		if (runs[i].state.record.workspace)
			aj_run_bases_of(&bases, &runs[i].state, &runs[i].base);
	if (args->json)
		print_json(runs, found);
	else
		print_runs(runs, found, args->arena);
	for (size_t i = 0; i < found; i++)
		aj_change_state_close(&runs[i].state);
	aj_run_bases_free(&bases);
	free(runs);
	aj_entries_free(&names);
	return 0;
}
