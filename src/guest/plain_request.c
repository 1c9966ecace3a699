/* Parses a plain request in a few steps, because runtime/request.py takes as long as a small snippet does.
 * It refuses nothing and reports nothing: the bytes of a request that it declines go to runtime/request.py. */
#include "guest/plain_request.h"

#include <stdint.h>

#include "guest/plain_code.h"
#include "guest/plain_python.h"

static const struct aj_plain_py *const py = &aj_plain_py;

/* The head, as jail/channel/encode.c writes it: flags, soft_ms, bytes of the file name, bytes of the code. */
enum { HEAD_BYTES = 20, HAS_CODE = 1, LAST = 2 };

static uint64_t little_endian(const char *at, size_t bytes)
{
	uint64_t number = 0;
	while (bytes-- > 0)
		number = number << 8 | (unsigned char)at[bytes];
	return number;
}

object *aj_plain_request(const char *body, size_t bytes)
{
	if (bytes < HEAD_BYTES)
		return NULL;
	uint64_t flags = little_endian(body, 4), soft_ms = little_endian(body + 4, 8);
	size_t name_bytes = little_endian(body + 12, 4), code_bytes = little_endian(body + 16, 4);
	if ((flags | LAST) != (HAS_CODE | LAST) || !name_bytes || HEAD_BYTES + name_bytes + code_bytes != bytes)
		return NULL;
	object *name = py->text(body + HEAD_BYTES, (ssize_t)name_bytes);
	object *code = name ? py->text(body + HEAD_BYTES + name_bytes, (ssize_t)code_bytes) : NULL;
	object *number = py->unsigned_number(soft_ms), *last = py->boolean((flags & LAST) != 0);
	object *request = code && number ? py->tuple(4, code, name, number, last) : NULL;
	if (!request)
		py->clear();
	aj_python_release(name);
	aj_python_release(code);
	aj_python_release(number);
	aj_python_release(last);
	return request;
}

object *aj_plain_request_in_test(const char *body, size_t bytes)
{
	object *request = aj_plain_code_in_test() ? NULL : aj_plain_request(body, bytes);
	return request ? request : py->tuple(0);
}
