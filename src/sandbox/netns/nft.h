/* nftables' messages over libnl: a batch, its tables and chains, and the expressions of a rule in the order in which the kernel
 * evaluates them. Private to sandbox/netns/. */
#pragma once
#include <netlink/msg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { AJ_NFT_BATCH_BYTES = 8192 };

struct aj_nft_batch {
	struct nl_sock *sock;
	char bytes[AJ_NFT_BATCH_BYTES];
	size_t used;
	bool full; /* or there was no memory: it is not sent */
};

struct aj_nft_chain {
	const char *table, *name, *type;
	uint32_t hook;
	int priority;
};

void aj_nft_batch_begin(struct aj_nft_batch *b);
/* Sends it, and frees what it has. 0, or libnl's error, negative. The last message but this one must ask for an answer
 * (NLM_F_ACK): the kernel answers the message that fails, and else that one. */
int aj_nft_batch_end(struct aj_nft_batch *b);

/* A message of nftables; `what`: NFT_MSG_*. NULL: no memory, which the batch takes note of. */
struct nl_msg *aj_nft_begin(int what, int flags);
void aj_nft_add(struct aj_nft_batch *b, struct nl_msg *msg);
void aj_nft_table(struct aj_nft_batch *b, const char *name);
void aj_nft_chain(struct aj_nft_batch *b, const struct aj_nft_chain *chain);
void aj_nft_number(struct nl_msg *msg, int type, uint32_t number);

/* --- expressions; values are loaded into register 1 --- */

struct aj_nft_expression {
	struct nlattr *whole, *data;
};
struct aj_nft_expression aj_nft_expression(struct nl_msg *msg, const char *name);
void aj_nft_expression_end(struct nl_msg *msg, struct aj_nft_expression e);
void aj_nft_load_meta(struct nl_msg *msg, uint32_t key);
void aj_nft_load_payload(struct nl_msg *msg, uint32_t base, uint32_t offset, uint32_t bytes);
/* Of the byte that is loaded these bits. */
void aj_nft_mask(struct nl_msg *msg, uint8_t mask);
/* The rule ends here unless the loaded value compares like this. */
void aj_nft_compare(struct nl_msg *msg, uint32_t how, const void *value, uint32_t bytes);
void aj_nft_constant(struct nl_msg *msg, uint32_t target, const void *value, uint32_t bytes);
void aj_nft_accept(struct nl_msg *msg);
