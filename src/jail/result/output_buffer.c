/* Keeps head and tail of a guest's output in bounded memory.
 * It does no I/O and interprets no byte. */
#include "jail/result/output_buffer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t head_room(const struct aj_output_buffer *c)
{
	return c->cap_bytes / 2;
}

static size_t ring_room(const struct aj_output_buffer *c)
{
	return c->cap_bytes - head_room(c);
}

void aj_output_buffer_add(struct aj_output_buffer *c, const char *data, size_t bytes)
{
	c->total_bytes += bytes;
	if (!c->head && !(c->head = malloc(head_room(c) + 1)))
		return;
	size_t take = head_room(c) - c->head_bytes < bytes ? head_room(c) - c->head_bytes : bytes;
	memcpy(c->head + c->head_bytes, data, take);
	c->head_bytes += take;
	data += take;
	bytes -= take;
	size_t room = ring_room(c);
	if (bytes == 0 || room == 0 || (!c->ring && !(c->ring = malloc(room))))
		return;
	if (bytes > room) {
		c->ring_total += bytes - room;
		data += bytes - room;
		bytes = room;
	}
	for (size_t left = bytes; left;) {
		size_t at = c->ring_total % room;
		size_t n = room - at < left ? room - at : left;
		memcpy(c->ring + at, data, n);
		c->ring_total += n;
		data += n;
		left -= n;
	}
}

uint64_t aj_output_buffer_omitted(const struct aj_output_buffer *c)
{
	return c->total_bytes > c->cap_bytes ? c->total_bytes - c->cap_bytes : 0;
}

size_t aj_output_buffer_tail_bytes(const struct aj_output_buffer *c)
{
	return c->ring_total < ring_room(c) ? (size_t)c->ring_total : ring_room(c);
}

char *aj_output_buffer_text(const struct aj_output_buffer *c, size_t *ret_bytes)
{
	char *text = malloc(c->cap_bytes + 80);
	if (!text)
		return NULL;
	size_t at = c->head_bytes;
	if (at)
		memcpy(text, c->head, at);
	uint64_t omitted = aj_output_buffer_omitted(c);
	if (omitted)
		at += (size_t)sprintf(text + at, "\n[... %" PRIu64 " bytes omitted ...]\n", omitted);
	size_t room = ring_room(c), tail = aj_output_buffer_tail_bytes(c);
	size_t start = tail == room && room ? c->ring_total % room : 0;
	if (tail) {
		memcpy(text + at, c->ring + start, tail - start);
		memcpy(text + at + tail - start, c->ring, start);
	}
	at += tail;
	text[at] = '\0';
	*ret_bytes = at;
	return text;
}

void aj_output_buffer_free(struct aj_output_buffer *c)
{
	free(c->head);
	free(c->ring);
	*c = (struct aj_output_buffer){ 0 };
}
