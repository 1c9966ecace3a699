/* Takes for a command from where its caller stands what the policy names: the working directory and variables.
 * It takes nothing for a snippet, and nothing that an option of the command line has set. */
#include "cli/surroundings.h"

#include <stdlib.h>
#include <unistd.h>

#include "base/path.h"

void aj_surroundings_take(struct aj_options *o)
{
	const struct aj_policy *p = &o->loaded.policy;
	struct aj_request *request = &o->request;
	if (!request->workspace && p->workspace_here && p->workspace != AJ_WORKSPACE_NONE)
		request->workspace = ".";
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
	if (request->snippet || request->chdir || !request->workspace || o->loaded.policy.workspace_at != AJ_AT_SAME)
		return;
	char *cwd = getcwd(NULL, 0);
	if (cwd && aj_path_within(cwd, request->workspace))
		request->chdir = aj_strdup(o->arena, cwd);
	free(cwd);
}
