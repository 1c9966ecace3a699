/* Plain requests: those with code and nothing else, as most requests of a session are. */
#pragma once
#include "guest/python.h"

/* A new tuple (code, file name, soft_ms, last); NULL for any other request, or a wrong one. After aj_plain_code_prepare(). */
object *aj_plain_request(const char *body, size_t bytes);
/* The same for tests, which load the runner's library into a Python of their own: an empty tuple where NULL. */
__attribute__((visibility("default"))) object *aj_plain_request_in_test(const char *body, size_t bytes);
