/* Questions and answers as lines of JSON: {"id":"1","name":"a.example","port":443,"why":"..."} and
 * {"id":"1","answer":"run"}. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "network/ask/ask.h"

bool aj_ask_name_valid(const char *name)
{
	size_t bytes = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.");
	return bytes && bytes <= 253 && name[bytes] == '\0';
}

/* No byte of a valid name has to be escaped. */
size_t aj_ask_write_line(const struct aj_asked *q, char out[AJ_ASK_LINE_BYTES])
{
	int n = snprintf(out, AJ_ASK_LINE_BYTES,
	                 "{\"id\":\"%u\",\"name\":\"%s\",\"port\":%u,\"why\":\"this name and port are not on the jail's list\"}\n",
	                 q->id, q->name, q->port);
	return n > 0 ? (size_t)n : 0;
}

static bool read_id(const json_t *id, uint32_t *ret)
{
	const char *text = json_string_value(id);
	char *end = NULL;
	*ret = id ? UINT32_MAX : 0;
	if (!text || strlen(text) > 10 || strspn(text, "0123456789") != json_string_length(id) || !*text || *text == '0')
		return !id;
	unsigned long value = strtoul(text, &end, 10);
	if (value >= UINT32_MAX)
		return false;
	*ret = (uint32_t)value;
	return true;
}

bool aj_ask_read_line(const char *line, size_t bytes, uint32_t *ret_id, enum aj_egress_verdict *ret_verdict)
{
	static const char *const words[] = { [AJ_EGRESS_DENY] = "deny", [AJ_EGRESS_ONCE] = "once", [AJ_EGRESS_RUN] = "run" };
	json_t *json = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
	const char *word = json_string_value(json_object_get(json, "answer"));
	bool good = read_id(json_object_get(json, "id"), ret_id) && word, found = false;
	for (size_t i = 0; good && i < sizeof words / sizeof *words; i++)
		if (strcmp(word, words[i]) == 0) {
			*ret_verdict = (enum aj_egress_verdict)i;
			found = true;
		}
	json_decref(json);
	return found;
}
