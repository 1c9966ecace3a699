/* Rules of network.allow as the network's own code asks them: by name and port, by address and port. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "policy/hosts.h"
#include "policy/item_types.h"

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
		{ "api.allowed.test:443", "api.allowed.test", 0, false },
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
		{ "registry:5000", "registry", 5000, true },
		{ "registry:5000", "registry", 0, false }, /* that a program chooses, too */
		{ "*.b.test:5000", "a.b.test", 0, false },
		{ "host:5432", "host", 0, false },
		{ "host:5432", "host", 5432, true },
		{ "host:5432", "host.docker.internal", 5432, true },
		{ "host.docker.internal:5432", "host", 5432, true },
		{ "host:5432", "host", 5433, false },
		{ "host:5432", "host.test", 5432, false },
		{ "host:5432", "a.host", 5432, false },
		{ "*.docker.internal:5432", "host.docker.internal", 5432, false },
		{ "*.docker.internal:5432", "a.docker.internal", 5432, true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_host_rule r = rule(rows[i].rule);
		cr_expect_eq(aj_host_rule_has_name(&r, rows[i].name, rows[i].port), rows[i].has, "row %zu", i);
		cr_expect_not(aj_host_rule_has_address(&r, AF_INET, "\1\1\1\1", 443));
		cr_expect(aj_host_rule_has_some_port(&r, rows[i].name) || !rows[i].has, "row %zu", i);
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
		{ "203.0.113.7:443", "203.0.113.7", 0, false },
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
		/* The host's loopback is one kind's alone. */
		{ "host:5432", "127.0.0.1", 5432, true },
		{ "host:5432", "::1", 5432, true },
		{ "host:5432", "::ffff:127.0.0.1", 5432, true },
		{ "host:5432", "127.0.0.1", 5433, false },
		{ "host:5432", "127.0.0.1", 0, false },
		{ "10.0.0.0/8:443", "10.0.0.1", 0, false },
		{ "[2001:db8::1]:1", "2001:db8::1", 0, false },
		{ "host:5432", "127.0.0.2", 5432, false },
		{ "host:5432", "0.0.0.0", 5432, false },
		{ "host:5432", "::", 5432, false },
		{ "host:5432", "192.0.2.1", 5432, false },
		{ "0.0.0.0/1:1", "127.0.0.1", 1, false },
		{ "0.0.0.0/1:1", "0.0.0.0", 1, false },
		{ "0.0.0.0/1:1", "126.0.0.1", 1, true },
		{ "[::/1]:1", "::1", 1, false },
		{ "[::/1]:1", "::", 1, false },
		{ "[::/1]:1", "::2", 1, true },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		struct aj_host_rule r = rule(rows[i].rule);
		unsigned char address[16];
		int family = strchr(rows[i].address, ':') ? AF_INET6 : AF_INET;
		cr_assert_eq(inet_pton(family, rows[i].address, address), 1);
		cr_expect_eq(aj_host_rule_has_address(&r, family, address, rows[i].port), rows[i].has, "row %zu", i);
	}
}

/* A site's ceiling, and `policy diff`, go by this. */
Test(hosts, no_other_item_covers_the_hosts_loopback)
{
	static const char *const others[] = {
		"*.docker.internal:5432", "0.0.0.0/1:5432", "[::/1]:5432", "hosts:5432", "host:5433", "10.0.0.0/8:5432"
	};
	cr_expect(aj_host_covers("host:5432", "host:5432") && aj_host_covers("host:5432", "Host.Docker.Internal:5432"));
	for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
		cr_expect_not(aj_host_covers(others[i], "host:5432"), "%s", others[i]);
		cr_expect_not(aj_host_covers("host:5432", others[i]), "%s", others[i]);
		cr_expect(aj_host_covers(others[i], others[i]), "%s", others[i]);
	}
}

/* A proxy of the site's is often a program on the host. */
Test(hosts, servers_of_a_site)
{
	struct aj_host_rule r;
	cr_expect_null(aj_host_server_parse("127.0.0.1:3128", &r));
	cr_expect_null(aj_host_server_parse("localhost:3128", &r));
	cr_expect_null(aj_host_server_parse("proxy:3128", &r));
	cr_expect_null(aj_host_server_parse("host:3128", &r));
	cr_expect_eq(r.kind, AJ_HOST_NAME);
	cr_expect(aj_host_server_parse("proxy", &r));
}
