/* Writes and reads the packed form of a plan: 8-byte numbers, strings with a length, rows with a count.
 * It packs only the fields that a newborn jail needs: the walls that its zygote has built already are left out. */
#include "policy/plan/pack.h"

#include <stdlib.h>
#include <string.h>

struct field {
	size_t at, bytes; /* bytes 0: a string */
};
#define NUMBER(type, name)                                                       \
	{                                                                        \
		offsetof(struct type, name), sizeof(((struct type *)NULL)->name) \
	}
#define TEXT(type, name)                       \
	{                                      \
		offsetof(struct type, name), 0 \
	}

static const struct field plan_fields[] = {
	NUMBER(aj_plan, uid),    NUMBER(aj_plan, gid),     NUMBER(aj_plan, namespaces),   NUMBER(aj_plan, profile),
	NUMBER(aj_plan, deny),   NUMBER(aj_plan, network), NUMBER(aj_plan, landlock_abi), NUMBER(aj_plan, branching),
	TEXT(aj_plan, hostname), TEXT(aj_plan, chdir),
};
static const struct field mount_fields[] = {
	NUMBER(aj_mount, kind), TEXT(aj_mount, target),       TEXT(aj_mount, why),      NUMBER(aj_mount, flags),
	NUMBER(aj_mount, mode), NUMBER(aj_mount, size_bytes), NUMBER(aj_mount, inodes),
};
static const struct field rlimit_fields[] = {
	TEXT(aj_rlimit, name),
	NUMBER(aj_rlimit, resource),
	NUMBER(aj_rlimit, value),
	NUMBER(aj_rlimit, soft),
};

/* One walk over the fields serves both directions. */
struct walk {
	bool reading, failed;
	char *data; /* NULL: only count the bytes to write */
	size_t bytes, used;
};

static void walk_bytes(struct walk *w, void *bytes, size_t count)
{
	w->failed |= w->reading && count > w->bytes - w->used;
	if (w->failed)
		return;
	if (w->reading)
		memcpy(bytes, w->data + w->used, count);
	else if (w->data)
		memcpy(w->data + w->used, bytes, count);
	w->used += count;
}

static void walk_number(struct walk *w, void *field, size_t bytes)
{
	uint64_t number = bytes == sizeof(bool) ? *(bool *)field : bytes == 4 ? *(uint32_t *)field : *(uint64_t *)field;
	walk_bytes(w, &number, sizeof number);
	w->failed |= number > (bytes == sizeof(bool) ? true : bytes == 4 ? UINT32_MAX : UINT64_MAX);
	if (!w->reading || w->failed)
		return;
	if (bytes == sizeof(bool))
		*(bool *)field = number;
	else if (bytes == 4)
		*(uint32_t *)field = (uint32_t)number;
	else
		*(uint64_t *)field = number;
}

static void walk_text(struct walk *w, const char **text)
{
	uint64_t bytes = w->reading ? 0 : strlen(*text);
	walk_number(w, &bytes, sizeof bytes);
	if (!w->reading) {
		walk_bytes(w, (char *)*text, bytes + 1);
		return;
	}
	w->failed |= bytes >= w->bytes - w->used || w->data[w->used + bytes] != '\0';
	*text = w->failed ? "" : w->data + w->used;
	w->used += w->failed ? 0 : bytes + 1;
}

static void walk_fields(struct walk *w, void *record, const struct field *fields, size_t count)
{
	for (size_t i = 0; i < count && !w->failed; i++) {
		char *field = (char *)record + fields[i].at;
		_Static_assert(sizeof(bool) == 1 && sizeof(enum aj_profile) == 4, "the sizes of numbers");
		if (fields[i].bytes)
			walk_number(w, field, fields[i].bytes);
		else
			walk_text(w, (const char **)field);
	}
}

/* Each row takes bytes, so a count larger than the bytes left is refused before rows are allocated. */
static void *walk_rows(struct walk *w, void *items, size_t *count, size_t row_bytes, const struct field *fields,
                       size_t field_count)
{
	walk_number(w, count, sizeof *count);
	if (w->reading) {
		items = !w->failed && *count <= w->bytes - w->used ? calloc(*count + 1, row_bytes) : NULL;
		w->failed |= !items;
		*count = items ? *count : 0;
	}
	for (size_t i = 0; i < *count && !w->failed; i++)
		walk_fields(w, (char *)items + i * row_bytes, fields, field_count);
	return items;
}

#define COUNT(a) (sizeof(a) / sizeof *(a))
#define ROWS(list, fields)                                                                                            \
	do {                                                                                                          \
		void *items = walk_rows(w, (list).items, &(list).count, sizeof *(list).items, fields, COUNT(fields)); \
		if (w->reading)                                                                                       \
			(list).items = items;                                                                         \
	} while (0)

/* Changes the plan only when reading. */
static void walk_plan(struct walk *w, struct aj_plan *plan)
{
	walk_fields(w, plan, plan_fields, COUNT(plan_fields));
	ROWS(plan->mounts, mount_fields);
	ROWS(plan->rlimits, rlimit_fields);
}

char *aj_plan_pack(const struct aj_plan *plan, size_t *ret_bytes)
{
	struct walk w = { 0 };
	walk_plan(&w, (struct aj_plan *)plan);
	*ret_bytes = w.used;
	if (!(w.data = malloc(w.used)))
		return NULL;
	w.used = 0;
	walk_plan(&w, (struct aj_plan *)plan);
	return w.data;
}

int aj_plan_unpack(struct aj_plan *plan, const char *data, size_t bytes)
{
	struct walk w = { .reading = true, .data = (char *)data, .bytes = bytes };
	*plan = (struct aj_plan){ .snippet = true, .control_fd = true, .capture = true, .no_input = true, .terminal_fd = -1 };
	walk_plan(&w, plan);
	return w.failed || w.used != bytes ? -1 : 0;
}
