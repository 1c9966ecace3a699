/* A guest's output on one stream: complete up to a cap, head and tail beyond it. */
#pragma once
#include <stddef.h>
#include <stdint.h>

struct aj_output_buffer {
	size_t cap_bytes;
	uint64_t total_bytes; /* written by the guest */
	char *head;           /* first half of the cap */
	size_t head_bytes;
	char *ring; /* last half of the cap, a ring once it is full */
	uint64_t ring_total;
};

void aj_output_buffer_add(struct aj_output_buffer *capture, const char *data, size_t bytes);
/* Head, a line with the number of omitted bytes, tail. Malloced, NUL-terminated; NULL when out of memory. */
char *aj_output_buffer_text(const struct aj_output_buffer *capture, size_t *ret_bytes);
/* Bytes of the tail in that text; those of the head are head_bytes. */
size_t aj_output_buffer_tail_bytes(const struct aj_output_buffer *capture);
uint64_t aj_output_buffer_omitted(const struct aj_output_buffer *capture);
void aj_output_buffer_free(struct aj_output_buffer *capture);
