/* Rules of network.allow as the network's own code asks them: by name and port, by address and port. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "policy/hosts.h"

static struct aj_host_rule rule(const char *text)
{
	struct aj_host_rule r;
	const char *wrong = aj_host_rule_parse(text, &r);
	cr_assert_null(wrong, "%s: %s", text, wrong);
	return r;
}

Test(hosts, names)
{
	static const struct {
		const char *rule, *name;
		uint16_t port;
		bool has;
	} rows[] = {
		{ "API.allowed.test:443", "api.allowed.test", 443, true },
		{ "api.allowed.test:443", "api.allowed.test", 0, true },
		{ "api.allowed.test:443", "api.allowed.test", 80, false },
		{ "api.allowed.test:443", "evil-api.allowed.test", 443, false },
		{ "api.allowed.test:443", "api.allowed.test.attacker.tld", 443, false },
		{ "api.allowed.test:443", "x.api.allowed.test", 443, false },
		{ "api.allowed.test:443", "allowed.test", 443, false },
		{ "api.allowed.test:443", "", 443, false },
		{ "*.pkg.test:443", "a.pkg.test", 443, true },
		{ "*.pkg.test:443", "a.b.pkg.test", 443, true },
		{ "*.pkg.test:443", "_a.pkg.test", 443, true },
		{ "*.pkg.test:443", "pkg.test", 443, false },
		{ "*.pkg.test:443", ".pkg.test", 443, false },
		{ "*.pkg.test:443", "notpkg.test", 443, false },
		{ "*.pkg.test:443", "a.pkg.test", 80, false },
		{ "*.pkg.test:443", "a.pkg.test.evil", 443, false },
		{ "10.0.0.1:443", "10.0.0.1", 443, false }, /* a name is no address, however it looks */
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_host_rule r = rule(rows[i].rule);
		cr_expect_eq(aj_host_rule_has_name(&r, rows[i].name, rows[i].port), rows[i].has, "row %zu", i);
		cr_expect_not(aj_host_rule_has_address(&r, AF_INET, "\1\1\1\1", 443));
	}
}

Test(hosts, addresses)
{
	static const struct {
		const char *rule, *address;
		uint16_t port;
		bool has;
	} rows[] = {
		{ "203.0.113.7:443", "203.0.113.7", 443, true },
		{ "203.0.113.7:443", "203.0.113.7", 0, true },
		{ "203.0.113.7:443", "203.0.113.7", 80, false },
		{ "203.0.113.7:443", "203.0.113.6", 443, false },
		{ "203.0.113.7:443", "::ffff:203.0.113.7", 443, true },
		{ "203.0.113.7:443", "::203.0.113.7", 443, false },
		{ "10.1.0.0/16:5432", "10.1.255.255", 5432, true },
		{ "10.1.0.0/16:5432", "10.2.0.0", 5432, false },
		{ "10.1.128.0/17:5432", "10.1.127.255", 5432, false },
		{ "10.1.128.0/17:5432", "10.1.128.0", 5432, true },
		{ "128.0.0.0/1:1", "255.255.255.255", 1, true },
		{ "128.0.0.0/1:1", "127.255.255.255", 1, false },
		{ "[2001:db8::/33]:1", "2001:db8:7fff::", 1, true },
		{ "[2001:db8::/33]:1", "2001:db8:8000::", 1, false },
		{ "[::/1]:1", "10.0.0.1", 1, false },
		{ "[::/1]:1", "::ffff:10.0.0.1", 1, false },
		{ "[2001:db8::1]:1", "2001:db8::1", 1, true },
		{ "a.b:1", "10.0.0.1", 1, false },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_host_rule r = rule(rows[i].rule);
		unsigned char address[16];
		int family = strchr(rows[i].address, ':') ? AF_INET6 : AF_INET;
		cr_assert_eq(inet_pton(family, rows[i].address, address), 1);
		cr_expect_eq(aj_host_rule_has_address(&r, family, address, rows[i].port), rows[i].has, "row %zu", i);
	}
}
