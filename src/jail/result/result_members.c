/* Writes a result as text, member by member. A brief result lacks whole members that a program which reads thousands of results
 * does not need; none of them reports a failure, a limit, a truncation or a refusal. */
#include "jail/result/result_members.h"

#include <string.h>

#include "base/json/tree.h"
#include "jail/result/fields.h"

static bool is_text(const char *text, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && memcmp(text, wanted, bytes) == 0;
}

/* `value`: as base/json/json.c writes it, so that each empty value has one form. */
static bool says_nothing(const char *name, const char *value, size_t bytes)
{
	static const char *const empty[] = { "null", "false", "\"\"", "[]", "{}" }, recorded[] = "{\"recorded\":true";
	if (strcmp(name, "violations_seen") == 0)
		return is_text(value, bytes, "true");
	if (strcmp(name, "audit") == 0)
		return bytes >= strlen(recorded) && memcmp(value, recorded, strlen(recorded)) == 0;
	if (strcmp(name, "truncated") == 0)
		return !memmem(value, bytes, ":true", strlen(":true"));
	for (size_t i = 0; i < sizeof empty / sizeof *empty; i++)
		if (is_text(value, bytes, empty[i]))
			return true;
	return false;
}

/* The value of the last member is complete. */
static void finish(struct aj_members *m)
{
	const char *value = m->text.data + m->value;
	size_t bytes = m->text.bytes - m->value;
	if (!m->name)
		return;
	if (m->brief && (says_nothing(m->name, value, bytes) || aj_field_of_result(m->name)->unbrief))
		m->text.bytes = m->begin;
	else if (strcmp(m->name, "truncated") == 0)
		m->truncated_end = m->text.bytes - 1;
	m->name = NULL;
}

struct aj_buffer *aj_member(struct aj_members *m, const char *name)
{
	size_t bytes = strlen(name);
	finish(m);
	char *at = aj_buffer_reserve(&m->text, bytes + strlen(",\"\":"));
	at[0] = m->text.bytes ? ',' : '{';
	at[1] = '"';
	memcpy(at + 2, name, bytes);
	memcpy(at + 2 + bytes, "\":", 2);
	m->name = name;
	m->begin = m->text.bytes;
	m->value = m->text.bytes += bytes + strlen(",\"\":");
	return &m->text;
}

void aj_member_json(struct aj_members *m, const char *name, json_t *value)
{
	aj_buffer_json(aj_member(m, name), value);
	json_decref(value);
}

void aj_members_add_files(struct aj_members *m, json_t *files, json_t *skipped)
{
	static const char cut[] = ",\"files\":true";
	enum { CUT_BYTES = sizeof cut - 1 };
	bool brief = m->brief;
	finish(m);
	m->brief = false; /* the caller asked for files: an empty list says that there are none */
	if (files)
		aj_member_json(m, "files", json_incref(files));
	if (skipped)
		aj_member_json(m, "files_skipped", json_incref(skipped));
	finish(m);
	m->brief = brief;
	if (!skipped || !m->truncated_end)
		return;
	aj_buffer_reserve(&m->text, CUT_BYTES);
	char *at = m->text.data + m->truncated_end;
	memmove(at + CUT_BYTES, at, m->text.bytes - m->truncated_end);
	memcpy(at, cut, CUT_BYTES);
	m->text.bytes += CUT_BYTES;
	m->truncated_end += CUT_BYTES;
}

json_t *aj_members_tree(struct aj_members *m)
{
	const char *why;
	aj_members_end(m);
	json_t *tree = aj_json_read(m->text.data, m->text.bytes, &why);
	m->text.bytes--; /* the bracket: more members may follow */
	return tree;
}

void aj_members_end(struct aj_members *m)
{
	finish(m);
	aj_buffer_text(&m->text, m->text.bytes ? "}" : "{}");
}
