/* Tests of result/network: a refused connection takes the place of the look-ups that came before it, and the sums agree. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "jail/result/network_use.h"

static struct aj_network_trouble trouble(const char *host, uint16_t port, uint64_t count)
{
	struct aj_network_trouble one = { .port = port, .unlisted = true, .count = count };
	snprintf(one.host, sizeof one.host, "%s", host);
	snprintf(one.why, sizeof one.why, "why");
	return one;
}

static void add(struct aj_network_troubles *list, const char *host, uint16_t port, uint64_t lookups)
{
	struct aj_network_trouble one = trouble(host, port, 1);
	aj_network_add_refused(list, &one, lookups);
}

static void has(const struct aj_network_troubles *list, const char *want)
{
	char text[400] = "";
	uint64_t total = 0;
	for (size_t i = 0; i < list->count; i++) {
		size_t at = strlen(text);
		snprintf(text + at, sizeof text - at, "%s:%u x%llu ", list->items[i].host, list->items[i].port,
		         (unsigned long long)list->items[i].count);
		total += list->items[i].count;
	}
	cr_expect_str_eq(text, want);
	cr_expect_eq(list->total, total);
}

Test(network, an_attempt_is_counted_once)
{
	struct aj_network_use use = { 0 };
	struct aj_network_troubles *list = &use.refused;
	add(list, "a", 0, 0);
	add(list, "b", 0, 0);
	add(list, "a", 443, 1);
	has(list, "a:443 x1 b:0 x1 "); /* in the place of the look-up */
	add(list, "a", 0, 0);
	add(list, "a", 443, 1);
	has(list, "a:443 x2 b:0 x1 ");
	add(list, "a", 443, 0); /* by an address that it kept */
	has(list, "a:443 x3 b:0 x1 ");
	add(list, "b", 0, 0);
	add(list, "b", 0, 0);
	add(list, "b", 80, 1); /* three look-ups, one connection */
	has(list, "a:443 x3 b:0 x2 b:80 x1 ");
	add(list, "c", 80, 7); /* its look-up is in another result */
	has(list, "a:443 x3 b:0 x2 b:80 x1 c:80 x1 ");
	aj_network_free(&use);
}

Test(network, a_full_list_still_counts)
{
	struct aj_network_use use = { 0 };
	char host[16];
	for (int i = 0; i < 100; i++) {
		snprintf(host, sizeof host, "h%d", i);
		add(&use.refused, host, 0, 0);
	}
	cr_expect_eq(use.refused.count, (size_t)AJ_NETWORK_TROUBLES_MAX);
	cr_expect_eq(use.refused.total, 100);
	add(&use.refused, "h0", 443, 1);
	cr_expect_eq(use.refused.total, 100);
	cr_expect_eq(use.refused.items[0].port, 443);
	/* Nor is an attempt counted twice whose look-up has no place in the list. */
	for (int i = 50; i < 100; i++) {
		snprintf(host, sizeof host, "h%d", i);
		add(&use.refused, host, 443, 1);
	}
	cr_expect_eq(use.refused.total, 100);
	add(&use.refused, "h99", 443, 0); /* by an address that it kept */
	cr_expect_eq(use.refused.total, 101);
	for (int i = 0; i < 40; i++) /* more than the look-ups that are left: those were in another result */
		add(&use.refused, "other", 443, 1);
	cr_expect_eq(use.refused.total, 101 + 40 - 18);
	aj_network_free(&use);
}
