/* The effects of a run other than its result, line by line: refused system calls, changes to the workspace, files that came back.
 * It prints no text of a jail without escaping its control characters, and no more lines of a kind than fit on a screen. */
#include "cli/terminal/summary.h"

#include <stdio.h>
#include <string.h>

#include "cli/changes/changescmd.h"
#include "cli/terminal/findings.h"

enum { MOST_VIOLATIONS = 10, MOST_CHANGES = 20 };

/* `what`: "was refused", say. */
static void show_host(FILE *out, struct aj_arena *arena, const json_t *one, const char *what)
{
	const char *host = json_string_value(json_object_get(one, "host")), *why = json_string_value(json_object_get(one, "why"));
	json_int_t port = json_integer_value(json_object_get(one, "port"));
	const char *at = port ? aj_printf(arena, ":%lld", (long long)port) : "";
	const char *instead = json_string_value(json_object_get(one, "instead"));
	fprintf(out, "agentjail: %s%s %s: %s\n", aj_line(arena, host), at, what, aj_line(arena, why));
	if (instead)
		fprintf(out, "  hint: %s\n", aj_line(arena, instead));
}

void aj_show_violations(FILE *out, const json_t *list)
{
	struct aj_arena arena = { 0 };
	const char *said = "";
	const json_t *one;
	size_t i;
	json_array_foreach(list, i, one) {
		if (i < MOST_VIOLATIONS && json_object_get(one, "host")) {
			show_host(out, &arena, one, "was refused");
			continue;
		}
		const char *name = json_string_value(json_object_get(one, "syscall")),
			   *why = json_string_value(json_object_get(one, "why")),
			   *instead = json_string_value(json_object_get(one, "instead"));
		if (i == MOST_VIOLATIONS || !name || !why)
			break;
		fprintf(out, "agentjail: refused by the kernel: %s x%lld (%s)\n", aj_line(&arena, name),
		        (long long)json_integer_value(json_object_get(one, "count")), aj_line(&arena, why));
		if (instead && strcmp(said, instead) != 0)
			fprintf(out, "  hint: %s\n", aj_line(&arena, instead));
		said = instead ? instead : "";
	}
	aj_arena_free(&arena);
}

void aj_show_hint(FILE *out, const char *hint)
{
	struct aj_arena arena = { 0 };
	if (hint)
		fprintf(out, "agentjail: hint: %s\n", aj_line(&arena, hint));
	aj_arena_free(&arena);
}

void aj_show_refusals(FILE *out, const struct aj_result *result)
{
	json_t *violations = aj_violations_json(&result->violations);
	aj_show_violations(out, violations);
	json_decref(violations);
	aj_show_hint(out, result->hint[0] ? result->hint : NULL);
}

void aj_show_limits(FILE *out, const struct aj_result *r)
{
	static const struct {
		const char *name, *key; /* of the policy */
	} keys[] = {
		{ "wall_clock", "limits.wall" },   { "cpu_time", "limits.cpu" },        { "memory", "limits.memory" },
		{ "pids", "limits.pids" },         { "file_size", "limits.file_size" }, { "workspace", "limits.workspace" },
		{ "disk", "filesystem.tmp_size" }, { "output", "output.total" },
	};
	for (size_t i = 0; i < r->limits_hit_count; i++) {
		const char *name = r->limits_hit[i], *key = NULL;
		bool by_host = r->status == AJ_STATUS_OOM &&
		               strcmp(name, "memory") != 0; /* the host's memory is no limit of the jail's */
		if (i == 0 && !by_host &&
		    (r->status == AJ_STATUS_TIMEOUT || r->status == AJ_STATUS_OOM || r->status == AJ_STATUS_LIMIT))
			continue;
		for (size_t k = 0; k < sizeof keys / sizeof *keys && !key; k++)
			key = strcmp(keys[k].name, name) == 0 ? keys[k].key : NULL;
		fprintf(out, "agentjail: limit hit: %s%s%s, and the run went on\n", name, key ? ", set by " : "", key ? key : "");
	}
}

void aj_show_network(FILE *out, const struct aj_network_use *network)
{
	struct aj_arena arena = { 0 };
	json_t *refused = json_array(), *doc = aj_network_json(network), *one;
	size_t i;
	aj_network_add_violations(network, refused);
	aj_show_violations(out, refused);
	json_array_foreach(json_object_get(doc, "failed"), i, one)
		if (i < MOST_VIOLATIONS)
			show_host(out, &arena, one, "was not connected");
	json_decref(refused);
	json_decref(doc);
	aj_arena_free(&arena);
}

void aj_show_escapes(FILE *out, const uint64_t left_out[AJ_ESCAPE_KINDS], bool all)
{
	bool any = false;
	for (int i = 0; i < AJ_ESCAPE_KINDS; i++) {
		if (!left_out[i] || !(all || aj_escape_rows[i].always_shown))
			continue;
		fprintf(out, "agentjail: left out of the terminal: %s x%lu (%s)\n", aj_escape_rows[i].name, left_out[i],
		        aj_escape_rows[i].why);
		any = true;
	}
	if (any)
		fprintf(out, "  hint: to trust the command with the terminal, set terminal.escapes = \"all\" in its policy\n");
}

