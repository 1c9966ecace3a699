/* Writes nftables' messages: one batch of tables, chains and rules, which the kernel takes as a whole or not at all.
 * It knows no rule: sandbox/netns/redirect.c does. */
#include "sandbox/netns/nft.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <netlink/netlink.h>
#include <string.h>

static struct nl_msg *begin_message(int type, int flags, uint8_t family)
{
	struct nl_msg *msg = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags);
	bool marker = type == NFNL_MSG_BATCH_BEGIN || type == NFNL_MSG_BATCH_END;
	uint16_t subsystem = marker ? htons(NFNL_SUBSYS_NFTABLES) : 0;
	struct nfgenmsg header = { .nfgen_family = family, .version = NFNETLINK_V0, .res_id = subsystem };
	if (msg)
		nlmsg_append(msg, &header, sizeof header, NLMSG_ALIGNTO);
	return msg;
}

void aj_nft_add(struct aj_nft_batch *b, struct nl_msg *msg)
{
	if (msg && b->sock) {
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

struct nl_msg *aj_nft_begin(int what, int flags)
{
	return begin_message(NFNL_SUBSYS_NFTABLES << 8 | what, NLM_F_CREATE | flags, NFPROTO_INET);
}

void aj_nft_number(struct nl_msg *msg, int type, uint32_t number)
{
	nla_put_u32(msg, type, htonl(number));
}

static struct nlattr *nest(struct nl_msg *msg, int type)
{
	return nla_nest_start(msg, type | NLA_F_NESTED);
}

void aj_nft_table(struct aj_nft_batch *b, const char *name)
{
	struct nl_msg *msg = aj_nft_begin(NFT_MSG_NEWTABLE, 0);
	if (msg)
		nla_put_string(msg, NFTA_TABLE_NAME, name);
	aj_nft_add(b, msg);
}

void aj_nft_chain(struct aj_nft_batch *b, const struct aj_nft_chain *chain)
{
	struct nl_msg *msg = aj_nft_begin(NFT_MSG_NEWCHAIN, 0);
	if (msg) {
		nla_put_string(msg, NFTA_CHAIN_TABLE, chain->table);
		nla_put_string(msg, NFTA_CHAIN_NAME, chain->name);
		struct nlattr *hook = nest(msg, NFTA_CHAIN_HOOK);
		aj_nft_number(msg, NFTA_HOOK_HOOKNUM, chain->hook);
		aj_nft_number(msg, NFTA_HOOK_PRIORITY, (uint32_t)chain->priority);
		nla_nest_end(msg, hook);
		nla_put_string(msg, NFTA_CHAIN_TYPE, chain->type);
	}
	aj_nft_add(b, msg);
}

/* --- expressions --- */

struct aj_nft_expression aj_nft_expression(struct nl_msg *msg, const char *name)
{
	struct aj_nft_expression e = { .whole = nest(msg, NFTA_LIST_ELEM) };
	nla_put_string(msg, NFTA_EXPR_NAME, name);
	e.data = nest(msg, NFTA_EXPR_DATA);
	return e;
}

void aj_nft_expression_end(struct nl_msg *msg, struct aj_nft_expression e)
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

void aj_nft_load_meta(struct nl_msg *msg, uint32_t key)
{
	struct aj_nft_expression e = aj_nft_expression(msg, "meta");
	aj_nft_number(msg, NFTA_META_DREG, NFT_REG_1);
	aj_nft_number(msg, NFTA_META_KEY, key);
	aj_nft_expression_end(msg, e);
}

void aj_nft_load_payload(struct nl_msg *msg, uint32_t base, uint32_t offset, uint32_t bytes)
{
	struct aj_nft_expression e = aj_nft_expression(msg, "payload");
	aj_nft_number(msg, NFTA_PAYLOAD_DREG, NFT_REG_1);
	aj_nft_number(msg, NFTA_PAYLOAD_BASE, base);
	aj_nft_number(msg, NFTA_PAYLOAD_OFFSET, offset);
	aj_nft_number(msg, NFTA_PAYLOAD_LEN, bytes);
	aj_nft_expression_end(msg, e);
}

void aj_nft_compare(struct nl_msg *msg, uint32_t how, const void *value, uint32_t bytes)
{
	struct aj_nft_expression e = aj_nft_expression(msg, "cmp");
	aj_nft_number(msg, NFTA_CMP_SREG, NFT_REG_1);
	aj_nft_number(msg, NFTA_CMP_OP, how);
	put_value(msg, NFTA_CMP_DATA, value, bytes);
	aj_nft_expression_end(msg, e);
}

void aj_nft_mask(struct nl_msg *msg, uint8_t mask)
{
	static const uint8_t none = 0;
	struct aj_nft_expression e = aj_nft_expression(msg, "bitwise");
	aj_nft_number(msg, NFTA_BITWISE_SREG, NFT_REG_1);
	aj_nft_number(msg, NFTA_BITWISE_DREG, NFT_REG_1);
	aj_nft_number(msg, NFTA_BITWISE_LEN, sizeof mask);
	put_value(msg, NFTA_BITWISE_MASK, &mask, sizeof mask);
	put_value(msg, NFTA_BITWISE_XOR, &none, sizeof none);
	aj_nft_expression_end(msg, e);
}

void aj_nft_constant(struct nl_msg *msg, uint32_t target, const void *value, uint32_t bytes)
{
	struct aj_nft_expression e = aj_nft_expression(msg, "immediate");
	aj_nft_number(msg, NFTA_IMMEDIATE_DREG, target);
	put_value(msg, NFTA_IMMEDIATE_DATA, value, bytes);
	aj_nft_expression_end(msg, e);
}

void aj_nft_accept(struct nl_msg *msg)
{
	struct aj_nft_expression e = aj_nft_expression(msg, "immediate");
	aj_nft_number(msg, NFTA_IMMEDIATE_DREG, NFT_REG_VERDICT);
	struct nlattr *data = nest(msg, NFTA_IMMEDIATE_DATA), *verdict = nest(msg, NFTA_DATA_VERDICT);
	aj_nft_number(msg, NFTA_VERDICT_CODE, NF_ACCEPT);
	nla_nest_end(msg, verdict);
	nla_nest_end(msg, data);
	aj_nft_expression_end(msg, e);
}

/* --- a batch --- */

void aj_nft_batch_begin(struct aj_nft_batch *b)
{
	*b = (struct aj_nft_batch){ .sock = nl_socket_alloc() };
	b->full = !b->sock;
	if (!b->sock)
		return;
	nl_socket_disable_seq_check(b->sock);
	nl_socket_disable_auto_ack(b->sock); /* else the first answer is the table's, and those of the rules are not read */
	aj_nft_add(b, begin_message(NFNL_MSG_BATCH_BEGIN, 0, AF_UNSPEC));
}

int aj_nft_batch_end(struct aj_nft_batch *b)
{
	int r = -NLE_NOMEM;
	if (b->sock)
		aj_nft_add(b, begin_message(NFNL_MSG_BATCH_END, 0, AF_UNSPEC));
	if (!b->full && (r = nl_connect(b->sock, NETLINK_NETFILTER)) == 0)
		r = nl_sendto(b->sock, b->bytes, b->used);
	if (r >= 0)
		r = nl_wait_for_ack(b->sock);
	nl_socket_free(b->sock);
	return r < 0 ? r : 0;
}
