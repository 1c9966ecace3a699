/* The site's upstream proxy, as the policy has it: its address, and the text of its credentials. */
#include "network/egress/proxy.h"

#include <stdio.h>
#include <string.h>

#include "base/sockaddr.h"
#include "policy/hosts.h"

static const char scheme[] = "http://";

int aj_proxy_parse(struct aj_proxy *proxy, const struct aj_policy *policy)
{
	struct aj_host_rule rule;
	const char *text = policy->upstream_proxy;
	*proxy = (struct aj_proxy){ 0 };
	if (!text || !*text)
		return 0;
	if (strncmp(text, scheme, sizeof scheme - 1) != 0)
		return -1;
	if (aj_host_server_parse(text + sizeof scheme - 1, &rule) || rule.kind == AJ_HOST_BELOW)
		return -1;
	if (rule.kind == AJ_HOST_NETWORK)
		aj_sockaddr_text(rule.family, rule.address, proxy->name.text);
	else
		snprintf(proxy->name.text, sizeof proxy->name.text, "%s", rule.name);
	proxy->port = rule.port;
	return 0;
}
