/* A bump allocator: blocks in a chain, freed together.
 * It never returns NULL and never shrinks; a launcher without memory cannot continue. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BLOCK_BYTES = 8192 };

struct aj_arena_block {
	struct aj_arena_block *next;
	size_t used;
	size_t room;
	_Alignas(max_align_t) char data[];
};

static _Noreturn void out_of_memory(void)
{
	static const char text[] = "agentjail: out of memory\n";
	if (write(2, text, sizeof text - 1) < 0)
		_exit(125);
	_exit(125);
}

void *aj_alloc(struct aj_arena *arena, size_t bytes)
{
	if (bytes > (size_t)1 << 32)
		out_of_memory();
	bytes = (bytes + sizeof(max_align_t) - 1) & ~(sizeof(max_align_t) - 1);
	struct aj_arena_block *b = arena->blocks;
	if (!b || b->room - b->used < bytes) {
		size_t room = bytes > BLOCK_BYTES ? bytes : BLOCK_BYTES;
		b = calloc(1, sizeof *b + room);
		if (!b)
			out_of_memory();
		b->room = room;
		b->next = arena->blocks;
		arena->blocks = b;
	}
	void *p = b->data + b->used;
	b->used += bytes;
	return p;
}

char *aj_strndup(struct aj_arena *arena, const char *s, size_t bytes)
{
	char *copy = aj_alloc(arena, bytes + 1);
	memcpy(copy, s, bytes);
	return copy;
}

char *aj_strdup(struct aj_arena *arena, const char *s)
{
	return aj_strndup(arena, s, strlen(s));
}

char *aj_printf(struct aj_arena *arena, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	char *text;
	int bytes = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (bytes < 0)
		out_of_memory();
	char *copy = aj_strndup(arena, text, (size_t)bytes);
	free(text);
	return copy;
}

void *aj_list_grow(struct aj_arena *arena, void *items, size_t count, size_t *room, size_t item_bytes)
{
	if (count < *room)
		return items;
	size_t more = *room ? *room * 2 : 8;
	void *grown = aj_alloc(arena, more * item_bytes);
	if (count)
		memcpy(grown, items, count * item_bytes);
	*room = more;
	return grown;
}

void aj_arena_free(struct aj_arena *arena)
{
	while (arena->blocks) {
		struct aj_arena_block *next = arena->blocks->next;
		free(arena->blocks);
		arena->blocks = next;
	}
}
