/* The site's upstream proxy: every connection goes through it by CONNECT (RFC 9110). The proxy resolves the names, so their
 * addresses are not checked here. */
#pragma once
#include "network/egress/credentials.h"
#include "network/resolve/names.h"
#include "policy/policy.h"

struct aj_proxy {
	uint16_t port;                           /* 0: no proxy */
	char authorization[AJ_CREDENTIALS_TEXT]; /* "": no credentials */
	struct aj_name name;                     /* of the proxy's host: resolved like others, but in no table */
};

/* From the policy; -1: not http://HOST:PORT. */
int aj_proxy_parse(struct aj_proxy *proxy, const struct aj_policy *policy);
