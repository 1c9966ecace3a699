/* `agentjail changes fetch`: takes the commits of a run into refs/agentjail/ID/ of the host's repositories, and lists them. */
#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"
#include "workspace/changes/apply_select.h"
#include "workspace/changes/history.h"
#include "workspace/changes/walk.h"

enum { SHOWN_MAX = 30, SHORT_OID = 12 };

static const char *const verdict_names[AJ_HISTORY_VERDICTS] = {
	"same", "forward", "apart", "new", "made", "deleted", "unreadable"
};

struct fetch_search {
	const struct aj_changes_args *args;
	AJ_LIST(const char *) found;
};

static int on_change(void *arg, const struct aj_change *c)
{
	struct fetch_search *s = arg;
	bool wanted = c->repository && c->kind != AJ_CHANGE_DELETED && s->args->paths_count == 0;
	for (size_t i = 0; i < s->args->paths_count && c->repository; i++)
		wanted |= aj_select_covers(s->args->paths[i], c->path);
	if (wanted)
		*AJ_PUSH(s->args->arena, &s->found) = aj_strdup(s->args->arena, c->path);
	return 0;
}

/* --- for programs --- */

static json_t *text_or_null(const char *text)
{
	return text ? aj_json_text(text, strlen(text)) : json_null();
}

json_t *aj_history_json(const struct aj_history_repo *r)
{
	json_t *doc = json_object(), *refs = json_array();
	aj_change_set_path(doc, r->git);
	json_object_set_new(doc, "verdict", json_string(verdict_names[r->verdict]));
	json_object_set_new(doc, "why", text_or_null(r->why));
	json_object_set_new(doc, "branch", text_or_null(r->branch));
	json_object_set_new(doc, "run_branch", text_or_null(r->run_branch));
	json_object_set_new(doc, "host", text_or_null(r->host_oid));
	json_object_set_new(doc, "run", text_or_null(r->run_oid));
	json_object_set_new(doc, "base", text_or_null(r->base_oid));
	json_object_set_new(doc, "command", text_or_null(r->command));
	json_object_set_new(doc, "left_out", json_integer((json_int_t)r->left_out));
	for (size_t i = 0; i < r->refs.count; i++) {
		const struct aj_history_ref *ref = &r->refs.items[i];
		json_array_append_new(refs,
		                      json_pack("{s:o, s:o, s:s, s:o}", "name", text_or_null(ref->name), "of",
		                                text_or_null(ref->named), "object", ref->oid, "was", text_or_null(ref->was)));
	}
	json_object_set_new(doc, "refs", refs);
	return doc;
}

static void print_json(const char *id, const struct aj_history *history)
{
	json_t *doc = json_pack("{s:s, s:o}", "id", id, "repositories", json_array());
	for (size_t i = 0; i < history->repos.count; i++)
		json_array_append_new(json_object_get(doc, "repositories"), aj_history_json(&history->repos.items[i]));
	json_dumpf(doc, stdout, JSON_COMPACT);
	putchar('\n');
	json_decref(doc);
}

/* --- for people --- */

static void print_repo(const struct aj_history_repo *r)
{
	aj_path_print(r->git, stdout);
	if (r->verdict == AJ_HISTORY_UNREADABLE || r->verdict == AJ_HISTORY_DELETED) {
		printf(": its history stays in the run: %s\n", r->why);
		return;
	}
	if (r->verdict == AJ_HISTORY_NEW) {
		printf(": the host has no such repository; named as a PATH it is made\n");
		return;
	}
	if (r->verdict == AJ_HISTORY_MADE) {
		printf(": made, with the run's branches and tags; its configuration, hooks and stash stay in the run\n");
		return;
	}
	printf(r->refs.count ? ":\n" : ": the host has all of it\n");
	for (size_t i = 0; i < r->refs.count && i < SHOWN_MAX; i++) {
		const struct aj_history_ref *ref = &r->refs.items[i];
		printf("  %s %.*s  ", ref->was ? "moved" : "new  ", SHORT_OID, ref->oid);
		aj_path_print(ref->name, stdout);
		putchar('\n');
	}
	if (r->refs.count > SHOWN_MAX)
		printf("  and %zu more\n", r->refs.count - SHOWN_MAX);
	if (r->left_out)
		printf("  %zu references with names that git does not accept stay in the run\n", r->left_out);
	if (r->command) {
		printf("  %s: ", r->why);
		aj_path_print(r->command, stdout);
		putchar('\n');
	}
}

/* What a person names, and the host does not have. */
static int make_named(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_history_repo *r,
                      struct aj_error *err)
{
	for (size_t i = 0; r->verdict == AJ_HISTORY_NEW && i < args->paths_count; i++)
		if (strcmp(args->paths[i], r->git) == 0) {
			if (aj_history_make(state, r, err) < 0)
				return -1;
			r->verdict = AJ_HISTORY_MADE;
		}
	return 0;
}

int aj_changes_fetch(const struct aj_changes_args *args, struct aj_change_state *state, struct aj_error *err)
{
	struct fetch_search search = { .args = args };
	struct aj_history history;
	bool failed = false;
	if (aj_changes_repositories(state, on_change, &search, err) < 0)
		return -1;
	aj_history_fetch(state, search.found.items, search.found.count, args->arena, &history);
	for (size_t i = 0; i < history.repos.count; i++) {
		if (make_named(args, state, &history.repos.items[i], err) < 0)
			return -1;
		failed |= history.repos.items[i].verdict == AJ_HISTORY_UNREADABLE;
		if (!args->json)
			print_repo(&history.repos.items[i]);
	}
	if (args->json)
		print_json(state->id, &history);
	else if (!history.repos.count)
		printf("the run changed no repository\n");
	return failed ? AJ_EXIT_ERROR : 0;
}
