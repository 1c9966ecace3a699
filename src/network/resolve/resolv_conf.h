/* How long the host's resolver waits, from /etc/resolv.conf (resolv.conf(5)); bounded, since a jail's program waits as long. */
#pragma once

enum {
	AJ_RESOLV_WAIT_MS = 12000, /* for all name servers and attempts together: then a name has no answer */
};

struct aj_resolv_options {
	int timeout_ms; /* for the first attempt at each name server; c-ares doubles it for every further attempt */
	int attempts;
};

/* Of the text of that file; "": none. Within the bounds whatever it holds. */
struct aj_resolv_options aj_resolv_options(const char *text);
