/* Leads every TCP connection of this network namespace to one listener, except for connections to its own loopback and DNS server.
 * It filters nothing: the namespace has no interface but lo, so a packet that no rule matches leads nowhere either. */
#include "netns/redirect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/msg.h>
#include <netlink/netlink.h>
#include <stdbool.h>
#include <string.h>

#include "plan/egress.h"

/* As `nft` would read it:
 *
 *   table inet agentjail {
 *     chain untracked { type filter hook output priority raw;    meta l4proto != tcp notrack }
 *     chain led       { type nat hook output priority dstnat;    ip  daddr 127.0.0.0/8 accept
 *                                                                ip6 daddr ::1 accept
 *                                                                ip  daddr V4 tcp dport 53 accept,  dnat to V4:PORT
 *                                                                ip6 daddr V6 tcp dport 53 accept,  dnat to [V6]:PORT } }
 *
 * Only TCP is tracked: else each datagram would cost kernel memory that no limit of the jail counts. */
#define TABLE "agentjail"
#define UNTRACKED "untracked"
#define LED "led"
enum { PRIORITY_RAW = -300, PRIORITY_DSTNAT = -100 };
enum { PROTOCOL_TCP = 6, BATCH_BYTES = 8192, FIRST = NFT_REG_1, SECOND = NFT_REG_2 };

struct batch {
	struct nl_sock *sock;
	char bytes[BATCH_BYTES];
	size_t used;
	bool full;
};

/* An address of one family, and where a packet has the destination. */
struct family {
	uint8_t nfproto;
	uint32_t bytes, offset;
	char listener[16], loopback[16];
	uint32_t loopback_bytes; /* of the prefix that loopback addresses have */
};

static struct nl_msg *begin_message(int type, int flags, uint8_t family)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);
	bool marker = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;
	struct nfgenmsg header = { .nfgen_family = family, .version = NFNETLINK_V0, .res_id = marker ? htons(NFNL_SUBSYS_NFTABLES) : 0 };
	if (msg)
		nlmsg_append(msg, &header, sizeof header, NLMSG_ALIGNTO);
	return msg;
}

static void add_message(struct batch *b, struct nl_msg *msg)
{
	if (msg) {
		nl_complete_msg(b->sock, msg);
		size_t bytes = NLMSG_ALIGN(nlmsg_hdr(msg)->nlmsg_len);
		b->full |= bytes > sizeof b->bytes - b->used;
		if (!b->full) {
			memcpy(b->bytes + b->used, nlmsg_hdr(msg), nlmsg_hdr(msg)->nlmsg_len);
			b->used += bytes;
		}
	}
	b->full |= !msg;
	nlmsg_free(msg);
}

static struct nl_msg *begin_table(int what, int flags)
{
	return begin_message(NFNL_SUBSYS_NFTABLES << 8 | what, NLM_F_CREATE | flags, NFPROTO_INET);
}

static void put_number(struct nl_msg *msg, int type, uint32_t number)
{
	nla_put_u32(msg, type, htonl(number));
}

static struct nlattr *nest(struct nl_msg *msg, int type)
{
	return nla_nest_start(msg, type | NLA_F_NESTED);
}

static void add_chain(struct batch *b, const char *name, const char *type, int priority)
{
	struct nl_msg *msg = begin_table(NFT_MSG_NEWCHAIN, 0);
	if (msg) {
		nla_put_string(msg, NFTA_CHAIN_TABLE, TABLE);
		nla_put_string(msg, NFTA_CHAIN_NAME, name);
		struct nlattr *hook = nest(msg, NFTA_CHAIN_HOOK);
		put_number(msg, NFTA_HOOK_HOOKNUM, NF_INET_LOCAL_OUT);
		put_number(msg, NFTA_HOOK_PRIORITY, (uint32_t)priority);
		nla_nest_end(msg, hook);
		nla_put_string(msg, NFTA_CHAIN_TYPE, type);
	}
	add_message(b, msg);
}

/* --- expressions of a rule, in the order in which the kernel evaluates them --- */

struct expression {
	struct nlattr *whole, *data;
};

