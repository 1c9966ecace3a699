/* `agentjail homes list|remove`: the homes that runs keep under filesystem.home = "kept".
 * It opens no file in them: a person who wants to see what an agent left looks below the path that the list names. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/json/json.h"
#include "cli/command.h"
#include "cli/terminal/findings.h"
#include "workspace/home/kept.h"

static const char *time_text(int64_t seconds, char out[32])
{
	time_t at = (time_t)seconds;
	struct tm utc;
	strftime(out, 32, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&at, &utc));
	return seconds ? out : "-";
}

static int list(bool as_json, struct aj_arena *arena, struct aj_error *err)
{
	aj_kept_list kept;
	char used[32];
	if (aj_kept_list_all(&kept, arena, err) < 0)
		return -1;
	json_t *all = as_json ? json_array() : NULL;
	for (size_t i = 0; i < kept.count; i++) {
		const struct aj_kept *k = &kept.items[i];
		if (as_json)
			json_array_append_new(all, json_pack("{s:s, s:s, s:s, s:s, s:s, s:b}", "name", k->name, "path", k->path,
			                                     "policy", k->policy, "workspace", k->workspace, "used",
			                                     time_text(k->used_s, used), "in_use", k->in_use));
		else
			printf("%-30s %s  %s%s\n", aj_line(arena, k->name), time_text(k->used_s, used),
			       aj_line(arena, *k->workspace ? k->workspace : "-"), k->in_use ? "  (in use)" : "");
	}
	if (as_json) {
		json_dumpf(all, stdout, JSON_COMPACT);
		putchar('\n');
	}
	json_decref(all);
	return 0;
}

static int remove_all(struct aj_arena *arena, struct aj_error *err)
{
	aj_kept_list kept;
	if (aj_kept_list_all(&kept, arena, err) < 0)
		return -1;
	for (size_t i = 0; i < kept.count; i++)
		if (aj_kept_remove(kept.items[i].name, arena, err) < 0)
			return -1;
	return 0;
}

int aj_cmd_homes(int argc, char **argv)
{
	struct aj_arena arena = { 0 };
	struct aj_error err = { 0 };
	const char *verb = argc > 1 ? argv[1] : "";
	bool help = strcmp(verb, "--help") == 0, json = argc == 3 && strcmp(argv[2], "--json") == 0;
	if (strcmp(verb, "list") == 0 && (argc == 2 || json)) {
		list(json, &arena, &err);
	} else if (strcmp(verb, "remove") == 0 && argc == 3 && strcmp(argv[2], "--all") == 0) {
		remove_all(&arena, &err);
	} else if (strcmp(verb, "remove") == 0 && argc > 2 && argv[2][0] != '-') {
		for (int i = 2; i < argc && !err.exit_code; i++)
			aj_kept_remove(argv[i], &arena, &err);
	} else {
		fprintf(help ? stdout : stderr,
		        "Usage: agentjail homes list [--json]\n       agentjail homes remove NAME... | --all\n\n"
		        "The homes that runs under filesystem.home = \"kept\" have: one for each policy and\n"
		        "workspace.\n");
		aj_arena_free(&arena);
		return help ? 0 : AJ_EXIT_USAGE;
	}
	int code = err.exit_code ? aj_print_error(&err) : 0;
	aj_arena_free(&arena);
	return code;
}
