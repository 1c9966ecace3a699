/* The table of names and synthetic addresses, searched by text and by number; the least recently used entry is replaced.
 * A number is reused only after all others were used, so that an address that a program remembers leads to no other name. */
#include "network/resolve/names.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { BUCKETS = 4096, NET4 = 198 << 24 | 18 << 16 };
static const uint8_t net6[8] = { 0xfd, 0x00, 0xa9, 0xe7 };

struct aj_names {
	struct aj_name *buckets[BUCKETS];
	struct aj_name *by_number[AJ_NAMES_ADDRESSES];
	struct aj_name *all[AJ_NAMES_MAX];
	size_t count, most;
	uint32_t first, end, next;
	int64_t keep_us;
};

struct aj_names *aj_names_new(uint32_t first, uint32_t end, size_t most, int64_t keep_us)
{
	struct aj_names *names = calloc(1, sizeof *names);
	if (!names)
		return NULL;
	names->first = names->next = first;
	names->end = end;
	names->most = most;
	names->keep_us = keep_us;
	return names;
}

void aj_names_free(struct aj_names *names)
{
	for (size_t i = 0; names && i < names->count; i++)
		free(names->all[i]);
	free(names);
}

/* FNV-1a. A guest that makes all names meet in one bucket slows its own relay alone. */
static struct aj_name **bucket_of(struct aj_names *names, const char *text)
{
	uint32_t hash = 2166136261u;
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 16777619u;
	return &names->buckets[(hash ^ hash >> 16) % BUCKETS];
}

static void forget(struct aj_names *names, size_t at)
{
	struct aj_name *name = names->all[at];
	struct aj_name **link = bucket_of(names, name->text);
	while (*link != name)
		link = &(*link)->next;
	*link = name->next;
	names->by_number[name->number] = NULL;
	names->all[at] = names->all[--names->count];
	free(name);
}

static bool make_room(struct aj_names *names, int64_t now_us)
{
	size_t oldest = names->count;
	int64_t used_us = now_us - names->keep_us;
	for (size_t i = 0; i < names->count; i++) {
		const struct aj_name *name = names->all[i];
		if (name->connections == 0 && name->state != AJ_RESOLVING && name->used_us < used_us) {
			oldest = i;
			used_us = name->used_us;
		}
	}
	if (oldest == names->count)
		return false;
	forget(names, oldest);
	return true;
}

static uint32_t take_number(struct aj_names *names)
{
	for (;;) {
		uint32_t number = names->next++;
		if (names->next == names->end)
			names->next = names->first;
		if (!names->by_number[number])
			return number;
	}
}

struct aj_name *aj_names_find(struct aj_names *names, const char *text)
{
	struct aj_name *name = *bucket_of(names, text);
	while (name && strcmp(name->text, text) != 0)
		name = name->next;
	return name;
}

struct aj_name *aj_names_take(struct aj_names *names, const char *text, int64_t now_us)
{
	struct aj_name **at = bucket_of(names, text), *name = aj_names_find(names, text);
	if (!name) {
		size_t bytes = strlen(text) + 1;
		if (bytes > sizeof name->text || (names->count == names->most && !make_room(names, now_us)) ||
		    !(name = calloc(1, sizeof *name)))
			return NULL;
		memcpy(name->text, text, bytes);
		name->number = take_number(names);
		names->by_number[name->number] = name;
		names->all[names->count++] = name;
		name->next = *at;
		*at = name;
	}
	name->used_us = now_us;
	return name;
}

struct aj_name *aj_names_at(struct aj_names *names, uint32_t number)
{
	return number < AJ_NAMES_ADDRESSES ? names->by_number[number] : NULL;
}

size_t aj_names_count(const struct aj_names *names)
{
	return names->count;
}

void aj_names_address(int family, uint32_t number, uint8_t *out)
{
	uint32_t low = family == AF_INET ? NET4 + number : number;
	if (family == AF_INET6) {
		memset(out, 0, 16);
		memcpy(out, net6, sizeof net6);
		out += 12;
	}
	for (int i = 0; i < 4; i++)
		out[i] = (uint8_t)(low >> (24 - 8 * i));
}

bool aj_names_number(int family, const uint8_t *address, uint32_t *ret_number)
{
	uint8_t made[16];
	const uint8_t *low = family == AF_INET ? address : address + 12;
	uint32_t number = (uint32_t)low[0] << 24 | (uint32_t)low[1] << 16 | (uint32_t)low[2] << 8 | low[3];
	if (family == AF_INET)
		number -= NET4;
	if (number >= AJ_NAMES_ADDRESSES)
		return false;
	aj_names_address(family, number, made);
	if (memcmp(made, address, family == AF_INET ? 4 : 16) != 0)
		return false;
	*ret_number = number;
	return true;
}
