/* The policy's list, parsed once for the relay's life. It resolves nothing, and allows nothing that policy/hosts.h does not. */
#include "network/egress/rules.h"

#include <stdlib.h>
#include <string.h>

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

void aj_rules_add(struct aj_rules *rules, const char *name, uint16_t port)
{
	struct aj_host_rule *items = realloc(rules->items, (rules->count + 1) * sizeof *items);
	if (!items)
		return;
	rules->items = items;
	items[rules->count] = (struct aj_host_rule){ .kind = AJ_HOST_NAME, .port = port };
	if (strlen(name) < sizeof items->name)
		strcpy(items[rules->count++].name, name);
}

bool aj_rules_name(const struct aj_rules *rules, const char *name, uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (aj_host_rule_has_name(&rules->items[i], name, port))
			return true;
	return false;
}

bool aj_rules_some_port(const struct aj_rules *rules, const char *name)
{
	for (size_t i = 0; i < rules->count; i++)
		if (aj_host_rule_has_some_port(&rules->items[i], name))
			return true;
	return false;
}

size_t aj_rules_below(const struct aj_rules *rules, const char *name)
{
	size_t least = strlen(name);
	for (size_t i = 0; i < rules->count; i++) {
		const struct aj_host_rule *rule = &rules->items[i];
		size_t below = rule->kind == AJ_HOST_BELOW ? strlen(name) - strlen(rule->name) : 0;
		if (aj_host_rule_has_some_port(rule, name) && below < least)
			least = below;
	}
	return least;
}

bool aj_rules_address(const struct aj_rules *rules, int family, const uint8_t *address, uint16_t port)
{
	for (size_t i = 0; i < rules->count; i++)
		if (aj_host_rule_has_address(&rules->items[i], family, address, port))
			return true;
	return false;
}
