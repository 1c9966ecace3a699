/* Results for callers: the JSON text, the status as a number, and single parts by their path.
 * Judges nothing: docs, not accessors, say which parts are claims and which are attested. */
#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"
#include "lib/api_inner.h"

_Static_assert(AGENTJAIL_OK == (int)AJ_STATUS_OK && AGENTJAIL_LIMIT == (int)AJ_STATUS_LIMIT &&
                   AGENTJAIL_SETUP_ERROR == (int)AJ_STATUS_SETUP_ERROR,
               "one numbering");

agentjail_result *aj_lib_result(const struct aj_result *result, struct aj_buffer *text)
{
	agentjail_result *r = calloc(1, sizeof *r);
	if (!r)
		abort();
	r->status = result->status;
	r->signal = result->signal;
	r->bytes = text->bytes;
	aj_buffer_add(text, "", 1);
	r->text = text->data;
	*text = (struct aj_buffer){ 0 };
	return r;
}

const json_t *aj_lib_result_tree(agentjail_result *r)
{
	const char *why;
	if (!r->doc && !(r->doc = aj_json_read(r->text, r->bytes, &why)))
		abort();
	return r->doc;
}

enum agentjail_status agentjail_result_status(const agentjail_result *r)
{
	return (enum agentjail_status)r->status;
}

const char *agentjail_result_json(const agentjail_result *r)
{
	return r->text;
}

/* One step of a path: a key, or an index of an array. */
static const json_t *step_into(const json_t *at, const char *name, size_t bytes)
{
	char key[256];
	uint64_t index;
	if (bytes >= sizeof key)
		return NULL;
	memcpy(key, name, bytes);
	key[bytes] = '\0';
	if (json_is_array(at))
		return aj_parse_count(key, &index) ? json_array_get(at, (size_t)index) : NULL;
	return json_object_get(at, key);
}

const char *agentjail_result_bytes(agentjail_result *r, const char *path, size_t *ret_bytes)
{
	const json_t *at = aj_lib_result_tree(r);
	for (const char *name = path; at; name++) {
		size_t bytes = strcspn(name, ".");
		at = step_into(at, name, bytes);
		name += bytes;
		if (!*name)
			break;
	}
	if (!at || json_is_null(at))
		return NULL;
	if (json_is_string(at)) {
		*ret_bytes = json_string_length(at);
		return json_string_value(at);
	}
	char *text = json_dumps(at, JSON_COMPACT | JSON_ENCODE_ANY);
	if (!text)
		abort();
	*AJ_PUSH(&r->arena, &r->parts) = text;
	*ret_bytes = strlen(text);
	return text;
}

const char *agentjail_result_get(agentjail_result *r, const char *path)
{
	size_t bytes;
	return agentjail_result_bytes(r, path, &bytes);
}

void agentjail_result_free(agentjail_result *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->parts.count; i++)
		free(r->parts.items[i]);
	aj_arena_free(&r->arena);
	json_decref(r->doc);
	free(r->text);
	free(r);
}

void agentjail_free(char *text)
{
	free(text);
}
