/* The caller's tools: declared to sessions, and run after a turn of the loop.
 * Checks no arguments and no values: the session manager does. Never runs a tool from inside the loop. */
#include <stdlib.h>
#include <string.h>

#include "lib/api_inner.h"
#include "session/tools/tools.h"

static void release_tool(struct aj_lib_tool *tool)
{
	if (--tool->references)
		return;
	json_decref(tool->declaration);
	free(tool);
}

static struct aj_lib_tool *find_tool(const struct aj_lib_tools *tools, const char *name)
{
	for (size_t i = 0; i < tools->count; i++)
		if (strcmp(tools->items[i]->name, name) == 0)
			return tools->items[i];
	return NULL;
}

/* Takes the reference; replaces the tool of the same name. */
static void put_tool(struct aj_lib_tools *tools, struct aj_lib_tool *tool)
{
	for (size_t i = 0; i < tools->count; i++)
		if (strcmp(tools->items[i]->name, tool->name) == 0) {
			release_tool(tools->items[i]);
			tools->items[i] = tool;
			return;
		}
	tools->items = realloc(tools->items, (tools->count + 1) * sizeof *tools->items);
	if (!tools->items)
		abort();
	tools->items[tools->count++] = tool;
}

void aj_lib_tools_copy(struct aj_lib_tools *to, const struct aj_lib_tools *from)
{
	for (size_t i = 0; i < from->count; i++) {
		from->items[i]->references++;
		put_tool(to, from->items[i]);
	}
}

void aj_lib_tools_free(struct aj_lib_tools *tools)
{
	for (size_t i = 0; i < tools->count; i++)
		release_tool(tools->items[i]);
	free(tools->items);
	*tools = (struct aj_lib_tools){ 0 };
}

int aj_lib_tools_declare(const struct aj_lib_tools *tools, struct aj_session *inner, struct aj_error *err)
{
	json_t *list = json_array();
	for (size_t i = 0; i < tools->count; i++)
		json_array_append(list, tools->items[i]->declaration);
	int r = tools->count ? aj_session_tools(inner, list, err) : 0;
	json_decref(list);
	return r;
}

static int add_schema(json_t *declaration, const char *tool, const char *key, const char *text, struct aj_error *err)
{
	json_error_t why;
	json_t *schema = text ? json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES, &why) : NULL;
	if (text && !schema)
		return aj_fail(err, AJ_EXIT_USAGE, "tool", 0, "`%s` of the tool `%s` is not JSON: %s (line %d, column %d)", key,
		               tool, why.text, why.line, why.column);
	if (schema)
		json_object_set_new(declaration, key, schema);
	return 0;
}

/* NULL with err. aj_tools_declare() checks the declaration's contents. */
static struct aj_lib_tool *new_tool(const struct agentjail_tool *theirs, struct aj_error *err)
{
	struct agentjail_tool t;
	if (aj_lib_take(&t, sizeof t, theirs, "agentjail_tool", err) < 0)
		return NULL;
	if (!t.name || !t.call) {
		aj_fail(err, AJ_EXIT_USAGE, "tool", 0, "a tool needs a name and a function");
		return NULL;
	}
	json_t *d = json_pack("{s:s, s:s, s:b, s:s*}", "name", t.name, "description", t.description ? t.description : "", "async",
	                      t.is_async, "variadic", t.variadic);
	if (!d) {
		aj_fail(err, AJ_EXIT_USAGE, "tool", 0, "the tool's name, description or variadic parameter is not UTF-8");
		return NULL;
	}
	if (t.reserved)
		json_object_set_new(d, "reserved", json_true());
	if (t.timeout_ms)
		json_object_set_new(d, "timeout_ms", json_integer((json_int_t)t.timeout_ms));
	if (t.result_bytes)
		json_object_set_new(d, "result_bytes", json_integer((json_int_t)t.result_bytes));
	static const char none[] = "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}";
	struct aj_lib_tool *tool = calloc(1, sizeof *tool);
	if (!tool)
		abort();
	*tool = (struct aj_lib_tool){
		.references = 1,
		.declaration = d,
		.name = json_string_value(json_object_get(d, "name")),
		.call = t.call,
		.arg = t.arg,
	};
	if (add_schema(d, t.name, "parameters", t.parameters ? t.parameters : none, err) < 0 ||
	    add_schema(d, t.name, "returns", t.returns, err) < 0) {
		release_tool(tool);
		return NULL;
	}
	return tool;
}

