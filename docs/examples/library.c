/* cc library.c $(pkg-config --cflags --libs agentjail) -o library && ./library */
#include <agentjail.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *search(void *arg, const char *args_json, char **error)
{
	(void)arg, (void)error; /* to fail: *error = strdup("why"), and return NULL */
	fprintf(stderr, "searching: %s\n", args_json);
	return strdup("[\"a jail\", \"a sandbox\"]");
}

int main(void)
{
	struct agentjail_error err;
	struct agentjail_options options = { .size = sizeof options, .policy = "snippet", .parked = 2 };
	struct agentjail_tool tool = { .size = sizeof tool, .name = "search", .description = "Titles, best first.", .call = search,
		                       .parameters = "{\"type\":\"object\",\"properties\":{\"q\":{\"type\":\"string\"}}}" };
	struct agentjail_snippet code = { .size = sizeof code, .code = "hits = search(q='walls')\nprint(len(hits))\nhits[0].upper()" };
	struct agentjail_snippet more = { .size = sizeof more, .code = "len(hits) * factor", .variables = "{\"factor\":21}" };
	agentjail *jails = agentjail_open(&options, &err);
	agentjail_session *session = NULL;
	agentjail_result *one = NULL, *two = NULL;
	if (jails && agentjail_add_tool(jails, &tool, &err) == 0 && (session = agentjail_session_open(jails, NULL, &err)) &&
	    (one = agentjail_session_run(session, &code, &err)) && (two = agentjail_session_run(session, &more, &err)))
		printf("%s%s\n%s\n", agentjail_result_get(one, "stdout"), agentjail_result_get(one, "value"),
		       agentjail_result_json(two));
	else
		fprintf(stderr, "%s: %s\n  fix: %s\n", err.step, err.cause, err.fix);
	agentjail_result_free(one);
	agentjail_result_free(two);
	agentjail_session_close(session);
	agentjail_close(jails);
	return two ? EXIT_SUCCESS : EXIT_FAILURE;
}
