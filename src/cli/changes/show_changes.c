/* `agentjail changes show`: one line for each change, or for each folder that git ignores, then those that require approval or
 * are refused once more, with the reasons. Lines are printed as they are found, so memory does not grow with the number of
 * changes. */
#include <stdlib.h>
#include <string.h>

#include "cli/changes/commits.h"
#include "cli/changes/fold.h"
#include "cli/terminal/findings.h"

enum { NOT_APPLIED_MAX = 1000, COMMITS_MAX = 50 };

/* A change that is held or refused. */
struct not_applied {
	const char *path, *why;
	bool refused;
};

struct show {
	const struct aj_changes_args *args;
	struct aj_tally tally;
	size_t count;
	bool folded;
	AJ_LIST(struct not_applied) not_applied;
	struct aj_arena arena;
	struct aj_commit_lists commits;
};

static int on_row(void *arg, const struct aj_change_row *row)
{
	struct show *s = arg;
	const struct aj_change *c = row->change;
	aj_tally_join(&s->tally, &row->tally);
	s->folded |= !c;
	if (c)
		aj_commits_note(&s->commits, c);
	if (s->args->json) {
		json_t *member = aj_change_json(c);
		json_object_set_new(member, "ignored", json_boolean(row->ignored));
		fputs(s->count++ ? ",\n" : "\n", stdout);
		json_dumpf(member, stdout, JSON_COMPACT);
		json_decref(member);
		return 0;
	}
	if (c && (c->held || c->refused) && s->not_applied.count < NOT_APPLIED_MAX)
		*AJ_PUSH(&s->arena, &s->not_applied) = (struct not_applied){ aj_strdup(&s->arena, c->path),
			                                                     c->refused ? c->refused : c->held,
			                                                     c->refused != NULL };
	aj_change_row_print(row, stdout);
	return 0;
}

static void print_not_applied(const struct show *s, bool refused, size_t count, const char *head)
{
	size_t shown = 0;
	if (!count)
		return;
	printf("\n%s\n", head);
	for (size_t i = 0; i < s->not_applied.count; i++)
		if (s->not_applied.items[i].refused == refused) {
			printf("!  ");
			aj_path_print(s->not_applied.items[i].path, stdout);
			printf("  %s\n", s->not_applied.items[i].why);
			shown++;
		}
	if (shown < count)
		printf("   and %zu more\n", count - shown);
}

static void print_sum(const struct show *s)
{
	char files[64];
	const struct aj_tally *t = &s->tally;
	if (!t->files && !t->folders && !t->repositories) {
		printf("no changes are left\n");
		return;
	}
	printf("\n%s", aj_tally_text(t, files));
	aj_tally_print_kinds(t, stdout);
	if (t->folders && (t->files || t->repositories))
		printf("; %zu folder%s", t->folders, t->folders == 1 ? "" : "s");
	printf(s->folded ? "; --all lists the ignored ones, too\n" : "\n");
}

static void print_head(const struct aj_change_state *state)
{
	struct aj_arena arena = { 0 };
	char began[40];
	printf("run %s of policy %s, %s, %s, in ", state->id, aj_line(&arena, state->record.policy),
	       aj_time_text(state->record.started_ns, false, began), aj_change_state_name(state));
	aj_path_print(state->record.workspace, stdout);
	printf(": %s\n\n", aj_line(&arena, state->record.command));
	aj_arena_free(&arena);
}

static json_t *sum_json(const struct aj_tally *t)
{
	json_t *sum = json_pack("{s:I, s:I}", "files", (json_int_t)t->files, "repositories", (json_int_t)t->repositories);
	for (int k = 0; k < AJ_CHANGE_KINDS; k++)
		json_object_set_new(sum, aj_change_kind_name(k),
		                    json_integer((json_int_t)t->kinds[k] + (json_int_t)t->folder_kinds[k]));
	json_object_update_new(sum, json_pack("{s:I, s:I, s:I}", "conflicts", (json_int_t)t->conflicts, "held",
	                                      (json_int_t)t->held, "refused", (json_int_t)t->refused));
	return sum;
}

int aj_changes_show(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct show s = { .args = args };
	if (args->json)
		printf("{\"id\":\"%s\",\"state\":\"%s\",\"changes\":[", state->id, aj_change_state_name(state));
	else
		print_head(state);
	int result = aj_changes_rows(args, state, args->json || args->unfolded || args->paths_count ? AJ_FOLD_NONE : AJ_FOLD_ALL,
	                             on_row, &s, err);
	if (result == 0 && args->json) {
		json_t *sum = sum_json(&s.tally);
		json_t *commits = aj_commits_json(&s.commits, state);
		printf("],\"repositories\":");
		json_dumpf(commits, stdout, JSON_COMPACT);
		printf(",\"sum\":");
		json_dumpf(sum, stdout, JSON_COMPACT);
		printf("}\n");
		json_decref(sum);
		json_decref(commits);
	} else if (result == 0) {
		print_not_applied(&s, false, s.tally.held, "held, and applied only by a PATH of their own:");
		print_not_applied(&s, true, s.tally.refused, "never applied:");
		aj_commits_print(&s.commits, state, COMMITS_MAX, stdout);
		print_sum(&s);
	}
	aj_commits_free(&s.commits);
	aj_arena_free(&s.arena);
	return result;
}
