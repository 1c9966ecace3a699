/* Which sockets a command may make, by family, type and protocol, and the calls of a network.
 * It lists no protocol that the kernel would load a module for: everybody may have the host's kernel load one by asking for a
 * socket of it, the namespaces of a jail do not separate that, and the code of rare protocols is the least tested. */
#include <errno.h>
#include <stdbool.h>

#include "policy/seccomp/rows.h"

/* clang-format off */

#define BOTH 8u                         /* the bit in which AF_INET (2) and AF_INET6 (10) differ */
#define INTERNET ARG(0, LOW32 & ~BOTH, 2)
#define TYPE(t) ARG(1, 0xf, t)          /* beside it are SOCK_NONBLOCK and SOCK_CLOEXEC */
enum { STREAM = 1, DATAGRAM = 2, RAW = 3 };

static const struct aj_syscall everywhere[] = {
	{ "socket", .arg = { IS(0, 1) }, .why = "AF_UNIX" },
};

/* With a network, even if only loopback. */
static const struct aj_syscall network_rows[] = {
	{ "socket", .arg = { INTERNET, TYPE(STREAM), IS(2, 0) }, .why = "AF_INET, AF_INET6: TCP" },
	{ "socket", .arg = { INTERNET, TYPE(STREAM), IS(2, 6) }, .why = "AF_INET, AF_INET6: IPPROTO_TCP" },
	{ "socket", .arg = { INTERNET, TYPE(DATAGRAM), IS(2, 0) }, .why = "AF_INET, AF_INET6: UDP" },
	{ "socket", .arg = { INTERNET, TYPE(DATAGRAM), IS(2, 17) }, .why = "AF_INET, AF_INET6: IPPROTO_UDP" },
	{ "socket", .arg = { IS(0, 2), TYPE(DATAGRAM), IS(2, 1) }, .why = "AF_INET: IPPROTO_ICMP, for ping" },
	{ "socket", .arg = { IS(0, 10), TYPE(DATAGRAM), IS(2, 58) }, .why = "AF_INET6: IPPROTO_ICMPV6, for ping" },
	{ "socket", .arg = { IS(0, 16), IS(2, 0) }, .why = "NETLINK_ROUTE: getaddrinfo lists addresses" },
	{ "ioctl", .arg = { IS(1, 0x8905) }, .why = "SIOCATMARK" },
	{ "ioctl", .arg = { IS(1, 0x8910) }, .why = "SIOCGIFNAME" },
	{ "ioctl", .arg = { IS(1, 0x8912) }, .why = "SIOCGIFCONF" },
	{ "ioctl", .arg = { IS(1, 0x8913) }, .why = "SIOCGIFFLAGS" },
	{ "ioctl", .arg = { IS(1, 0x8915) }, .why = "SIOCGIFADDR" },
	{ "ioctl", .arg = { IS(1, 0x8917) }, .why = "SIOCGIFDSTADDR" },
	{ "ioctl", .arg = { IS(1, 0x8919) }, .why = "SIOCGIFBRDADDR" },
	{ "ioctl", .arg = { IS(1, 0x891b) }, .why = "SIOCGIFNETMASK" },
	{ "ioctl", .arg = { IS(1, 0x8921) }, .why = "SIOCGIFMTU" },
	{ "ioctl", .arg = { IS(1, 0x8927) }, .why = "SIOCGIFHWADDR" },
	{ "ioctl", .arg = { IS(1, 0x8933) }, .why = "SIOCGIFINDEX" },
};

/* Every other family, type and protocol: an errno that programs handle. The masks express "none of the above" bit by bit, because
 * a filter can only compare for equality. Protocols end at 262; some numbers from 512 on get the errno of other families. */
