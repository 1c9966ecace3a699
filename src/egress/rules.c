/* The policy's list, parsed once for the relay's life. It resolves nothing, and allows nothing that policy/hosts.h does not. */
#include "egress/rules.h"

#include <stdlib.h>

int aj_rules_parse(struct aj_rules *rules, const struct aj_policy *policy)
{
	rules->items = calloc(policy->allow.count + 1, sizeof *rules->items);
	rules->count = 0;
	if (!rules->items)
		return -1;
	for (; rules->count < policy->allow.count; rules->count++)
		if (aj_host_rule_parse(policy->allow.items[rules->count], &rules->items[rules->count]))
			return -1;
	return 0;
}

bool aj_rules_name(const struct aj_rules *rules, const char *name, uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (aj_host_rule_has_name(&rules->items[i], name, port))
			return true;
	return false;
}

bool aj_rules_address(const struct aj_rules *rules, int family, const uint8_t *address, uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (aj_host_rule_has_address(&rules->items[i], family, address, port))
			return true;
	return false;
}