static void show_moved(FILE *out, struct aj_arena *arena, const json_t *item)
{
	const char *to = json_string_value(json_object_get(item, "moved_to")),
		   *why = json_string_value(json_object_get(item, "not_moved"));
	if (to)
		fprintf(out, "  renamed to: `%s`\n", aj_line(arena, to));
	if (why)
		fprintf(out, "  not renamed: %s\n", why);
}

static void show_change(FILE *out, struct aj_arena *arena, const json_t *item)
{
	fprintf(out, "agentjail: workspace: `%s`: %s; review it before a program of the host uses it\n",
	        aj_line(arena, json_string_value(json_object_get(item, "path"))),
	        aj_line(arena, json_string_value(json_object_get(item, "what"))));
	show_moved(out, arena, item);
}

static void show_repository(FILE *out, struct aj_arena *arena, const json_t *item)
{
	const json_t *runs = json_object_get(item, "runs"), *run;
	size_t i;
	fprintf(out, "agentjail: workspace: repository `%s` (%s): %s; ",
	        aj_line(arena, json_string_value(json_object_get(item, "path"))),
	        json_string_value(json_object_get(item, "kind")), json_string_value(json_object_get(item, "what")));
	if (json_array_size(runs) == 0)
		fprintf(out, "its configuration runs no program\n");
	else
		fprintf(out, "review this before you run git there:\n");
	json_array_foreach(runs, i, run)
		if (i < MOST_CHANGES)
			fprintf(out, "  %s: %s\n", aj_line(arena, json_string_value(json_object_get(run, "by"))),
			        aj_line(arena, json_string_value(json_object_get(run, "value"))));
	show_moved(out, arena, item);
}

static bool list_contains(const json_t *list, const json_t *item)
{
	for (size_t i = 0; i < json_array_size(list); i++)
		if (json_equal(json_array_get(list, i), item))
			return true;
	return false;
}

void aj_show_workspace(FILE *out, const json_t *report, const json_t *earlier)
{
	static const struct {
		const char *key;
		void (*show)(FILE *out, struct aj_arena *arena, const json_t *item);
	} lists[] = { { "changed", show_change }, { "repositories", show_repository } };
	struct aj_arena arena = { 0 };
	size_t at;
	json_t *item;
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
		const json_t *list = json_object_get(report, lists[i].key), *old = json_object_get(earlier, lists[i].key);
		size_t shown = 0;
		json_array_foreach(list, at, item)
			if (!list_contains(old, item) && ++shown <= MOST_CHANGES)
				lists[i].show(out, &arena, item);
		if (shown > MOST_CHANGES)
			fprintf(out, "agentjail: workspace: %zu more; --json names them\n", shown - MOST_CHANGES);
	}
	const char *why = json_string_value(json_object_get(report, "why"));
	if (why && !json_equal(json_object_get(earlier, "why"), json_object_get(report, "why")))
		fprintf(out, "agentjail: workspace: the search was not complete: %s\n", aj_line(&arena, why));
	aj_arena_free(&arena);
}

void aj_show_changes(FILE *out, const json_t *changes)
{
	const char *id = json_string_value(json_object_get(changes, "id"));
	const struct aj_tally tally = { .files = (size_t)json_integer_value(json_object_get(changes, "files")),
		                        .repositories = (size_t)json_integer_value(json_object_get(changes, "repositories")) };
	const char *least = json_is_true(json_object_get(changes, "more")) ? "at least " : "";
	char files[64];
	if (id && (tally.files || tally.repositories))
		fprintf(out, "agentjail: %s%s changed: agentjail changes show %s\n", least, aj_tally_text(&tally, files), id);
	else if (id)
		fprintf(out, "agentjail: folders of the workspace changed: agentjail changes show %s\n", id);
}

void aj_show_files(FILE *out, const struct aj_result *r, const char *folder)
{
	struct aj_arena arena = { 0 };
	size_t i;
	json_t *one;
	json_array_foreach(r->files, i, one)
		if (i < MOST_CHANGES)
			fprintf(out, "agentjail: file `%s/%s`: %lld bytes, %s\n", aj_line(&arena, folder),
			        aj_line(&arena, json_string_value(json_object_get(one, "name"))),
			        (long long)json_integer_value(json_object_get(one, "size")),
			        json_string_value(json_object_get(one, "media_type")));
	if (json_array_size(r->files) > MOST_CHANGES)
		fprintf(out, "agentjail: and %zu more files\n", json_array_size(r->files) - MOST_CHANGES);
	json_array_foreach(r->files_skipped, i, one)
		fprintf(out, "agentjail: /output/%s was left out: %s\n",
		        aj_line(&arena, json_string_value(json_object_get(one, "name"))),
		        json_string_value(json_object_get(one, "why")));
	aj_arena_free(&arena);
}
