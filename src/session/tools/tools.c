/* The set of declared tools: merges lists into it, shares its tools, and prints them for the guest.
 * It accepts a list completely or not at all, and no set beyond its caps. */
#include "session/tools/tools.h"

#include <string.h>

static size_t index_of(const struct aj_tools *tools, const char *name)
{
	size_t i = 0;
	while (i < tools->count && strcmp(tools->items[i]->name, name) != 0)
		i++;
	return i;
}

const struct aj_tool *aj_tools_find(const struct aj_tools *tools, const char *name)
{
	size_t i = index_of(tools, name);
	return i < tools->count ? tools->items[i] : NULL;
}

static int too_big(struct aj_error *err)
{
	return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "the tools take more than %d bytes", AJ_TOOLS_MAX_BYTES);
}

/* Merge the tools of a list, `fresh`, into `tools`; `ret` borrows from both. */
static int merge_tools(struct aj_tools *ret, const struct aj_tools *tools, const struct aj_tools *fresh, struct aj_error *err)
{
	*ret = *tools;
	for (size_t i = 0; i < fresh->count; i++) {
		size_t at = index_of(ret, fresh->items[i]->name);
		if (index_of(fresh, fresh->items[i]->name) < i)
			return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "/%zu: two tools have the name `%s`", i,
			               fresh->items[i]->name);
		if (at == AJ_TOOLS_MAX)
			return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "at most %d tools can be declared", AJ_TOOLS_MAX);
		ret->items[at] = fresh->items[i];
		ret->count += at == ret->count;
	}
	json_t *json = aj_tools_json(ret);
	size_t bytes = json_dumpb(json, NULL, 0, JSON_COMPACT);
	json_decref(json);
	return bytes > 0 && bytes <= AJ_TOOLS_MAX_BYTES ? 0 : too_big(err);
}

int aj_tools_declare(struct aj_tools *tools, const json_t *list, struct aj_error *err)
{
	struct aj_tools fresh = { 0 }, merged;
	size_t bytes = 0;
	int r = 0;
	if (!json_is_array(list) || json_array_size(list) > AJ_TOOLS_MAX)
		return aj_fail(err, AJ_EXIT_USAGE, AJ_TOOLS_STEP, 0, "tools must be a list of at most %d tools", AJ_TOOLS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		struct aj_tool *tool = aj_tool_declare(json_array_get(list, i), i, err);
		if (tool)
			fresh.items[fresh.count++] = tool;
		/* A compiled schema takes some thirty times its text, so the sum is checked after each tool. */
		bytes += tool ? json_dumpb(tool->declaration, NULL, 0, JSON_COMPACT) : 0;
		r = !tool ? -1 : bytes > AJ_TOOLS_MAX_BYTES ? too_big(err) : 0;
	}
	if (r == 0)
		r = merge_tools(&merged, tools, &fresh, err);
	/* On success release the old set's tools that were replaced, on failure all of the new ones. */
	struct aj_tools gone = r == 0 ? *tools : fresh;
	for (size_t i = 0; i < gone.count; i++)
		if (r != 0 || merged.items[i] != gone.items[i])
			aj_tool_release(gone.items[i]);
	if (r == 0)
		*tools = merged;
	return r;
}

void aj_tools_share(struct aj_tools *ret, const struct aj_tools *tools)
{
	*ret = *tools;
	for (size_t i = 0; i < ret->count; i++)
		ret->items[i]->references++;
}

json_t *aj_tools_json(const struct aj_tools *tools)
{
	json_t *list = json_array();
	for (size_t i = 0; i < tools->count; i++) {
		const struct aj_tool *t = tools->items[i];
		json_t *one = json_pack("{s:s, s:s, s:O, s:O?, s:b}", "name", t->name, "description", t->description,
		                        "parameters", t->parameters, "returns", t->returns, "async", t->async);
		if (t->reserved)
			json_object_set_new(one, "reserved", json_true());
		if (t->variadic)
			json_object_set_new(one, "variadic", json_string(t->variadic));
		json_array_append_new(list, one);
	}
	return list;
}

void aj_tools_free(struct aj_tools *tools)
{
	for (size_t i = 0; i < tools->count; i++)
		aj_tool_release(tools->items[i]);
	tools->count = 0;
}
