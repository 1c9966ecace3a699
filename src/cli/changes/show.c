/* `agentjail changes show`: one line for each change, then those that require approval or are refused once more, with the reasons.
 * Lines are printed as they are found, so memory does not grow with the number of changes. */
#include <stdlib.h>
#include <string.h>

#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/walk.h"

enum { NOT_APPLIED_MAX = 1000 };

/* A change that is held or refused. */
struct not_applied {
	const char *path, *why;
	bool refused;
};

struct show {
	const struct aj_changes_args *args;
	size_t kinds[AJ_CHANGE_KINDS], conflicts, needs_approval, refused, count;
	AJ_LIST(struct not_applied) not_applied;
	struct aj_arena arena;
};

static bool is_wanted(const struct aj_changes_args *args, const char *path)
{
	bool found = args->paths_count == 0;
	for (size_t i = 0; i < args->paths_count && !found; i++)
		found = aj_select_covers(args->paths[i], path);
	return found;
}

static int on_change(void *arg, const struct aj_change *c)
{
	struct show *s = arg;
	if (!is_wanted(s->args, c->path))
		return 0;
	s->kinds[c->kind]++;
	s->conflicts += c->conflict != NULL;
	s->needs_approval += c->held != NULL;
	s->refused += c->refused != NULL;
	if (s->args->json) {
		json_t *row = aj_change_json(c);
		fputs(s->count++ ? ",\n" : "\n", stdout);
		json_dumpf(row, stdout, JSON_COMPACT);
		json_decref(row);
		return 0;
	}
	if ((c->held || c->refused) && s->not_applied.count < NOT_APPLIED_MAX)
		*AJ_PUSH(&s->arena, &s->not_applied) = (struct not_applied){ aj_strdup(&s->arena, c->path),
			                                                     c->refused ? c->refused : c->held, c->refused != NULL };
	aj_change_print(c, stdout);
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
	size_t all = 0;
	for (int k = 0; k < AJ_CHANGE_KINDS; k++)
		all += s->kinds[k];
	if (!all) {
		printf("no changes are left\n");
		return;
	}
	printf("\n%zu added, %zu modified, %zu deleted, %zu of another type, %zu with another mode", s->kinds[AJ_CHANGE_ADDED],
	       s->kinds[AJ_CHANGE_MODIFIED], s->kinds[AJ_CHANGE_DELETED], s->kinds[AJ_CHANGE_TYPE], s->kinds[AJ_CHANGE_MODE]);
	printf("; %zu in conflict, %zu held, %zu refused\n", s->conflicts, s->needs_approval, s->refused);
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

static json_t *sum_json(const struct show *s)
{
	json_t *sum = json_object();
	for (int k = 0; k < AJ_CHANGE_KINDS; k++)
		json_object_set_new(sum, aj_change_kind_name(k), json_integer((json_int_t)s->kinds[k]));
	json_object_update_new(sum, json_pack("{s:I, s:I, s:I}", "conflicts", (json_int_t)s->conflicts, "held",
	                                      (json_int_t)s->needs_approval, "refused", (json_int_t)s->refused));
	return sum;
}

int aj_changes_show(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct show s = { .args = args };
	if (args->json) {
		printf("{\"id\":\"%s\",\"state\":\"%s\",\"changes\":[", state->id, aj_change_state_name(state));
	} else {
		print_head(state);
	}
	int result = aj_changes_walk(state, on_change, &s, err);
	if (result == 0 && args->json) {
		json_t *sum = sum_json(&s);
		printf("],\"sum\":");
		json_dumpf(sum, stdout, JSON_COMPACT);
		printf("}\n");
		json_decref(sum);
	} else if (result == 0) {
		print_not_applied(&s, false, s.needs_approval, "held, and applied only by a PATH of their own:");
		print_not_applied(&s, true, s.refused, "never applied:");
		print_sum(&s);
	}
	aj_arena_free(&s.arena);
	return result;
}
