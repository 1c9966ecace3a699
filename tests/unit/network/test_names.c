/* Tests of resolve/names: each name has one address, the table is bounded, and an address does not move to another name while it may be
 * remembered. The clock is a number here. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "network/resolve/names.h"

static struct aj_names *new_names(void)
{
	return aj_names_new(AJ_NAMES_FIRST, AJ_NAMES_ADDRESSES, AJ_NAMES_MAX, AJ_NAMES_KEEP_US);
}

static struct aj_name *take(struct aj_names *names, int i, int64_t now_us)
{
	char text[32];
	snprintf(text, sizeof text, "n%d.example.org", i);
	return aj_names_take(names, text, now_us);
}

Test(names, a_name_has_one_address_of_each_family)
{
	struct aj_names *names = new_names();
	struct aj_name *a = aj_names_take(names, "a.example.org", 1), *b = aj_names_take(names, "b.example.org", 1);
	uint8_t address[16];
	uint32_t number = 0;
	char text[46];
	cr_assert(a && b && a != b);
	cr_expect_eq(aj_names_take(names, "a.example.org", 2), a);
	cr_expect_eq(aj_names_find(names, "b.example.org"), b);
	cr_expect_null(aj_names_find(names, "c.example.org"));
	aj_names_address(AF_INET, a->number, address);
	cr_expect_str_eq(inet_ntop(AF_INET, address, text, sizeof text), "198.18.1.0");
	cr_expect(aj_names_number(AF_INET, address, &number) && aj_names_at(names, number) == a);
	aj_names_address(AF_INET6, b->number, address);
	cr_expect_str_eq(inet_ntop(AF_INET6, address, text, sizeof text), "fd00:a9e7::101");
	cr_expect(aj_names_number(AF_INET6, address, &number) && aj_names_at(names, number) == b);
	aj_names_free(names);
}

Test(names, other_addresses_have_no_number)
{
	static const char *const rows[] = {
		"198.17.255.255",     "198.20.0.0",     "0.0.0.0",        "127.0.0.1",          "255.255.255.255",  "::", "::1",
		"fd00:a9e7:0:1::100", "fd00:a9e8::100", "fd00:a9e7::2:0", "fd00:a9e7::1:0:100", "::ffff:198.18.1.0"
	};
	struct aj_names *names = new_names();
	aj_names_take(names, "a.example.org", 1);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		uint8_t address[16];
		uint32_t number = 0;
		int family = strchr(rows[i], ':') ? AF_INET6 : AF_INET;
		cr_assert_eq(inet_pton(family, rows[i], address), 1);
		cr_expect(!aj_names_number(family, address, &number) || !aj_names_at(names, number), "%s", rows[i]);
	}
	cr_expect_null(aj_names_at(names, AJ_NAMES_ADDRESSES));
	cr_expect_null(aj_names_at(names, UINT32_MAX));
	cr_expect_null(aj_names_at(names, 1), "the name server's");
	aj_names_free(names);
}

Test(names, the_oldest_unused_one_makes_room_and_its_address_is_not_given_again_at_once)
{
	struct aj_names *names = new_names();
	for (int i = 0; i < AJ_NAMES_MAX; i++)
		cr_assert(take(names, i, i));
	struct aj_name *used = aj_names_find(names, "n0.example.org");
	used->connections = 1;
	uint32_t gone = aj_names_find(names, "n1.example.org")->number, last = aj_names_find(names, "n4095.example.org")->number;
	cr_expect_null(take(names, AJ_NAMES_MAX, AJ_NAMES_MAX), "all were used lately");
	int64_t later_us = AJ_NAMES_KEEP_US + INT64_C(1000000);
	struct aj_name *fresh = take(names, AJ_NAMES_MAX, later_us);
	cr_assert(fresh);
	cr_expect_eq(fresh->number, last + 1);
	cr_expect_null(aj_names_at(names, gone));
	cr_expect_null(aj_names_find(names, "n1.example.org"));
	cr_expect_eq(aj_names_find(names, "n0.example.org"), used, "it has a connection");
	cr_expect_eq(aj_names_count(names), (size_t)AJ_NAMES_MAX);
	/* Once around: every number is given, and none twice. */
	for (int i = 1; i < 3 * AJ_NAMES_ADDRESSES; i++) {
		struct aj_name *name = take(names, AJ_NAMES_MAX + i, later_us += AJ_NAMES_KEEP_US);
		cr_assert(name && name != used && aj_names_at(names, name->number) == name && name->number >= AJ_NAMES_FIRST);
	}
	cr_expect_eq(aj_names_at(names, used->number), used);
	aj_names_free(names);
}

Test(names, longer_than_a_name_can_be)
{
	char text[300];
	struct aj_names *names = new_names();
	memset(text, 'a', sizeof text);
	text[256] = '\0';
	cr_expect_null(aj_names_take(names, text, 1));
	text[255] = '\0';
	cr_expect(aj_names_take(names, text, 1));
	aj_names_free(names);
}

Test(names, a_small_table_keeps_to_its_numbers_and_the_oldest_name_makes_room)
{
	struct aj_names *names = aj_names_new(AJ_NAMES_REFUSED, AJ_NAMES_REFUSED + 8, 4, 0);
	for (int i = 0; i < 100; i++) {
		struct aj_name *name = take(names, i, i + 1);
		cr_assert(name && aj_names_at(names, name->number) == name);
		cr_expect_eq(name->number, AJ_NAMES_REFUSED + (uint32_t)i % 8);
		cr_expect_eq(aj_names_count(names), i < 4 ? (size_t)i + 1 : 4);
	}
	cr_expect_null(aj_names_find(names, "n95.example.org"));
	cr_expect(aj_names_find(names, "n96.example.org"));
	aj_names_free(names);
}
