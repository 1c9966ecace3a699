/* The metrics' own listener: as much of HTTP/1 as a scrape needs. */
#pragma once
#include "base/buffer.h"
#include "base/error.h"
#include "base/loop/loop.h"
#include "service/sockets/listen.h"

enum { AJ_HTTP_CLIENTS = 8, AJ_HTTP_REQUEST_BYTES = 8192, AJ_HTTP_LIMIT_MS = 5000 };

/* The status for a request's head: 200 for GET or HEAD of /metrics, else that of the error; 0: the head is incomplete.
 * *ret_body: whether the response has a body. */
int aj_http_status(const char *head, size_t bytes, bool *ret_body);

struct aj_metrics_http;

/* Serve the page that `print` writes. Takes ownership of the listener. Aborts when out of memory. Returns NULL with errno. */
struct aj_metrics_http *aj_http_new(struct aj_loop *loop, struct aj_listener *listener,
                                    void (*print)(void *arg, struct aj_buffer *out), void *arg);
void aj_http_free(struct aj_metrics_http *http);
