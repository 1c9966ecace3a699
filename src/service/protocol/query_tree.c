/* Makes the tree of a request: `inputs` and `variables` stay text. If a request cannot be parsed, its id is returned where possible.
 * It reads no other member: query.c does. */
#include "service/protocol/query_tree.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"

bool aj_query_is_id(const json_t *value)
{
	return json_is_integer(value) || (json_is_string(value) && json_string_length(value) &&
	                                  json_string_length(value) <= AJ_ID_BYTES && !aj_json_has_nul(value));
}

/* The span of `inputs` or `variables`, which are passed on as text; NULL: there is none. A request with both is refused later. */
static const struct aj_span *passed_on(const struct aj_scan *scan, const char *text)
{
	static const enum aj_member names[] = { AJ_M_INPUTS, AJ_M_VARIABLES };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const struct aj_span *span = aj_scan_member(scan, text, aj_member_name(names[i]));
		if (span && text[span->at] == '{')
			return span;
	}
	return NULL;
}

/* The request as a tree, with {} in place of the object that is passed on. */
static json_t *load_tree(struct aj_query *q, const char *text, size_t bytes, const struct aj_span *out, const char **why)
{
	if (!out) {
		q->weight = aj_json_tree_bytes(text, bytes, AJ_REQUEST_DEPTH);
		return aj_json_read(text, bytes, why);
	}
	char *rest = malloc(bytes);
	if (!rest || !(q->passed_on = strndup(text + out->at, out->bytes)))
		abort();
	memcpy(rest, text, out->at);
	memcpy(rest + out->at, "{}", 2);
	memcpy(rest + out->at + 2, text + out->at + out->bytes, bytes - out->at - out->bytes);
	bytes = bytes - out->bytes + 2;
	q->weight = out->bytes + aj_json_tree_bytes(rest, bytes, AJ_REQUEST_DEPTH);
	json_t *doc = aj_json_read(rest, bytes, why);
	free(rest);
	return doc;
}

/* The id of a request that cannot be read, where the text before the fault has one. */
static void take_id(struct aj_query *q, const char *text, const struct aj_scan *scan)
{
	const char *why;
	const struct aj_span *found = NULL;
	for (size_t i = 0; i < scan->members_count; i++) {
		const struct aj_span *m = &scan->members[i];
		if (m->key_bytes != 2 || memcmp(text + m->key, "id", 2) != 0)
			continue;
		if (found || !m->bytes)
			return;
		found = m;
	}
	json_t *id = found ? aj_json_read(text + found->at, found->bytes, &why) : NULL;
	if (aj_query_is_id(id)) {
		q->doc = json_pack("{s:O}", "id", id);
		q->member[AJ_M_ID] = id; /* the document's reference */
	}
	json_decref(id);
}

static int read_tree(struct aj_query *q, const char *text, size_t bytes, struct aj_scan *scan, struct aj_fault *fault)
{
	const char *why, *wrong = aj_scan_end(scan);
	if (wrong)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST,
		                "the frame is not a JSON object of at most %zu values in %d levels: at byte %zu %s",
		                scan->max_values, AJ_SCAN_DEPTH, scan->at, wrong);
	const struct aj_span *out = passed_on(scan, text);
	if (scan->values - (out ? out->values : 0) > AJ_REQUEST_VALUES)
		return aj_fault(fault, AJ_CODE_BAD_REQUEST,
		                "the request has more than %d values beside those of `inputs` and `variables`", AJ_REQUEST_VALUES);
	q->doc = load_tree(q, text, bytes, out, &why);
	if (!json_is_object(q->doc))
		return aj_fault(fault, AJ_CODE_BAD_REQUEST, "the frame is not a JSON object: %s", q->doc ? "it is of another type" : why);
	return 0;
}

int aj_query_tree(struct aj_query *q, const char *text, size_t bytes, struct aj_scan *scan, struct aj_fault *fault)
{
	int r = read_tree(q, text, bytes, scan, fault);
	if (r < 0)
		take_id(q, text, scan);
	return r;
}
