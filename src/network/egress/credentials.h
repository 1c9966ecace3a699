/* The user and password for the site's upstream proxy, as the value of a Proxy-Authorization field (RFC 7617). */
#pragma once
#include "base/base64.h"
#include "base/error.h"

enum { AJ_CREDENTIALS_MAX = 512 /* USER:PASSWORD */ };
#define AJ_CREDENTIALS_TEXT (sizeof "Basic " + AJ_BASE64_BYTES((size_t)AJ_CREDENTIALS_MAX))

/* Read the first line of a file (`file:/PATH`) or of a command's output (`command:TEXT`, run by the host's shell, 10 s at most).
 * NULL or "": none. Call in the relay's process before it drops its rights: no other process gets the password. 0, or -1 with
 * err, which does not quote the line. */
int aj_credentials_read(const char *from, char ret[AJ_CREDENTIALS_TEXT], struct aj_error *err);
