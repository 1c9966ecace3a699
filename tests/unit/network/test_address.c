/* Which addresses are public, and how the others are called: one row for each range, and for both sides of its edges. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

#include "network/inspect/address.h"

static const char *class(const char *text)
{
	unsigned char address[16];
	int family = strchr(text, ':') ? AF_INET6 : AF_INET;
	cr_assert_eq(inet_pton(family, text, address), 1, "%s", text);
	const char *found = aj_address_refused(family, address);
	return found ? found : "public";
}

Test(address, classes)
{
	static const struct {
		const char *address, *want;
	} rows[] = {
		{ "1.1.1.1", "public" },
		{ "203.0.113.7", "public" },
		{ "198.51.100.1", "public" },
		{ "0.0.0.0", "this host" },
		{ "0.255.255.255", "this host" },
		{ "1.0.0.0", "public" },
		{ "127.0.0.1", "loopback" },
		{ "127.255.255.254", "loopback" },
		{ "126.255.255.255", "public" },
		{ "128.0.0.1", "public" },
		{ "10.0.0.1", "private" },
		{ "11.0.0.0", "public" },
		{ "172.15.255.255", "public" },
		{ "172.16.0.0", "private" },
		{ "172.31.255.255", "private" },
		{ "172.32.0.0", "public" },
		{ "192.168.0.1", "private" },
		{ "192.169.0.1", "public" },
		{ "100.63.255.255", "public" },
		{ "100.64.0.0", "shared by a provider" },
		{ "100.127.255.255", "shared by a provider" },
		{ "100.128.0.0", "public" },
		{ "100.100.100.200", "metadata" },
		{ "169.254.169.254", "metadata" },
		{ "169.254.170.2", "metadata" },
		{ "168.63.129.16", "metadata" },
		{ "168.63.129.17", "public" },
		{ "192.0.0.192", "metadata" },
		{ "169.254.1.1", "link-local" },
		{ "192.0.0.8", "reserved" },
		{ "192.88.99.1", "a relay of 6to4" },
		{ "198.17.255.255", "public" },
		{ "198.18.0.1", "for benchmarks" },
		{ "198.19.255.255", "for benchmarks" },
		{ "198.20.0.0", "public" },
		{ "223.255.255.255", "public" },
		{ "224.0.0.251", "multicast" },
		{ "239.255.255.250", "multicast" },
		{ "240.0.0.1", "reserved" },
		{ "255.255.255.255", "broadcast" },
		{ "2606:4700:4700::1111", "public" },
		{ "2001:db8::1", "public" },
		{ "2001:db8::5efe:a00:1", "private" }, /* ISATAP */
		{ "2001:db8::200:5efe:7f00:1", "loopback" },
		{ "2001:db8::5efe:101:101", "public" },
		{ "::", "this host" },
		{ "::1", "loopback" },
		{ "::2", "this host" }, /* ::0.0.0.2 */
		{ "::ffff:127.0.0.1", "loopback" },
		{ "::ffff:169.254.169.254", "metadata" },
		{ "::ffff:1.1.1.1", "public" },
		{ "::ffff:0:10.0.0.1", "private" },
		{ "::10.0.0.1", "private" },
		{ "64:ff9b::127.0.0.1", "loopback" },
		{ "64:ff9b::1.1.1.1", "public" },
		{ "64:ff9b:1::1.1.1.1", "reserved" },
		{ "2002:7f00:1::", "loopback" },
		{ "2002:a9fe:a9fe::1", "metadata" },
		{ "2002:101:101::1", "public" },
		{ "2001::1", "a tunnel" },
		{ "2001:2::1", "for benchmarks" },
		{ "2001:20::1", "reserved" },
		{ "2001:200::1", "public" },
		{ "fd00:ec2::254", "metadata" },
		{ "fd20:ce::254", "metadata" },
		{ "fd00:a9e7::1", "private" },
		{ "fc00::1", "private" },
		{ "fe00::1", "reserved" },
		{ "fe80::1", "link-local" },
		{ "febf::1", "link-local" },
		{ "fec0::1", "private" },
		{ "ff02::fb", "multicast" },
		{ "100::1", "reserved" },
		{ "4000::1", "reserved" },
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		cr_expect_str_eq(class(rows[i].address), rows[i].want, "%s: %s", rows[i].address, class(rows[i].address));
	cr_expect(aj_address_refused(AF_UNIX, "x"));
}
