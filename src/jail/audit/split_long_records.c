/* Splits a long record: its lists move into further records with the same id. Only texts longer than a line are truncated. */
#include "jail/audit/split_long_records.h"

#include <stdbool.h>
#include <string.h>

#include "jail/audit/composer.h"

enum {
	FLAGS = JSON_COMPACT | JSON_ENSURE_ASCII | JSON_ENCODE_ANY,
	TEXT_BYTES = 1 << 10, /* limit of each text in an element that is longer than a line */
};

/* Members that move, the longest first. inner: only this list of the member moves. */
static const struct {
	const char *member, *inner;
} long_members[] = {
	{ "denials", NULL }, { "claimed", "imports" }, { "policy", "options" }, { "policy", "files" }, { "enforced", NULL },
};

static size_t bytes_of(const json_t *json)
{
	return json_dumpb(json, NULL, 0, FLAGS);
}

/* A copy of the element with truncated texts. */
static json_t *shortened(json_t *element, bool *ret_truncated)
{
	struct aj_composer c = { .doc = json_object() };
	const char *key;
	json_t *value, *text = NULL;
	if (json_is_string(element))
		text = aj_composer_short(&c, json_string_value(element), TEXT_BYTES);
	json_object_foreach(element, key, value)
		json_object_set_new(c.doc, key,
		                    json_is_string(value) ? aj_composer_short(&c, json_string_value(value), TEXT_BYTES)
		                                          : json_incref(value));
	*ret_truncated = c.truncated;
	if (text)
		json_decref(c.doc);
	return text ? text : c.doc;
}

struct pieces {
	const json_t *record; /* source of `id`, `event` and `time` */
	json_t *lines;
	json_t *now; /* the list or object of the last line; borrowed */
	size_t used;
};

static void begin_piece(struct pieces *p, size_t row, bool object)
{
	const char *member = long_members[row].member, *inner = long_members[row].inner;
	json_t *line = json_pack("{s:i, s:s, s:O, s:O, s:O, s:I}", "v", 1, "event", "more", "id",
	                         json_object_get(p->record, "id"), "of", json_object_get(p->record, "event"), "time",
	                         json_object_get(p->record, "time"), "part", (json_int_t)json_array_size(p->lines));
	p->now = object ? json_object() : json_array();
	json_object_set_new(line, member, inner ? json_pack("{s:o}", inner, p->now) : p->now);
	p->used = bytes_of(line);
	json_array_append_new(p->lines, line);
}

static void add(struct pieces *p, size_t row, const char *key, json_t *element)
{
	size_t key_bytes = key ? strlen(key) + 3 : 0, bytes = bytes_of(element) + key_bytes + 1;
	bool truncated = false;
	json_t *own = bytes > AJ_RECORD_BYTES / 2 ? shortened(element, &truncated) : json_incref(element);
	bytes = bytes_of(own) + key_bytes + 1;
	if (!p->now || p->used + bytes > AJ_RECORD_BYTES)
		begin_piece(p, row, key);
	p->used += bytes;
	if (key)
		json_object_set_new(p->now, key, own);
	else
		json_array_append_new(p->now, own);
	json_t *line = json_array_get(p->lines, json_array_size(p->lines) - 1);
	if (truncated && json_object_set_new(line, "truncated", json_true()) == 0)
		p->used += sizeof ",\"truncated\":true";
}

/* Take the member out of the record, in pieces. */
static void move_out(struct pieces *p, json_t *record, size_t row)
{
	const char *member = long_members[row].member, *inner = long_members[row].inner, *key;
	json_t *parent = inner ? json_object_get(record, member) : record, *value;
	json_t *list = json_incref(json_object_get(parent, inner ? inner : member));
	size_t i;
	p->now = NULL;
	if (json_is_array(list))
		json_array_foreach(list, i, value)
			add(p, row, NULL, value);
	else
		json_object_foreach(list, key, value)
			add(p, row, key, value);
	if (p->now && inner) { /* the caller may still use the object */
		json_t *rest = json_copy(parent);
		json_object_del(rest, inner);
		json_object_set_new(record, member, rest);
	} else if (p->now)
		json_object_del(record, member);
	json_decref(list);
}

json_t *aj_record_lines(json_t *record)
{
	json_t *lines = json_array();
	struct pieces p = { .record = record, .lines = lines };
	if (json_array_append(lines, record) < 0) {
		json_decref(lines);
		return NULL;
	}
	for (size_t row = 0; row < sizeof long_members / sizeof *long_members && bytes_of(record) > AJ_RECORD_BYTES - 32; row++)
		move_out(&p, record, row);
	if (json_array_size(lines) > 1)
		json_object_set_new(record, "parts", json_integer((json_int_t)json_array_size(lines) - 1));
	return lines;
}
