/* Redirects every TCP connection of this network namespace to one listener, except for connections to its own loopback and DNS
 * server: by tproxy, or where the kernel has none, by NAT.
 * It filters nothing: the namespace has no interface but lo, so a packet that no rule matches leads nowhere either. */
#include "sandbox/netns/redirect.h"

#include <arpa/inet.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <netlink/netlink.h>
#include <string.h>

#include "policy/plan/egress_addresses.h"
#include "sandbox/netns/nft.h"

/* As `nft` would read it. By tproxy, connections are not tracked:
 *
 *   table inet agentjail {
 *     chain led       { type filter hook prerouting priority mangle
 *                       meta l4proto != tcp accept
 *                       tcp flags & (syn | rst | ack) != syn accept
 *                       ip  daddr 127.0.0.0/8 accept
 *                       ip  daddr V4 tcp dport 53 accept,  tproxy to V4:PORT accept
 *                       ip6 daddr ::1 accept
 *                       ip6 daddr V6 tcp dport 53 accept,  tproxy to [V6]:PORT accept
 *                       reject with tcp reset } }
 *
 * Only the first packet of a connection needs a rule: the others find its socket, which has the address and port that were meant.
 * A first packet that the listener does not get, as when the relay is gone, is for no server of the guest's.
 *
 * By NAT:
 *
 *   table inet agentjail {
 *     chain untracked { type filter hook output priority raw;    meta l4proto != tcp notrack }
 *     chain led       { type nat hook output priority dstnat;    ip  daddr 127.0.0.0/8 accept
 *                                                                ip  daddr V4 tcp dport 53 accept,  dnat to V4:PORT
 *                                                                ip6 daddr ::1 accept
 *                                                                ip6 daddr V6 tcp dport 53 accept,  dnat to [V6]:PORT } }
 *
 * Only TCP is tracked: else each datagram would cost kernel memory that no limit of the jail counts. */
#define TABLE "agentjail"
#define LED "led"
#define UNTRACKED "untracked"
enum { PRIORITY_RAW = -300, PRIORITY_MANGLE = -150, PRIORITY_DSTNAT = -100 };
enum { PROTOCOL_TCP = 6, TCP_PORT_AT = 2, TCP_FLAGS_AT = 13, TCP_SYN = 2, TCP_RST = 4, TCP_ACK = 16 };

/* An address of one family, and where a packet has the destination. */
struct family {
	uint8_t nfproto;
	uint32_t bytes, offset;
	char listener[16], loopback[16];
	uint32_t loopback_bytes; /* of the prefix that loopback addresses have */
};

/* The conditions under which the kernel continues with the rule for a packet, and then the verdict on that packet. */
enum test { ANY, NO_TCP, NO_FIRST, LOOPBACK, DNS, OF_FAMILY };
enum act { ACCEPT, NOT_TRACKED, BY_TPROXY, BY_NAT, RESET };

static void put_test(struct nl_msg *msg, enum test test, const struct family *f)
{
	const uint8_t tcp = PROTOCOL_TCP, syn = TCP_SYN;
	const uint16_t dns_port = htons(AJ_EGRESS_DNS_PORT);
	if (test == NO_TCP) {
		aj_nft_load_meta(msg, NFT_META_L4PROTO);
		aj_nft_compare(msg, NFT_CMP_NEQ, &tcp, sizeof tcp);
	} else if (test == NO_FIRST) {
		aj_nft_load_payload(msg, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_FLAGS_AT, sizeof syn);
		aj_nft_mask(msg, TCP_SYN | TCP_RST | TCP_ACK);
		aj_nft_compare(msg, NFT_CMP_NEQ, &syn, sizeof syn);
	}
	if (!f)
		return;
	aj_nft_load_meta(msg, NFT_META_NFPROTO);
	aj_nft_compare(msg, NFT_CMP_EQ, &f->nfproto, sizeof f->nfproto);
	if (test == LOOPBACK) {
		aj_nft_load_payload(msg, NFT_PAYLOAD_NETWORK_HEADER, f->offset, f->loopback_bytes);
		aj_nft_compare(msg, NFT_CMP_EQ, f->loopback, f->loopback_bytes);
	} else if (test == DNS) {
		aj_nft_load_payload(msg, NFT_PAYLOAD_NETWORK_HEADER, f->offset, f->bytes);
		aj_nft_compare(msg, NFT_CMP_EQ, f->listener, f->bytes);
		aj_nft_load_payload(msg, NFT_PAYLOAD_TRANSPORT_HEADER, TCP_PORT_AT, sizeof dns_port);
		aj_nft_compare(msg, NFT_CMP_EQ, &dns_port, sizeof dns_port);
	}
}

