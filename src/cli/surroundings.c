/* Gets from the caller what the policy names for a command: the working directory and environment variables.
 * It gets nothing for a snippet, and nothing that a command-line option has set. */
#include "cli/surroundings.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/path.h"
#include "workspace/location.h"
#include "workspace/repository.h"

/* Use the root of the repository around the working directory, if it may be a workspace. */
static void take_repository(struct aj_options *o)
{
	struct aj_error ignored = { 0 };
	char *cwd = getcwd(NULL, 0);
	struct aj_repository found = cwd ? aj_repository_around(cwd, o->arena) : (struct aj_repository){ 0 };
	struct aj_request probe = { .workspace = found.root, .workspace_around = true, .may_hold = true };
	if (found.root && strcmp(found.root, cwd) != 0 &&
	    aj_places_check(&probe, &o->loaded, &o->site, o->arena, &ignored) == 0) {
		o->request.workspace = probe.workspace;
		o->request.workspace_around = true;
	}
	free(cwd);
}

void aj_surroundings_take(struct aj_options *o)
{
	const struct aj_policy *p = &o->loaded.policy;
	struct aj_request *request = &o->request;
	if (!request->workspace && p->workspace_here && p->workspace != AJ_WORKSPACE_NONE) {
		request->workspace = ".";
		if (p->workspace_repository)
			take_repository(o);
	}
	/* Before the options' own, so that these win. */
	AJ_LIST(const char *) asked = { 0 };
	for (size_t i = 0; i < p->pass_env.count; i++) {
		const char *value = getenv(p->pass_env.items[i]);
		if (value)
			*AJ_PUSH(o->arena, &asked) = aj_printf(o->arena, "%s=%s", p->pass_env.items[i], value);
	}
	for (size_t i = 0; i < request->env.count; i++)
		*AJ_PUSH(o->arena, &asked) = request->env.items[i];
	request->env.items = asked.items;
	request->env.count = asked.count;
	request->env.room = asked.room;
}

void aj_surroundings_start(struct aj_options *o)
{
	struct aj_request *request = &o->request;
	if (request->is_snippet || request->command.chdir || !request->workspace || o->loaded.policy.workspace_at != AJ_AT_SAME)
		return;
	char *cwd = getcwd(NULL, 0);
	if (cwd && aj_path_within(cwd, request->workspace))
		request->command.chdir = aj_strdup(o->arena, cwd);
	free(cwd);
}