/* All or nothing: a trial set is declared first, so that an invalid tool fails here and not at some session's start. */
static int add_tool(struct aj_lib_tools *tools, struct aj_session *inner, const struct agentjail_tool *theirs,
                    struct aj_error *err)
{
	struct aj_tools trial = { 0 };
	struct aj_lib_tool *tool = new_tool(theirs, err);
	if (!tool)
		return -1;
	json_t *list = json_array(), *one = json_pack("[O]", tool->declaration);
	for (size_t i = 0; i < tools->count; i++)
		json_array_append(list, tools->items[i]->declaration);
	int r = aj_tools_declare(&trial, list, err);
	if (r == 0)
		r = aj_tools_declare(&trial, one, err);
	if (r == 0 && inner)
		r = aj_session_tools(inner, one, err);
	aj_tools_free(&trial);
	json_decref(list);
	json_decref(one);
	if (r == 0) {
		put_tool(tools, tool);
		return 0;
	}
	struct aj_error named = { 0 };
	aj_fail_because(&named, err->reason, err->exit_code, err->step, err->errnum, "`%s`: %s", tool->name, err->cause);
	aj_advise(&named, "%s", err->fix);
	*err = named;
	release_tool(tool);
	return -1;
}

int agentjail_add_tool(agentjail *h, const struct agentjail_tool *tool, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (aj_lib_enter(h, &err) < 0 || add_tool(&h->tools, NULL, tool, &err) < 0)
		return aj_lib_refuse(&err, ret_err);
	return 0;
}

int agentjail_session_add_tool(agentjail_session *s, const struct agentjail_tool *tool, struct agentjail_error *ret_err)
{
	struct aj_error err = { 0 };
	if (aj_lib_enter(s->handle, &err) < 0 || add_tool(&s->tools, s->inner, tool, &err) < 0)
		return aj_lib_refuse(&err, ret_err);
	return 0;
}

static void free_call(struct aj_lib_call *call)
{
	release_tool(call->tool);
	free(call->args);
	free(call);
}

void aj_lib_calls_drop(agentjail_session *s)
{
	for (struct aj_lib_call *call; (call = STAILQ_FIRST(&s->calls));) {
		STAILQ_REMOVE_HEAD(&s->calls, queued);
		free_call(call);
	}
}

void aj_lib_tools_on_call(struct aj_session *inner, void *arg, uint64_t number, const char *name, const json_t *args)
{
	agentjail_session *s = arg;
	struct aj_lib_tool *tool = find_tool(&s->tools, name);
	struct aj_lib_call *call = calloc(1, sizeof *call);
	(void)inner;
	if (!call || !tool) /* the session manager's tools come from this set */
		abort();
	tool->references++;
	*call = (struct aj_lib_call){ .number = number, .tool = tool, .args = json_dumps(args, JSON_COMPACT) };
	if (!call->args)
		abort();
	STAILQ_INSERT_TAIL(&s->calls, call, queued);
}

/* The call may have timed out or ended meanwhile; that is no error. */
static void answer_call(agentjail_session *s, const struct aj_lib_call *call, const char *text, const char *error)
{
	struct aj_error err = { 0 };
	json_error_t why;
	json_t *value = text ? json_loads(text, JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &why) : json_null();
	if (error && !text)
		aj_session_tool_error(s->inner, call->number, "ToolFailure", error, &err);
	else if (!value)
		aj_session_tool_error(s->inner, call->number, "ResultError", "what the tool returned is not JSON", &err);
	else if (aj_session_tool_value(s->inner, call->number, value, &err) < 0)
		aj_session_tool_error(s->inner, call->number, "ResultError", err.cause, &(struct aj_error){ 0 });
	json_decref(value);
}

agentjail_session *aj_lib_tools_run(agentjail *h)
{
	agentjail_session *s;
	LIST_FOREACH(s, &h->sessions, listed)
		if (!STAILQ_EMPTY(&s->calls))
			break;
	if (!s)
		return NULL;
	struct aj_lib_call *call = STAILQ_FIRST(&s->calls);
	STAILQ_REMOVE_HEAD(&s->calls, queued);
	char *error = NULL;
	/* The tool may close this session; then its memory stays until we are back. */
	s->entered++;
	h->entered++;
	char *value = call->tool->call(call->tool->arg, call->args, &error);
	h->entered--;
	s->entered--;
	if (s->inner)
		answer_call(s, call, value, error);
	free(value);
	free(error);
	free_call(call);
	return s;
}