static struct expression begin_expression(struct nl_msg *msg, const char *name)
{
	struct expression e = { .whole = nest(msg, NFTA_LIST_ELEM) };
	nla_put_string(msg, NFTA_EXPR_NAME, name);
	e.data = nest(msg, NFTA_EXPR_DATA);
	return e;
}

static void end_expression(struct nl_msg *msg, struct expression e)
{
	nla_nest_end(msg, e.data);
	nla_nest_end(msg, e.whole);
}

static void put_value(struct nl_msg *msg, int type, const void *value, uint32_t bytes)
{
	struct nlattr *data = nest(msg, type);
	nla_put(msg, NFTA_DATA_VALUE, (int)bytes, value);
	nla_nest_end(msg, data);
}

static void load_meta(struct nl_msg *msg, uint32_t key)
{
	struct expression e = begin_expression(msg, "meta");
	put_number(msg, NFTA_META_DREG, FIRST);
	put_number(msg, NFTA_META_KEY, key);
	end_expression(msg, e);
}

static void load_payload(struct nl_msg *msg, uint32_t base, uint32_t offset, uint32_t bytes)
{
	struct expression e = begin_expression(msg, "payload");
	put_number(msg, NFTA_PAYLOAD_DREG, FIRST);
	put_number(msg, NFTA_PAYLOAD_BASE, base);
	put_number(msg, NFTA_PAYLOAD_OFFSET, offset);
	put_number(msg, NFTA_PAYLOAD_LEN, bytes);
	end_expression(msg, e);
}

/* The rule ends here unless the loaded value compares like this. */
static void compare(struct nl_msg *msg, uint32_t how, const void *value, uint32_t bytes)
{
	struct expression e = begin_expression(msg, "cmp");
	put_number(msg, NFTA_CMP_SREG, FIRST);
	put_number(msg, NFTA_CMP_OP, how);
	put_value(msg, NFTA_CMP_DATA, value, bytes);
	end_expression(msg, e);
}

static void load_constant(struct nl_msg *msg, uint32_t target, const void *value, uint32_t bytes)
{
	struct expression e = begin_expression(msg, "immediate");
	put_number(msg, NFTA_IMMEDIATE_DREG, target);
	put_value(msg, NFTA_IMMEDIATE_DATA, value, bytes);
	end_expression(msg, e);
}

