/* Two tables of prefixes, after IANA's registries of special-purpose addresses; a row above another one is the more exact class.
 * An address is refused unless it is unicast and public; the ranges for documentation count as public, as no host has them. */
#include "network/inspect/address.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/socket.h>

enum { V4_BYTES = 4, V6_BYTES = 16 };

struct prefix4 {
	uint8_t address[V4_BYTES];
	unsigned bits;
	const char *class;
};

struct prefix6 {
	uint8_t address[V6_BYTES];
	unsigned bits;
	const char *class; /* NULL: an IPv4 address lies at byte `at`, and its class counts */
	size_t at;
};

/* clang-format off */
static const struct prefix4 table4[] = {
	{ { 169, 254, 169, 254 }, 32, "metadata" },         /* most clouds */
	{ { 169, 254, 170, 0 },   24, "metadata" },         /* credentials of containers and pods, and time */
	{ { 100, 100, 100, 200 }, 32, "metadata" },
	{ { 168, 63, 129, 16 },   32, "metadata" },         /* a public address that a cloud's hosts answer themselves */
	{ { 192, 0, 0, 192 },     32, "metadata" },
	{ { 0, 0, 0, 0 },          8, "this host" },
	{ { 127, 0, 0, 0 },        8, "loopback" },
	{ { 10, 0, 0, 0 },         8, "private" },
	{ { 172, 16, 0, 0 },      12, "private" },
	{ { 192, 168, 0, 0 },     16, "private" },
	{ { 100, 64, 0, 0 },      10, "shared by a provider" },
	{ { 169, 254, 0, 0 },     16, "link-local" },
	{ { 192, 0, 0, 0 },       24, "reserved" },
	{ { 192, 88, 99, 0 },     24, "a relay of 6to4" },
	{ { 198, 18, 0, 0 },      15, "for benchmarks" },   /* the jail's own stand-ins for names lie here */
	{ { 224, 0, 0, 0 },        4, "multicast" },
	{ { 255, 255, 255, 255 }, 32, "broadcast" },
	{ { 240, 0, 0, 0 },        4, "reserved" },
};

static const struct prefix6 table6[] = {
	{ { 0xfd, 0x00, 0x0e, 0xc2, [14] = 0x02, 0x54 }, 128, "metadata", 0 },
	{ { 0xfd, 0x20, 0x00, 0xce, [14] = 0x02, 0x54 }, 128, "metadata", 0 },
	{ { [15] = 1 },                        128, "loopback", 0 },
	{ { 0 },                               128, "this host", 0 },
	{ { [10] = 0xff, 0xff },                96, NULL, 12 },         /* ::ffff:a.b.c.d */
	{ { [8] = 0xff, 0xff },                 96, NULL, 12 },         /* ::ffff:0:a.b.c.d, of a stateless translator */
	{ { 0 },                                96, NULL, 12 },         /* ::a.b.c.d, long out of use */
	{ { 0x00, 0x64, 0xff, 0x9b },           96, NULL, 12 },         /* 64:ff9b::a.b.c.d, of NAT64 */
	{ { 0x20, 0x02 },                       16, NULL, 2 },          /* 2002:aabb:ccdd::, of 6to4 */
	{ { 0x20, 0x01, 0x00, 0x00 },           32, "a tunnel", 0 },    /* Teredo */
	{ { 0x20, 0x01, 0x00, 0x02 },           48, "for benchmarks", 0 },
	{ { 0x20, 0x01, 0x0d, 0xb8 },           32, "", 0 },            /* documentation */
	{ { 0x20, 0x01, 0x00, 0x00 },           23, "reserved", 0 },
	{ { 0xfc },                              7, "private", 0 },
	{ { 0xfe, 0x80 },                       10, "link-local", 0 },
	{ { 0xfe, 0xc0 },                       10, "private", 0 },     /* site-local, before fc00::/7 */
	{ { 0xff },                              8, "multicast", 0 },
	{ { 0x20 },                              3, "", 0 },            /* all that is assigned as unicast */
	{ { 0 },                                 0, "reserved", 0 },
};
/* clang-format on */

static bool within(const uint8_t *address, const uint8_t *prefix, unsigned bits)
{
	unsigned whole = bits / 8, rest = bits % 8;
	if (memcmp(address, prefix, whole) != 0)
		return false;
	return rest == 0 || ((address[whole] ^ prefix[whole]) >> (8 - rest)) == 0;
}

static const char *class_of_v4(const uint8_t *address)
{
	for (size_t i = 0; i < sizeof table4 / sizeof *table4; i++)
		if (within(address, table4[i].address, table4[i].bits))
			return table4[i].class;
	return NULL;
}

/* ISATAP: the last eight bytes of any prefix name the IPv4 address at which the tunnel ends. */
static bool is_isatap(const uint8_t *address)
{
	return (address[8] & 0xfd) == 0 && address[9] == 0 && address[10] == 0x5e && address[11] == 0xfe;
}

static const struct prefix6 *row_of_v6(const uint8_t *address)
{
	const struct prefix6 *row = table6;
	while (!within(address, row->address, row->bits)) /* the last row holds every address */
		row++;
	return row;
}

const uint8_t *aj_address_within(const uint8_t address[16])
{
	const struct prefix6 *row = row_of_v6(address);
	if (!row->class)
		return address + row->at;
	return !*row->class && is_isatap(address) ? address + 12 : NULL;
}

static const char *class_of_v6(const uint8_t *address)
{
	const uint8_t *within_it = aj_address_within(address);
	const char *class = row_of_v6(address)->class;
	return within_it ? class_of_v4(within_it) : *class ? class : NULL;
}

const char *aj_address_refused(int family, const void *address)
{
	if (family == AF_INET)
		return class_of_v4(address);
	return family == AF_INET6 ? class_of_v6(address) : "of no known family";
}
