/* Fuzzes what clients of the service send: a stream of frames in pieces, a request's body, an HTTP request, output that becomes JSON.
 * No jail and no socket. Beyond not crashing: what is accepted fits the tables, and whatever is written for a client is a JSON text. */
#include <stdlib.h>
#include <string.h>

#include "base/frame.h"
#include "base/text.h"
#include "must.h"
#include "service/metrics/http.h"
#include "service/protocol/piece.h"
#include "service/protocol/query.h"
#include "service/sockets/sd_notify.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes);

static void is_json(struct aj_buffer *out)
{
	json_error_t why;
	json_t *back = json_loadb(out->data, out->bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, &why);
	must(back != NULL, "what is written is JSON");
	json_decref(back);
	aj_buffer_free(out);
}

static void request(const char *text, size_t bytes)
{
	struct aj_query q;
	struct aj_fault fault = { .code = AJ_CODES };
	struct aj_buffer out = { 0 };
	struct aj_scan scan = { .max_values = 1000000 };
	aj_scan_feed(&scan, text, bytes);
	int r = aj_query_read(text, bytes, &scan, &q, &fault);
	const json_t *id = q.member[AJ_M_ID];
	if (q.doc) {
		aj_buffer_json(&out, q.doc);
		json_t *back = json_loadb(out.data, out.bytes, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
		must(json_equal(q.doc, back), "a value that is written is the value");
		json_decref(back);
		aj_buffer_free(&out);
	}
	if (id) {
		must(json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= AJ_ID_BYTES), "an id is one");
		aj_buffer_json(&out, id);
		is_json(&out);
	}
	if (r < 0) {
		must(fault.code < AJ_CODES && *fault.message, "a refusal has a code and a message");
		aj_buffer_string(&out, fault.message, strlen(fault.message));
		is_json(&out);
		aj_buffer_string(&out, fault.fix, strlen(fault.fix));
		is_json(&out);
	} else {
		size_t members = 0;
		must(q.op < AJ_OPS, "an operation is in the table");
		for (int m = 0; m < AJ_MEMBERS; m++) {
			const char *how = aj_op_holds(q.op, (enum aj_member)m);
			members += q.member[m] != NULL;
			must(m == AJ_M_OP || m == AJ_M_ID || how || !q.member[m], "no member that the operation does not take");
			must(!how || strcmp(how, "yes") != 0 || q.member[m], "no member lacks");
		}
		must(members == json_object_size(q.doc), "every member was looked at");
		must(!q.member[AJ_M_TIMEOUT_MS] || aj_query_count(&q, AJ_M_TIMEOUT_MS) - 1 < 604800000, "a time is within its range");
		must(!q.member[AJ_M_WORKSPACE] || aj_query_text(&q, AJ_M_WORKSPACE)[0] == '/', "a workspace is an absolute path");
	}
	aj_query_free(&q);
}

static void stream(const char *data, size_t bytes, size_t piece)
{
	struct aj_frame_reader in = { .cap_bytes = 4096 };
	size_t at = 0, bodies = 0;
	while (at < bytes) {
		const char *body;
		size_t left = bytes - at < piece ? bytes - at : piece;
		long used = aj_frame_feed(&in, data + at, left, &body);
		if (used < 0)
			break;
		must(used > 0 && (size_t)used <= left, "something is taken, and no more than there is");
		must(body ? in.have == in.want : aj_frame_missing(&in) > 0, "a frame is whole when nothing is missing");
		at += (size_t)used;
		if (!body)
			continue;
		bodies += in.want + 4;
		must(in.want && in.want <= in.cap_bytes && bodies <= at, "a body is within its cap, and was sent");
		request(body, in.want);
		aj_frame_next(&in);
	}
	aj_frame_next(&in);
}

static void output(const char *data, size_t bytes, size_t step)
{
	struct aj_piece piece = { 0 };
	struct aj_buffer out = { 0 };
	for (size_t at = 0; at < bytes; at += step) {
		aj_buffer_text(&out, "{");
		bool some = aj_piece_data(&piece, &out, data + at, bytes - at < step ? bytes - at : step);
		must(some == (out.bytes > 1) && piece.tail_bytes < sizeof piece.tail, "something is written or held");
		aj_buffer_text(&out, "}");
		is_json(&out);
	}
}

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t bytes)
{
	const char *text = (const char *)data;
	bool body;
	request(text, bytes);
	for (size_t piece = 1; piece < 64; piece = piece * 3 + 1) {
		stream(text, bytes, piece);
		output(text, bytes, piece);
	}
	int status = bytes <= AJ_HTTP_REQUEST_BYTES ? aj_http_status(text, bytes, &body) : 0;
	must(status == 0 || (status >= 200 && status < 600), "an answer is one of HTTP's");
	char *copy = strndup(text, bytes);
	struct aj_listen_fds fds;
	if (aj_listen_fds_parse("1", copy, copy, 1, &fds))
		must(fds.count <= AJ_LISTEN_MAX, "no more sockets than there is room for");
	free(copy);
	return 0;
}