static const struct aj_syscall families_unix_only[] = {
	{ "socket", EAFNOSUPPORT, REASON(AJ_NO_NETWORK) },
};
#define NO_TYPE(mask, value) \
	{ "socket", ESOCKTNOSUPPORT, .arg = { INTERNET, ARG(1, mask, value) }, \
	  REASON("other types of socket", "Use SOCK_STREAM or SOCK_DGRAM; there are no other types.") }
#define NO_PROTOCOL(but, family, type, mask, value) \
	{ "socket", EPROTONOSUPPORT, .arg = { ARG(0, LOW32 & ~(but), family), TYPE(type), ARG(2, mask, value) }, \
	  REASON("protocols that the kernel loads modules for", "Use TCP or UDP; there are no other protocols.") }
#define NO_STREAM(mask, value) NO_PROTOCOL(BOTH, 2, STREAM, mask, value)
#define NO_DATAGRAM(mask, value) NO_PROTOCOL(BOTH, 2, DATAGRAM, mask, value)
#define NO_DATAGRAM4(mask, value) NO_PROTOCOL(0u, 2, DATAGRAM, mask, value)
#define NO_DATAGRAM6(mask, value) NO_PROTOCOL(0u, 10, DATAGRAM, mask, value)
static const struct aj_syscall families_internet[] = {
	{ "socket", EAFNOSUPPORT, REASON("other families", "Use IPv4, IPv6 or Unix sockets; other families are not available.") },
	{ "socket", EPERM, .arg = { INTERNET, TYPE(RAW) },
	  REASON("raw sockets", "Use TCP or UDP; a raw socket needs a privilege.") },
	NO_TYPE(0xf, 0), NO_TYPE(4, 4), NO_TYPE(8, 8),
	/* but 0 and 6 */
	NO_STREAM(0x01, 0x01), NO_STREAM(0x06, 0x02), NO_STREAM(0x06, 0x04), NO_STREAM(0x08, 0x08), NO_STREAM(0x10, 0x10),
	NO_STREAM(0x20, 0x20), NO_STREAM(0x40, 0x40), NO_STREAM(0x80, 0x80), NO_STREAM(0x100, 0x100),
	NO_DATAGRAM(0x40, 0x40), NO_DATAGRAM(0x80, 0x80), NO_DATAGRAM(0x100, 0x100),
	/* but 0, 1 and 17 */
	NO_DATAGRAM4(0x02, 0x02), NO_DATAGRAM4(0x04, 0x04), NO_DATAGRAM4(0x08, 0x08), NO_DATAGRAM4(0x20, 0x20),
	NO_DATAGRAM4(0x11, 0x10),
	/* but 0, 17 (010001) and 58 (111010) */
	NO_DATAGRAM6(0x04, 0x04), NO_DATAGRAM6(0x03, 0x03), NO_DATAGRAM6(0x09, 0x09), NO_DATAGRAM6(0x21, 0x21),
	NO_DATAGRAM6(0x11, 0x01), NO_DATAGRAM6(0x0b, 0x02), NO_DATAGRAM6(0x0b, 0x08), NO_DATAGRAM6(0x19, 0x08),
	NO_DATAGRAM6(0x19, 0x10), NO_DATAGRAM6(0x31, 0x10), NO_DATAGRAM6(0x31, 0x20),
};
/* clang-format on */

int aj_syscalls_sockets_each(enum aj_network network, aj_syscall_fn *each, void *data)
{
#define TABLE(t, on)                                  \
	{                                             \
		t, (on) ? sizeof(t) / sizeof *(t) : 0 \
	}
	bool internet = network != AJ_NET_NONE;
	const struct {
		const struct aj_syscall *rows;
		size_t count;
	} tables[] = {
		TABLE(everywhere, true),
		TABLE(network_rows, internet),
		TABLE(families_internet, internet),
		TABLE(families_unix_only, !internet),
	};
	int r = 0;
	for (size_t t = 0; t < sizeof tables / sizeof *tables && !r; t++)
		r = aj_syscall_rows_each(tables[t].rows, tables[t].count, each, data);
	return r;
}
