/* Makes the text from a result's own fields: what happened, the value and the output, the errors with their lines, and what to
 * do. Long parts are truncated. */
#include "jail/result/for_model.h"

#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { TEXT_BYTES = 2000, OUTPUT_BYTES = 600, VALUE_BYTES = 400, ERROR_BYTES = 500, TYPE_BYTES = 100 };
#define CUT "..."

struct model_text {
	char bytes[TEXT_BYTES + 1];
	size_t used;
};

/* Append at most `most` bytes of s, whole characters alone. */
static void add_some(struct model_text *t, size_t most, const char *s)
{
	size_t left = TEXT_BYTES - t->used, n = s ? strlen(s) : 0;
	if (most > left)
		most = left;
	bool is_cut = n > most;
	if (is_cut) {
		n = most > strlen(CUT) ? most - strlen(CUT) : 0;
		n -= aj_utf8_incomplete_tail(s, n);
	}
	if (n)
		memcpy(t->bytes + t->used, s, n);
	t->used += n;
	if (is_cut && most > strlen(CUT)) {
		memcpy(t->bytes + t->used, CUT, strlen(CUT));
		t->used += strlen(CUT);
	}
}

static void add_text(struct model_text *t, const char *s)
{
	add_some(t, TEXT_BYTES, s);
}

static const char *string_at(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	return s && *s ? s : NULL;
}

static void add_line(struct model_text *t, const char *before, size_t most, const char *s)
{
	if (!s)
		return;
	add_text(t, before);
	add_some(t, most, s);
	if (t->used && t->bytes[t->used - 1] != '\n')
		add_text(t, "\n");
}

/* The end of an output says most about an error. */
static void add_output(struct model_text *t, const char *before, const char *s)
{
	size_t n = s ? strlen(s) : 0;
	if (n > OUTPUT_BYTES) {
		s += n - OUTPUT_BYTES;
		while (((unsigned char)*s & 0xc0) == 0x80)
			s++;
	}
	add_text(t, n > OUTPUT_BYTES ? "(the end of the output)\n" : "");
	add_line(t, before, OUTPUT_BYTES, n ? s : NULL);
}

static void add_error(struct model_text *t, const json_t *error)
{
	char at[60] = "";
	json_int_t line = json_integer_value(json_object_get(error, "line"));
	if (line > 0)
		snprintf(at, sizeof at, "Line %lld: ", (long long)line);
	add_text(t, at);
	add_some(t, TYPE_BYTES, string_at(error, "type"));
	add_text(t, ": ");
	add_some(t, ERROR_BYTES, string_at(error, "message"));
	add_text(t, "\n");
	if (line > 0)
		add_line(t, "    ", 200, string_at(error, "source"));
	add_line(t, "To do: ", ERROR_BYTES, string_at(error, "hint"));
	add_line(t, "To do: ", ERROR_BYTES, string_at(error, "fix"));
}

static const char *headline(const char *status)
{
	return strcmp(status, "ok") == 0       ? "The code ran to its end.\n"
	     : strcmp(status, "error") == 0    ? "The code failed.\n"
	     : strcmp(status, "rejected") == 0 ? "The code was refused before it ran. Correct it:\n"
	                                       : NULL;
}

json_t *aj_for_model_json(const json_t *result)
{
	struct model_text t = { .used = 0 };
	const char *status = string_at(result, "status"), *type = string_at(result, "type");
	const char *first = headline(status ? status : "");
	const json_t *errors = json_object_get(result, "errors"), *error = json_object_get(result, "error");
	bool ok = status && strcmp(status, "ok") == 0;
	add_text(&t, first ? first : "The code was stopped: ");
	if (!first)
		add_line(&t, "", ERROR_BYTES, string_at(result, "reason"));
	for (size_t i = 0; i < json_array_size(errors) && t.used < TEXT_BYTES; i++)
		add_error(&t, json_array_get(errors, i));
	if (json_array_size(errors) == 0 && json_is_object(error))
		add_error(&t, error);
	add_line(&t, "To do: ", ERROR_BYTES, string_at(result, "hint"));
	if (ok && type && strcmp(type, "NoneType") != 0)
		add_line(&t, json_is_true(json_object_get(result, "is_final")) ? "Final answer: " : "Value: ", VALUE_BYTES,
		         string_at(result, "repr"));
	add_output(&t, "Output:\n", string_at(result, "stdout"));
	add_output(&t, "Error output:\n", string_at(result, "stderr"));
	return json_stringn_nocheck(t.bytes, t.used);
}
