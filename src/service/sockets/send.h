/* Sends the bytes of a buffer, as many as a socket accepts. */
#pragma once
#include "base/buffer.h"

size_t aj_buffer_left(const struct aj_buffer *out);
/* Send as much as the socket takes. Returns -1 with errno when the connection is lost. */
int aj_buffer_send(struct aj_buffer *out, int fd);
