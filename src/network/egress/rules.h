/* Matches names, addresses and ports against the policy's list. No name is resolved. */
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/hosts.h"
#include "policy/policy.h"

struct aj_rules {
	struct aj_host_rule *items; /* owned */
	size_t count;
};

/* -1: no memory, or a rule that cannot be read. */
int aj_rules_parse(struct aj_rules *rules, const struct aj_policy *policy);
/* Allow one more name at that port; without effect where there is no memory for it. */
void aj_rules_add(struct aj_rules *rules, const char *name, uint16_t port);
bool aj_rules_name(const struct aj_rules *rules, const char *name, uint16_t port);
/* At any port of the list, for DNS questions. */
bool aj_rules_some_port(const struct aj_rules *rules, const char *name);
/* How much of the name a wildcard stands for, in bytes; 0: the name itself is on the list. */
size_t aj_rules_below(const struct aj_rules *rules, const char *name);
/* Is that address written out in the list, with that port? `family`: AF_INET, AF_INET6. */
bool aj_rules_address(const struct aj_rules *rules, int family, const uint8_t *address, uint16_t port);
