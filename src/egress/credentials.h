/* The user and password for the site's upstream proxy, as the value of a Proxy-Authorization field (RFC 7617). */
#pragma once
#include "base/base64.h"
#include "base/error.h"

enum { AJ_CREDENTIALS_MAX = 512 /* USER:PASSWORD */ };
#define AJ_CREDENTIALS_TEXT (sizeof "Basic " + AJ_BASE64_BYTES((size_t)AJ_CREDENTIALS_MAX))

/* The first line of a file (`file:/PATH`), or of a command's output (`command:TEXT`, in the host's shell, which has ten seconds for it). In the
 * relay's process, before its walls: no other process has the password. NULL or "": none. 0, or -1 with err, which has no part of the line. */
int aj_credentials_read(const char *from, char ret[AJ_CREDENTIALS_TEXT], struct aj_error *err);
