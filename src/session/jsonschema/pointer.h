/* The place of a value in a JSON document: a chain from the inside out, and its text as a JSON pointer (RFC 6901).
 * A chain may live on the stack, since it is read only while the function that made it runs. */
#pragma once
#include <stdarg.h>
#include <stddef.h>

/* A NULL chain is the whole document. */
struct aj_pointer {
	const struct aj_pointer *up;
	const char *key; /* NULL: an array's item */
	size_t index;
};

/* Format "POINTER: MESSAGE" into `out`, truncated to its size, always UTF-8 and without control characters; only the message for
 * the whole document. */
void aj_pointer_format(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
void aj_pointer_vformat(char *out, size_t out_bytes, const struct aj_pointer *place, const char *fmt, va_list ap)
    __attribute__((format(printf, 4, 0)));
