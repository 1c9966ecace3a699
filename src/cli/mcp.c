/* Tells the client of a jailed MCP server why the server was not started: as the answer to its first request.
 * It relays nothing: while a server runs, client and server have the pipe to themselves. */
#include "cli/mcp.h"

#include <jansson.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

enum { REQUEST_BYTES = 64 << 10, WAIT_MS = 5000, JSONRPC_INTERNAL_ERROR = -32603 };

/* The first line of standard input, without waiting for longer than WAIT_MS; 0: there is none, or a person would have to type
 * it. */
static size_t read_line(char *line, size_t bytes)
{
	if (isatty(0))
		return 0;
	int64_t until_us = aj_in_ms(WAIT_MS);
	for (size_t have = 0; have < bytes;) {
		struct pollfd input = { .fd = 0, .events = POLLIN };
		int64_t left_us = until_us - aj_now_us();
		if (left_us <= 0 || poll(&input, 1, (int)(left_us / 1000) + 1) <= 0)
			return 0;
		ssize_t n = read(0, line + have, bytes - have);
		if (n <= 0)
			return 0;
		char *end = memchr(line + have, '\n', (size_t)n);
		if (end)
			return (size_t)(end - line);
		have += (size_t)n;
	}
	return 0;
}

void aj_mcp_refuse(const struct aj_error *err)
{
	char line[REQUEST_BYTES], text[1200];
	size_t bytes = read_line(line, sizeof line);
	json_t *request = bytes ? json_loadb(line, bytes, 0, NULL) : NULL;
	json_t *id = json_object_get(request, "id");
	if (json_is_string(id) || json_is_integer(id)) {
		json_t *message = json_sprintf("agentjail: %s%s%s", aj_error_text(err, text, sizeof text),
		                               *err->fix ? "; fix: " : "", err->fix);
		json_t *answer = json_pack("{s:s, s:O, s:{s:i, s:o}}", "jsonrpc", "2.0", "id", id, "error", "code",
		                           JSONRPC_INTERNAL_ERROR, "message",
		                           message ? message : json_string("agentjail: the server was not started"));
		json_dumpf(answer, stdout, JSON_COMPACT);
		putchar('\n');
		fflush(stdout);
		json_decref(answer);
	}
	json_decref(request);
}