static void put_act(struct nl_msg *msg, enum act act, const struct family *f)
{
	const uint16_t port = htons(AJ_EGRESS_PORT);
	struct aj_nft_expression e;
	if (act == BY_TPROXY || act == BY_NAT) {
		aj_nft_constant(msg, NFT_REG_1, f->listener, f->bytes);
		aj_nft_constant(msg, NFT_REG_2, &port, sizeof port);
	}
	switch (act) {
	case NOT_TRACKED:
		aj_nft_expression_end(msg, aj_nft_expression(msg, "notrack"));
		return;
	case BY_NAT:
		e = aj_nft_expression(msg, "nat");
		aj_nft_number(msg, NFTA_NAT_TYPE, NFT_NAT_DNAT);
		aj_nft_number(msg, NFTA_NAT_FAMILY, f->nfproto);
		aj_nft_number(msg, NFTA_NAT_REG_ADDR_MIN, NFT_REG_1);
		aj_nft_number(msg, NFTA_NAT_REG_PROTO_MIN, NFT_REG_2);
		aj_nft_expression_end(msg, e);
		return;
	case RESET:
		e = aj_nft_expression(msg, "reject");
		aj_nft_number(msg, NFTA_REJECT_TYPE, NFT_REJECT_TCP_RST);
		aj_nft_expression_end(msg, e);
		return;
	case BY_TPROXY: /* the rule ends here where the listener is gone */
		e = aj_nft_expression(msg, "tproxy");
		aj_nft_number(msg, NFTA_TPROXY_FAMILY, f->nfproto);
		aj_nft_number(msg, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
		aj_nft_number(msg, NFTA_TPROXY_REG_PORT, NFT_REG_2);
		aj_nft_expression_end(msg, e);
		break;
	case ACCEPT:
		break;
	}
	aj_nft_accept(msg);
}

struct rule {
	const char *chain;
	enum test test;
	enum act act;
	int flags;
};

static void add_rule(struct aj_nft_batch *b, const struct rule *rule, const struct family *f)
{
	struct nl_msg *msg = aj_nft_begin(NFT_MSG_NEWRULE, NLM_F_APPEND | rule->flags);
	if (msg) {
		nla_put_string(msg, NFTA_RULE_TABLE, TABLE);
		nla_put_string(msg, NFTA_RULE_CHAIN, rule->chain);
		struct nlattr *list = nla_nest_start(msg, NFTA_RULE_EXPRESSIONS | NLA_F_NESTED);
		put_test(msg, rule->test, f);
		put_act(msg, rule->act, f);
		nla_nest_end(msg, list);
	}
	aj_nft_add(b, msg);
}

static void add_families(struct aj_nft_batch *b, enum act act, int flags)
{
	struct family families[] = {
		{ .nfproto = NFPROTO_IPV4, .bytes = 4, .offset = 16, .loopback = "\x7f", .loopback_bytes = 1 },
		{ .nfproto = NFPROTO_IPV6, .bytes = 16, .offset = 24, .loopback = { [15] = 1 }, .loopback_bytes = 16 },
	};
	inet_pton(AF_INET, AJ_EGRESS_V4, families[0].listener);
	inet_pton(AF_INET6, AJ_EGRESS_V6, families[1].listener);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		bool last = i + 1 == sizeof families / sizeof *families;
		add_rule(b, &(struct rule){ LED, LOOPBACK, ACCEPT, 0 }, &families[i]);
		add_rule(b, &(struct rule){ LED, DNS, ACCEPT, 0 }, &families[i]);
		add_rule(b, &(struct rule){ LED, OF_FAMILY, act, last ? flags : 0 }, &families[i]);
	}
}

static int lead_by_tproxy(void)
{
	struct aj_nft_batch batch;
	aj_nft_batch_begin(&batch);
	aj_nft_table(&batch, TABLE);
	aj_nft_chain(&batch, &(struct aj_nft_chain){ TABLE, LED, "filter", NF_INET_PRE_ROUTING, PRIORITY_MANGLE });
	add_rule(&batch, &(struct rule){ LED, NO_TCP, ACCEPT, 0 }, NULL);
	add_rule(&batch, &(struct rule){ LED, NO_FIRST, ACCEPT, 0 }, NULL);
	add_families(&batch, BY_TPROXY, 0);
	add_rule(&batch, &(struct rule){ LED, ANY, RESET, NLM_F_ACK }, NULL);
	return aj_nft_batch_end(&batch);
}

static int lead_by_nat(void)
{
	struct aj_nft_batch batch;
	aj_nft_batch_begin(&batch);
	aj_nft_table(&batch, TABLE);
	aj_nft_chain(&batch, &(struct aj_nft_chain){ TABLE, UNTRACKED, "filter", NF_INET_LOCAL_OUT, PRIORITY_RAW });
	aj_nft_chain(&batch, &(struct aj_nft_chain){ TABLE, LED, "nat", NF_INET_LOCAL_OUT, PRIORITY_DSTNAT });
	add_rule(&batch, &(struct rule){ UNTRACKED, NO_TCP, NOT_TRACKED, 0 }, NULL);
	add_families(&batch, BY_NAT, NLM_F_ACK);
	return aj_nft_batch_end(&batch);
}

int aj_redirect_tcp(bool transparent, struct aj_error *err)
{
	if (transparent && lead_by_tproxy() == 0)
		return 1;
	int r = lead_by_nat();
	if (r == 0)
		return 0;
	aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "egress", 0,
	                "lead the jail's connections to the relay by nftables: %s", nl_geterror(r));
	if (r == -NLE_PERM || r == -NLE_NOACCESS || r == -NLE_NOMEM)
		aj_advise(err,
		          "use a policy with another network (--network none), or find out what denies nftables to user namespaces here");
	else
		aj_advise(err,
		          "the kernel lacks nftables with tproxy or NAT: `sudo modprobe -a nf_tables nft_tproxy nft_reject_inet`, or "
		          "`sudo modprobe -a nf_tables nft_chain_nat nft_nat nft_ct`, or use --network none");
	return -1;
}