static void accept_packet(struct nl_msg *msg)
{
	struct expression e = begin_expression(msg, "immediate");
	put_number(msg, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	struct nlattr *data = nest(msg, NFTA_IMMEDIATE_DATA), *verdict = nest(msg, NFTA_DATA_VERDICT);
	put_number(msg, NFTA_VERDICT_CODE, NF_ACCEPT);
	nla_nest_end(msg, verdict);
	nla_nest_end(msg, data);
	end_expression(msg, e);
}

static void lead_to_listener(struct nl_msg *msg, const struct family *f)
{
	const uint16_t port = htons(AJ_EGRESS_PORT);
	load_constant(msg, FIRST, f->listener, f->bytes);
	load_constant(msg, SECOND, &port, sizeof port);
	struct expression e = begin_expression(msg, "nat");
	put_number(msg, NFTA_NAT_TYPE, NFT_NAT_DNAT);
	put_number(msg, NFTA_NAT_FAMILY, f->nfproto);
	put_number(msg, NFTA_NAT_REG_ADDR_MIN, FIRST);
	put_number(msg, NFTA_NAT_REG_PROTO_MIN, SECOND);
	end_expression(msg, e);
}

/* --- rules --- */

enum rule { NOT_TRACKED, LOOPBACK, DNS, ALL_ELSE };

static void add_rule(struct batch *b, enum rule rule, const struct family *f, int flags)
{
	const uint8_t tcp = PROTOCOL_TCP;
	const uint16_t dns_port = htons(AJ_EGRESS_DNS_PORT);
	struct nl_msg *msg = begin_table(NFT_MSG_NEWRULE, NLM_F_APPEND | flags);
	if (msg) {
		nla_put_string(msg, NFTA_RULE_TABLE, TABLE);
		nla_put_string(msg, NFTA_RULE_CHAIN, rule == NOT_TRACKED ? UNTRACKED : LED);
		struct nlattr *list = nest(msg, NFTA_RULE_EXPRESSIONS);
		if (rule == NOT_TRACKED) {
			load_meta(msg, NFT_META_L4PROTO);
			compare(msg, NFT_CMP_NEQ, &tcp, sizeof tcp);
			end_expression(msg, begin_expression(msg, "notrack"));
		} else {
			load_meta(msg, NFT_META_NFPROTO);
			compare(msg, NFT_CMP_EQ, &f->nfproto, sizeof f->nfproto);
		}
		if (rule == LOOPBACK) {
			load_payload(msg, NFT_PAYLOAD_NETWORK_HEADER, f->offset, f->loopback_bytes);
			compare(msg, NFT_CMP_EQ, f->loopback, f->loopback_bytes);
			accept_packet(msg);
		} else if (rule == DNS) {
			load_payload(msg, NFT_PAYLOAD_NETWORK_HEADER, f->offset, f->bytes);
			compare(msg, NFT_CMP_EQ, f->listener, f->bytes);
			load_payload(msg, NFT_PAYLOAD_TRANSPORT_HEADER, 2, sizeof dns_port);
			compare(msg, NFT_CMP_EQ, &dns_port, sizeof dns_port);
			accept_packet(msg);
		} else if (rule == ALL_ELSE) {
			lead_to_listener(msg, f);
		}
		nla_nest_end(msg, list);
	}
	add_message(b, msg);
}

static void compose(struct batch *b)
{
	struct family families[] = { { .nfproto = NFPROTO_IPV4, .bytes = 4, .offset = 16, .loopback = "\x7f", .loopback_bytes = 1 },
		                     { .nfproto = NFPROTO_IPV6, .bytes = 16, .offset = 24, .loopback = { [15] = 1 }, .loopback_bytes = 16 } };
	inet_pton(AF_INET, AJ_EGRESS_V4, families[0].listener);
	inet_pton(AF_INET6, AJ_EGRESS_V6, families[1].listener);
	add_message(b, begin_message(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC));
	struct nl_msg *table = begin_table(NFT_MSG_NEWTABLE, 0);
	if (table)
		nla_put_string(table, NFTA_TABLE_NAME, TABLE);
	add_message(b, table);
	add_chain(b, UNTRACKED, "filter", PRIORITY_RAW);
	add_chain(b, LED, "nat", PRIORITY_DSTNAT);
	add_rule(b, NOT_TRACKED, NULL, 0);
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		add_rule(b, LOOPBACK, &families[i], 0);
		add_rule(b, DNS, &families[i], 0);
		/* The kernel answers the message that fails, and else the last one: all of them take effect, or none. */
		add_rule(b, ALL_ELSE, &families[i], i + 1 == sizeof families / sizeof *families ? NLM_F_ACK : 0);
	}
	add_message(b, begin_message(NFNL_MSG_BATCH_END, 0, AF_UNSPEC));
}

int aj_redirect_tcp(struct aj_error *err)
{
	struct batch batch = { .sock = nl_socket_alloc() };
	int r = -NLE_NOMEM;
	if (batch.sock) {
		nl_socket_disable_seq_check(batch.sock);
		nl_socket_disable_auto_ack(batch.sock); /* else the first answer is the table's, and those of the rules are not read */
		r = nl_connect(batch.sock, NETLINK_NETFILTER);
	}
	if (r == 0) {
		compose(&batch);
		r = batch.full ? -NLE_NOMEM : nl_sendto(batch.sock, batch.bytes, batch.used);
	}
	if (r >= 0)
		r = nl_wait_for_ack(batch.sock);
	nl_socket_free(batch.sock);
	if (r >= 0)
		return 0;
	aj_fail_because(err, AJ_REASON_NAMESPACE, AJ_EXIT_SETUP, "egress", 0,
	                "lead the jail's connections to the relay by nftables: %s", nl_geterror(r));
	bool refused = r == -NLE_PERM || r == -NLE_NOACCESS || r == -NLE_NOMEM;
	aj_advise(err, refused ? "use a policy with another network (--network none), or find out what denies nftables to user namespaces here"
	                       : "the kernel lacks NAT for nftables: `sudo modprobe -a nf_tables nft_chain_nat nft_nat nft_ct`, or use --network none");
	return -1;
}
