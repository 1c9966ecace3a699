/* The metrics' own listener: as much of HTTP/1 as it takes to be scraped. */
#pragma once
#include "base/error.h"
#include "base/loop.h"
#include "serve/frame_write.h"
#include "serve/listen.h"

enum { AJ_HTTP_CLIENTS = 8, AJ_HTTP_REQUEST_BYTES = 8192, AJ_HTTP_LIMIT_MS = 5000 };

/* What a request line asks for: 200 for GET or HEAD of /metrics, else the status that says what is wrong with it; 0: its head is
 * not whole yet. */
int aj_http_status(const char *head, size_t bytes, bool *ret_body);

struct aj_http;

/* Serve what `print` writes; takes the listener over. Aborts when out of memory. NULL with errno. */
struct aj_http *aj_http_new(struct aj_loop *loop, struct aj_listener *listener, void (*print)(void *arg, struct aj_buffer *out),
                            void *arg);
void aj_http_free(struct aj_http *http);
