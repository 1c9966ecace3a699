/* Writes and reads the packed form of a plan: 8-byte numbers, strings with a length, rows with a count.
 * It packs only the fields that a newborn jail needs: the walls that its zygote has built already are left out. */
#include "plan/pack.h"

#include <stdlib.h>
#include <string.h>

struct pack {
	char *data; /* NULL: only count bytes */
	size_t bytes;
};

static void put_bytes(struct pack *p, const void *data, size_t bytes)
{
	if (p->data)
		memcpy(p->data + p->bytes, data, bytes);
	p->bytes += bytes;
}

static void put_number(struct pack *p, uint64_t number)
{
	put_bytes(p, &number, sizeof number);
}

static void put_text(struct pack *p, const char *text)
{
	put_number(p, strlen(text));
	put_bytes(p, text, strlen(text) + 1);
}

static void put_plan(struct pack *p, const struct aj_plan *plan)
{
	put_number(p, plan->uid);
	put_number(p, plan->gid);
	put_number(p, plan->namespaces);
	put_number(p, (uint64_t)plan->profile);
	put_number(p, plan->deny);
	put_number(p, (uint64_t)plan->network);
	put_number(p, (uint64_t)plan->landlock_abi);
	put_number(p, plan->branching);
	put_text(p, plan->hostname);
	put_text(p, plan->chdir);
	put_number(p, plan->mounts.count);
	for (size_t i = 0; i < plan->mounts.count; i++) {
		const struct aj_mount *m = &plan->mounts.items[i];
		put_number(p, (uint64_t)m->kind);
		put_text(p, m->target);
		put_text(p, m->why);
		put_number(p, m->flags);
		put_number(p, m->mode);
		put_number(p, m->size_bytes);
		put_number(p, m->inodes);
	}
	put_number(p, plan->rlimits.count);
	for (size_t i = 0; i < plan->rlimits.count; i++) {
		put_text(p, plan->rlimits.items[i].name);
		put_number(p, (uint64_t)plan->rlimits.items[i].resource);
		put_number(p, plan->rlimits.items[i].value);
		put_number(p, plan->rlimits.items[i].soft);
	}
}

char *aj_plan_pack(const struct aj_plan *plan, size_t *ret_bytes)
{
	struct pack p = { 0 };
	put_plan(&p, plan);
	*ret_bytes = p.bytes;
	if (!(p.data = malloc(p.bytes)))
		return NULL;
	p.bytes = 0;
	put_plan(&p, plan);
	return p.data;
}

struct unpack {
	const char *at, *end; /* at NULL: failed */
};

static uint64_t take_number(struct unpack *u)
{
	uint64_t number = 0;
	if (!u->at || (size_t)(u->end - u->at) < sizeof number) {
		u->at = NULL;
		return 0;
	}
	memcpy(&number, u->at, sizeof number);
	u->at += sizeof number;
	return number;
}

static const char *take_text(struct unpack *u)
{
	uint64_t bytes = take_number(u);
	if (!u->at || (size_t)(u->end - u->at) <= bytes || u->at[bytes] != '\0') {
		u->at = NULL;
		return "";
	}
	const char *text = u->at;
	u->at += bytes + 1;
	return text;
}

/* Allocate the rows. Each row takes bytes, so a count larger than the bytes left is refused here. */
static void *take_rows(struct unpack *u, size_t row_bytes, size_t *ret_count)
{
	uint64_t count = take_number(u);
	void *rows = u->at && count <= (size_t)(u->end - u->at) ? calloc(count + 1, row_bytes) : NULL;
	if (!rows)
		u->at = NULL;
	*ret_count = rows ? count : 0;
	return rows;
}

int aj_plan_unpack(struct aj_plan *plan, const char *data, size_t bytes)
{
	struct unpack u = { data, data + bytes };
	*plan = (struct aj_plan){ .snippet = true, .control_fd = true, .capture = true, .no_input = true, .terminal_fd = -1 };
	plan->uid = (uid_t)take_number(&u);
	plan->gid = (gid_t)take_number(&u);
	plan->namespaces = take_number(&u);
	plan->profile = (enum aj_profile)take_number(&u);
	plan->deny = take_number(&u);
	plan->network = (enum aj_network)take_number(&u);
	plan->landlock_abi = (int)take_number(&u);
	plan->branching = take_number(&u) != 0;
	plan->hostname = take_text(&u);
	plan->chdir = take_text(&u);
	plan->mounts.items = take_rows(&u, sizeof *plan->mounts.items, &plan->mounts.count);
	for (size_t i = 0; u.at && i < plan->mounts.count; i++) {
		struct aj_mount *m = &plan->mounts.items[i];
		m->kind = (enum aj_mount_kind)take_number(&u);
		m->target = take_text(&u);
		m->why = take_text(&u);
		m->flags = (unsigned)take_number(&u);
		m->mode = (unsigned)take_number(&u);
		m->size_bytes = take_number(&u);
		m->inodes = take_number(&u);
	}
	plan->rlimits.items = take_rows(&u, sizeof *plan->rlimits.items, &plan->rlimits.count);
	for (size_t i = 0; u.at && i < plan->rlimits.count; i++) {
		struct aj_rlimit *r = &plan->rlimits.items[i];
		r->name = take_text(&u);
		r->resource = (int)take_number(&u);
		r->value = take_number(&u);
		r->soft = take_number(&u);
	}
	return u.at == u.end ? 0 : -1;
}
