/* Captured output as members of the result: text, and the bytes themselves where they are not UTF-8.
 * It drops nothing that the output buffer has kept, and decides nothing by a byte of it. */
#include "jail/result/capture.h"

#include <stdlib.h>
#include <string.h>

#include "base/json/tree.h"
#include "base/text.h"

/* Was something omitted, and is `text` UTF-8 but for the characters that this cut? */
static bool is_cut_text(const struct aj_output_buffer *c, const char *text, size_t bytes)
{
	if (!aj_output_buffer_omitted(c))
		return false;
	size_t head = c->head_bytes - aj_utf8_incomplete_tail(text, c->head_bytes), tail = bytes - aj_output_buffer_tail_bytes(c);
	for (int i = 0; i < 3 && tail < bytes && ((unsigned char)text[tail] & 0xc0) == 0x80; i++)
		tail++;
	return aj_utf8_valid_prefix(text, head) == head && aj_utf8_valid_prefix(text + tail, bytes - tail) == bytes - tail;
}

static void add_stream(struct aj_members *m, const char *name, const char *name_base64, const struct aj_output_buffer *c)
{
	size_t bytes = 0;
	char *text = aj_output_buffer_text(c, &bytes);
	const char *kept = text ? text : "";
	bool whole = aj_utf8_valid_prefix(kept, bytes) == bytes;
	if (whole)
		aj_buffer_string(aj_member(m, name), kept, bytes);
	else
		aj_member_json(m, name, aj_json_text(kept, bytes));
	if (!whole && !is_cut_text(c, kept, bytes))
		aj_member_json(m, name_base64, aj_json_base64(kept, bytes));
	free(text);
}

static void add_flag(struct aj_buffer *out, const char *before, bool flag)
{
	aj_buffer_text(out, before);
	aj_buffer_text(out, flag ? "true" : "false");
}

void aj_capture_members(struct aj_members *m, const struct aj_output_buffer *jail_out, const struct aj_output_buffer *jail_err,
                        const json_t *claim)
{
	static const char *const claims[] = { "value", "repr", "str", "final_answer", "results" };
	const json_t *claimed = json_object_get(claim, "truncated");
	add_stream(m, "stdout", "stdout_base64", jail_out);
	add_stream(m, "stderr", "stderr_base64", jail_err);
	struct aj_buffer *out = aj_member(m, "truncated");
	add_flag(out, "{\"stdout\":", aj_output_buffer_omitted(jail_out) > 0);
	add_flag(out, ",\"stderr\":", aj_output_buffer_omitted(jail_err) > 0);
	aj_buffer_text(out, ",\"total_bytes\":");
	aj_buffer_number(out, jail_out->total_bytes + jail_err->total_bytes);
	for (size_t i = 0; i < sizeof claims / sizeof *claims; i++)
		if (json_is_true(json_object_get(claimed, claims[i]))) {
			aj_buffer_text(out, ",\"");
			aj_buffer_text(out, claims[i]);
			aj_buffer_text(out, "\":true");
		}
	aj_buffer_text(out, "}");
}
