/* Composes the frames that a supervisor sends to a snippet's runner.
 * It parses nothing that comes back: that is result.c's business. */
#include "run/wire.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "plan/pack.h"
#include "sandbox/seccomp.h"

static void append(struct aj_buffer *b, const void *data, size_t bytes)
{
	if (b->bytes + bytes >= b->room) {
		b->room = 2 * b->room > b->bytes + bytes ? 2 * b->room : b->bytes + bytes + 1;
		b->data = realloc(b->data, b->room);
		if (!b->data)
			abort();
	}
	memcpy(b->data + b->bytes, data, bytes);
	b->bytes += bytes;
}

void aj_wire_frame(struct aj_buffer *b, uint8_t kind, const void *body, size_t bytes)
{
	unsigned char header[AJ_FRAME_HEADER];
	aj_frame_header(header, (uint32_t)bytes, kind);
	append(b, header, sizeof header);
	append(b, body, bytes);
}

void aj_wire_arm(struct aj_buffer *b, const struct aj_plan *plan)
{
	struct sock_filter room[AJ_FILTER_ROOM]; /* 32 KiB; not static: several threads may have a supervisor each */
	struct aj_filter filter = aj_filter_build(plan->profile, plan->network, plan->deny, room);
	aj_wire_frame(b, AJ_FRAME_FILTER, filter.insns, filter.count * sizeof *filter.insns);
	struct aj_buffer names = { 0 };
	append(&names, "", 0);
	for (size_t i = 0; i < plan->preload.count; i++) {
		append(&names, plan->preload.items[i], strlen(plan->preload.items[i]));
		append(&names, "\n", 1);
	}
	aj_wire_frame(b, AJ_FRAME_PRELOAD, names.data, names.bytes);
	free(names.data);
}

void aj_wire_zygote(struct aj_buffer *b, const struct aj_plan *plan)
{
	size_t bytes;
	char *packed = aj_plan_pack(plan, &bytes);
	if (!packed)
		abort();
	aj_wire_frame(b, AJ_FRAME_PLAN, packed, bytes);
	free(packed);
	aj_wire_arm(b, plan);
}

int aj_wire_request(struct aj_buffer *b, const char *nonce, const struct aj_plan *plan, const struct aj_policy *policy,
                    const struct aj_request *request, struct aj_error *err)
{
	json_error_t why;
	json_t *inputs = request->inputs_json ? json_loads(request->inputs_json, JSON_REJECT_DUPLICATES, &why) : json_object();
	if (!inputs)
		return aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the variables are not a JSON object: %s", why.text);
	json_t *tools = request->tools_json ? json_loads(request->tools_json, 0, &why) : NULL;
	/* One string: the reader inside is slow per string, and module names hold no spaces. */
	struct aj_buffer names = { 0 };
	append(&names, "", 0);
	for (size_t i = 0; i < policy->imports.count; i++) {
		append(&names, policy->imports.items[i], strlen(policy->imports.items[i]));
		append(&names, " ", 1);
	}
	json_t *imports = json_stringn(names.data, names.bytes);
	free(names.data);
	json_t *env = json_array();
	for (size_t i = 0; i < plan->late_env.count; i++)
		json_array_append_new(env, json_string(plan->late_env.items[i]));
	json_t *doc = json_pack("{s:s, s:b, s:b, s:s, s:o, s:o, s:o, s:{s:I, s:I, s:I, s:I}, s:o*}", "filename",
	                        request->filename, "layer", policy->layer, "lines", request->lines, "builtins",
	                        aj_builtins_name(policy->builtins), "imports", imports, "inputs", inputs, "env", env, "limits",
	                        "source_bytes", (json_int_t)policy->source_bytes, "repr_bytes", (json_int_t)65536, "value_bytes",
	                        (json_int_t)(policy->result_bytes / 4), "soft_ms", (json_int_t)request->soft_ms, "tools", tools);
	json_t *code = request->code ? json_stringn(request->code, request->code_bytes) : NULL;
	if (request->code && (!code || json_object_set_new(doc, "code", code) < 0)) {
		json_decref(doc);
		doc = NULL;
	}
	char *text = doc ? json_dumps(doc, JSON_COMPACT) : NULL;
	json_decref(doc);
	if (!text)
		return aj_fail(err, AJ_EXIT_USAGE, "input", 0, "the snippet or its variables are not valid UTF-8");
	unsigned char header[AJ_FRAME_HEADER];
	size_t bytes = strlen(text), nonce_bytes = nonce ? AJ_NONCE_BYTES : 0;
	aj_frame_header(header, (uint32_t)(bytes + nonce_bytes), nonce ? AJ_FRAME_SNIPPET : AJ_FRAME_REQUEST);
	append(b, header, sizeof header);
	if (nonce)
		append(b, nonce, nonce_bytes);
	append(b, text, bytes);
	free(text);
	return 0;
}
